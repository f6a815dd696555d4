//! Idempotency: the same key stores one row and returns its first answer.

use crate::use_cases::UseCases as _;
use serde_json::{Value, json};
use sluice_engine::rows::{IdentityVerification, Order};
use sluice_engine::{Paging, ResponseFilter};

use crate::identity::Verified;
use crate::support::{Reply, START, Site, actor, submission};

const PATH: &str = "response.submit";

async fn submit(site: &Site, key: &str, input: &Value) -> Reply {
    site.trpc(PATH, &[("idempotency-key", key)], &input.to_string()).await
}

fn is_replayed(reply: &Reply) -> bool {
    reply.header("idempotency-replayed").as_deref() == Some("true")
}

#[track_caller]
fn assert_reused(reply: &Reply, path: Value, message: &str) {
    let issue = &reply.data()["errors"]["issues"][0];
    assert_eq!(issue["code"], "idempotency_key_reused");
    assert_eq!(issue["path"], path);
    assert!(issue["message"].as_str().unwrap().starts_with(message), "{issue}");
}

#[tokio::test]
async fn the_same_key_and_body_return_the_first_answer_marked_as_replayed() {
    let site = Site::start().await;
    let (_, version) = site.published().await;
    let input = submission(version);
    let first = submit(&site, "k-1", &input).await;
    assert!(!is_replayed(&first));
    for key in ["k-1", "\"k-1\""] {
        let again = submit(&site, key, &input).await;
        assert!(is_replayed(&again), "{key}");
        assert_eq!(again.json(), first.json());
    }
    let other = submit(&site, "k-2", &input).await;
    assert!(!is_replayed(&other));
    assert_ne!(other.assert_accepted(), first.assert_accepted());
}

#[tokio::test]
async fn the_same_key_with_another_body_is_refused() {
    let site = Site::start().await;
    let (_, version) = site.published().await;
    let mut input = submission(version);
    submit(&site, "k", &input).await.assert_accepted();
    input["answers"]["nps"] = json!("1");
    let reply = submit(&site, "k", &input).await;
    assert_reused(&reply, json!([]), "This Idempotency-Key was used before");
    assert!(!is_replayed(&reply));
}

/// `docs/identity.md` says so: a key must not be guessable.
#[tokio::test]
async fn a_key_is_of_the_app_and_not_of_the_user_in_the_token() {
    let it = Verified::start().await;
    let (kid, signer) = it.secret().await;
    it.mode(IdentityVerification::Enforce).await;
    let input = it.admitted(json!([])).to_string();
    let send = async |user: &str| {
        let mut claims = it.claims();
        claims["sub"] = json!(user);
        let bearer = format!("Bearer {}", signer.token(Some(&kid), &claims));
        let headers = [("authorization", bearer.as_str()), ("idempotency-key", "k")];
        it.site.trpc(PATH, &headers, &input).await
    };
    let (first, second) = (send("u-7").await, send("u-8").await);
    assert!(is_replayed(&second));
    assert_eq!(second.assert_accepted(), first.assert_accepted());
}

#[tokio::test]
async fn a_refused_submission_does_not_use_up_its_key() {
    let site = Site::start().await;
    let (_, version) = site.published().await;
    let mut input = submission(version);
    input["answers"]["nps"] = json!("11");
    assert_eq!(submit(&site, "k", &input).await.data()["success"], false);
    input["answers"]["nps"] = json!("10");
    submit(&site, "k", &input).await.assert_accepted();
}

#[tokio::test]
async fn in_a_batch_the_key_of_call_i_is_the_header_plus_its_index() {
    let site = Site::start().await;
    let (_, version) = site.published().await;
    let input = submission(version);
    let path = "response.submit,response.submit?batch=1";
    let body = json!({"0": input, "1": input}).to_string();
    let headers = [("idempotency-key", "k")];
    let first = site.trpc(path, &headers, &body).await;
    assert!(!is_replayed(&first));
    let ids: Vec<Value> =
        (0..2).map(|i| first.json()[i]["result"]["data"]["responseId"].clone()).collect();
    assert_ne!(ids[0], ids[1], "two calls are two submissions");
    let again = site.trpc(path, &headers, &body).await;
    assert_eq!(again.json(), first.json());
    assert!(is_replayed(&again));
    let singly = submit(&site, "k#1", &input).await;
    assert!(is_replayed(&singly));
    assert_eq!(json!(singly.assert_accepted()), ids[1]);
    // One new call among replays: the reply as a whole is not a replay.
    let body = json!({"0": input, "1": input, "2": input}).to_string();
    let longer = format!("{PATH},{PATH},{PATH}?batch=1");
    assert!(!is_replayed(&site.trpc(&longer, &headers, &body).await));
}

#[tokio::test]
async fn a_replay_after_the_version_closed_still_returns_the_first_answer() {
    let site = Site::start().await;
    let (flow, version) = site.published().await;
    let input = submission(version);
    let first = submit(&site, "k", &input).await;
    site.live_window(flow, None, Some(START + 1_000)).await;
    site.at(1_000);
    let again = submit(&site, "k", &input).await;
    assert_eq!(again.assert_accepted(), first.assert_accepted());
    assert!(is_replayed(&again));
    let new = submit(&site, "other", &input).await;
    assert_eq!(new.data()["errors"]["issues"][0]["code"], "no_longer_accepting");
}

#[tokio::test]
async fn the_same_key_sent_concurrently_stores_one_row() {
    let site = Site::start().await;
    let (flow, version) = site.published().await;
    let input = submission(version);
    let replies = futures_util::future::join_all((0..50).map(|_| submit(&site, "k", &input))).await;
    let first = replies[0].assert_accepted();
    assert!(replies.iter().all(|reply| reply.assert_accepted() == first));
    assert_eq!(replies.iter().filter(|reply| !is_replayed(reply)).count(), 1);
    let paging = Paging { after: None, order: Order::Asc, limit: 10 };
    let all = ResponseFilter::default();
    let page = site.engine.list_responses(&actor(), flow, &all, paging).await.unwrap();
    assert_eq!(page.rows.len(), 1);
}

#[tokio::test]
async fn an_invalid_key_is_a_bad_request_for_each_call() {
    let site = Site::start().await;
    let (_, version) = site.published().await;
    let input = submission(version);
    let message = "Idempotency-Key must be 1 to 255 printable ASCII characters, quoted or bare";
    let long = "k".repeat(256);
    for key in ["", "\"open", "tab\there", long.as_str()] {
        let reply = submit(&site, key, &input).await;
        assert_eq!(reply.status, 400, "{key}");
        assert_eq!(reply.json()["error"]["message"], message);
        assert_eq!(reply.json()["error"]["data"]["path"], PATH);
    }
    let twice = [("idempotency-key", "a"), ("idempotency-key", "b")];
    assert_eq!(site.trpc(PATH, &twice, &input.to_string()).await.status, 400);
    let body = json!({"0": input, "1": input}).to_string();
    let batch = format!("{PATH},nope,{PATH}?batch=1");
    let items = site.trpc(&batch, &[("idempotency-key", "\"open")], &body).await.json();
    let statuses: Vec<_> =
        (0..3).map(|i| items[i]["error"]["data"]["httpStatus"].clone()).collect();
    assert_eq!(statuses, [400, 404, 400]);
    submit(&site, &"k".repeat(255), &input).await.assert_accepted();
}

#[tokio::test]
async fn keys_of_two_apps_are_independent() {
    let site = Site::start().await;
    let (_, version) = site.published().await;
    submit(&site, "k", &submission(version)).await.assert_accepted();
    let other = site.other_app().await;
    let (_, version) = other.published().await;
    let reply = submit(&other, "k", &submission(version)).await;
    reply.assert_accepted();
    assert!(!is_replayed(&reply));
}

fn with_key(version: sluice_flow::id::FlowVersionId, why: &str, key: &str) -> Value {
    let mut input = submission(version);
    input["answers"]["why"] = json!(why);
    input["idempotencyKey"] = json!(key);
    input
}

async fn batch(site: &Site, headers: &[(&str, &str)], inputs: &[&Value]) -> Vec<String> {
    let path = format!("{}?batch=1", vec![PATH; inputs.len()].join(","));
    let inputs =
        inputs.iter().enumerate().map(|(index, input)| (index.to_string(), (*input).clone()));
    let body = Value::Object(inputs.collect()).to_string();
    let items = site.trpc(&path, headers, &body).await.json();
    let id = |item: &Value| item["result"]["data"]["responseId"].as_str().unwrap().to_owned();
    items.as_array().unwrap().iter().map(id).collect()
}

async fn rows(site: &Site, flow: sluice_flow::id::FlowId) -> usize {
    let paging = Paging { after: None, order: Order::Asc, limit: 100 };
    let all = ResponseFilter::default();
    site.engine.list_responses(&actor(), flow, &all, paging).await.unwrap().rows.len()
}

#[tokio::test]
async fn a_call_with_its_own_key_is_stored_once_whatever_its_batch_and_position() {
    let site = Site::start().await;
    let (flow, version) = site.published().await;
    let (a, b) = (with_key(version, "a", "key of a"), with_key(version, "b", "key of b"));
    let first = batch(&site, &[("idempotency-key", "kA")], &[&a, &b]).await;
    assert_ne!(first[0], first[1]);
    // B alone under another header, then both in the other order, then in batches of one.
    let alone = submit(&site, "kB", &b).await;
    assert_eq!(alone.assert_accepted(), first[1]);
    assert!(is_replayed(&alone));
    let swapped = batch(&site, &[("idempotency-key", "kA")], &[&b, &a]).await;
    assert_eq!(swapped, [first[1].clone(), first[0].clone()]);
    assert_eq!(batch(&site, &[], &[&a]).await, [first[0].clone()]);
    assert_eq!(rows(&site, flow).await, 2);
}

#[tokio::test]
async fn the_same_key_twice_in_one_batch_stores_one_row() {
    let site = Site::start().await;
    let (flow, version) = site.published().await;
    let input = with_key(version, "a", "k");
    let ids = batch(&site, &[], &[&input, &input, &input]).await;
    assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    assert_eq!(rows(&site, flow).await, 1);
}

#[tokio::test]
async fn a_key_names_the_same_call_in_the_field_the_header_and_an_envelope() {
    let site = Site::start().await;
    let (flow, version) = site.published().await;
    let input = with_key(version, "a", "k");
    let first = site.submit(&input).await.assert_accepted();
    let mut without = input.clone();
    without["idempotencyKey"] = Value::Null;
    assert_eq!(submit(&site, "\"k\"", &without).await.assert_accepted(), first);
    assert_eq!(site.submit(&with_key(version, "a", "\"k\"")).await.assert_accepted(), first);
    let envelope = json!({"json": input}).to_string();
    let reply = site.trpc(PATH, &[], &envelope).await;
    assert!(is_replayed(&reply));
    assert_eq!(reply.json()["result"]["data"]["json"]["responseId"], first);
    // With another content it is refused, as in the header.
    let other = with_key(version, "b", "k");
    let in_field = site.submit(&other).await;
    assert_reused(&in_field, json!(["idempotencyKey"]), "This idempotencyKey was used before");
    // The field wins, so it is the one to name.
    let both = submit(&site, "another", &other).await;
    assert_reused(&both, json!(["idempotencyKey"]), "This idempotencyKey was used before");
    assert_eq!(rows(&site, flow).await, 1);
}
