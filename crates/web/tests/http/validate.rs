//! `response.validate`: the verdict of a submit, without a row, a key or a place in a quota.

use crate::use_cases::UseCases as _;
use axum::body::Body;
use http::Method;
use serde_json::{Value, json};
use sluice_engine::rows::{IdentityVerification, Order};
use sluice_engine::verify::TokenOutcome;
use sluice_engine::{FlowPatch, Paging, Rates, ResponseFilter};
use sluice_flow::id::FlowId;
use sluice_web::Limits;

use crate::identity::Verified;
use crate::rate::burst;
use crate::support::{START, Site, actor, request, submission};

const VALIDATE: &str = "response.validate";
const SUBMIT: &str = "response.submit";

async fn validate(site: &Site, input: &Value) -> Value {
    site.trpc(VALIDATE, &[], &input.to_string()).await.data()
}

async fn stored(site: &Site, flow: FlowId) -> usize {
    let paging = Paging { after: None, order: Order::Asc, limit: 100 };
    let filter = ResponseFilter::default();
    let page = site.engine.list_responses(&actor(), flow, &filter, paging).await.unwrap();
    page.rows.len()
}

/// The verdict of a submit without what only a stored response has.
fn without_id(mut data: Value) -> Value {
    data.as_object_mut().unwrap().remove("responseId");
    data
}

#[tokio::test]
async fn a_valid_submission_is_reported_and_not_stored() {
    let site = Site::start().await;
    let (flow, version) = site.published().await;
    let reply = site.trpc(VALIDATE, &[], &submission(version).to_string()).await;
    assert_eq!(reply.json(), json!({"result": {"data": {"success": true}}}));
    assert_eq!(stored(&site, flow).await, 0);
}

#[tokio::test]
async fn every_stage_is_judged_as_by_a_submit() {
    let site = Site::start().await;
    let (flow, version) = site.published().await;
    let good = submission(version);
    let with = |name: &str, value: Value| {
        let mut input = good.clone();
        input[name] = value;
        input
    };
    for input in [
        json!({}),
        json!([]),
        Value::Null,
        with("flowVersionPayloadGeneration", json!("3")),
        with("respondentAnalyticsAdmission", json!("maybe")),
        with("answers", json!({"nps": {"a": 1}, "why": 7})),
        with("answers", json!({"nps": "11", "nobody": "1", "use": ["api", "x"]})),
        with("answers", json!({})),
        with("answers", json!({"nps": ["9"], "use": "api"})),
        with("flowVersionId", json!("fv_0000000000000000000000")),
        with(
            "identities",
            json!([{"type": "userId", "value": "a"}, {"type": "userId", "value": "b"}]),
        ),
        with("idempotencyKey", json!("")),
    ] {
        let judged = validate(&site, &input).await;
        let submitted = site.submit(&input).await.data();
        assert_eq!(judged, without_id(submitted), "{input}");
    }
    for (starts, ends) in [(START + 60_000, START + 120_000), (START - 9, START)] {
        site.live_window(flow, Some(starts), Some(ends)).await;
        let judged = validate(&site, &good).await;
        assert_eq!(judged["success"], false);
        assert_eq!(judged, without_id(site.submit(&good).await.data()));
    }
}

#[tokio::test]
async fn a_grace_window_and_a_score_are_reported() {
    let site = Site::start().await;
    let definition = json!({"title": "t", "questions": [
        {"id": "r", "type": "rating", "prompt": "?", "score": "value"}]});
    let flow = site.flow(definition.clone()).await;
    let version = site.publish(flow).await;
    let mut input = submission(version);
    input["answers"] = json!({"r": "4"});
    assert_eq!(validate(&site, &input).await, json!({"success": true, "score": 4}));
    site.grace(flow, 60).await;
    site.at(1_000);
    site.engine.put_draft(&actor(), flow, definition).await.unwrap();
    site.publish(flow).await;
    let judged = validate(&site, &input).await;
    assert_eq!(judged, without_id(site.submit(&input).await.data()));
    assert!(judged["supersededBy"].is_string() && judged["acceptsUntil"].is_string(), "{judged}");
}

#[tokio::test]
async fn it_takes_no_place_of_a_limit_and_reports_a_full_one() {
    let site = Site::start().await;
    let (flow, version) = site.published().await;
    let detractors = json!({"question": "nps", "lessThan": 7});
    let quotas = json!([{"id": "low", "when": detractors, "limit": 1}]);
    let patch =
        FlowPatch { close_after: Some(Some(2)), quotas: Some(quotas), ..FlowPatch::default() };
    site.engine.update_flow(&actor(), flow, &patch).await.unwrap();
    let mut low = submission(version);
    low["answers"]["nps"] = json!("1");
    for _ in 0..3 {
        assert_eq!(validate(&site, &low).await["success"], true);
    }
    site.submit(&low).await.assert_accepted();
    assert_eq!(validate(&site, &low).await["errors"]["issues"][0]["code"], "quota_full");
    let high = submission(version);
    assert_eq!(validate(&site, &high).await["success"], true);
    site.submit(&high).await.assert_accepted();
    let full = validate(&site, &high).await;
    assert_eq!(full["errors"]["issues"][0]["code"], "no_longer_accepting");
    assert_eq!(full, site.submit(&high).await.data());
}

#[tokio::test]
async fn an_idempotency_key_is_not_used_up_and_finds_nothing() {
    let site = Site::start().await;
    let (flow, version) = site.published().await;
    let key = [("idempotency-key", "k")];
    let input = submission(version);
    let reply = site.trpc(VALIDATE, &key, &input.to_string()).await;
    assert_eq!(reply.data(), json!({"success": true}));
    let mut other = input.clone();
    other["answers"]["nps"] = json!("3");
    let stored_reply = site.trpc(SUBMIT, &key, &other.to_string()).await;
    stored_reply.assert_accepted();
    assert_eq!(stored_reply.header("idempotency-replayed"), None);
    let again = site.trpc(VALIDATE, &key, &input.to_string()).await;
    assert_eq!(again.data(), json!({"success": true}));
    assert_eq!(again.header("idempotency-replayed"), None);
    let mut own = input.clone();
    own["idempotencyKey"] = json!("k");
    assert_eq!(validate(&site, &own).await, json!({"success": true}));
    assert_eq!(stored(&site, flow).await, 1);
    let malformed = site.trpc(VALIDATE, &[("idempotency-key", "")], &input.to_string()).await;
    assert_eq!(malformed.status, 400);
}

#[tokio::test]
async fn it_runs_in_batches_with_submits_in_every_framing() {
    let site = Site::start().await;
    let (flow, version) = site.published().await;
    let good = submission(version);
    let path = format!("{VALIDATE},{SUBMIT},{VALIDATE}?batch=1");
    let body = json!({"0": good, "1": good, "2": {"json": {}}}).to_string();
    let items = site.trpc(&path, &[], &body).await.json();
    assert_eq!(items[0], json!({"result": {"data": {"success": true}}}));
    assert!(items[1]["result"]["data"]["responseId"].is_string());
    assert_eq!(items[2]["result"]["data"]["json"]["success"], false);
    for header in [("trpc-accept", "application/jsonl"), ("trpc-batch-mode", "stream")] {
        let reply = site.trpc(&path, &[header], &body).await;
        assert_eq!(reply.status, 200);
        assert_eq!(reply.text().matches(r#"{"result":{"data":{"success":true}}}"#).count(), 1);
    }
    assert_eq!(stored(&site, flow).await, 3);
}

#[tokio::test]
async fn it_is_a_mutation() {
    let mut site = Site::start().await;
    let (_, version) = site.published().await;
    let path = site.path(&format!("trpc/{VALIDATE}"));
    let reply = site.send(request(Method::GET, &path, &[], Body::empty())).await;
    assert_eq!(reply.status, 405);
    let message = "Unsupported GET-request to mutation procedure at path \"response.validate\"";
    assert_eq!(reply.json()["error"]["message"], message);
    assert_eq!(reply.header("allow").as_deref(), Some("POST"));
    let malformed = site.trpc(VALIDATE, &[], "{").await.json();
    assert_eq!(malformed["error"]["data"]["path"], VALIDATE);
    site.key = "pk_0000000000000000000000".into();
    let reply = site.trpc(VALIDATE, &[], &submission(version).to_string()).await;
    assert_eq!(reply.status, 401);
}

#[tokio::test]
async fn calls_count_towards_the_rate_but_not_towards_the_daily_bytes() {
    let rates = Rates { calls: Some(burst(4)), bytes_per_day: Some(1) };
    let site = Site::with_rates(Limits::default(), rates).await;
    let (_, version) = site.published().await;
    let input = submission(version);
    for _ in 0..2 {
        assert_eq!(validate(&site, &input).await["success"], true);
    }
    site.submit(&input).await.assert_accepted();
    // The bytes of the day are used up now, and this is the last call.
    assert_eq!(validate(&site, &input).await["success"], true);
    let reply = site.trpc(VALIDATE, &[], &input.to_string()).await;
    assert_eq!(reply.status, 429);
    assert_eq!(reply.json()["error"]["data"]["reason"], "rate_limited");
}

#[tokio::test]
async fn identities_are_compared_with_the_token() {
    let it = Verified::start().await;
    let (kid, signer) = it.secret().await;
    it.mode(IdentityVerification::Enforce).await;
    let token = format!("Bearer {}", signer.token(Some(&kid), &it.claims()));
    for (user, success) in [("u-7", true), ("u-8", false)] {
        let input = it.admitted(json!([{"type": "userId", "value": user}])).to_string();
        let data = it.site.trpc(VALIDATE, &[("authorization", &token)], &input).await.data();
        assert_eq!(data["success"], success, "{data}");
        if !success {
            assert_eq!(data["errors"]["issues"][0]["code"], "identity_mismatch");
        }
    }
    let reply = it.site.trpc(VALIDATE, &[], &submission(it.version).to_string()).await;
    assert_eq!(reply.json()["error"]["data"]["reason"], "token_missing");
    assert_eq!(stored(&it.site, it.flow).await, 0);
}

#[tokio::test]
async fn a_mismatch_is_counted_by_a_submit_and_not_by_a_judgement() {
    let it = Verified::start().await;
    let (kid, signer) = it.secret().await;
    let token = format!("Bearer {}", signer.token(Some(&kid), &it.claims()));
    let input = it.admitted(json!([{"type": "userId", "value": "u-8"}])).to_string();
    let counted = async || {
        let report = it.site.engine.verification_report(&actor(), it.site.app).await.unwrap();
        let metrics = it.site.engine.metrics().render();
        let in_metrics = metrics.lines().filter(|line| line.contains(r#"outcome="mismatch""#));
        let sum = in_metrics.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum();
        (report.counts.get(TokenOutcome::Mismatch), sum)
    };
    for (mode, submits) in [(IdentityVerification::Enforce, 0), (IdentityVerification::Observe, 1)]
    {
        it.mode(mode).await;
        let is_valid = mode == IdentityVerification::Observe;
        for (procedure, mismatches) in [(VALIDATE, submits), (SUBMIT, submits + 1)] {
            let reply = it.site.trpc(procedure, &[("authorization", &token)], &input).await;
            assert_eq!(reply.data()["success"], is_valid, "{procedure}");
            assert_eq!(counted().await, (mismatches, mismatches), "{procedure} {mode:?}");
        }
    }
}
