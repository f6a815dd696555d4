//! Short paths: one per flow, unique among all apps.

use super::world::{Shop, TheStore, apply, flow_row};
use crate::{At, Change, FlowRow, ShortPathRow, StoreError, Write};

fn path_row(flow: &FlowRow, path: &str) -> ShortPathRow {
    ShortPathRow { app_id: flow.app_id, flow_id: flow.flow_id, path: path.to_owned() }
}

/// A path that no other case uses: cases share a database.
fn own_path(flow: &FlowRow) -> String {
    flow.flow_id.to_string().replace('_', "-")
}

async fn refused(store: &TheStore, row: ShortPathRow) {
    let expected = store.find_app(row.app_id).await.unwrap().unwrap().revision;
    let at = At::App { app: row.app_id, expected };
    let refused = store.apply(at, Change::new(|| vec![Write::ShortPath(row)])).await;
    assert!(matches!(refused, Err(StoreError::Failed(_))), "{refused:?}");
}

pub(super) async fn a_flow_is_found_by_its_path(store: TheStore) {
    let shop = Shop::open(&store).await;
    let (first, second) = (own_path(&shop.flow), own_path(&shop.flow) + "-b");
    let of_flow = || store.short_path_of(shop.app(), shop.flow.flow_id);
    assert_eq!(store.find_short_path(&first).await.unwrap(), None);
    assert_eq!(of_flow().await.unwrap(), None);
    // A new path replaces the one before.
    for (path, gone) in [(&first, &second), (&second, &first)] {
        let row = path_row(&shop.flow, path);
        apply(&store, shop.app(), vec![Write::ShortPath(row.clone())]).await;
        assert_eq!(store.find_short_path(path).await.unwrap(), Some(row.clone()));
        assert_eq!(of_flow().await.unwrap(), Some(row));
        assert_eq!(store.find_short_path(gone).await.unwrap(), None);
    }
    for _ in 0..2 {
        let gone = Write::DeleteShortPath(shop.app(), shop.flow.flow_id);
        apply(&store, shop.app(), vec![gone]).await;
        assert_eq!(store.find_short_path(&second).await.unwrap(), None);
        assert_eq!(of_flow().await.unwrap(), None);
    }
}

pub(super) async fn a_path_belongs_to_one_flow_of_all_apps(store: TheStore) {
    let (shop, other) = (Shop::open(&store).await, Shop::open(&store).await);
    let sibling = flow_row(shop.app());
    apply(&store, shop.app(), vec![Write::Flow(sibling.clone())]).await;
    let row = path_row(&shop.flow, &own_path(&shop.flow));
    apply(&store, shop.app(), vec![Write::ShortPath(row.clone())]).await;
    for flow in [&sibling, &other.flow] {
        refused(&store, path_row(flow, &row.path)).await;
        assert_eq!(store.short_path_of(flow.app_id, flow.flow_id).await.unwrap(), None);
    }
    assert_eq!(store.find_short_path(&row.path).await.unwrap(), Some(row.clone()));
    // Once it is free, another flow may have it.
    let gone = Write::DeleteShortPath(shop.app(), shop.flow.flow_id);
    apply(&store, shop.app(), vec![gone]).await;
    let taken = path_row(&other.flow, &row.path);
    apply(&store, other.app(), vec![Write::ShortPath(taken.clone())]).await;
    assert_eq!(store.find_short_path(&row.path).await.unwrap(), Some(taken));
}

pub(super) async fn a_path_of_a_flow_that_does_not_exist_is_refused(store: TheStore) {
    let shop = Shop::open(&store).await;
    let absent = flow_row(shop.app());
    refused(&store, path_row(&absent, &own_path(&absent))).await;
    assert_eq!(store.find_short_path(&own_path(&absent)).await.unwrap(), None);
}

pub(super) async fn a_path_is_a_change_that_the_public_can_see(store: TheStore) {
    let shop = Shop::open(&store).await;
    let row = path_row(&shop.flow, &own_path(&shop.flow));
    let gone = Write::DeleteShortPath(shop.app(), shop.flow.flow_id);
    for write in [Write::ShortPath(row), gone] {
        let before = store.find_app(shop.app()).await.unwrap().unwrap();
        apply(&store, shop.app(), vec![write]).await;
        let after = store.find_app(shop.app()).await.unwrap().unwrap();
        assert!(after.public_revision > before.public_revision);
    }
}
