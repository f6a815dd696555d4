//! Flows that close after a number of responses, and quotas by answer, over HTTP.

use crate::use_cases::UseCases as _;
use serde_json::{Value, json};
use sluice_engine::FlowPatch;
use sluice_flow::id::{FlowId, FlowVersionId};

use crate::support::{Reply, Site, actor, submission};

const CLOSED: &str = "This survey version is no longer accepting responses. The survey is closed.";
const ENOUGH: &str = "This survey version is no longer accepting responses. \
     It has enough responses with these answers.";

async fn limit(site: &Site, flow: FlowId, close_after: Option<u32>, quotas: Value) {
    let patch =
        FlowPatch { close_after: Some(close_after), quotas: Some(quotas), ..FlowPatch::default() };
    site.engine.update_flow(&actor(), flow, &patch).await.unwrap();
}

fn with_score(version: FlowVersionId, nps: &str) -> Value {
    let mut submission = submission(version);
    submission["answers"]["nps"] = json!(nps);
    submission
}

async fn status(site: &Site, flow: FlowId) -> Reply {
    site.get(&site.path(&format!("flows/{flow}")), &[]).await
}

#[tokio::test]
async fn a_flow_is_closed_when_it_has_its_responses() {
    let site = Site::start().await;
    let (flow, version) = site.published().await;
    // What is stored already counts.
    site.submit(&submission(version)).await.assert_accepted();
    limit(&site, flow, Some(3), json!([])).await;
    let open = status(&site, flow).await;
    assert_eq!(open.json()["status"], "open");
    let key = [("idempotency-key", "second")];
    let body = submission(version).to_string();
    let second = site.trpc("response.submit", &key, &body).await.assert_accepted();
    site.submit(&submission(version)).await.assert_accepted();
    for _ in 0..2 {
        site.submit(&submission(version)).await.assert_refused("no_longer_accepting", CLOSED);
        let issue = site.submit(&submission(version)).await.data()["errors"]["issues"][0].clone();
        assert_eq!(issue["path"], json!(["flowVersionId"]));
        assert!(issue.get("latestFlowVersionId").is_none(), "{issue}");
    }
    let closed = status(&site, flow).await;
    assert_eq!(closed.json()["status"], "closed");
    assert_ne!(closed.header("etag"), open.header("etag"));
    // A retry of a stored response gets its first answer.
    let retry = site.trpc("response.submit", &key, &body).await;
    assert_eq!(retry.assert_accepted(), second);
    assert_eq!(retry.header("idempotency-replayed").as_deref(), Some("true"));
    // A newer version does not open it again; a higher limit does.
    let next = site.publish_again(flow).await;
    site.submit(&submission(next)).await.assert_refused("no_longer_accepting", CLOSED);
    limit(&site, flow, Some(4), json!([])).await;
    assert_eq!(status(&site, flow).await.json()["status"], "open");
    site.submit(&submission(next)).await.assert_accepted();
    site.submit(&submission(version)).await.assert_refused("no_longer_accepting", CLOSED);
    limit(&site, flow, None, json!([])).await;
    site.submit(&submission(next)).await.assert_accepted();
}

#[tokio::test]
async fn a_full_quota_refuses_only_responses_with_its_answers() {
    let site = Site::start().await;
    let (flow, version) = site.published().await;
    site.submit(&with_score(version, "1")).await.assert_accepted();
    let detractors = json!({"question": "nps", "lessThan": 7});
    limit(&site, flow, None, json!([{"id": "detractors", "when": detractors, "limit": 2}])).await;
    site.submit(&with_score(version, "6")).await.assert_accepted();
    site.submit(&with_score(version, "0")).await.assert_refused("quota_full", ENOUGH);
    for _ in 0..3 {
        site.submit(&with_score(version, "7")).await.assert_accepted();
    }
    site.submit(&with_score(version, "2")).await.assert_refused("quota_full", ENOUGH);
    assert_eq!(status(&site, flow).await.json()["status"], "open");
    // Another limit for the same answers keeps what was counted.
    limit(&site, flow, None, json!([{"id": "detractors", "when": detractors, "limit": 3}])).await;
    site.submit(&with_score(version, "2")).await.assert_accepted();
    site.submit(&with_score(version, "2")).await.assert_refused("quota_full", ENOUGH);
    // Refused answers are judged first: an invalid one is not a matter of quotas.
    let wrong = site.submit(&with_score(version, "11")).await.data();
    assert_eq!(wrong["errors"]["issues"][0]["path"], json!(["answers", "nps"]));
}

#[tokio::test]
async fn calls_of_one_batch_take_the_room_in_order() {
    let site = Site::start().await;
    let (flow, version) = site.published().await;
    limit(&site, flow, Some(2), json!([])).await;
    let calls: serde_json::Map<String, Value> =
        (0..4).map(|index| (index.to_string(), submission(version))).collect();
    let paths = ["response.submit"; 4].join(",");
    let reply = site.trpc(&format!("{paths}?batch=1"), &[], &json!(calls).to_string()).await;
    let results = reply.json();
    let success: Vec<_> =
        (0..4).map(|index| results[index]["result"]["data"]["success"].clone()).collect();
    assert_eq!(success, [true, true, false, false], "{results}");
}
