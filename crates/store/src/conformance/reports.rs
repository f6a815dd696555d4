//! Reports: found by the hash of their link, listed by flow.

use super::world::{Shop, TheStore, apply, at, flow_row, report_row};
use crate::{At, Change, ReportRow, StoreError, Write};

pub(super) async fn a_report_is_found_by_its_hash_even_if_it_ended(store: TheStore) {
    let shop = Shop::open(&store).await;
    let full = ReportRow {
        title: "Results \u{e9}".to_owned(),
        questions: vec!["nps".to_owned(), "why".to_owned()],
        filters: vec![("tag.a b".to_owned(), "=\u{1F600}&".to_owned())],
        shows_texts: true,
        password: Some("$argon2id$".to_owned()),
        expires_at: Some(at(1)),
        revoked_at: Some(at(2)),
        ..report_row(&shop.flow)
    };
    for row in [report_row(&shop.flow), full] {
        apply(&store, shop.app(), vec![Write::Report(row.clone())]).await;
        assert_eq!(store.find_report(&row.hash).await.unwrap(), Some(row));
    }
    assert_eq!(store.find_report(&[0; 32]).await.unwrap(), None);
}

pub(super) async fn reports_of_a_flow_are_listed_newest_first(store: TheStore) {
    let (shop, other) = (Shop::open(&store).await, Shop::open(&store).await);
    let sibling = flow_row(shop.app());
    let rows = [(); 3].map(|()| report_row(&shop.flow));
    let writes = rows.iter().cloned().chain([report_row(&sibling)]).map(Write::Report);
    let writes = writes.chain([Write::Flow(sibling.clone())]).collect();
    apply(&store, shop.app(), writes).await;
    apply(&store, other.app(), vec![Write::Report(report_row(&other.flow))]).await;
    let listed = store.list_reports(shop.app(), shop.flow.flow_id).await.unwrap();
    assert!(listed.iter().eq(rows.iter().rev()), "{listed:?}");
    assert_eq!(store.list_reports(shop.app(), other.flow.flow_id).await.unwrap(), []);
}

pub(super) async fn a_replaced_link_no_longer_finds_the_report(store: TheStore) {
    let shop = Shop::open(&store).await;
    let old = report_row(&shop.flow);
    let new = ReportRow { hash: report_row(&shop.flow).hash, ..old.clone() };
    for row in [&old, &new] {
        apply(&store, shop.app(), vec![Write::Report(row.clone())]).await;
    }
    assert_eq!(store.find_report(&old.hash).await.unwrap(), None);
    assert_eq!(store.find_report(&new.hash).await.unwrap(), Some(new.clone()));
    assert_eq!(store.list_reports(shop.app(), shop.flow.flow_id).await.unwrap(), [new]);
}

pub(super) async fn a_deleted_report_is_gone_and_the_others_are_kept(store: TheStore) {
    let shop = Shop::open(&store).await;
    let (gone, kept) = (report_row(&shop.flow), report_row(&shop.flow));
    let rows = [&gone, &kept].map(|row| Write::Report(row.clone())).into();
    apply(&store, shop.app(), rows).await;
    for _ in 0..2 {
        apply(&store, shop.app(), vec![Write::DeleteReport(shop.app(), gone.report_id)]).await;
        assert_eq!(store.find_report(&gone.hash).await.unwrap(), None);
        let listed = store.list_reports(shop.app(), shop.flow.flow_id).await.unwrap();
        assert_eq!(listed, std::slice::from_ref(&kept));
    }
}

pub(super) async fn a_report_is_a_change_of_its_app_that_the_public_api_cannot_see(
    store: TheStore,
) {
    let shop = Shop::open(&store).await;
    let before = store.find_app(shop.app()).await.unwrap().unwrap();
    apply(&store, shop.app(), vec![Write::Report(report_row(&shop.flow))]).await;
    let after = store.find_app(shop.app()).await.unwrap().unwrap();
    assert_eq!(after.revision, before.revision + 1);
    assert_eq!(after.public_revision, before.public_revision);
}

pub(super) async fn a_report_of_a_flow_that_does_not_exist_is_refused(store: TheStore) {
    let shop = Shop::open(&store).await;
    let row = report_row(&flow_row(shop.app()));
    let hash = row.hash;
    let expected = store.find_app(shop.app()).await.unwrap().unwrap().revision;
    let at = At::App { app: shop.app(), expected };
    let refused = store.apply(at, Change::new(|| vec![Write::Report(row)])).await;
    assert!(matches!(refused, Err(StoreError::Failed(_))), "{refused:?}");
    assert_eq!(store.find_report(&hash).await.unwrap(), None);
}
