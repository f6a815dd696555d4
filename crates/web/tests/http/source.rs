//! One test for each row of the tables of the service's specification, named after the row.

use crate::support::{START, Site, actor, submission, survey};
use serde_json::{Value, json};

const NOT_FOUND: (&str, &str) = ("flow_version_not_found", "Flow version not found");
const NOT_OPEN_YET: (&str, &str) = ("not_open_yet", "This survey is not open yet.");
const NO_LONGER: (&str, &str) = (
    "no_longer_accepting",
    "This survey version is no longer accepting responses. \
     Fetch the latest published version and try again.",
);

// Endpoints.

#[tokio::test]
async fn get_flow_resolves_the_latest_published_flow_version_id() {
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
async fn get_flow_version_fetches_the_snapshot_in_payload_generation_4() {
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
async fn post_response_submit_accepts_answers_against_a_published_version() {
    let site = Site::start().await;
    let (_, version) = site.published().await;
    let reply = site.submit(&submission(version)).await;
    let id = reply.assert_accepted();
    assert_eq!(reply.json(), json!({"result": {"data": {"success": true, "responseId": id}}}));
    let stored = site.engine.get_response(&actor(), id.parse().unwrap()).await.unwrap();
    assert_eq!(stored.answers, r#"{"nps":"9","why":"It works."}"#);
}

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

// States: how the condition of a version decides over a submission.

#[tokio::test]
async fn identifier_unknown_or_version_no_longer_available_is_flow_version_not_found() {
    let site = Site::start().await;
    let (flow, version) = site.published().await;
    let mut unknown = submission(version);
    for id in ["fv_0000000000000000000001", "nonsense", ""] {
        unknown["flowVersionId"] = json!(id);
        site.submit(&unknown).await.assert_refused(NOT_FOUND.0, NOT_FOUND.1);
    }
    site.engine.retire(&actor(), version).await.unwrap();
    site.submit(&submission(version)).await.assert_refused(NOT_FOUND.0, NOT_FOUND.1);

    let version = site.publish_again(flow).await;
    site.submit(&submission(version)).await.assert_accepted();
    site.engine.archive_flow(&actor(), flow).await.unwrap();
    site.submit(&submission(version)).await.assert_refused(NOT_FOUND.0, NOT_FOUND.1);
}

#[tokio::test]
async fn a_version_of_another_app_is_flow_version_not_found() {
    let site = Site::start().await;
    let (_, version) = site.published().await;
    let other = site.other_app().await;
    other.submit(&submission(version)).await.assert_refused(NOT_FOUND.0, NOT_FOUND.1);
}

#[tokio::test]
async fn live_window_not_started_is_not_open_yet() {
    let site = Site::start().await;
    let (flow, version) = site.published().await;
    site.live_window(flow, Some(START + 1), None).await;
    site.submit(&submission(version)).await.assert_refused(NOT_OPEN_YET.0, NOT_OPEN_YET.1);
}

#[tokio::test]
async fn survey_never_published_is_not_open_yet() {
    let site = Site::start().await;
    let flow = site.flow(survey()).await;
    let draft = site.engine.get_draft(&actor(), flow).await.unwrap().flow_version_id;
    site.submit(&submission(draft)).await.assert_refused(NOT_OPEN_YET.0, NOT_OPEN_YET.1);
}

#[tokio::test]
async fn newer_version_published_and_grace_passed_is_no_longer_accepting() {
    let site = Site::start().await;
    let (flow, old) = site.published().await;
    site.grace(flow, 60).await;
    site.at(1_000);
    let new = site.publish_again(flow).await;
    site.at(61_000);
    let reply = site.submit(&submission(old)).await;
    reply.assert_refused(NO_LONGER.0, NO_LONGER.1);
    assert_eq!(reply.data()["errors"]["issues"][0]["latestFlowVersionId"], json!(new));
}

#[tokio::test]
async fn live_window_closed_is_no_longer_accepting_with_the_same_message() {
    let site = Site::start().await;
    let (flow, version) = site.published().await;
    site.live_window(flow, None, Some(START + 1_000)).await;
    site.at(1_000);
    let reply = site.submit(&submission(version)).await;
    reply.assert_refused(NO_LONGER.0, NO_LONGER.1);
    assert!(reply.data()["errors"]["issues"][0].get("latestFlowVersionId").is_none());
}

#[tokio::test]
async fn newer_version_published_but_grace_not_passed_is_accepted() {
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

// Submission fields, and the rules on them.

/// Submits with one field changed, or taken out where it is null.
async fn with(site: &Site, submission: &Value, field: &str, value: Value) -> Value {
    let mut changed = submission.clone();
    match value {
        Value::Null => drop(changed.as_object_mut().unwrap().remove(field)),
        value => changed[field] = value,
    }
    site.submit(&changed).await.data()
}

fn first_issue(data: &Value) -> (&str, &Value) {
    assert_eq!(data["success"], false, "{data}");
    let issue = &data["errors"]["issues"][0];
    (issue["code"].as_str().unwrap(), &issue["path"])
}

#[tokio::test]
async fn flow_version_id_is_required() {
    let site = Site::start().await;
    let (_, version) = site.published().await;
    let data = with(&site, &submission(version), "flowVersionId", Value::Null).await;
    assert_eq!(first_issue(&data), ("field_required", &json!(["flowVersionId"])));
}

#[tokio::test]
async fn flow_version_payload_generation_must_equal_the_one_used_to_fetch() {
    let site = Site::start().await;
    let (_, version) = site.published().await;
    let good = submission(version);
    let path = json!(["flowVersionPayloadGeneration"]);
    for (value, code) in
        [(json!("3"), "payload_generation_mismatch"), (Value::Null, "field_required")]
    {
        let data = with(&site, &good, "flowVersionPayloadGeneration", value).await;
        assert_eq!(first_issue(&data), (code, &path));
    }
}

#[tokio::test]
async fn a_submission_without_respondent_analytics_admission_is_invalid() {
    let site = Site::start().await;
    let (_, version) = site.published().await;
    let good = submission(version);
    let field = "respondentAnalyticsAdmission";
    for (value, code) in [(Value::Null, "field_required"), (json!("maybe"), "invalid_value")] {
        let data = with(&site, &good, field, value).await;
        assert_eq!(first_issue(&data), (code, &json!([field])));
    }
    for value in ["collection_only", "admitted"] {
        assert_eq!(with(&site, &good, field, json!(value)).await["success"], true);
    }
}

#[tokio::test]
async fn collection_only_stores_no_identity_and_admitted_does() {
    let site = Site::start().await;
    let (_, version) = site.published().await;
    let mut submission = submission(version);
    submission["identities"] = json!([{"type": "userId", "value": "u1"}, {"type": "traits.email", "value": "a@b.example"}]);
    for (admission, kept) in [("collection_only", false), ("admitted", true)] {
        submission["respondentAnalyticsAdmission"] = json!(admission);
        let id = site.submit(&submission).await.assert_accepted();
        let row = site.engine.get_response(&actor(), id.parse().unwrap()).await.unwrap();
        assert_eq!(row.identities.is_some(), kept, "{admission}");
    }
}

#[tokio::test]
async fn optional_identity_metadata_context_and_assignment_are_accepted_and_stored() {
    let site = Site::start().await;
    let (_, version) = site.published().await;
    let mut submission = submission(version);
    submission["metadata"] = json!({"tags": {"plan": "pro", "beta": ["a", "b"]}});
    submission["context"] = json!({
        "page": {"path": "/pricing", "referrer": "https://example.com/", "search": "?q=1"},
        "locale": "en-GB", "userAgent": "Mozilla/5.0",
    });
    submission["flowAssignmentId"] = json!("fa_1");
    let id = site.submit(&submission).await.assert_accepted();
    let row = site.engine.get_response(&actor(), id.parse().unwrap()).await.unwrap();
    let read = |text: Option<String>| serde_json::from_str::<Value>(&text.unwrap()).unwrap();
    assert_eq!(read(row.tags), submission["metadata"]["tags"]);
    assert_eq!(read(row.context), submission["context"]);
    assert_eq!(row.flow_assignment_id.as_deref(), Some("fa_1"));
}

#[tokio::test]
async fn a_nested_object_in_metadata_tags_is_refused() {
    let site = Site::start().await;
    let (_, version) = site.published().await;
    let metadata = json!({"tags": {"plan": {"name": "pro"}}});
    let data = with(&site, &submission(version), "metadata", metadata).await;
    assert_eq!(first_issue(&data), ("nested_tag", &json!(["metadata", "tags", "plan"])));
}

// Authentication.

#[tokio::test]
async fn the_api_key_is_part_of_every_path_and_without_verification_no_token_is_needed() {
    let site = Site::start().await;
    let (flow, version) = site.published().await;
    for path in [format!("flows/{flow}"), format!("flow_versions/{version}?payload=4")] {
        assert_eq!(site.get(&site.path(&path), &[]).await.status, 200);
        for key in ["pk_0000000000000000000000", "nonsense"] {
            let reply = site.get(&format!("/api/v1/{key}/{path}"), &[]).await;
            reply.assert_problem(401, "api_key_invalid");
            assert_eq!(reply.header("www-authenticate").as_deref(), Some("Bearer"));
        }
    }
    site.submit(&submission(version)).await.assert_accepted();
}
