//! The OpenAPI document: pinned, complete, and consistent with the routes.

use std::collections::BTreeSet;

use axum::body::Body;
use http::Request;
use serde_json::{Value, json};
use sluice_web::{admin, openapi};

use crate::support::{ROOT, Site, text};

fn document() -> Value {
    serde_json::to_value(openapi::document()).unwrap()
}

fn operations(document: &Value) -> Vec<(String, String, Value)> {
    let paths = document["paths"].as_object().unwrap().iter();
    let operations = paths.flat_map(|(path, item)| {
        let methods = item.as_object().unwrap().iter();
        methods.map(move |(method, operation)| (path.clone(), method.clone(), operation.clone()))
    });
    operations.collect()
}

#[test]
fn the_document_is_as_reviewed() {
    let mut document = document();
    // A release changes only the version.
    document["info"]["version"] = "[version]".into();
    insta::assert_json_snapshot!("openapi", document);
}

#[tokio::test]
async fn the_document_is_served_unchanged() {
    let site = Site::start().await;
    let served = site.raw(Request::get("/openapi.json").body(Body::empty()).unwrap()).await;
    assert_eq!(served.headers["content-type"], "application/json");
    assert_eq!(served.ok(200), document());
    assert!(text(&document()["openapi"]).starts_with("3.1"));
    let schema = site.raw(Request::get("/schemas/definition.json").body(Body::empty()).unwrap());
    let schema = schema.await;
    assert_eq!(schema.headers["content-type"], "application/schema+json");
    assert_eq!(&schema.ok(200), sluice_flow::definition::json_schema());
}

#[tokio::test]
async fn no_documented_path_is_unknown_to_the_router() {
    let site = Site::start().await;
    for (path, method, _) in operations(&document()) {
        let filled: String = path
            .split('{')
            .map(|part| part.split_once('}').map_or(part, |(_, rest)| rest))
            .collect::<Vec<_>>()
            .join("x");
        let request = Request::builder()
            .method(method.to_uppercase().as_str())
            .uri(&filled)
            .header("authorization", format!("Bearer {ROOT}"))
            .body(Body::empty())
            .unwrap();
        let reply = site.raw(request).await;
        assert_ne!(reply.json["code"], "route_not_found", "{method} {path}");
        assert_ne!(reply.status, 405, "{method} {path}");
        assert!(!reply.text.contains("No procedure found"), "{method} {path}");
    }
}

/// The query parameters without which an operation refuses a request are those that the document
/// calls required.
#[tokio::test]
async fn a_required_parameter_is_documented_as_required() {
    let site = Site::start().await;
    let app = text(&site.post("/apps", json!({"name": "One"})).await.ok(201)["appId"]);
    let flow = json!({"name": "Flow", "kind": "survey"});
    let flow = text(&site.post(&format!("/apps/{app}/flows"), flow).await.ok(201)["flowId"]);
    let mut required_in_all = 0;
    for (path, method, operation) in operations(&document()) {
        let filled = path
            .replace("{appId}", &app)
            .replace("{flowId}", &flow)
            .replace("{respondentId}", "rp_0000000000000000000001");
        let parameters = operation["parameters"].as_array().into_iter().flatten();
        let query: Vec<&Value> =
            parameters.filter(|parameter| parameter["in"] == "query").collect();
        let has_no_body = matches!(method.as_str(), "get" | "delete");
        let is_admin = path.starts_with(admin::BASE) && !filled.contains('{');
        if query.is_empty() || !has_no_body || !is_admin {
            continue;
        }
        let required = query.iter().filter(|parameter| parameter["required"] == true);
        let required: BTreeSet<String> =
            required.map(|parameter| text(&parameter["name"])).collect();
        required_in_all += required.len();
        assert_eq!(missing(&site, &method, &filled, &app).await, required, "{method} {path}");
    }
    assert!(required_in_all >= 12, "only {required_in_all} parameters are required");
}

/// The parameters that a request must have: each refusal names the next one.
async fn missing(site: &Site, method: &str, path: &str, app: &str) -> BTreeSet<String> {
    let mut missing: BTreeSet<String> = BTreeSet::new();
    loop {
        let value = |name: &str| match name {
            "appId" => app.to_owned(),
            "type" => "userId".to_owned(),
            "answers" => "keep".to_owned(),
            "format" => "csv".to_owned(),
            _ => "x".to_owned(),
        };
        let query: Vec<String> =
            missing.iter().map(|name| format!("{name}={}", value(name))).collect();
        let request = Request::builder()
            .method(method.to_uppercase().as_str())
            .uri(format!("{path}?{}", query.join("&")))
            .header("authorization", format!("Bearer {ROOT}"));
        let reply = site.raw(request.body(Body::empty()).unwrap()).await;
        let mut faults = reply.json["errors"].as_array().into_iter().flatten();
        let next = faults.find(|fault| text(&fault["message"]).starts_with("is required"));
        match next.map(|fault| text(&fault["pointer"]).trim_start_matches('/').to_owned()) {
            Some(name) => assert!(missing.insert(name.clone()), "{path}: {name} was sent"),
            None => return missing,
        }
    }
}

#[test]
fn every_operation_has_an_id_a_description_and_its_parameters() {
    let document = document();
    let mut names = BTreeSet::new();
    for (path, method, operation) in operations(&document) {
        assert!(names.insert(text(&operation["operationId"])), "{method} {path}");
        assert!(!text(&operation["summary"]).is_empty(), "{method} {path}");
        let tags: Vec<&Value> =
            document["tags"].as_array().unwrap().iter().map(|tag| &tag["name"]).collect();
        assert!(tags.contains(&&operation["tags"][0]), "{method} {path}");
        let named: BTreeSet<String> = path
            .split('{')
            .skip(1)
            .filter_map(|part| part.split_once('}').map(|(name, _)| name.to_owned()))
            .collect();
        let empty = Vec::new();
        let parameters = operation["parameters"].as_array().unwrap_or(&empty);
        let in_path = parameters.iter().filter(|parameter| parameter["in"] == "path");
        let in_path: BTreeSet<String> = in_path.map(|parameter| text(&parameter["name"])).collect();
        assert_eq!(in_path, named, "{method} {path}");
        for (status, response) in operation["responses"].as_object().unwrap() {
            assert!(!text(&response["description"]).is_empty(), "{method} {path} {status}");
        }
    }
}

#[test]
fn every_reference_resolves() {
    fn check_references(document: &Value, value: &Value) {
        match value {
            Value::Object(members) => {
                if let Some(Value::String(reference)) = members.get("$ref") {
                    let pointer = reference.strip_prefix('#').unwrap();
                    assert!(document.pointer(pointer).is_some(), "{reference}");
                }
                members.values().for_each(|member| check_references(document, member));
            }
            Value::Array(elements) => {
                elements.iter().for_each(|element| check_references(document, element))
            }
            _ => {}
        }
    }
    let document = document();
    check_references(&document, &document);
}

/// Texts, lists and numbers without a limit, below a schema of a request.
fn unlimited(
    document: &Value,
    schema: &Value,
    at: &str,
    seen: &mut BTreeSet<String>,
) -> Vec<String> {
    if let Some(reference) = schema["$ref"].as_str() {
        if !seen.insert(reference.to_owned()) {
            return Vec::new();
        }
        let target = document.pointer(reference.strip_prefix('#').unwrap()).unwrap();
        return unlimited(document, target, reference.rsplit('/').next().unwrap(), seen);
    }
    let is = |kind: &str| match &schema["type"] {
        Value::Array(kinds) => kinds.iter().any(|it| it == kind),
        one => one == kind,
    };
    let has = |names: &[&str]| names.iter().any(|name| schema.get(name).is_some());
    let mut found = Vec::new();
    let chosen = ["enum", "const", "maxLength", "pattern", "format"];
    if is("string") && !has(&chosen)
        || is("array") && !has(&["maxItems"])
        || (is("integer") || is("number")) && !has(&["minimum", "maximum"])
    {
        found.push(at.to_owned());
    }
    for choice in ["oneOf", "anyOf", "allOf"] {
        for part in schema[choice].as_array().into_iter().flatten() {
            found.extend(unlimited(document, part, at, seen));
        }
    }
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        found.extend(unlimited(document, property, &format!("{at}.{name}"), seen));
    }
    if schema["items"].is_object() {
        found.extend(unlimited(document, &schema["items"], &format!("{at}[]"), seen));
    }
    found
}

/// What is cut, never refused, and what [`sluice_flow::definition::json_schema`] describes.
const LIMITED_ELSEWHERE: [&str; 3] = ["SubmissionContext", "SubmissionPage", "Definition"];

#[test]
fn every_field_of_a_request_has_its_limits() {
    let document = document();
    let mut seen = LIMITED_ELSEWHERE.map(|name| format!("#/components/schemas/{name}")).into();
    let mut found = Vec::new();
    for (path, method, operation) in operations(&document) {
        for body in operation["requestBody"]["content"].as_object().into_iter().flatten() {
            // A file has a limit as a whole.
            if body.0 != "text/csv" {
                let at = format!("{method} {path}");
                found.extend(unlimited(&document, &body.1["schema"], &at, &mut seen));
            }
        }
    }
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn types_are_exact() {
    let document = document();
    let schemas = &document["components"]["schemas"];
    let properties = |name: &str| &schemas[name]["properties"];
    assert_eq!(properties("SubmitAccepted")["success"]["const"], true);
    assert_eq!(properties("SubmitRefused")["success"]["const"], false);
    let texts = "#/components/schemas/TextOrList";
    assert_eq!(properties("Submission")["answers"]["additionalProperties"]["$ref"], texts);
    assert_eq!(properties("Response")["answers"]["additionalProperties"]["$ref"], texts);
    let question = "#/components/schemas/Question";
    assert_eq!(properties("Snapshot")["questions"]["items"]["$ref"], question);
    let types = schemas["Question"]["oneOf"].as_array().unwrap().len();
    assert_eq!(types, sluice_flow::question::QuestionType::NAMES.len());
    for (path, method, operation) in operations(&document) {
        let is_public = path.starts_with("/api/v1/");
        let security = operation["security"].as_array().unwrap();
        assert_eq!(security.iter().any(|it| it["identityToken"].is_array()), is_public, "{path}");
        let parameters = operation["parameters"].as_array().into_iter().flatten();
        for filter in parameters.filter(|it| it["name"] == "tag" || it["name"] == "answer") {
            assert_eq!(filter["style"], "deepObject", "{method} {path}");
        }
    }
    let export = "/api/admin/v1/flows/{flowId}/export";
    let file = &document["paths"][export]["get"]["responses"]["200"]["content"]["text/csv"];
    assert_eq!(file["schema"]["format"], "binary");
}
