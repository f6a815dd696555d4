//! Requests: tokens, media types, sizes, methods and paths.

use axum::body::Body;
use http::Request;
use http::request::Builder;
use serde_json::json;
use sluice_web::admin;

use crate::png::png;
use crate::support::{ROOT, Site, definition};

fn request(method: &str, path: &str) -> Builder {
    Request::builder().method(method).uri(format!("{}{path}", admin::BASE))
}

fn with_token(method: &str, path: &str) -> Builder {
    request(method, path).header("authorization", format!("Bearer {ROOT}"))
}

#[tokio::test]
async fn the_bearer_scheme_is_case_insensitive() {
    let site = Site::start().await;
    for (value, code) in [
        ("Bearer root-secret", None),
        ("bearer root-secret", None),
        ("BEARER  root-secret", None),
        ("Bearer", Some("token_missing")),
        ("Bearer ", Some("token_missing")),
        ("Basic root-secret", Some("token_missing")),
        ("root-secret", Some("token_missing")),
        ("Bearer root-secre", Some("token_invalid")),
        ("Bearer Root-secret", Some("token_invalid")),
        ("Bearer sluice_0000000000000000000000", Some("token_invalid")),
    ] {
        let asked = request("GET", "/apps").header("authorization", value);
        let reply = site.raw(asked.body(Body::empty()).unwrap()).await;
        assert_eq!(reply.headers["cache-control"], "no-store");
        match code {
            None => assert_eq!(reply.status, 200, "{value}"),
            Some(code) => {
                assert_eq!(reply.headers["www-authenticate"], "Bearer", "{value}");
                reply.problem(401, code);
            }
        }
    }
}

#[tokio::test]
async fn only_json_is_accepted() {
    let site = Site::start().await;
    for (media_type, status) in [
        (Some("application/json"), 201),
        (Some("Application/JSON; charset=utf-8"), 201),
        (Some("text/plain"), 415),
        (Some("application/x-www-form-urlencoded"), 415),
        (None, 415),
    ] {
        let mut asked = with_token("POST", "/apps");
        if let Some(media_type) = media_type {
            asked = asked.header("content-type", media_type);
        }
        let reply = site.raw(asked.body(Body::from(r#"{"name":"x"}"#)).unwrap()).await;
        if status == 415 {
            reply.problem(415, "unsupported_media_type");
        } else {
            reply.ok(status);
        }
    }
}

/// Otherwise a compressed body is reported as malformed.
#[tokio::test]
async fn only_uncompressed_bodies_are_accepted() {
    let site = Site::start().await;
    let (app, _) = site.app().await;
    let flow = site.flow(&app).await;
    let [keys, invitations, assets] = [
        format!("/apps/{app}/keys"),
        format!("/flows/{flow}/invitations"),
        format!("/apps/{app}/assets"),
    ];
    let json = "application/json";
    for (path, media_type, body) in [
        ("/apps", json, br#"{"name":"x"}"#.to_vec()),
        (&keys, json, b"{}".to_vec()),
        (&invitations, "text/csv", b"userId\n7\n".to_vec()),
        (&assets, "image/png", png(2, 2, [1; 3])),
    ] {
        for coding in ["gzip", "br", "gzip, identity", "Identity"] {
            let asked = with_token("POST", path).header("content-type", media_type);
            let asked = asked.header("content-encoding", coding);
            let reply = site.raw(asked.body(Body::from(body.clone())).unwrap()).await;
            if coding == "Identity" {
                assert!((200..300).contains(&reply.status), "{path}: {}", reply.text);
                continue;
            }
            let problem = reply.problem(415, "unsupported_media_type");
            let detail = format!(
                "The Content-Encoding \"{coding}\" is not supported; send the body uncompressed."
            );
            assert_eq!(problem["detail"], detail, "{path}");
        }
    }
}

#[tokio::test]
async fn a_body_that_is_not_json_is_malformed() {
    let site = Site::start().await;
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    for body in ["", "{", "{\"name\":}", "{\"name\":\"x\"} x", "\u{0}", deep.as_str()] {
        let asked = with_token("POST", "/apps").header("content-type", "application/json");
        let reply = site.raw(asked.body(Body::from(body.to_owned())).unwrap()).await;
        let problem = reply.problem(400, "malformed_json");
        assert!(problem["detail"].as_str().unwrap().starts_with("The body is not JSON: "));
    }
}

#[tokio::test]
async fn a_body_of_1_mib_is_accepted_and_one_byte_more_is_not() {
    let site = Site::start().await;
    let (app, _) = site.app().await;
    let flow = site.flow(&app).await;
    let path = format!("/flows/{flow}/draft");
    for (bytes, code) in [(1024 * 1024, None), (1024 * 1024 + 1, Some("payload_too_large"))] {
        let title = "x".repeat(bytes - r#"{"title":""}"#.len());
        let body = json!({"title": title}).to_string();
        assert_eq!(body.len(), bytes);
        let asked = with_token("PUT", &path).header("content-type", "application/json");
        let reply = site.raw(asked.body(Body::from(body)).unwrap()).await;
        match code {
            None => assert_eq!(reply.status, 200),
            Some(code) => assert!(reply.problem(413, code)["detail"].is_string()),
        }
    }
}

#[tokio::test]
async fn an_operation_without_fields_accepts_only_no_body_or_an_empty_object() {
    let site = Site::start().await;
    let (app, _) = site.app().await;
    let flow = site.flow(&app).await;
    let version = site.publish(&flow).await;
    let paths = [
        format!("/apps/{app}/keys"),
        format!("/flows/{flow}/publish"),
        format!("/flow_versions/{version}/republish"),
        format!("/flow_versions/{version}/retire"),
    ];
    let before = site.get("/audit").await.ok(200);
    for path in &paths {
        let unknown = "is not known here; this takes no fields";
        site.post(path, json!({"name": "x"})).await.faults(&[("/name", unknown)]);
        let two = site.post(path, json!({"a/b": null, "c": {}})).await;
        two.faults(&[("/a~1b", unknown), ("/c", unknown)]);
        site.post(path, json!([])).await.faults(&[("", "must be an object, not an array")]);
        site.post(path, json!("x")).await.faults(&[("", "must be an object, not a string")]);
        let untyped = with_token("POST", path).body(Body::from("{}")).unwrap();
        site.raw(untyped).await.problem(415, "unsupported_media_type");
        let asked = with_token("POST", path).header("content-type", "application/json");
        let reply = site.raw(asked.body(Body::from("{")).unwrap()).await;
        reply.problem(400, "malformed_json");
    }
    assert_eq!(site.get("/audit").await.ok(200), before, "a refused request must change nothing");
    for path in &paths {
        for body in [json!({}), serde_json::Value::Null] {
            if path.ends_with("/publish") {
                site.put(&format!("/flows/{flow}/draft"), definition("Next")).await.ok(200);
            }
            let reply = site.post(path, body).await;
            assert!((200..300).contains(&reply.status), "{path}: {}", reply.text);
        }
    }
}

#[tokio::test]
async fn an_operation_without_parameters_names_each_one_that_it_refuses() {
    let site = Site::start().await;
    let (app, _) = site.app().await;
    let unknown = "is not known here; this takes no parameters";
    let reply = site.delete(&format!("/apps/{app}/keys/x?dryRun=true&a%2Fb&dryRun=false")).await;
    reply.faults(&[("/a~1b", unknown), ("/dryRun", unknown)]);
    site.get(&format!("/apps/{app}?")).await.ok(200);
    site.get("/nothing?a=1").await.problem(404, "route_not_found");
    site.put("/mail-test?a=1", json!({})).await.problem(405, "method_not_allowed");
}

#[tokio::test]
async fn an_unknown_path_or_method_is_a_problem_and_still_needs_a_token() {
    let site = Site::start().await;
    site.get("/nothing").await.problem(404, "route_not_found");
    site.get("/apps/").await.problem(404, "route_not_found");
    let wrong = site.put("/apps", json!({})).await;
    let allowed = wrong.headers["allow"].to_str().unwrap().to_owned();
    assert!(allowed.contains("GET") && allowed.contains("POST"), "{allowed}");
    wrong.problem(405, "method_not_allowed");
    for path in ["/nothing", "/apps"] {
        let reply = site.raw(request("PUT", path).body(Body::empty()).unwrap()).await;
        reply.problem(401, "token_missing");
    }
}

#[tokio::test]
async fn no_reply_allows_another_origin() {
    let site = Site::start().await;
    for method in ["GET", "OPTIONS"] {
        let asked = with_token(method, "/apps")
            .header("origin", "https://a.example")
            .header("access-control-request-method", "GET");
        let reply = site.raw(asked.body(Body::empty()).unwrap()).await;
        assert!(!reply.headers.contains_key("access-control-allow-origin"), "{method}");
    }
}
