//! The service's specification, row by row: each row of its tables and each numbered rule has a
//! test with its name. This file tests behaviour; `fields` tests input and output fields.
//!
//! Deliberately thin: the edge cases of each rule are tested with its subject (`windows`, `shape`,
//! `trpc`).

mod fields;

use crate::use_cases::UseCases as _;
use serde_json::{Value, json};
use sluice_engine::rows::IdentityVerification;
use sluice_flow::id::FlowVersionId;
use sluice_store::{At, Change, Write};

use crate::support::{Reply, START, Site, actor, submission, survey};

const NOT_FOUND: (&str, &str) = ("flow_version_not_found", "Flow version not found");
const NOT_OPEN_YET: (&str, &str) = ("not_open_yet", "This survey is not open yet.");
const NO_LONGER: (&str, &str) = (
    "no_longer_accepting",
    "This survey version is no longer accepting responses. \
     Fetch the latest published version and try again.",
);
const CLOSED: (&str, &str) = (
    "no_longer_accepting",
    "This survey version is no longer accepting responses. The survey is closed.",
);

#[track_caller]
fn assert_refused(reply: &Reply, (code, message): (&str, &str)) {
    reply.assert_refused(code, message);
}

/// The id of a flow that was never published.
async fn never_published(site: &Site) -> FlowVersionId {
    let flow = site.flow(survey()).await;
    site.engine.get_draft(&actor(), flow).await.unwrap().flow_version_id
}

// What the service does: the typical sequence.

#[tokio::test]
async fn the_typical_sequence_of_three_calls_ends_in_a_stored_response() {
    let site = Site::start().await;
    let (flow, _) = site.published().await;
    let resolved = site.get(&site.path(&format!("flows/{flow}")), &[]).await.json();
    let version = resolved["flowVersionId"].as_str().unwrap();
    let path = site.path(&format!("flow_versions/{version}?payload=4"));
    let snapshot = site.get(&path, &[]).await.json();
    let answers = json!({snapshot["questions"][0]["id"].as_str().unwrap(): "10"});
    let submission = json!({
        "flowVersionId": version, "flowVersionPayloadGeneration": snapshot["payloadGeneration"],
        "respondentAnalyticsAdmission": "collection_only", "answers": answers,
    });
    site.submit(&submission).await.assert_accepted();
}

// States: how the state of a version determines the outcome of a submission.

#[tokio::test]
async fn condition_identifier_unknown() {
    let site = Site::start().await;
    let (_, version) = site.published().await;
    let mut unknown = submission(version);
    for id in ["fv_0000000000000000000001", "nonsense", ""] {
        unknown["flowVersionId"] = json!(id);
        assert_refused(&site.submit(&unknown).await, NOT_FOUND);
    }
    let other = site.other_app().await;
    assert_refused(&other.submit(&submission(version)).await, NOT_FOUND);
}

#[tokio::test]
async fn condition_version_no_longer_available() {
    let site = Site::start().await;
    let (flow, version) = site.published().await;
    site.engine.retire(&actor(), version).await.unwrap();
    assert_refused(&site.submit(&submission(version)).await, NOT_FOUND);

    let version = site.publish_again(flow).await;
    site.submit(&submission(version)).await.assert_accepted();
    site.engine.archive_flow(&actor(), flow).await.unwrap();
    assert_refused(&site.submit(&submission(version)).await, NOT_FOUND);
}

#[tokio::test]
async fn condition_survey_live_window_has_not_started() {
    let site = Site::start().await;
    let (flow, version) = site.published().await;
    site.live_window(flow, Some(START + 1), None).await;
    assert_refused(&site.submit(&submission(version)).await, NOT_OPEN_YET);
}

#[tokio::test]
async fn condition_the_survey_was_never_published() {
    let site = Site::start().await;
    let draft = never_published(&site).await;
    assert_refused(&site.submit(&submission(draft)).await, NOT_OPEN_YET);
}

#[tokio::test]
async fn condition_a_newer_version_has_been_published_and_the_grace_window_has_passed() {
    let site = Site::start().await;
    let (flow, old) = site.published().await;
    site.grace(flow, 60).await;
    site.at(1_000);
    let new = site.publish_again(flow).await;
    site.at(61_000);
    let reply = site.submit(&submission(old)).await;
    assert_refused(&reply, NO_LONGER);
    assert_eq!(reply.data()["errors"]["issues"][0]["latestFlowVersionId"], json!(new));
}

#[tokio::test]
async fn condition_survey_live_window_has_closed() {
    let site = Site::start().await;
    let (flow, version) = site.published().await;
    site.live_window(flow, None, Some(START + 1_000)).await;
    site.at(1_000);
    let reply = site.submit(&submission(version)).await;
    assert_refused(&reply, CLOSED);
    assert!(reply.data()["errors"]["issues"][0].get("latestFlowVersionId").is_none());
}

#[tokio::test]
async fn condition_newer_version_published_but_the_grace_window_has_not_passed() {
    let site = Site::start().await;
    let (flow, old) = site.published().await;
    site.at(1_000);
    let new = site.publish_again(flow).await;
    let reply = site.submit(&submission(old)).await;
    reply.assert_accepted();
    let data = reply.data();
    assert_eq!(data["supersededBy"], json!(new));
    assert_eq!(data["acceptsUntil"], "2026-11-16T02:00:01.000Z");
}

// Endpoints.

#[tokio::test]
async fn endpoint_get_flow() {
    let site = Site::start().await;
    let (flow, first) = site.published().await;
    let path = site.path(&format!("flows/{flow}"));
    let resolve = || site.get(&path, &[]);
    assert_eq!(
        resolve().await.json(),
        json!({
            "flowId": flow, "flowVersionId": first, "kind": "survey", "name": "Product feedback",
            "number": 1, "publishedAt": "2026-11-15T02:00:00.000Z", "payloadGenerations": ["4"],
            "status": "open", "liveWindow": {"startsAt": null, "endsAt": null},
            "graceWindowSeconds": 86_400,
        })
    );
    let second = site.publish_again(flow).await;
    let resolved = resolve().await.json();
    assert_eq!((&resolved["flowVersionId"], &resolved["number"]), (&json!(second), &json!(2)));
}

#[tokio::test]
async fn endpoint_get_flow_version() {
    let site = Site::start().await;
    let (flow, version) = site.published().await;
    let reply = site.get(&site.path(&format!("flow_versions/{version}?payload=4")), &[]).await;
    assert_eq!(reply.status, 200);
    let snapshot = reply.json();
    assert_eq!(snapshot["flowVersionId"], json!(version));
    assert_eq!(snapshot["flowId"], json!(flow));
    assert_eq!(snapshot["payloadGeneration"], "4");
    assert_eq!(snapshot["title"], survey()["title"]);
    assert_eq!(snapshot["questions"][0]["id"], "nps");
}

#[tokio::test]
async fn endpoint_post_response_submit() {
    let site = Site::start().await;
    let (_, version) = site.published().await;
    let reply = site.submit(&submission(version)).await;
    let id = reply.assert_accepted();
    assert_eq!(reply.json(), json!({"result": {"data": {"success": true, "responseId": id}}}));
    let stored = site.engine.get_response(&actor(), id.parse().unwrap()).await.unwrap();
    assert_eq!(stored.answers, r#"{"nps":"9","why":"It works."}"#);
}

// The numbered rules.

/// A submission with one member changed, or removed if the value is null; returns the outcome.
async fn with(site: &Site, version: FlowVersionId, field: &str, value: Value) -> Value {
    let mut changed = submission(version);
    match value {
        Value::Null => drop(changed.as_object_mut().unwrap().remove(field)),
        value => changed[field] = value,
    }
    site.submit(&changed).await.data()
}

#[track_caller]
fn assert_first_issue(data: &Value, code: &str, path: &Value) {
    assert_eq!(data["success"], false, "{data}");
    let issue = &data["errors"]["issues"][0];
    assert_eq!((&issue["code"], &issue["path"]), (&json!(code), path), "{data}");
}

#[tokio::test]
async fn rule_1_a_generation_that_differs_from_the_one_fetched_is_invalid() {
    let site = Site::start().await;
    let (_, version) = site.published().await;
    let field = "flowVersionPayloadGeneration";
    for other in ["3", "5", "04", ""] {
        let data = with(&site, version, field, json!(other)).await;
        assert_first_issue(&data, "payload_generation_mismatch", &json!([field]));
    }
}

#[tokio::test]
async fn rule_2_a_submission_without_respondent_analytics_admission_is_invalid() {
    let site = Site::start().await;
    let (_, version) = site.published().await;
    let field = "respondentAnalyticsAdmission";
    let data = with(&site, version, field, Value::Null).await;
    assert_first_issue(&data, "field_required", &json!([field]));
}

#[tokio::test]
async fn rule_3_a_client_that_meets_a_failure_resolves_again_and_then_succeeds() {
    let site = Site::start().await;
    let (flow, old) = site.published().await;
    site.grace(flow, 0).await;
    site.publish_again(flow).await;
    assert_refused(&site.submit(&submission(old)).await, NO_LONGER);
    let resolved = site.get(&site.path(&format!("flows/{flow}")), &[]).await.json();
    let latest: FlowVersionId = resolved["flowVersionId"].as_str().unwrap().parse().unwrap();
    site.submit(&submission(latest)).await.assert_accepted();
}

// Authentication.

#[tokio::test]
async fn authentication_1_the_api_key_is_part_of_every_path() {
    let site = Site::start().await;
    let (flow, version) = site.published().await;
    for path in [format!("flows/{flow}"), format!("flow_versions/{version}?payload=4")] {
        assert_eq!(site.get(&site.path(&path), &[]).await.status, 200);
        assert_eq!(site.get(&format!("/api/v1/{path}"), &[]).await.status, 404, "without a key");
        for key in ["pk_0000000000000000000000", "nonsense"] {
            let reply = site.get(&format!("/api/v1/{key}/{path}"), &[]).await;
            reply.assert_problem(401, "api_key_invalid");
            assert_eq!(reply.header("www-authenticate").as_deref(), Some("Bearer"));
        }
    }
    let mut unknown = site.other_app().await;
    unknown.key = "pk_0000000000000000000000".to_owned();
    let reply = unknown.submit(&submission(version)).await;
    assert_eq!((reply.status, &reply.json()["error"]["code"]), (401, &json!(-32001)));
}

/// The admin API cannot enable verification yet, so this writes to the store directly; the test
/// checks that such an app is closed to requests without a token.
#[tokio::test]
async fn authentication_2_with_identity_verification_enabled_every_request_carries_a_token() {
    let site = Site::start().await;
    let (flow, version) = site.published().await;
    let app = site.store.find_app(site.app).await.unwrap().unwrap();
    let mut row = app.row;
    row.identity_verification = IdentityVerification::Enforce;
    let at = At::App { app: site.app, expected: app.revision };
    site.store.apply(at, Change::new(move || vec![Write::App(row)])).await.unwrap();
    for path in [format!("flows/{flow}"), format!("flow_versions/{version}?payload=4")] {
        let reply = site.get(&site.path(&path), &[]).await;
        reply.assert_problem(401, "token_missing");
        assert_eq!(reply.header("www-authenticate").as_deref(), Some("Bearer"));
    }
    let reply = site.submit(&submission(version)).await;
    assert_eq!(
        (reply.status, &reply.json()["error"]["data"]["code"]),
        (401, &json!("UNAUTHORIZED"))
    );
}

#[tokio::test]
async fn authentication_3_with_identity_verification_disabled_no_token_is_needed() {
    let site = Site::start().await;
    let (flow, version) = site.published().await;
    for path in [format!("flows/{flow}"), format!("flow_versions/{version}?payload=4")] {
        assert_eq!(site.get(&site.path(&path), &[]).await.status, 200, "{path}");
        let token = ("authorization", "Bearer anything");
        assert_eq!(site.get(&site.path(&path), &[token]).await.status, 200, "{path}");
    }
    site.submit(&submission(version)).await.assert_accepted();
}

// Errors: each message, with its complete reply.

/// What a client reads if a submission is refused with one message.
fn refusal(code: &str, message: &str) -> Value {
    let issue = json!({"code": code, "path": ["flowVersionId"], "message": message});
    let errors = json!({"formErrors": [message], "issues": [issue]});
    json!({"result": {"data": {"success": false, "errors": errors}}})
}

#[tokio::test]
async fn error_flow_version_not_found() {
    let site = Site::start().await;
    let (_, version) = site.published().await;
    site.engine.retire(&actor(), version).await.unwrap();
    let reply = site.submit(&submission(version)).await;
    let message = "Flow version not found";
    assert_eq!((reply.status, reply.json()), (200, refusal("flow_version_not_found", message)));
}

#[tokio::test]
async fn error_this_survey_version_is_no_longer_accepting_responses() {
    let site = Site::start().await;
    let (flow, version) = site.published().await;
    site.live_window(flow, None, Some(START)).await;
    let reply = site.submit(&submission(version)).await;
    let (code, message) = CLOSED;
    assert_eq!((reply.status, reply.json()), (200, refusal(code, message)));
}

#[tokio::test]
async fn error_this_survey_is_not_open_yet() {
    let site = Site::start().await;
    let draft = never_published(&site).await;
    let reply = site.submit(&submission(draft)).await;
    let message = "This survey is not open yet.";
    assert_eq!((reply.status, reply.json()), (200, refusal("not_open_yet", message)));
}

// Limits.

#[tokio::test]
async fn limit_a_grace_window_exists_after_a_newer_version_is_published() {
    let site = Site::start().await;
    let (flow, old) = site.published().await;
    site.grace(flow, 60).await;
    site.publish_again(flow).await;
    site.at(59_999);
    site.submit(&submission(old)).await.assert_accepted();
    site.at(60_000);
    assert_refused(&site.submit(&submission(old)).await, NO_LONGER);
}

#[tokio::test]
async fn limit_a_live_window_bounds_when_responses_are_accepted() {
    let site = Site::start().await;
    let (flow, version) = site.published().await;
    site.live_window(flow, Some(START + 1_000), Some(START + 2_000)).await;
    for (at, refused) in [(999, Some(NOT_OPEN_YET)), (1_000, None), (2_000, Some(CLOSED))] {
        site.at(at);
        let reply = site.submit(&submission(version)).await;
        match refused {
            Some(refused) => assert_refused(&reply, refused),
            None => drop(reply.assert_accepted()),
        }
    }
}

// Versioning.

#[tokio::test]
async fn versioning_the_api_is_versioned_in_the_path_segment_v1() {
    let site = Site::start().await;
    let (flow, _) = site.published().await;
    let key = &site.key;
    assert_eq!(site.get(&format!("/api/v1/{key}/flows/{flow}"), &[]).await.status, 200);
    for other in ["v2", "v0", "V1"] {
        let reply = site.get(&format!("/api/{other}/{key}/flows/{flow}"), &[]).await;
        reply.assert_problem(404, "route_not_found");
    }
}

#[tokio::test]
async fn versioning_the_payload_generation_is_4_on_the_fetch_and_on_the_submit() {
    let site = Site::start().await;
    let (_, version) = site.published().await;
    let fetch = |payload: &str| site.path(&format!("flow_versions/{version}?payload={payload}"));
    let snapshot = site.get(&fetch("4"), &[]).await.json();
    let field = "flowVersionPayloadGeneration";
    let data = with(&site, version, field, snapshot["payloadGeneration"].clone()).await;
    assert_eq!(data["success"], true, "{data}");
    let reply = site.get(&fetch("5"), &[]).await;
    reply.assert_problem(400, "payload_generation_unsupported");
    let data = with(&site, version, field, json!("5")).await;
    assert_first_issue(&data, "payload_generation_mismatch", &json!([field]));
}
