//! Data of the whole instance: tokens, the audit log, readiness, closing.

use super::world::{Shop, TheStore, app_row, apply, at, audit_row, flow_row, token_row, user_row};
use crate::{
    ActorId, At, AuditQuery, Change, FeedPosition, FlowRow, Page, PeopleWrite, Scope, StoreError,
    TokenRow, UserRow, Write,
};

pub(super) async fn a_token_is_found_by_its_hash_even_if_revoked(store: TheStore) {
    let shop = Shop::open(&store).await;
    let full = TokenRow {
        scopes: vec![Scope::Write, Scope::Export, Scope::Erase],
        app_id: Some(shop.app()),
        expires_at: Some(at(1)),
        revoked_at: Some(at(2)),
        ..token_row()
    };
    for token in [token_row(), full, TokenRow { scopes: Vec::new(), ..token_row() }] {
        let rows = vec![Write::Token(token.clone())];
        store.apply(At::Instance, Change::new(|| rows)).await.unwrap();
        assert_eq!(store.find_token(&token.hash).await.unwrap(), Some(token));
    }
}

pub(super) async fn tokens_are_listed_in_creation_order(store: TheStore) {
    let (one, two) = (token_row(), token_row());
    let revoked = TokenRow { revoked_at: Some(at(2)), ..token_row() };
    let tokens = [one, two, revoked];
    let rows = tokens.iter().rev().cloned().map(Write::Token).collect();
    store.apply(At::Instance, Change::new(|| rows)).await.unwrap();
    assert_eq!(store.list_tokens().await.unwrap(), tokens);
}

pub(super) async fn the_audit_log_is_listed_newest_first_by_app_or_in_full(store: TheStore) {
    let (one, two) = (Shop::open(&store).await, Shop::open(&store).await);
    let log: Vec<_> = [Some(one.app()), None, Some(two.app()), Some(one.app()), None]
        .map(audit_row)
        .into_iter()
        .collect();
    let rows = log.iter().cloned().map(Write::Audit).collect();
    store.apply(At::Instance, Change::new(|| rows)).await.unwrap();
    for (app_id, after, limit, expected) in [
        (None, None, 10, &[4, 3, 2, 1, 0][..]),
        (None, None, 2, &[4, 3]),
        (None, Some(3), 2, &[2, 1]),
        (None, Some(0), 10, &[]),
        (Some(one.app()), None, 10, &[3, 0]),
        (Some(one.app()), Some(3), 10, &[0]),
        (Some(two.app()), None, 10, &[2]),
    ] {
        let after_id = after.map(|index: usize| log[index].audit_id);
        let query = AuditQuery { app_id, after: after_id, limit };
        let expected: Vec<_> = expected.iter().map(|index: &usize| log[*index].clone()).collect();
        let found = store.list_audit(&query).await.unwrap();
        assert_eq!(found, expected, "{app_id:?} after {after:?}, limit {limit}");
    }
}

pub(super) async fn audit_entries_before_several_ids_are_found_in_one_call(store: TheStore) {
    let (one, two) = (Shop::open(&store).await, Shop::open(&store).await);
    let log: Vec<_> = [&one, &one, &two, &one, &one, &one]
        .map(|shop| audit_row(Some(shop.app())))
        .into_iter()
        .chain([audit_row(None)])
        .collect();
    let rows = log.iter().cloned().map(Write::Audit).collect();
    store.apply(At::Instance, Change::new(|| rows)).await.unwrap();
    for (before, limit, expected) in [
        (&[6][..], 2, &[5, 4][..]),
        (&[1, 5], 1, &[4, 0]),
        // In any order, with a duplicate, and with entries in common.
        (&[4, 5, 4], 2, &[4, 3, 1]),
        (&[5], 10, &[4, 3, 1, 0]),
        (&[0], 10, &[]),
        (&[6], 0, &[]),
        (&[], 10, &[]),
    ] {
        let ids: Vec<_> = before.iter().map(|index: &usize| log[*index].audit_id).collect();
        let expected: Vec<_> = expected.iter().map(|index: &usize| log[*index].clone()).collect();
        let found = store.list_audit_before(one.app(), &ids, limit).await.unwrap();
        assert_eq!(found, expected, "before {before:?}, limit {limit}");
    }
}

pub(super) async fn names_of_users_and_tokens_are_found_in_one_call(store: TheStore) {
    let shop = Shop::open(&store).await;
    let user = UserRow { name: "Ada".to_owned(), ..user_row() };
    let disabled = UserRow { disabled_at: Some(at(1)), ..user_row() };
    let token = TokenRow { app_id: Some(shop.app()), ..token_row() };
    let revoked = TokenRow { revoked_at: Some(at(1)), name: "old".to_owned(), ..token_row() };
    let users =
        [&user, &disabled, &user_row()].map(|it| Write::People(PeopleWrite::User(it.clone())));
    let tokens = [&token, &revoked, &token_row()].map(|it| Write::Token(it.clone()));
    let rows = users.into_iter().chain(tokens).collect();
    store.apply(At::Instance, Change::new(|| rows)).await.unwrap();
    let of_user = |row: &UserRow| (ActorId::User(row.user_id), row.name.clone());
    let of_token = |row: &TokenRow| (ActorId::Token(row.token_id), row.name.clone());
    let mut expected =
        vec![of_user(&user), of_user(&disabled), of_token(&token), of_token(&revoked)];
    expected.sort_unstable();
    let mut wanted: Vec<_> = expected.iter().rev().map(|(actor, _)| *actor).collect();
    // A duplicate, and two that do not exist.
    wanted.extend([
        wanted[0],
        ActorId::User(user_row().user_id),
        ActorId::Token(token_row().token_id),
    ]);
    let mut found = store.find_actor_names(&wanted).await.unwrap();
    found.sort_unstable();
    assert_eq!(found, expected);
    assert_eq!(store.find_actor_names(&[]).await.unwrap(), []);
}

pub(super) async fn names_of_flows_are_found_in_one_call(store: TheStore) {
    let (shop, other) = (Shop::open(&store).await, Shop::open(&store).await);
    let archived =
        FlowRow { name: "Old".to_owned(), archived_at: Some(at(1)), ..flow_row(shop.app()) };
    apply(&store, shop.app(), vec![Write::Flow(archived.clone())]).await;
    let named = |row: &FlowRow| (row.flow_id, row.name.clone());
    let mut expected = vec![named(&shop.flow), named(&archived), named(&other.flow)];
    expected.sort_unstable();
    let of = |row: &FlowRow| (row.app_id, row.flow_id);
    // A duplicate, one that does not exist, and one of another app.
    let mut wanted = vec![of(&shop.flow), of(&archived), of(&other.flow), of(&archived)];
    wanted.extend([
        (shop.app(), flow_row(shop.app()).flow_id),
        (app_row().app_id, shop.flow.flow_id),
    ]);
    let mut found = store.find_flow_names(&wanted).await.unwrap();
    found.sort_unstable();
    assert_eq!(found, expected);
    let elsewhere = [(other.app(), shop.flow.flow_id)];
    assert_eq!(store.find_flow_names(&elsewhere).await.unwrap(), []);
    assert_eq!(store.find_flow_names(&[]).await.unwrap(), []);
}

pub(super) async fn a_check_leaves_no_trace(store: TheStore) {
    store.check().await.unwrap();
    let shop = Shop::open(&store).await;
    let before = store.find_app(shop.app()).await.unwrap();
    let position = store.changes(FeedPosition(0)).await.unwrap();
    for _ in 0..3 {
        store.check().await.unwrap();
    }
    assert_eq!(store.find_app(shop.app()).await.unwrap(), before);
    assert_eq!(store.changes(FeedPosition(0)).await.unwrap(), position);
}

pub(super) async fn after_closing_every_call_fails(store: TheStore) {
    let shop = Shop::open(&store).await;
    let response = shop.response(&store, 1).await;
    store.close().await;
    let commit = store.commit(vec![response]).await;
    assert!(matches!(commit, Err(StoreError::Closed)), "{commit:?}");
    let apply = store.apply(At::Instance, Change::new(Vec::new)).await;
    assert!(matches!(apply, Err(StoreError::Closed)), "{apply:?}");
    let read = store.list_apps(Page { after: None, limit: 1 }).await;
    assert!(matches!(read, Err(StoreError::Closed)), "{read:?}");
    let check = store.check().await;
    assert!(matches!(check, Err(StoreError::Closed)), "{check:?}");
    store.close().await;
}
