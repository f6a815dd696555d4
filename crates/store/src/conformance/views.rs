//! Views of everything at one instant, the check of pages, and a store that is damaged.

use super::world::{Shop, TheStore, apply, audit_row};
use crate::{Record, RecordCursor, StoreError, StoreView, Table, Write};

pub(super) async fn a_view_is_of_one_instant(store: TheStore) {
    let shop = Shop::open(&store).await;
    let gone = shop.store(&store, 1, "").await;
    shop.store(&store, 2, r#"{"plan":"pro"}"#).await;
    let before = store.export_records(None, 10_000).await.unwrap();
    let mut view = store.open_view().await.unwrap();
    shop.store(&store, 3, "").await;
    apply(&store, shop.app(), vec![Write::DeleteResponse(gone)]).await;
    let other = Shop::open(&store).await;
    apply(&store, other.app(), vec![Write::Audit(audit_row(None))]).await;
    for limit in [1, 2, 10_000] {
        assert_eq!(all(&mut *view, limit).await, before, "pages of {limit}");
    }
    drop(view);
    let after = store.export_records(None, 10_000).await.unwrap();
    assert_ne!(after, before);
    let mut view = store.open_view().await.unwrap();
    assert_eq!(all(&mut *view, 10_000).await, after, "everything stored before is in a new view");
}

pub(super) async fn a_view_reads_counts_at_its_instant(store: TheStore) {
    let shop = Shop::open(&store).await;
    let (app, flow) = (shop.app(), shop.flow.flow_id);
    shop.store(&store, 1, "").await;
    let mut view = store.open_view().await.unwrap();
    for millis in 2..5 {
        shop.store(&store, millis, "").await;
    }
    let mut cursor = Some(crate::CompactionCursor::default());
    while let Some(at) = cursor {
        cursor = store.compact_counts(at, 100).await.unwrap().next;
    }
    let counted = |counts: &crate::FlowCounts| -> i64 {
        counts.daily.iter().map(|(_, _, daily)| daily.all().responses).sum()
    };
    assert_eq!(counted(&view.counts(app, flow).await.unwrap()), 1);
    let mut now = store.open_view().await.unwrap();
    assert_eq!(counted(&now.counts(app, flow).await.unwrap()), 4);
}

pub(super) async fn the_pages_of_a_new_store_are_sound(store: TheStore) {
    let shop = Shop::open(&store).await;
    for millis in 1..50 {
        shop.store(&store, millis, "").await;
    }
    let checked = store.check_pages().await.unwrap();
    assert_eq!(checked.damaged, Vec::<String>::new());
}

pub(super) async fn a_damaged_store_accepts_no_responses(store: TheStore) {
    let shop = Shop::open(&store).await;
    let stored = shop.store(&store, 1, "").await;
    assert_eq!(store.damage().found(), None);
    store.damage().note("page 7");
    let response = shop.response(&store, 2).await;
    let refused = store.commit(vec![response]).await;
    assert!(matches!(&refused, Err(StoreError::Damaged(what)) if what == "page 7"), "{refused:?}");
    assert!(matches!(store.check().await, Err(StoreError::Damaged(_))));
    assert!(store.find_response(stored).await.unwrap().is_some(), "reads continue");
    apply(&store, shop.app(), vec![Write::DeleteResponse(stored)]).await;
    assert!(store.find_response(stored).await.unwrap().is_none(), "administration continues");
}

async fn all(view: &mut dyn StoreView, limit: usize) -> Vec<Record> {
    let mut all = Vec::new();
    for table in Table::ALL {
        let mut last = RecordCursor::start_of(table);
        loop {
            let page = view.records(&last, limit).await.unwrap();
            assert_eq!(page.unreadable, []);
            let Some(end) = page.records.last() else { break };
            assert!(page.records.iter().all(|record| record.table() == table));
            last = end.cursor();
            all.extend(page.records);
        }
    }
    all
}
