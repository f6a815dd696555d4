//! Flows that limit how many responses they accept.

use std::sync::Arc;

use serde_json::json;
use sluice_flow::closing::{ALL, Closing, ClosingCounts, Limit, Quota, VersionLimits};
use sluice_flow::definition;
use sluice_flow::issue::Full;

use super::world::{Shop, TheStore, apply, listed, public_revision};
use crate::{ClosingWrite, FlowRow, NewResponse, Outcome, ResponseQuery, SetClosing, Write};

const FULL: Outcome = Outcome::Full(Full::Flow);

pub(super) fn limit(counter: &str, most: u64) -> Limit {
    Limit { counter: counter.to_owned(), most: Some(most) }
}

/// Sets the counters of the shop's flow to zero.
pub(super) async fn open_with(store: &TheStore, counters: &[&str]) -> Shop {
    let shop = Shop::open(store).await;
    let mut counted = ClosingCounts::default();
    counters.iter().for_each(|counter| counted.set(counter, 0));
    set(store, &shop, SetClosing { counted, ..nothing(&shop) }).await;
    shop
}

fn nothing(shop: &Shop) -> SetClosing {
    SetClosing {
        app_id: shop.app(),
        flow_id: shop.flow.flow_id,
        kept: Vec::new(),
        counted: ClosingCounts::default(),
        counted_to: None,
        limits: Vec::new(),
    }
}

async fn set(store: &TheStore, shop: &Shop, set: SetClosing) {
    apply(store, shop.app(), vec![Write::Closing(ClosingWrite::Set(set))]).await;
}

pub(super) async fn limited(
    shop: &Shop,
    store: &TheStore,
    millis: i64,
    limits: &[Limit],
) -> NewResponse {
    NewResponse { limits: limits.to_vec(), ..shop.response(store, millis).await }
}

/// The counts of the shop's flow, as pairs; empty if it has none.
async fn counts(store: &TheStore, shop: &Shop) -> Vec<(String, u64)> {
    let found = store.read_closing_counts(shop.app(), &[shop.flow.flow_id]).await.unwrap();
    assert!(found.len() <= 1 && found.iter().all(|row| row.flow_id == shop.flow.flow_id));
    let counts = found.iter().flat_map(|row| row.counts.iter());
    counts.map(|(counter, count)| (counter.to_owned(), count)).collect()
}

fn pairs<const N: usize>(pairs: [(&str, u64); N]) -> Vec<(String, u64)> {
    pairs.map(|(counter, count)| (counter.to_owned(), count)).to_vec()
}

pub(super) async fn a_row_is_stored_while_every_limit_has_room(store: TheStore) {
    let shop = open_with(&store, &[ALL, "women"]).await;
    let (all, women) = (limit(ALL, 4), limit("women", 2));
    let both = [all.clone(), women];
    let mut rows = Vec::new();
    for millis in 0..4 {
        rows.push(limited(&shop, &store, millis, &both).await);
    }
    let outcomes = store.commit(rows).await.unwrap();
    let quota = Outcome::Full(Full::Quota);
    assert_eq!(outcomes, [Outcome::Stored, Outcome::Stored, quota, quota]);
    assert_eq!(counts(&store, &shop).await, pairs([("", 2), ("women", 2)]));
    // The quota concerns only the responses that count towards it.
    let mut rows = Vec::new();
    for millis in 4..7 {
        rows.push(limited(&shop, &store, millis, std::slice::from_ref(&all)).await);
    }
    assert_eq!(store.commit(rows).await.unwrap(), [Outcome::Stored, Outcome::Stored, FULL]);
    let last = limited(&shop, &store, 8, &both).await;
    assert_eq!(store.commit(vec![last]).await.unwrap(), [FULL]);
    assert_eq!(counts(&store, &shop).await, pairs([("", 4), ("women", 2)]));
    assert_eq!(listed(&store, &shop.query()).await.len(), 4);
}

pub(super) async fn a_used_key_is_answered_when_a_limit_is_reached(store: TheStore) {
    let shop = open_with(&store, &[ALL]).await;
    let one = [limit(ALL, 1)];
    let keyed = |response| NewResponse { idempotency_key: Some([9; 16]), ..response };
    let first = keyed(limited(&shop, &store, 1, &one).await);
    let id = first.row.response_id;
    let retry = |mut response: NewResponse| {
        response.row.digest = first.row.digest;
        keyed(response)
    };
    // In the same call, and in a later one.
    let rows = vec![first.clone(), retry(limited(&shop, &store, 2, &one).await)];
    assert_eq!(store.commit(rows).await.unwrap(), [Outcome::Stored, Outcome::Replayed(id)]);
    let late = retry(limited(&shop, &store, 3, &one).await);
    let other = keyed(limited(&shop, &store, 4, &one).await);
    let new = limited(&shop, &store, 5, &one).await;
    let outcomes = store.commit(vec![late, other, new]).await.unwrap();
    assert_eq!(outcomes, [Outcome::Replayed(id), Outcome::KeyReused, FULL]);
    assert_eq!(counts(&store, &shop).await, pairs([("", 1)]));
}

pub(super) async fn a_stale_row_takes_no_room(store: TheStore) {
    let shop = open_with(&store, &[ALL]).await;
    let mut stale = limited(&shop, &store, 1, &[limit(ALL, 1)]).await;
    stale.public_revision -= 1;
    let fresh = limited(&shop, &store, 2, &[limit(ALL, 1)]).await;
    let outcomes = store.commit(vec![stale, fresh]).await.unwrap();
    assert_eq!(outcomes, [Outcome::Stale, Outcome::Stored]);
}

pub(super) async fn a_limited_flow_without_counts_accepts_nothing(store: TheStore) {
    let shop = Shop::open(&store).await;
    let row = limited(&shop, &store, 1, &[limit(ALL, 5)]).await;
    let other = shop.response(&store, 2).await;
    assert_eq!(store.commit(vec![row, other]).await.unwrap(), [FULL, Outcome::Stored]);
    assert_eq!(counts(&store, &shop).await, []);
}

pub(super) async fn concurrent_calls_never_exceed_a_limit(store: TheStore) {
    let shop = open_with(&store, &[ALL, "women"]).await;
    let other = open_with(&store, &[ALL]).await;
    let mut callers = Vec::new();
    for number in 0..200 {
        let mut limits = vec![limit(ALL, 37)];
        if number % 2 == 0 {
            limits.push(limit("women", 11));
        }
        // Flows in a different order in each call, which would expose a deadlock.
        let mut rows = vec![
            limited(&shop, &store, number, &limits).await,
            limited(&other, &store, number, &[limit(ALL, 90)]).await,
        ];
        rows[0].idempotency_key = (number % 3 == 0).then(|| [u8::try_from(number).unwrap(); 16]);
        if number % 4 == 0 {
            rows.reverse();
        }
        let store = Arc::clone(&store);
        callers.push(tokio::spawn(async move { store.commit(rows).await }));
    }
    let mut stored = 0;
    for caller in callers {
        let outcomes = caller.await.unwrap().unwrap();
        assert!(outcomes.iter().all(|it| matches!(it, Outcome::Stored | Outcome::Full(_))));
        stored += outcomes.iter().filter(|it| **it == Outcome::Stored).count();
    }
    assert_eq!(stored, 37 + 90);
    let all = ResponseQuery { limit: 200, ..shop.query() };
    assert_eq!(listed(&store, &all).await.len(), 37);
    let found = counts(&store, &shop).await;
    assert_eq!(found[0].1, 37);
    assert!(found[1].1 <= 11, "{found:?}");
    assert_eq!(counts(&store, &other).await, pairs([("", 90)]));
}

fn panel() -> (Closing, VersionLimits) {
    let closing = Closing {
        close_after: Some(100),
        quotas: vec![Quota {
            id: "women".to_owned(),
            when: json!({"question": "sex", "equals": "f"}),
            limit: 50,
        }],
    };
    let options = json!([{"id": "f", "label": "f"}, {"id": "m", "label": "m"}]);
    let question = json!({"id": "sex", "type": "singleChoice", "prompt": "?", "options": options});
    let survey = definition::check(&json!({"title": "Panel", "questions": [question]})).unwrap();
    let limits = closing.limits(Some(&survey));
    (closing, limits)
}

pub(super) async fn setting_limits_counts_the_stored_responses(store: TheStore) {
    let shop = Shop::open(&store).await;
    let mut ids = Vec::new();
    for (millis, answers) in
        [r#"{"sex":"f"}"#, r#"{"sex":"m"}"#, r#"{"sex":"f"}"#, "{}"].iter().enumerate()
    {
        let mut response = shop.response(&store, i64::try_from(millis).unwrap()).await;
        response.row.answers = (*answers).to_owned();
        ids.push(response.row.response_id);
        assert_eq!(store.commit(vec![response]).await.unwrap(), [Outcome::Stored]);
    }
    // Of another flow.
    Shop::open(&store).await.store(&store, 1, "").await;
    let (_, limits) = panel();
    let limits = vec![(shop.version.flow_version_id, limits)];
    set(&store, &shop, SetClosing { limits: limits.clone(), ..nothing(&shop) }).await;
    assert_eq!(counts(&store, &shop).await, pairs([("", 4), ("women", 2)]));
    // The caller has counted some of them, and keeps a counter.
    let mut counted = ClosingCounts::default();
    counted.set("women", 10);
    let only = vec![(limits[0].0, limits[0].1.clone().only(&["women"]))];
    let kept = vec![ALL.to_owned()];
    let again =
        SetClosing { kept, counted, counted_to: Some(ids[1]), limits: only, ..nothing(&shop) };
    set(&store, &shop, again).await;
    assert_eq!(counts(&store, &shop).await, pairs([("", 4), ("women", 11)]));
    // Without counters there is no row.
    set(&store, &shop, nothing(&shop)).await;
    assert_eq!(counts(&store, &shop).await, []);
}

pub(super) async fn a_released_response_makes_room(store: TheStore) {
    let shop = open_with(&store, &[ALL]).await;
    let one = [limit(ALL, 1)];
    let first = limited(&shop, &store, 1, &one).await;
    let id = first.row.response_id;
    assert_eq!(store.commit(vec![first]).await.unwrap(), [Outcome::Stored]);
    let before = public_revision(&store, shop.app()).await;
    let release = ClosingWrite::Release {
        app_id: shop.app(),
        flow_id: shop.flow.flow_id,
        counters: vec![ALL.to_owned(), "gone".to_owned()],
    };
    let rows = vec![Write::DeleteResponse(id), Write::Closing(release)];
    apply(&store, shop.app(), rows).await;
    assert_eq!(counts(&store, &shop).await, pairs([("", 0)]));
    // Servers that know the flow as closed read it again.
    assert!(public_revision(&store, shop.app()).await > before);
    let next = limited(&shop, &store, 2, &one).await;
    assert_eq!(store.commit(vec![next]).await.unwrap(), [Outcome::Stored]);
}

pub(super) async fn limits_are_a_setting_of_the_flow(store: TheStore) {
    let shop = Shop::open(&store).await;
    let (closing, _) = panel();
    let flow = FlowRow { closing: closing.to_stored(), ..shop.flow.clone() };
    apply(&store, shop.app(), vec![Write::Flow(flow.clone())]).await;
    let found = store.find_version(shop.version.flow_version_id).await.unwrap().unwrap();
    assert_eq!(found.flow, flow);
    assert_eq!(Closing::from_stored(found.flow.closing.as_deref()), Ok(closing));
}
