//! The public half of the OpenAPI document is written by hand; these tests compare real replies
//! with it.
//!
//! The check supports the part of JSON Schema that the document uses: required fields are present,
//! undocumented fields are absent, and types are right.

use axum::body::Body;
use http::Method;
use serde_json::{Value, json};

use crate::support::{Reply, START, Site, request, submission, survey};

struct Document(Value);

impl Document {
    async fn fetch(site: &Site) -> Self {
        Self(site.get("/openapi.json", &[]).await.json())
    }

    /// Checks a reply against the document's schema for this operation and status.
    #[track_caller]
    fn check(&self, method: &str, path: &str, reply: &Reply) {
        let status = reply.status.to_string();
        let documented = &self.0["paths"][path][method]["responses"][&status];
        let media_type = reply.header("content-type").unwrap();
        let schema = &documented["content"][&media_type]["schema"];
        assert!(!schema.is_null(), "{method} {path}: {status} as {media_type} is not documented");
        let faults = self.faults(schema, &reply.json(), "");
        assert!(faults.is_empty(), "{method} {path} {status}: {faults:?} in {}", reply.text());
    }

    fn faults(&self, schema: &Value, value: &Value, at: &str) -> Vec<String> {
        if let Some(reference) = schema["$ref"].as_str() {
            let target = self.0.pointer(reference.strip_prefix('#').unwrap());
            return self.faults(target.unwrap(), value, at);
        }
        if let Some(choices) = schema["oneOf"].as_array() {
            let fitting = choices.iter().filter(|one| self.faults(one, value, at).is_empty());
            let fitting = fitting.count();
            return fault_unless(fitting == 1, || format!("{at} fits {fitting} of oneOf"));
        }
        if let Some(choices) = schema["anyOf"].as_array() {
            let fits = choices.iter().any(|one| self.faults(one, value, at).is_empty());
            return fault_unless(fits, || format!("{at} fits none of anyOf"));
        }
        assert!(schema.get("allOf").is_none(), "the check does not support allOf");
        let mut faults = fault_unless(is_of_type(schema, value), || {
            format!("{at} is {value}, which is not {}", schema["type"])
        });
        if let Some(words) = schema["enum"].as_array() {
            faults.extend(fault_unless(words.contains(value), || format!("{at} is {value}")));
        }
        if let Some(only) = schema.get("const") {
            faults.extend(fault_unless(only == value, || format!("{at} is {value}, not {only}")));
        }
        match value {
            Value::Object(members) => faults.extend(self.member_faults(schema, members, at)),
            Value::Array(elements) => {
                let each = elements.iter().enumerate();
                faults.extend(each.flat_map(|(index, element)| {
                    self.faults(&schema["items"], element, &format!("{at}/{index}"))
                }));
            }
            _ => {}
        }
        faults
    }

    fn member_faults(
        &self,
        schema: &Value,
        members: &serde_json::Map<String, Value>,
        at: &str,
    ) -> Vec<String> {
        // An object without documented fields may have any.
        let Some(properties) = schema["properties"].as_object() else {
            let of_each = &schema["additionalProperties"];
            let each = members.iter().filter(|_| of_each.is_object());
            return each
                .flat_map(|(name, member)| self.faults(of_each, member, &format!("{at}/{name}")))
                .collect();
        };
        let required = schema["required"].as_array().map(Vec::as_slice).unwrap_or_default();
        let missing = required.iter().filter(|name| !members.contains_key(name.as_str().unwrap()));
        let mut faults: Vec<String> =
            missing.map(|name| format!("{at}/{name} is missing")).collect();
        for (name, member) in members {
            match properties.get(name) {
                Some(property) => {
                    faults.extend(self.faults(property, member, &format!("{at}/{name}")));
                }
                None => faults.push(format!("{at}/{name} is not documented")),
            }
        }
        faults
    }
}

fn fault_unless(holds: bool, fault: impl FnOnce() -> String) -> Vec<String> {
    if holds { Vec::new() } else { vec![fault()] }
}

fn is_of_type(schema: &Value, value: &Value) -> bool {
    let is = |name: &str| match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("the check does not support the type {other}"),
    };
    match &schema["type"] {
        Value::String(name) => is(name),
        Value::Array(names) => names.iter().any(|name| is(name.as_str().unwrap())),
        _ => true,
    }
}

const FLOW: &str = "/api/v1/{apiKey}/flows/{flowId}";
const VERSION: &str = "/api/v1/{apiKey}/flow_versions/{flowVersionId}";
const SUBMIT: &str = "/api/v1/{apiKey}/trpc/response.submit";
const VALIDATE: &str = "/api/v1/{apiKey}/trpc/response.validate";
const SCHEMA: &str = "/api/v1/{apiKey}/flow_versions/{flowVersionId}/schema";

#[tokio::test]
async fn a_resolved_flow_is_as_documented() {
    let site = Site::start().await;
    let document = Document::fetch(&site).await;
    let (flow, _) = site.published().await;
    let path = site.path(&format!("flows/{flow}"));
    document.check("get", FLOW, &site.get(&path, &[]).await);
    site.live_window(flow, Some(START + 1), Some(START + 2)).await;
    document.check("get", FLOW, &site.get(&path, &[]).await);
}

#[tokio::test]
async fn a_snapshot_is_as_documented_with_all_it_can_have() {
    let site = Site::start().await;
    let document = Document::fetch(&site).await;
    let mut whole = survey();
    whole["description"] = json!("Two minutes.");
    whole["ending"] = json!({"title": "Thank you"});
    whole["translations"] = json!({"de": {"title": "Feedback"}});
    for definition in [survey(), whole] {
        let flow = site.flow(definition).await;
        let version = site.publish(flow).await;
        let path = site.path(&format!("flow_versions/{version}?payload=4"));
        document.check("get", VERSION, &site.get(&path, &[]).await);
    }
}

#[tokio::test]
async fn an_accepted_submission_is_as_documented_in_grace_too() {
    let site = Site::start().await;
    let document = Document::fetch(&site).await;
    let (flow, version) = site.published().await;
    let reply = site.submit(&submission(version)).await;
    reply.assert_accepted();
    document.check("post", SUBMIT, &reply);
    site.publish_again(flow).await;
    let reply = site.submit(&submission(version)).await;
    assert!(reply.data()["supersededBy"].is_string());
    document.check("post", SUBMIT, &reply);
    let body = submission(version).to_string();
    let reply = site.trpc("response.validate", &[], &body).await;
    assert!(reply.data()["supersededBy"].is_string());
    document.check("post", VALIDATE, &reply);
    document.check("post", VALIDATE, &site.trpc("response.validate", &[], "{}").await);
    document.check("post", VALIDATE, &site.trpc("response.validate", &[], "{").await);
    let path = site.path(&format!("flow_versions/{version}/schema?payload=4"));
    document.check("get", SCHEMA, &site.get(&path, &[]).await);
}

#[tokio::test]
async fn a_refused_submission_is_as_documented() {
    let site = Site::start().await;
    let document = Document::fetch(&site).await;
    let (flow, version) = site.published().await;
    let mut wrong = submission(version);
    wrong["answers"] = json!({"nps": [1]});
    wrong["metadata"] = json!({"tags": {"a": {}}});
    let reply = site.submit(&wrong).await;
    assert_eq!(reply.data()["success"], false);
    document.check("post", SUBMIT, &reply);
    site.grace(flow, 0).await;
    site.publish_again(flow).await;
    let reply = site.submit(&submission(version)).await;
    assert!(reply.data()["errors"]["issues"][0]["latestFlowVersionId"].is_string());
    document.check("post", SUBMIT, &reply);
}

#[tokio::test]
async fn trpc_errors_are_as_documented() {
    let site = Site::start().await;
    let document = Document::fetch(&site).await;
    let malformed = site.trpc("response.submit", &[], "{").await;
    let path = site.path("trpc/response.submit");
    let untyped = request(Method::POST, &path, &[("content-type", "text/plain")], Body::from("{}"));
    let untyped = site.send(untyped).await;
    let large = "x".repeat(1100 * 1024);
    let large = site.trpc("response.submit", &[], &large).await;
    let mut stranger = site.other_app().await;
    stranger.key = "pk_0000000000000000000000".to_owned();
    let unknown = stranger.submit(&json!({})).await;
    for (status, reply) in [(400, malformed), (401, unknown), (413, large), (415, untyped)] {
        assert_eq!(reply.status, status, "{}", reply.text());
        document.check("post", SUBMIT, &reply);
    }
}

#[tokio::test]
async fn problems_are_as_documented() {
    let site = Site::start().await;
    let document = Document::fetch(&site).await;
    let unknown_key = "/api/v1/pk_0000000000000000000000";
    for (path, rest, status) in [
        (FLOW, site.path("flows/x"), 404),
        (FLOW, format!("{unknown_key}/flows/x"), 401),
        (VERSION, site.path("flow_versions/x"), 400),
        (VERSION, site.path("flow_versions/x?payload=4"), 404),
        (VERSION, format!("{unknown_key}/flow_versions/x?payload=4"), 401),
        (SCHEMA, site.path("flow_versions/x/schema"), 400),
        (SCHEMA, site.path("flow_versions/x/schema?payload=4"), 404),
        (SCHEMA, format!("{unknown_key}/flow_versions/x/schema?payload=4"), 401),
    ] {
        let reply = site.get(&rest, &[]).await;
        assert_eq!(reply.status, status, "{rest}");
        document.check("get", path, &reply);
    }
}

/// The check must be able to fail.
#[tokio::test]
async fn a_reply_that_differs_from_the_document_is_found() {
    let site = Site::start().await;
    let document = Document::fetch(&site).await;
    let (flow, _) = site.published().await;
    let resolved = site.get(&site.path(&format!("flows/{flow}")), &[]).await.json();
    let schema = json!({"$ref": "#/components/schemas/ResolvedFlow"});
    assert_eq!(document.faults(&schema, &resolved, ""), Vec::<String>::new());
    for (field, value) in [
        ("number", Value::Null),
        ("number", json!("1")),
        ("kind", json!("quiz")),
        ("extra", json!(1)),
        ("liveWindow", json!({"startsAt": null})),
        ("payloadGenerations", json!([4])),
    ] {
        let mut changed = resolved.clone();
        changed[field] = value.clone();
        assert_eq!(document.faults(&schema, &changed, "").len(), 1, "{field}: {value}");
    }
    let mut missing = resolved.clone();
    missing.as_object_mut().unwrap().remove("flowVersionId");
    assert_eq!(document.faults(&schema, &missing, "").len(), 1);
}
