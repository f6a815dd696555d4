//! The tRPC transport, one call at a time and in batches: order of checks, envelopes, statuses.

use axum::body::Body;
use http::Method;
use serde_json::{Value, json};
use sluice_engine::rows::IdentityVerification;

use crate::identity::Verified;
use crate::support::{Reply, Site, request, submission};

const JSON: (&str, &str) = ("content-type", "application/json");
const PATH: &str = "response.submit";

/// An error envelope; `path` is absent on errors of the whole request.
fn error(message: &str, number: i32, code: &str, status: u16, path: Option<&str>) -> Value {
    let mut data = json!({"code": code, "httpStatus": status});
    if let Some(path) = path {
        data["path"] = json!(path);
    }
    json!({"error": {"message": message, "code": number, "data": data}})
}

fn bad_request(message: &str, path: Option<&str>) -> Value {
    error(message, -32600, "BAD_REQUEST", 400, path)
}

fn not_found(path: &str) -> Value {
    let message = format!("No procedure found on path \"{path}\"");
    error(&message, -32004, "NOT_FOUND", 404, Some(path))
}

fn wrong_method(method: &str) -> Value {
    let message =
        format!("Unsupported {method}-request to mutation procedure at path \"response.submit\"");
    error(&message, -32005, "METHOD_NOT_SUPPORTED", 405, Some(PATH))
}

fn unsupported(message: &str) -> Value {
    error(message, -32015, "UNSUPPORTED_MEDIA_TYPE", 415, None)
}

fn unauthorized() -> Value {
    error("The API key is unknown or revoked.", -32001, "UNAUTHORIZED", 401, Some(PATH))
}

async fn send(
    site: &Site,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Reply {
    let method = Method::from_bytes(method.as_bytes()).unwrap();
    site.send(request(method, path, headers, Body::from(body.to_owned()))).await
}

#[track_caller]
fn assert_envelope(reply: &Reply, status: u16, expected: &Value) {
    assert_eq!(reply.json(), *expected);
    assert_eq!(reply.status, status);
    assert_eq!(reply.header("content-type").as_deref(), Some("application/json"));
    let vary = reply.header("vary").unwrap();
    assert!(vary.starts_with("trpc-accept, accept, trpc-batch-mode"), "{vary}");
}

#[tokio::test]
async fn head_is_204_before_anything_else() {
    let it = Verified::start().await;
    it.secret().await;
    let site = &it.site;
    for mode in [IdentityVerification::Off, IdentityVerification::Enforce] {
        it.mode(mode).await;
        for path in ["trpc/response.submit", "trpc/nope", "trpc/%zz", "trpc/", "trpc"] {
            let reply = send(site, "HEAD", &site.path(path), &[], "").await;
            assert_eq!((reply.status, reply.body.len()), (204, 0), "{path}");
            assert_eq!(reply.header("access-control-allow-origin").as_deref(), Some("*"));
        }
    }
}

/// Method, path, headers; status and envelope.
type Row<'a> = (&'a str, String, &'a [(&'a str, &'a str)], u16, Value);

/// Each row fails the check that it is named after and every later check that it can; the last one
/// is the refusal of a caller with this key and this `Authorization`.
async fn check_order(site: &Site, key: &str, authorization: Option<&str>, refusal: Value) {
    let calls = |n: usize| vec!["nope"; n].join(",");
    let lines = ("trpc-accept", "application/jsonl");
    let streaming = "Streaming requests must be batched (you can do a batch of 1)";
    let rows: &[Row<'_>] = &[
        (
            "PUT",
            "response.submit,%zz?batch=1".into(),
            &[],
            400,
            bad_request("Invalid URL-encoding in path \"response.submit,%zz\"", None),
        ),
        ("PUT", "nope".into(), &[lines], 415, unsupported("Missing content-type header")),
        (
            "PUT",
            format!("{}?batch=1", calls(101)),
            &[("content-type", "text/plain; x=1")],
            415,
            unsupported("Unsupported content-type \"text/plain; x=1"),
        ),
        (
            "PUT",
            format!("{}?batch=1", calls(101)),
            &[JSON],
            400,
            bad_request("A batch may have at most 100 calls.", None),
        ),
        ("PUT", "nope".into(), &[JSON, lines], 400, bad_request(streaming, None)),
        ("PUT", "nope".into(), &[JSON], 404, not_found("nope")),
        ("PUT", PATH.into(), &[JSON], 405, wrong_method("PUT")),
        ("GET", PATH.into(), &[], 405, wrong_method("GET")),
        ("POST", PATH.into(), &[JSON], 401, refusal.clone()),
        ("POST", format!("{PATH},nope?batch=1"), &[JSON], 207, json!([refusal, not_found("nope")])),
    ];
    for (method, path, headers, status, expected) in rows {
        let path = format!("/api/v1/{key}/trpc/{path}");
        let mut headers = headers.to_vec();
        headers.extend(authorization.map(|it| ("authorization", it)));
        let reply = send(site, method, &path, &headers, "not json").await;
        assert_envelope(&reply, *status, expected);
        let allow = (*status == 405).then(|| "POST".to_owned());
        assert_eq!(reply.header("allow"), allow, "{method} {path}");
        let is_unauthorized = matches!(status, 401 | 207);
        let challenge = is_unauthorized.then(|| "Bearer".to_owned());
        assert_eq!(reply.header("www-authenticate"), challenge, "{method} {path}");
    }
}

#[tokio::test]
async fn the_first_failing_check_is_reported() {
    let site = Site::start().await;
    check_order(&site, "pk_0000000000000000000000", None, unauthorized()).await;
    let reply = send(&site, "POST", &site.path("trpc/response.submit"), &[JSON], "not json").await;
    assert_eq!(reply.status, 400);
    assert_eq!(reply.json()["error"]["data"]["path"], PATH);
}

#[tokio::test]
async fn a_refused_token_is_reported_in_the_same_order_as_an_unknown_key() {
    let it = Verified::start().await;
    it.secret().await;
    it.mode(IdentityVerification::Enforce).await;
    let missing = "This app verifies identities: send Authorization: Bearer with an access token.";
    let invalid = "The access token is not valid for this app.";
    for (authorization, message, reason) in
        [(None, missing, "token_missing"), (Some("Bearer x"), invalid, "token_invalid")]
    {
        let mut refusal = error(message, -32001, "UNAUTHORIZED", 401, Some(PATH));
        refusal["error"]["data"]["reason"] = json!(reason);
        check_order(&it.site, &it.site.key, authorization, refusal).await;
    }
}

#[tokio::test]
async fn the_path_is_decoded_and_normalised_like_a_url_parser_does() {
    let site = Site::start().await;
    let (_, version) = site.published().await;
    let input = submission(version).to_string();
    for path in [
        "response.submit",
        "response.submit/",
        "response.submit//",
        "response%2Esubmit",
        "response.%73ubmit",
        "foo/../response.submit",
        "./response.submit",
    ] {
        site.trpc(path, &[], &input).await.assert_accepted();
    }
    for (path, name) in [
        ("", ""),
        ("/response.submit", "/response.submit"),
        ("response/submit", "response/submit"),
        ("response%2Fsubmit", "response/submit"),
        ("response%252Esubmit", "response%2Esubmit"),
        ("response.submit,response.submit", "response.submit,response.submit"),
        ("response.submit;x=1", "response.submit;x=1"),
        ("%22%3Cscript%3E", "\"<script>"),
        ("RESPONSE.SUBMIT", "RESPONSE.SUBMIT"),
    ] {
        assert_envelope(&site.trpc(path, &[], &input).await, 404, &not_found(name));
    }
    for path in ["response.submit%ff", "%", "%4", "%g0"] {
        let message = format!("Invalid URL-encoding in path \"{path}\"");
        let reply = site.trpc(path, &[], &input).await;
        assert_envelope(&reply, 400, &bad_request(&message, None));
    }
}

#[tokio::test]
async fn only_uncompressed_json_is_accepted() {
    let site = Site::start().await;
    let (_, version) = site.published().await;
    let input = submission(version).to_string();
    let path = site.path("trpc/response.submit");
    for value in ["application/json", "APPLICATION/JSON; charset=iso-8859-1", "application/json ;x"]
    {
        let headers = [("content-type", value), ("content-encoding", "identity")];
        send(&site, "POST", &path, &headers, &input).await.assert_accepted();
    }
    for value in ["text/plain", "application/jsonp", "garbage", "application/json, text/plain", ""]
    {
        let reply = send(&site, "POST", &path, &[("content-type", value)], &input).await;
        let message = format!("Unsupported content-type \"{value}");
        assert_envelope(&reply, 415, &unsupported(&message));
    }
    let reply = send(&site, "POST", &path, &[JSON, ("content-encoding", "gzip")], &input).await;
    let message = "Unsupported content-encoding \"gzip\": send the body uncompressed";
    assert_envelope(&reply, 415, &unsupported(message));
}

#[tokio::test]
async fn a_body_that_is_not_json_is_a_bad_request_and_never_validated() {
    let site = Site::start().await;
    let (_, version) = site.published().await;
    for body in ["not json", "{'a':1}", "{} {}", "{\"a\":\"\u{1}\"}", "{\"a\":\"\\ud80\"}", "[1"] {
        let reply = site.trpc(PATH, &[], body).await;
        assert_eq!(reply.status, 400, "{body}");
        let error = &reply.json()["error"];
        assert_eq!((&error["code"], &error["data"]["path"]), (&json!(-32600), &json!(PATH)));
    }
    for body in ["", "  \n "] {
        let expected = bad_request("Unexpected end of JSON input", Some(PATH));
        assert_envelope(&site.trpc(PATH, &[], body).await, 400, &expected);
    }
    let mut deep = submission(version);
    deep["extra"] = (0..20).fold(json!(1), |inner, _| json!([inner]));
    let reply = site.submit(&deep).await;
    assert_eq!(reply.status, 400, "deeper than 16 levels: {}", reply.text());
    let bytes = [b"{\"flowVersionId\":\"", &b"\xff\xfe"[..], b"\"}"].concat();
    let path = site.path("trpc/response.submit");
    let reply = site.send(request(Method::POST, &path, &[JSON], Body::from(bytes))).await;
    assert_eq!(reply.status, 400);
}

#[tokio::test]
async fn json_of_the_wrong_shape_is_validated_and_refused() {
    let site = Site::start().await;
    for body in ["[]", "\"hello\"", "null", "false", "12", "{}"] {
        let data = site.trpc(PATH, &[], body).await.data();
        assert_eq!(data["success"], false, "{body}");
    }
}

#[tokio::test]
async fn batch_counts_only_when_its_first_value_is_1() {
    let site = Site::start().await;
    let (_, version) = site.published().await;
    let single = submission(version).to_string();
    let batch = json!({"0": submission(version)}).to_string();
    for query in ["", "?", "?batch=0", "?batch=true", "?BATCH=1", "?batch=0&batch=1", "?input=x"] {
        site.trpc(&format!("{PATH}{query}"), &[], &single).await.assert_accepted();
    }
    for query in ["?batch=1", "?batch=%31", "?batch=1&batch=0", "?x=y&batch=1&input=%7B%7D"] {
        let reply = site.trpc(&format!("{PATH}{query}"), &[], &batch).await;
        assert_eq!(
            (reply.status, &reply.json()[0]["result"]["data"]["success"]),
            (200, &json!(true))
        );
    }
}

#[tokio::test]
async fn a_batch_is_answered_in_order_with_the_common_status_or_207() {
    let site = Site::start().await;
    let (_, version) = site.published().await;
    let good = submission(version);
    // The path list, the inputs, the status, and the status of each item (0 = validated and
    // refused).
    for (paths, inputs, status, items) in [
        ("S,S,S", json!({"0": good, "1": good, "2": good}), 200, vec![200, 200, 200]),
        ("S,S", json!({"0": good, "1": {}}), 200, vec![200, 0]),
        ("S,S", json!({"0": good}), 200, vec![200, 0]),
        ("S", json!({}), 200, vec![0]),
        ("S,S", json!({"0": good, "1": null}), 200, vec![200, 0]),
        ("S", json!({"00": good}), 200, vec![0]),
        ("S", json!({"0": good, "1": good, "x": 1}), 200, vec![200]),
        ("S,nope,S", json!({"0": good, "1": good, "2": good}), 207, vec![200, 404, 200]),
        ("S,", json!({"0": good, "1": good}), 207, vec![200, 404]),
        (",S", json!({"0": good, "1": good}), 207, vec![404, 200]),
        ("S,%20S", json!({"0": good, "1": good}), 207, vec![200, 404]),
        ("S%2CS", json!({"0": good, "1": good}), 200, vec![200, 200]),
        ("S,S/", json!({"0": good, "1": good}), 200, vec![200, 200]),
        ("nope,nope2", json!({}), 404, vec![404, 404]),
        ("", json!({}), 404, vec![404]),
    ] {
        let path = format!("{}?batch=1", paths.replace('S', PATH));
        let reply = site.trpc(&path, &[], &inputs.to_string()).await;
        let found: Vec<i64> = reply.json().as_array().unwrap().iter().map(status_of_item).collect();
        assert_eq!((reply.status, found), (status, items), "{paths} {inputs}");
    }
}

fn status_of_item(item: &Value) -> i64 {
    match (&item["result"]["data"]["success"], &item["error"]["data"]["httpStatus"]) {
        (Value::Bool(true), _) => 200,
        (Value::Bool(false), _) => 0,
        (_, status) => status.as_i64().unwrap(),
    }
}

#[tokio::test]
async fn a_batch_body_that_cannot_be_split_fails_each_of_its_calls() {
    let site = Site::start().await;
    let path = "response.submit,nope,response.submit?batch=1";
    let not_object = "\"input\" needs to be an object when doing a batch call";
    for (body, message) in [
        ("[{}]", not_object),
        ("\"x\"", not_object),
        ("null", not_object),
        ("", "Unexpected end of JSON input"),
    ] {
        let item = bad_request(message, Some(PATH));
        let expected = json!([item, not_found("nope"), item]);
        assert_envelope(&site.trpc(path, &[], body).await, 207, &expected);
    }
    let reply = site.trpc("response.submit,response.submit?batch=1", &[], "{\"0\":").await;
    assert_eq!((reply.status, reply.json().as_array().unwrap().len()), (400, 2));
    assert_eq!(reply.json()[1]["error"]["data"]["path"], PATH);
}

#[tokio::test]
async fn a_fault_in_one_input_of_a_batch_affects_only_that_call() {
    let site = Site::start().await;
    let (_, version) = site.published().await;
    let good = submission(version);
    let deep = format!("{}{}", "[".repeat(40), "]".repeat(40));
    for (bad, status) in [("{\"a\":1e400}", 400), (deep.as_str(), 400)] {
        let body = format!("{{\"0\":{bad},\"1\":{good}}}");
        let reply = site.trpc("response.submit,response.submit?batch=1", &[], &body).await;
        assert_eq!(reply.status, 207);
        let items = reply.json();
        assert_eq!((status_of_item(&items[0]), status_of_item(&items[1])), (status, 200));
    }
}

#[tokio::test]
async fn a_byte_order_mark_is_accepted_and_of_a_repeated_index_the_last_counts() {
    let site = Site::start().await;
    let (_, version) = site.published().await;
    let good = submission(version);
    site.trpc(PATH, &[], &format!("\u{feff}{good}")).await.assert_accepted();
    let body = format!("\u{feff}{{\"0\":{{}},\"0\":{good}}}");
    let reply = site.trpc("response.submit?batch=1", &[], &body).await;
    assert_eq!(status_of_item(&reply.json()[0]), 200);
}

#[tokio::test]
async fn a_batch_of_100_is_accepted_and_one_of_101_is_not() {
    let site = Site::start().await;
    let (_, version) = site.published().await;
    let good = submission(version);
    for (calls, status) in [(100_usize, 200), (101, 400)] {
        let inputs: serde_json::Map<_, _> =
            (0..calls).map(|index| (index.to_string(), good.clone())).collect();
        let path = format!("{}?batch=1", vec![PATH; calls].join(","));
        let reply = site.trpc(&path, &[], &Value::from(inputs).to_string()).await;
        assert_eq!(reply.status, status);
        if status == 200 {
            let items = reply.json();
            assert!(items.as_array().unwrap().iter().all(|item| status_of_item(item) == 200));
        }
    }
}
