//! Storing responses.

use std::sync::Arc;

use sluice_flow::id::RespondentId;
use sluice_flow::submission::Admission;

use super::world::{Shop, TheStore, apply, audit_row, listed};
use crate::{NewResponse, Outcome, StoreError, Write};

const KEY: Option<[u8; 16]> = Some([9; 16]);

pub(super) async fn a_stored_response_reads_back_as_it_was_given(store: TheStore) {
    let shop = Shop::open(&store).await;
    let bare = shop.response(&store, 1).await;
    let mut full = shop.response(&store, 2).await;
    full.row.admission = Admission::Admitted;
    full.row.answers = "{\"q\": \"\u{e9}\u{1F600}\\u0000 '\\\"\"}".to_owned();
    full.row.identities = Some(r#"[{"type":"userId","value":"7"}]"#.to_owned());
    full.row.identity_verified = true;
    full.row.respondent_id = Some(RespondentId::from_uuid(shop.flow.flow_id.uuid()));
    full.row.tags = Some(r#"{"plan":"pro"}"#.to_owned());
    full.row.context = Some(r#"{"locale":"de"}"#.to_owned());
    full.row.flow_assignment_id = Some("assignment 1".to_owned());
    full.row.score = Some("4.5".to_owned());
    for response in [bare, full] {
        let row = response.row.clone();
        assert_eq!(store.commit(vec![response]).await.unwrap(), [Outcome::Stored]);
        assert_eq!(store.find_response(row.response_id).await.unwrap(), Some(row));
    }
}

pub(super) async fn outcomes_are_in_row_order(store: TheStore) {
    let shop = Shop::open(&store).await;
    let first = keyed(&shop, &store, 1).await;
    let mut replay = keyed(&shop, &store, 2).await;
    replay.row.digest = first.row.digest;
    let mut stale = shop.response(&store, 3).await;
    stale.public_revision -= 1;
    let reused = keyed(&shop, &store, 4).await;
    let last = shop.response(&store, 5).await;
    let id = first.row.response_id;
    let outcomes = store.commit(vec![first, replay, stale, reused, last]).await.unwrap();
    let expected = [
        Outcome::Stored,
        Outcome::Replayed(id),
        Outcome::Stale,
        Outcome::KeyReused,
        Outcome::Stored,
    ];
    assert_eq!(outcomes, expected);
}

pub(super) async fn no_rows_have_no_outcomes(store: TheStore) {
    assert_eq!(store.commit(Vec::new()).await.unwrap(), []);
}

pub(super) async fn the_same_submission_with_a_used_key_is_replayed(store: TheStore) {
    let shop = Shop::open(&store).await;
    let first = keyed(&shop, &store, 1).await;
    let (id, digest) = (first.row.response_id, first.row.digest);
    let mut again = keyed(&shop, &store, 2).await;
    again.row.digest = digest;
    let key = [9; 16];
    assert_eq!(store.find_by_idempotency_key(shop.app(), &key).await.unwrap(), None);
    assert_eq!(store.commit(vec![first]).await.unwrap(), [Outcome::Stored]);
    assert_eq!(store.commit(vec![again]).await.unwrap(), [Outcome::Replayed(id)]);
    assert_eq!(listed(&store, &shop.query()).await, [id]);
    let found = store.find_by_idempotency_key(shop.app(), &key).await.unwrap();
    assert_eq!(found, Some((id, Some(digest))));
}

pub(super) async fn another_submission_with_a_used_key_is_refused(store: TheStore) {
    let shop = Shop::open(&store).await;
    let first = keyed(&shop, &store, 1).await;
    let id = first.row.response_id;
    let other = keyed(&shop, &store, 2).await;
    assert_eq!(store.commit(vec![first]).await.unwrap(), [Outcome::Stored]);
    assert_eq!(store.commit(vec![other]).await.unwrap(), [Outcome::KeyReused]);
    assert_eq!(listed(&store, &shop.query()).await, [id]);
}

pub(super) async fn keys_are_unique_within_one_call(store: TheStore) {
    let shop = Shop::open(&store).await;
    let first = keyed(&shop, &store, 1).await;
    let other = keyed(&shop, &store, 2).await;
    let mut again = keyed(&shop, &store, 3).await;
    again.row.digest = first.row.digest;
    let id = first.row.response_id;
    let outcomes = store.commit(vec![first, other, again]).await.unwrap();
    assert_eq!(outcomes, [Outcome::Stored, Outcome::KeyReused, Outcome::Replayed(id)]);
    assert_eq!(listed(&store, &shop.query()).await, [id]);
}

pub(super) async fn keys_are_unique_per_app(store: TheStore) {
    let (one, two) = (Shop::open(&store).await, Shop::open(&store).await);
    let rows = vec![keyed(&one, &store, 1).await, keyed(&two, &store, 2).await];
    assert_eq!(store.commit(rows).await.unwrap(), [Outcome::Stored; 2]);
    let found = store.find_by_idempotency_key(two.app(), &[9; 16]).await.unwrap();
    assert_eq!(found.map(|(id, _)| id), listed(&store, &two.query()).await.first().copied());
}

pub(super) async fn without_a_key_equal_submissions_are_all_stored(store: TheStore) {
    let shop = Shop::open(&store).await;
    let one = shop.response(&store, 1).await;
    let mut two = shop.response(&store, 2).await;
    two.row.digest = one.row.digest;
    assert_eq!(store.commit(vec![one, two]).await.unwrap(), [Outcome::Stored; 2]);
    assert_eq!(listed(&store, &shop.query()).await.len(), 2);
}

pub(super) async fn a_row_not_at_the_newest_public_revision_is_stale(store: TheStore) {
    let (shop, elsewhere) = (Shop::open(&store).await, Shop::open(&store).await);
    let before = shop.response(&store, 1).await;
    apply(&store, shop.app(), vec![Write::Flow(shop.flow.clone())]).await;
    let mut ahead = shop.response(&store, 2).await;
    ahead.public_revision += 1;
    let mut of_no_app = shop.response(&store, 3).await;
    of_no_app.row.app_id = super::world::app_row().app_id;
    let outcomes = store.commit(vec![before, ahead, of_no_app]).await.unwrap();
    assert_eq!(outcomes, [Outcome::Stale; 3]);
    assert_eq!(listed(&store, &shop.query()).await, []);
    let untouched = elsewhere.response(&store, 4).await;
    apply(&store, shop.app(), vec![Write::Flow(shop.flow.clone())]).await;
    assert_eq!(store.commit(vec![untouched]).await.unwrap(), [Outcome::Stored]);
}

pub(super) async fn a_used_key_is_answered_at_any_public_revision(store: TheStore) {
    let shop = Shop::open(&store).await;
    let first = keyed(&shop, &store, 1).await;
    let id = first.row.response_id;
    let (mut again, other) = (keyed(&shop, &store, 2).await, keyed(&shop, &store, 3).await);
    again.row.digest = first.row.digest;
    assert_eq!(store.commit(vec![first]).await.unwrap(), [Outcome::Stored]);
    apply(&store, shop.app(), vec![Write::Flow(shop.flow.clone())]).await;
    let outcomes = store.commit(vec![again, other]).await.unwrap();
    assert_eq!(outcomes, [Outcome::Replayed(id), Outcome::KeyReused]);
}

pub(super) async fn a_non_public_change_makes_nothing_stale(store: TheStore) {
    let shop = Shop::open(&store).await;
    let response = shop.response(&store, 1).await;
    let draft = super::world::draft_row(&shop.flow);
    let rows = vec![Write::Version(draft), Write::Audit(audit_row(Some(shop.app())))];
    apply(&store, shop.app(), rows).await;
    assert_eq!(store.commit(vec![response]).await.unwrap(), [Outcome::Stored]);
}

pub(super) async fn a_refused_row_does_not_affect_the_others(store: TheStore) {
    let shop = Shop::open(&store).await;
    let one = shop.response(&store, 1).await;
    let mut stale = shop.response(&store, 2).await;
    stale.public_revision = 0;
    let two = shop.response(&store, 3).await;
    let ids = [one.row.response_id, two.row.response_id];
    let outcomes = store.commit(vec![one, stale, two]).await.unwrap();
    assert_eq!(outcomes, [Outcome::Stored, Outcome::Stale, Outcome::Stored]);
    assert_eq!(listed(&store, &shop.query()).await, ids);
}

pub(super) async fn a_failed_call_stores_nothing(store: TheStore) {
    let shop = Shop::open(&store).await;
    let good = shop.response(&store, 1).await;
    let twice = shop.response(&store, 2).await;
    let result = store.commit(vec![good.clone(), twice.clone(), twice]).await;
    assert!(matches!(result, Err(StoreError::Failed(_))), "a duplicate id: {result:?}");
    assert_eq!(listed(&store, &shop.query()).await, []);
    assert_eq!(store.commit(vec![good]).await.unwrap(), [Outcome::Stored], "the store still works");
}

pub(super) async fn many_callers_with_one_key_store_one_row(store: TheStore) {
    let shop = Shop::open(&store).await;
    let mut callers = Vec::new();
    for millis in 0..50 {
        let mut response = keyed(&shop, &store, millis).await;
        response.row.digest = [1; 16];
        let store = Arc::clone(&store);
        callers.push(tokio::spawn(async move { store.commit(vec![response]).await }));
    }
    let mut outcomes = Vec::new();
    for caller in callers {
        outcomes.extend(caller.await.unwrap().unwrap());
    }
    let stored = listed(&store, &shop.query()).await;
    assert_eq!(stored.len(), 1);
    let replay = Outcome::Replayed(stored[0]);
    assert_eq!(outcomes.iter().filter(|outcome| **outcome == Outcome::Stored).count(), 1);
    assert_eq!(outcomes.iter().filter(|outcome| **outcome == replay).count(), 49);
}

pub(super) async fn batches_that_share_keys_store_each_once(store: TheStore) {
    const KEYS: u8 = 12;
    let shop = Shop::open(&store).await;
    let mut callers = Vec::new();
    for caller in 0..4_u8 {
        let mut batch = Vec::new();
        // Each batch has two thirds of the keys, in another order.
        for step in 0..KEYS * 2 / 3 {
            let key = (caller * 3 + step * 5) % KEYS;
            let mut response = shop.response(&store, i64::from(caller)).await;
            response.idempotency_key = Some([key; 16]);
            response.row.digest = [key; 16];
            batch.push(response);
        }
        let store = Arc::clone(&store);
        callers.push(tokio::spawn(async move { (store.commit(batch.clone()).await, batch) }));
    }
    let mut stored = Vec::new();
    let mut replayed = Vec::new();
    for caller in callers {
        let (outcomes, batch) = caller.await.unwrap();
        for (outcome, response) in outcomes.unwrap().into_iter().zip(batch) {
            match outcome {
                Outcome::Stored => {
                    stored.push((response.idempotency_key, response.row.response_id))
                }
                Outcome::Replayed(by) => replayed.push((response.idempotency_key, by)),
                other => panic!("{other:?}"),
            }
        }
    }
    assert_eq!(stored.len(), usize::from(KEYS), "{stored:?}");
    assert!(replayed.iter().all(|it| stored.contains(it)), "{replayed:?}");
    let mut ids: Vec<_> = stored.into_iter().map(|(_, id)| id).collect();
    ids.sort();
    assert_eq!(listed(&store, &shop.query()).await, ids);
}

async fn keyed(shop: &Shop, store: &TheStore, millis: i64) -> NewResponse {
    NewResponse { idempotency_key: KEY, ..shop.response(store, millis).await }
}
