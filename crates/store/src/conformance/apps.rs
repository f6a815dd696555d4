//! Apps and keys.

use sluice_flow::id::ApiKey;

use super::world::{
    Shop, TheStore, app_row, apply, at, flow_row, identity_key_row, key_row, public_revision,
};
use crate::{
    At, Change, FeedPosition, FlowQuery, IdentityKeyKind, IdentityVerification, Page, Write,
};

pub(super) async fn an_active_key_finds_its_app(store: TheStore) {
    let (mut app, other) = (app_row(), Shop::open(&store).await);
    app.identity_verification = IdentityVerification::Enforce;
    app.allowed_origins = vec!["https://a.example".to_owned(), "https://b.example".to_owned()];
    app.grace_window_seconds = Some(3600);
    app.token_lifetime_seconds = Some(600);
    app.hosted = Some(r#"{"spamProtection":false}"#.to_owned());
    let (one, two) = (key_row(app.app_id), key_row(app.app_id));
    let rows = vec![Write::App(app.clone()), Write::Key(one.clone()), Write::Key(two.clone())];
    store.apply(At::Instance, Change::new(|| rows)).await.unwrap();
    for key in [one, two] {
        assert_eq!(store.find_app_by_key(&key.api_key).await.unwrap().unwrap().row, app);
    }
    let found = store.find_app_by_key(&other.key.api_key).await.unwrap().unwrap();
    assert_eq!(found.row.app_id, other.app());
}

pub(super) async fn a_revoked_key_finds_nothing_and_is_still_listed(store: TheStore) {
    let shop = Shop::open(&store).await;
    let mut key = shop.key.clone();
    key.revoked_at = Some(at(1));
    apply(&store, shop.app(), vec![Write::Key(key.clone())]).await;
    assert_eq!(store.find_app_by_key(&key.api_key).await.unwrap(), None);
    assert_eq!(store.list_keys(&[shop.app()]).await.unwrap(), [key]);
}

pub(super) async fn absent_rows_are_not_found(store: TheStore) {
    let shop = Shop::open(&store).await;
    let absent = Shop { flow: flow_row(app_row().app_id), ..Shop::open(&store).await };
    let response = shop.response(&store, 1).await.row.response_id;
    let app = absent.app();
    let page = Page { after: None, limit: 10 };
    let version = super::world::draft_row(&absent.flow).flow_version_id;
    assert_eq!(store.find_app(app).await.unwrap(), None);
    assert_eq!(store.find_app_by_key(&ApiKey::from_random(u128::MAX)).await.unwrap(), None);
    assert_eq!(store.list_keys(&[app]).await.unwrap(), []);
    assert_eq!(store.list_identity_keys(app).await.unwrap(), []);
    assert_eq!(store.find_flow(absent.flow.flow_id).await.unwrap(), None);
    assert_eq!(store.list_flows(&FlowQuery::all(app, page)).await.unwrap(), []);
    assert_eq!(store.find_version(version).await.unwrap(), None);
    let versions = store.list_versions(app, absent.flow.flow_id, None, 10).await.unwrap();
    assert_eq!(versions, []);
    assert_eq!(store.find_response(response).await.unwrap(), None);
    assert_eq!(
        store.list_responses(&absent.query()).await.unwrap(),
        crate::ResponsePage::default()
    );
    assert_eq!(store.find_token(&[0; 32]).await.unwrap(), None);
    assert_eq!(store.find_by_idempotency_key(app, &[0; 16]).await.unwrap(), None);
}

pub(super) async fn apps_are_listed_in_creation_order(store: TheStore) {
    let mut made = Vec::new();
    for _ in 0..5 {
        made.push(Shop::open(&store).await.app());
    }
    let mut listed = Vec::new();
    loop {
        let page = Page { after: listed.last().copied(), limit: 2 };
        let apps = store.list_apps(page).await.unwrap();
        assert!(apps.len() <= 2, "a page is longer than its limit");
        listed.extend(apps.iter().map(|app| app.row.app_id));
        if apps.is_empty() {
            break;
        }
    }
    assert_eq!(listed, made);
}

pub(super) async fn keys_are_listed_in_creation_order(store: TheStore) {
    let shop = Shop::open(&store).await;
    let mut keys = vec![shop.key.clone()];
    // Names sort opposite to times, so only the time can give this order.
    for millis in 1..4_u8 {
        let mut key = key_row(shop.app());
        key.api_key = ApiKey::from_random(u128::MAX - u128::from(millis));
        key.created_at = at(i64::from(millis));
        keys.push(key.clone());
        apply(&store, shop.app(), vec![Write::Key(key)]).await;
    }
    assert_eq!(store.list_keys(&[shop.app()]).await.unwrap(), keys);
}

pub(super) async fn several_apps_and_their_keys_are_found_in_one_call(store: TheStore) {
    let (one, other) = (Shop::open(&store).await, Shop::open(&store).await);
    let third = Shop::open(&store).await;
    let absent = app_row().app_id;
    let mut ids = vec![one.app(), other.app()];
    ids.sort_unstable();
    // In any order, with a duplicate.
    let wanted = [ids[1], absent, ids[0], ids[1]];
    let found = store.find_apps(&wanted).await.unwrap();
    let found_ids: Vec<_> = found.iter().map(|app| app.row.app_id).collect();
    assert_eq!(found_ids, ids);
    for app in found {
        assert_eq!(store.find_app(app.row.app_id).await.unwrap(), Some(app));
    }
    let keys = store.list_keys(&[one.app(), absent, other.app()]).await.unwrap();
    for shop in [&one, &other] {
        let own: Vec<_> = keys.iter().filter(|key| key.app_id == shop.app()).cloned().collect();
        assert_eq!(own, store.list_keys(&[shop.app()]).await.unwrap());
    }
    assert!(keys.iter().all(|key| key.app_id != third.app()), "{keys:?}");
    assert_eq!(keys.len(), 2);
    assert_eq!(store.find_apps(&[]).await.unwrap(), []);
    assert_eq!(store.list_keys(&[]).await.unwrap(), []);
}

pub(super) async fn identity_keys_are_listed_in_creation_order_including_revoked_ones(
    store: TheStore,
) {
    let (shop, other) = (Shop::open(&store).await, Shop::open(&store).await);
    let kinds = [IdentityKeyKind::Jwks, IdentityKeyKind::PublicKey, IdentityKeyKind::Hs256];
    let mut keys = Vec::new();
    for (millis, kind) in kinds.into_iter().enumerate() {
        let mut key = identity_key_row(shop.app());
        // Names sort opposite to times, so only the time can give this order.
        key.kid = format!("k{} \u{e9}", 9 - millis);
        key.kind = kind;
        key.issuer = (millis == 1).then(|| "https://id.example".to_owned());
        key.created_at = at(i64::try_from(millis).unwrap());
        key.revoked_at = (millis == 2).then(|| at(5));
        keys.push(key.clone());
        apply(&store, shop.app(), vec![Write::IdentityKey(key)]).await;
    }
    apply(&store, other.app(), vec![Write::IdentityKey(identity_key_row(other.app()))]).await;
    assert_eq!(store.list_identity_keys(shop.app()).await.unwrap(), keys);
}

pub(super) async fn an_identity_key_replaces_the_one_with_its_kid_in_its_app(store: TheStore) {
    let (shop, other) = (Shop::open(&store).await, Shop::open(&store).await);
    let mut key = identity_key_row(shop.app());
    let mut namesake = identity_key_row(other.app());
    namesake.kid.clone_from(&key.kid);
    apply(&store, shop.app(), vec![Write::IdentityKey(key.clone())]).await;
    apply(&store, other.app(), vec![Write::IdentityKey(namesake.clone())]).await;
    (key.material, key.revoked_at) = (String::new(), Some(at(7)));
    apply(&store, shop.app(), vec![Write::IdentityKey(key.clone())]).await;
    assert_eq!(store.list_identity_keys(shop.app()).await.unwrap(), [key]);
    assert_eq!(store.list_identity_keys(other.app()).await.unwrap(), [namesake]);
}

pub(super) async fn an_identity_key_is_a_public_change(store: TheStore) {
    let shop = Shop::open(&store).await;
    let before = public_revision(&store, shop.app()).await;
    let key = identity_key_row(shop.app());
    apply(&store, shop.app(), vec![Write::IdentityKey(key)]).await;
    assert!(public_revision(&store, shop.app()).await > before);
    let changes = store.changes(FeedPosition(before)).await.unwrap();
    assert_eq!(changes.apps, [shop.app()]);
}
