//! Changes are atomic, based on the newest rows, and visible in the revisions.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::world::{
    Shop, TheStore, app_row, apply, at, audit_row, draft_row, flow_row, key_row, listed,
    public_revision, published_row, revision, token_row, try_apply,
};
use crate::{AppLimits, At, Change, FlowRow, Outcome, Page, StoreError, Write};

pub(super) async fn the_rows_of_a_change_are_written_all_or_none(store: TheStore) {
    let shop = Shop::open(&store).await;
    let before = revision(&store, shop.app()).await;
    let (flow, orphan) = (flow_row(shop.app()), flow_row(app_row().app_id));
    let rows = vec![
        Write::Flow(flow.clone()),
        Write::Token(token_row()),
        Write::Version(draft_row(&orphan)),
    ];
    let result = try_apply(&store, shop.app(), rows).await;
    assert!(matches!(result, Err(StoreError::Failed(_))), "a version without a flow: {result:?}");
    assert_eq!(store.find_flow(flow.flow_id).await.unwrap(), None);
    assert_eq!(store.list_tokens().await.unwrap(), []);
    assert_eq!(revision(&store, shop.app()).await, before);
    apply(&store, shop.app(), vec![Write::Flow(flow.clone())]).await;
    assert!(store.find_flow(flow.flow_id).await.unwrap().is_some(), "the store still works");
}

pub(super) async fn the_rows_of_a_change_may_come_in_any_order(store: TheStore) {
    let app = app_row();
    let flow = flow_row(app.app_id);
    let version = published_row(&flow, 1);
    let key = key_row(app.app_id);
    let rows = vec![
        Write::Version(version.clone()),
        Write::Flow(flow),
        Write::Key(key.clone()),
        Write::App(app),
    ];
    store.apply(At::Instance, Change::new(|| rows)).await.unwrap();
    assert!(store.find_version(version.flow_version_id).await.unwrap().is_some());
    assert!(store.find_app_by_key(&key.api_key).await.unwrap().is_some());
}

pub(super) async fn a_change_decided_on_an_older_revision_is_a_conflict(store: TheStore) {
    let shop = Shop::open(&store).await;
    let newest = revision(&store, shop.app()).await;
    for expected in [newest - 1, newest + 1] {
        assert_conflict_uncalled(&store, At::App { app: shop.app(), expected }).await;
    }
    assert_eq!(revision(&store, shop.app()).await, newest);
}

pub(super) async fn a_change_to_an_app_that_does_not_exist_is_a_conflict(store: TheStore) {
    let app = app_row().app_id;
    assert_conflict_uncalled(&store, At::App { app, expected: 0 }).await;
}

async fn assert_conflict_uncalled(store: &TheStore, at: At) {
    let called = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&called);
    let change = Change::new(move || {
        seen.store(true, Ordering::SeqCst);
        Vec::new()
    });
    let result = store.apply(at, change).await;
    assert!(matches!(result, Err(StoreError::Conflict)), "{at:?}: {result:?}");
    assert!(!called.load(Ordering::SeqCst), "{at:?}: the change was called");
}

pub(super) async fn one_of_two_concurrent_changes_is_a_conflict(store: TheStore) {
    let shop = Shop::open(&store).await;
    let at = At::App { app: shop.app(), expected: revision(&store, shop.app()).await };
    let rename = |name: &str| {
        let flow = FlowRow { name: name.to_owned(), ..shop.flow.clone() };
        store.apply(at, Change::new(|| vec![Write::Flow(flow)]))
    };
    let (one, two) = tokio::join!(rename("one"), rename("two"));
    let winner = match (one, two) {
        (Ok(()), Err(StoreError::Conflict)) => "one",
        (Err(StoreError::Conflict), Ok(())) => "two",
        both => panic!("exactly one should win: {both:?}"),
    };
    assert_eq!(store.find_flow(shop.flow.flow_id).await.unwrap().unwrap().flow.name, winner);
}

pub(super) async fn one_of_many_concurrent_first_apps_or_tokens_is_created(store: TheStore) {
    const CALLERS: usize = 8;
    let mut callers = Vec::new();
    for number in 0..CALLERS * 2 {
        let store = Arc::clone(&store);
        let (at, write) = match number % 2 {
            0 => (At::FirstApp, Write::App(app_row())),
            _ => (At::FirstToken, Write::Token(token_row())),
        };
        callers.push(tokio::spawn(async move {
            match store.apply(at, Change::new(|| vec![write])).await {
                Ok(()) => 1,
                Err(StoreError::Conflict) => 0,
                Err(other) => panic!("{at:?}: {other:?}"),
            }
        }));
    }
    let mut written = [0, 0];
    for (number, caller) in callers.into_iter().enumerate() {
        written[number % 2] += caller.await.unwrap();
    }
    assert_eq!(written, [1, 1], "apps and tokens");
    assert_eq!(store.list_tokens().await.unwrap().len(), 1);
    assert_eq!(store.list_apps(Page { after: None, limit: 9 }).await.unwrap().len(), 1);
}

pub(super) async fn a_first_app_or_token_conflicts_with_an_existing_one(store: TheStore) {
    // Neither exists yet, and one does not affect the other.
    let token = vec![Write::Token(crate::TokenRow { revoked_at: Some(at(1)), ..token_row() })];
    store.apply(At::FirstToken, Change::new(|| token)).await.unwrap();
    assert_conflict_uncalled(&store, At::FirstToken).await;
    let app = vec![Write::App(app_row())];
    store.apply(At::FirstApp, Change::new(|| app)).await.unwrap();
    assert_conflict_uncalled(&store, At::FirstApp).await;
}

pub(super) async fn nothing_is_written_to_the_app_while_a_change_is_made(store: TheStore) {
    let shop = Shop::open(&store).await;
    let at = At::App { app: shop.app(), expected: revision(&store, shop.app()).await };
    let response = shop.response(&store, 1).await;
    let query = shop.query();
    let (began, has_begun) = tokio::sync::oneshot::channel();
    let ended = Arc::new(AtomicBool::new(false));
    let ending = Arc::clone(&ended);
    let change = Change::new(move || {
        began.send(()).unwrap();
        std::thread::sleep(Duration::from_millis(150));
        ending.store(true, Ordering::SeqCst);
        vec![Write::Flow(shop.flow)]
    });
    let changing = {
        let store = Arc::clone(&store);
        tokio::spawn(async move { store.apply(at, change).await })
    };
    has_begun.await.unwrap();
    let outcomes = store.commit(vec![response]).await.unwrap();
    assert!(ended.load(Ordering::SeqCst), "a response was stored while the change was made");
    assert_eq!(outcomes, [Outcome::Stale], "the response was judged before the change");
    assert_eq!(listed(&store, &query).await, []);
    changing.await.unwrap().unwrap();
}

pub(super) async fn a_change_may_have_no_rows(store: TheStore) {
    let shop = Shop::open(&store).await;
    let before = store.find_app(shop.app()).await.unwrap();
    apply(&store, shop.app(), Vec::new()).await;
    store.apply(At::Instance, Change::new(Vec::new)).await.unwrap();
    assert_eq!(store.find_app(shop.app()).await.unwrap(), before, "the app changed");
}

pub(super) async fn a_change_that_panics_is_not_written(store: TheStore) {
    let shop = Shop::open(&store).await;
    let before = revision(&store, shop.app()).await;
    let at = At::App { app: shop.app(), expected: before };
    let result = store.apply(at, Change::new(|| panic!("intended panic of this case"))).await;
    assert!(matches!(result, Err(StoreError::Failed(_))), "{result:?}");
    assert_eq!(revision(&store, shop.app()).await, before);
    apply(&store, shop.app(), vec![Write::Flow(shop.flow)]).await;
}

pub(super) async fn a_row_replaces_the_row_with_its_id(store: TheStore) {
    let shop = Shop::open(&store).await;
    let mut app = store.find_app(shop.app()).await.unwrap().unwrap().row;
    app.name = "Renamed".to_owned();
    app.allowed_origins = vec!["https://shop.example".to_owned()];
    app.grace_window_seconds = Some(60);
    app.retention_days = Some(30);
    app.limits = AppLimits { calls_per_second: Some(100_000_000), bytes_per_day: Some(1 << 50) };
    let mut flow = shop.flow.clone();
    flow.name = "Renamed".to_owned();
    flow.archived_at = Some(at(5));
    let mut version = shop.version.clone();
    version.times.retired_at = Some(at(6));
    version.definition = "{}".to_owned();
    let mut key = shop.key.clone();
    key.revoked_at = Some(at(7));
    let mut token = token_row();
    let rows = vec![Write::Token(token.clone())];
    apply(&store, shop.app(), rows).await;
    token.revoked_at = Some(at(8));
    let rows = vec![
        Write::App(app.clone()),
        Write::Flow(flow.clone()),
        Write::Version(version.clone()),
        Write::Key(key.clone()),
        Write::Token(token.clone()),
    ];
    let before = revision(&store, shop.app()).await;
    apply(&store, shop.app(), rows).await;
    let found = store.find_version(version.flow_version_id).await.unwrap().unwrap();
    assert_eq!((found.flow, found.version), (flow, version));
    assert_eq!(found.revision, before + 1, "the revisions are not part of the row");
    assert_eq!(store.find_app(app.app_id).await.unwrap().unwrap().row, app);
    assert_eq!(store.list_keys(&[app.app_id]).await.unwrap(), [key]);
    assert_eq!(store.list_tokens().await.unwrap(), [token]);
}

pub(super) async fn the_public_revision_grows_with_public_changes_only(store: TheStore) {
    let (shop, other) = (Shop::open(&store).await, Shop::open(&store).await);
    let app = shop.app();
    let others = store.find_app(other.app()).await.unwrap();
    let row = store.find_app(app).await.unwrap().unwrap().row;
    let gone = shop.store(&store, 1, "").await;
    for (write, public) in [
        (Write::App(row), true),
        (Write::Key(shop.key.clone()), true),
        (Write::Flow(shop.flow.clone()), true),
        (Write::Version(shop.version.clone()), true),
        (Write::Version(draft_row(&shop.flow)), false),
        (Write::Token(token_row()), false),
        (Write::Audit(audit_row(Some(app))), false),
        (Write::DeleteResponse(gone), false),
    ] {
        let before = (revision(&store, app).await, public_revision(&store, app).await);
        let what = format!("{write:?}");
        apply(&store, app, vec![write]).await;
        let after = (revision(&store, app).await, public_revision(&store, app).await);
        assert_eq!(after.0, before.0 + 1, "every change raises the revision: {what}");
        assert_eq!(after.1 > before.1, public, "{what}");
    }
    assert_eq!(store.find_app(other.app()).await.unwrap(), others, "another app changed");
}

pub(super) async fn deleting_a_response_keeps_its_idempotency_key_used(store: TheStore) {
    let shop = Shop::open(&store).await;
    let mut response = shop.response(&store, 1).await;
    response.idempotency_key = Some([5; 16]);
    let id = response.row.response_id;
    assert_eq!(store.commit(vec![response]).await.unwrap(), [Outcome::Stored]);
    apply(&store, shop.app(), vec![Write::DeleteResponse(id)]).await;
    assert_eq!(store.find_response(id).await.unwrap(), None);
    let found = store.find_by_idempotency_key(shop.app(), &[5; 16]).await.unwrap();
    assert_eq!(found, Some((id, None)), "the digest was not deleted");
    let mut again = shop.response(&store, 2).await;
    again.idempotency_key = Some([5; 16]);
    assert_eq!(store.commit(vec![again]).await.unwrap(), [Outcome::Replayed(id)]);
    assert_eq!(listed(&store, &shop.query()).await, []);
}

pub(super) async fn deleting_an_absent_response_is_no_error(store: TheStore) {
    let shop = Shop::open(&store).await;
    let absent = shop.response(&store, 1).await.row.response_id;
    apply(&store, shop.app(), vec![Write::DeleteResponse(absent)]).await;
}
