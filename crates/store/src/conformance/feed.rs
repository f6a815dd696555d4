//! The change feed.

use super::world::{Shop, TheStore, apply, audit_row, draft_row, token_row};
use crate::{At, Change, Changes, FeedPosition, Write};

const START: FeedPosition = FeedPosition(0);

pub(super) async fn an_empty_store_has_no_changes(store: TheStore) {
    let changes = store.changes(START).await.unwrap();
    assert_eq!(changes, Changes { position: START, apps: Vec::new() });
}

pub(super) async fn a_public_change_is_in_the_feed_immediately(store: TheStore) {
    let shop = Shop::open(&store).await;
    let mut seen = store.changes(START).await.unwrap();
    assert_eq!(seen.apps, [shop.app()], "a new app is a change");
    let row = store.find_app(shop.app()).await.unwrap().unwrap().row;
    for write in [
        Write::App(row),
        Write::Key(shop.key.clone()),
        Write::Flow(shop.flow.clone()),
        Write::Version(shop.version.clone()),
    ] {
        let what = format!("{write:?}");
        apply(&store, shop.app(), vec![write]).await;
        let changes = store.changes(seen.position).await.unwrap();
        assert_eq!(changes.apps, [shop.app()], "{what}");
        assert!(changes.position > seen.position, "{what}");
        seen = changes;
    }
}

pub(super) async fn drafts_responses_tokens_and_audit_are_not_in_the_feed(store: TheStore) {
    let shop = Shop::open(&store).await;
    let position = store.changes(START).await.unwrap().position;
    let id = shop.store(&store, 1, "").await;
    let rows = vec![
        Write::Version(draft_row(&shop.flow)),
        Write::Token(token_row()),
        Write::Audit(audit_row(Some(shop.app()))),
        Write::DeleteResponse(id),
    ];
    apply(&store, shop.app(), rows).await;
    let rows = vec![Write::Token(token_row()), Write::Audit(audit_row(None))];
    store.apply(At::Instance, Change::new(|| rows)).await.unwrap();
    let changes = store.changes(position).await.unwrap();
    assert_eq!(changes, Changes { position, apps: Vec::new() });
}

pub(super) async fn the_feed_returns_only_later_changes(store: TheStore) {
    let (one, two) = (Shop::open(&store).await, Shop::open(&store).await);
    let mut all = store.changes(START).await.unwrap();
    all.apps.sort();
    assert_eq!(all.apps, [one.app(), two.app()]);
    apply(&store, two.app(), vec![Write::Flow(two.flow.clone())]).await;
    let changes = store.changes(all.position).await.unwrap();
    assert_eq!(changes.apps, [two.app()]);
    for after in [changes.position, FeedPosition::END] {
        let nothing = store.changes(after).await.unwrap();
        assert_eq!(nothing, Changes { position: changes.position, apps: Vec::new() }, "{after:?}");
    }
}

pub(super) async fn an_app_appears_once_however_often_it_changed(store: TheStore) {
    let shop = Shop::open(&store).await;
    for _ in 0..5 {
        apply(&store, shop.app(), vec![Write::Flow(shop.flow.clone())]).await;
    }
    assert_eq!(store.changes(START).await.unwrap().apps, [shop.app()]);
}
