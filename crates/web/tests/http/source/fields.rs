//! The fields of a flow, a submission, its context and its result: one test per row.

use crate::use_cases::UseCases as _;
use serde_json::{Value, json};
use sluice_engine::rows::ResponseRow;
use sluice_flow::id::FlowVersionId;

use super::{NOT_FOUND, NOT_OPEN_YET, assert_first_issue, assert_refused, never_published, with};
use crate::support::{Site, actor, submission};

async fn site() -> (Site, FlowVersionId) {
    let site = Site::start().await;
    let (_, version) = site.published().await;
    (site, version)
}

/// The stored row of a submission with one field changed.
async fn stored(site: &Site, version: FlowVersionId, field: &str, value: Value) -> ResponseRow {
    let data = with(site, version, field, value).await;
    let id = data["responseId"].as_str().unwrap_or_else(|| panic!("{data}"));
    site.engine.get_response(&actor(), id.parse().unwrap()).await.unwrap()
}

fn read(text: Option<String>) -> Value {
    text.map_or(Value::Null, |text| serde_json::from_str(&text).unwrap())
}

// Flow.

#[tokio::test]
async fn flow_flow_id() {
    let site = Site::start().await;
    let (flow, _) = site.published().await;
    let (other, _) = site.published().await;
    for id in [flow, other] {
        let resolved = site.get(&site.path(&format!("flows/{id}")), &[]).await.json();
        assert_eq!(resolved["flowId"], json!(id), "it identifies this flow");
    }
    let reply = site.get(&site.path("flows/fl_0000000000000000000001"), &[]).await;
    reply.assert_problem(404, "flow_not_found");
}

#[tokio::test]
async fn flow_flow_version_id() {
    let site = Site::start().await;
    let (flow, first) = site.published().await;
    let second = site.publish_again(flow).await;
    assert_ne!(first, second, "each publish must create a version");
    for (id, number) in [(first, 1), (second, 2)] {
        let path = site.path(&format!("flow_versions/{id}?payload=4"));
        let snapshot = site.get(&path, &[]).await.json();
        assert_eq!(
            (&snapshot["flowVersionId"], &snapshot["number"]),
            (&json!(id), &json!(number)),
            "it identifies one version"
        );
    }
}

// Submission.

#[tokio::test]
async fn submission_flow_version_id() {
    let (site, version) = site().await;
    assert_eq!(stored(&site, version, "x", json!(1)).await.flow_version_id, version);
    for (value, code) in [(Value::Null, "field_required"), (json!(4), "invalid_type")] {
        let data = with(&site, version, "flowVersionId", value).await;
        assert_first_issue(&data, code, &json!(["flowVersionId"]));
    }
    let draft = never_published(&site).await;
    assert_refused(&site.submit(&submission(draft)).await, NOT_OPEN_YET);
    site.engine.retire(&actor(), version).await.unwrap();
    assert_refused(&site.submit(&submission(version)).await, NOT_FOUND);
}

#[tokio::test]
async fn submission_flow_version_payload_generation() {
    let (site, version) = site().await;
    let field = "flowVersionPayloadGeneration";
    assert_eq!(with(&site, version, field, json!("4")).await["success"], true);
    for (value, code) in [
        (Value::Null, "field_required"),
        (json!(4), "invalid_type"),
        (json!("3"), "payload_generation_mismatch"),
    ] {
        let data = with(&site, version, field, value).await;
        assert_first_issue(&data, code, &json!([field]));
    }
}

#[tokio::test]
async fn submission_respondent_analytics_admission() {
    let (site, version) = site().await;
    let field = "respondentAnalyticsAdmission";
    for (value, code) in [(Value::Null, "field_required"), (json!("maybe"), "invalid_value")] {
        let data = with(&site, version, field, value).await;
        assert_first_issue(&data, code, &json!([field]));
    }
    let mut submission = submission(version);
    submission["identities"] = json!([{"type": "userId", "value": "u1"}]);
    for (admission, linked) in [("collection_only", false), ("admitted", true)] {
        submission[field] = json!(admission);
        let id = site.submit(&submission).await.assert_accepted();
        let row = site.engine.get_response(&actor(), id.parse().unwrap()).await.unwrap();
        assert_eq!(row.identities.is_some(), linked, "{admission}");
    }
}

#[tokio::test]
async fn submission_answers() {
    let (site, version) = site().await;
    let answers = json!({"nps": "9", "use": ["api", "ui"]});
    let row = stored(&site, version, "answers", answers.clone()).await;
    assert_eq!(read(Some(row.answers)), answers, "a string, and an array of strings");
    let other_form = json!({"nps": ["9"], "use": "api"});
    let row = stored(&site, version, "answers", other_form).await;
    assert_eq!(read(Some(row.answers)), json!({"nps": "9", "use": ["api"]}), "one form is stored");
    for (wrong, code, path) in [
        (json!({"nps": 9}), "invalid_type", json!(["answers", "nps"])),
        (json!({"nps": "9", "use": [1]}), "invalid_type", json!(["answers", "use", 0])),
        (json!({"nps": "9", "q": "x"}), "unknown_question", json!(["answers", "q"])),
        (json!([]), "invalid_type", json!(["answers"])),
    ] {
        assert_first_issue(&with(&site, version, "answers", wrong).await, code, &path);
    }
}

#[tokio::test]
async fn submission_identities() {
    let (site, version) = site().await;
    let identities = json!([{"type": "userId", "value": "u1"},
        {"type": "traits.email", "value": "a@b.example"}]);
    let mut admitted = submission(version);
    admitted["respondentAnalyticsAdmission"] = json!("admitted");
    admitted["identities"] = identities.clone();
    let id = site.submit(&admitted).await.assert_accepted();
    let row = site.engine.get_response(&actor(), id.parse().unwrap()).await.unwrap();
    assert_eq!(read(row.identities), identities);
    for (wrong, path) in [
        (json!({"userId": "u1"}), json!(["identities"])),
        (json!(["u1"]), json!(["identities", 0])),
        (json!([{"type": "userId", "value": 1}]), json!(["identities", 0, "value"])),
    ] {
        let data = with(&site, version, "identities", wrong).await;
        assert_first_issue(&data, "invalid_type", &path);
    }
}

#[tokio::test]
async fn submission_metadata() {
    let (site, version) = site().await;
    let row = stored(&site, version, "metadata", json!({"tags": {"plan": "pro"}})).await;
    assert_eq!(read(row.tags), json!({"plan": "pro"}), "it contains tags");
    stored(&site, version, "metadata", Value::Null).await;
    let data = with(&site, version, "metadata", json!("x")).await;
    assert_first_issue(&data, "invalid_type", &json!(["metadata"]));
}

#[tokio::test]
async fn submission_metadata_tags() {
    let (site, version) = site().await;
    let tags = json!({"plan": "pro", "beta": ["a", "b"]});
    let row = stored(&site, version, "metadata", json!({"tags": tags})).await;
    assert_eq!(read(row.tags), tags);
    stored(&site, version, "metadata", json!({})).await;
    let nested = json!({"tags": {"plan": {"name": "pro"}}});
    let data = with(&site, version, "metadata", nested).await;
    assert_first_issue(&data, "nested_tag", &json!(["metadata", "tags", "plan"]));
}

#[tokio::test]
async fn submission_context() {
    let (site, version) = site().await;
    let context = json!({
        "page": {"path": "/pricing", "referrer": "https://example.com/", "search": "?q=1"},
        "locale": "en-GB", "userAgent": "Mozilla/5.0",
    });
    let row = stored(&site, version, "context", context.clone()).await;
    assert_eq!(read(row.context), context);
    stored(&site, version, "context", Value::Null).await;
    assert_eq!(stored(&site, version, "context", json!([])).await.context, None);
}

#[tokio::test]
async fn submission_flow_assignment_id() {
    let (site, version) = site().await;
    let row = stored(&site, version, "flowAssignmentId", json!("fa_1")).await;
    assert_eq!(row.flow_assignment_id.as_deref(), Some("fa_1"));
    let row = stored(&site, version, "flowAssignmentId", Value::Null).await;
    assert_eq!(row.flow_assignment_id, None);
}

// Context.

#[tokio::test]
async fn context_page() {
    let (site, version) = site().await;
    let page = json!({"path": "/pricing", "referrer": "https://example.com/", "search": "?q=1"});
    let row = stored(&site, version, "context", json!({"page": page})).await;
    assert_eq!(read(row.context)["page"], page);
    let wrong = json!({"path": "/", "referrer": 1, "search": "q=1"});
    let row = stored(&site, version, "context", json!({"page": wrong})).await;
    assert_eq!(read(row.context)["page"], json!({"path": "/", "search": "?q=1"}));
}

#[tokio::test]
async fn context_locale() {
    let (site, version) = site().await;
    let row = stored(&site, version, "context", json!({"locale": "de-CH"})).await;
    assert_eq!(read(row.context), json!({"locale": "de-CH"}));
    let row = stored(&site, version, "context", json!({"locale": "no tag"})).await;
    assert_eq!(row.context, None);
}

#[tokio::test]
async fn context_user_agent() {
    let (site, version) = site().await;
    let row = stored(&site, version, "context", json!({"userAgent": "Mozilla/5.0"})).await;
    assert_eq!(read(row.context), json!({"userAgent": "Mozilla/5.0"}));
    let row = stored(&site, version, "context", json!({"userAgent": 1})).await;
    assert_eq!(row.context, None);
}

// Submission result.

#[tokio::test]
async fn result_data_success() {
    let (site, version) = site().await;
    let accepted = site.submit(&submission(version)).await.json();
    assert_eq!(accepted["result"]["data"]["success"], json!(true));
    let refused = site.submit(&json!({})).await.json();
    assert_eq!(refused["result"]["data"]["success"], json!(false));
}

#[tokio::test]
async fn result_data_response_id() {
    let (site, version) = site().await;
    let accepted = site.submit(&submission(version)).await.json();
    let id = accepted["result"]["data"]["responseId"].as_str().unwrap().parse().unwrap();
    let row = site.engine.get_response(&actor(), id).await.unwrap();
    assert_eq!(row.response_id, id, "it identifies the stored response");
    let refused = site.submit(&json!({})).await.json();
    assert!(refused["result"]["data"].get("responseId").is_none(), "{refused}");
}

#[tokio::test]
async fn result_data_errors_form_errors() {
    let (site, version) = site().await;
    let mut draft = submission(version);
    draft["flowVersionId"] = json!(never_published(&site).await);
    let refused = site.submit(&draft).await.json();
    let messages = &refused["result"]["data"]["errors"]["formErrors"];
    assert_eq!(*messages, json!(["This survey is not open yet."]));
    let accepted = site.submit(&submission(version)).await.json();
    assert!(accepted["result"]["data"].get("errors").is_none(), "{accepted}");
}
