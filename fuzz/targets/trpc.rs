//! A tRPC request: its first line is the method and the path, then come headers, an empty line and
//! the body.
//!
//! Every reply is an envelope of tRPC, never a server error; a batch has one for each of its calls;
//! and a batch of validations replies to each call what a request with only this call gets.

use http::Method;
use serde_json::Value;

use super::site::{Site, filled, head_and_body, site};

/// The calls of a batch that are compared with single ones. Further ones would only take time.
const COMPARED_MAX: usize = 4;
const JSON: (&str, &str) = ("content-type", "application/json");

pub(super) fn run(data: &[u8]) {
    let Some((head, body)) = head_and_body(data) else { return };
    let site = site();
    let body = filled(body, "VERSION", &site.flow_version_id);
    let mut lines = head.lines();
    let Some((method, path)) = lines.next().and_then(|line| line.split_once(' ')) else { return };
    let Ok(method) = method.parse::<Method>() else { return };
    let headers: Vec<(&str, &str)> = lines.filter_map(|line| line.split_once(": ")).collect();
    let address = format!("/api/v1/{}/trpc/{path}", site.api_key);
    let Some(reply) = site.send(&method, &address, &headers, body.clone()) else { return };
    if matches!(method, Method::HEAD | Method::OPTIONS) {
        return;
    }
    let is_lines = headers.iter().any(|(name, value)| {
        let name = name.to_ascii_lowercase();
        matches!(name.as_str(), "accept" | "trpc-accept" | "trpc-batch-mode")
            && !value.is_empty()
    });
    if is_lines {
        return check_lines(&reply.text);
    }
    match reply.json() {
        Value::Array(entries) => {
            assert!(path.contains("batch"), "an array for one call");
            entries.iter().for_each(check_envelope);
            let is_plain = headers.iter().all(|(name, _)| name.eq_ignore_ascii_case(JSON.0));
            if method != Method::POST || !is_plain {
                return;
            }
            check_batch(site, path, &body, &entries);
        }
        entry => check_envelope(&entry),
    }
}

/// Exactly one of a result and an error.
fn check_envelope(entry: &Value) {
    let (result, error) = (entry.get("result").is_some(), entry.get("error").is_some());
    assert!(result != error, "no envelope: {entry}");
    if let Some(error) = entry.get("error") {
        // A call in a superjson envelope gets one.
        let error = error.get("json").unwrap_or(error);
        assert!(error["message"].is_string() && error["code"].is_i64(), "no error: {entry}");
        assert!(error["data"]["httpStatus"].as_i64().is_some_and(|it| it < 500), "{entry}");
    }
}

/// The body is JSON as a whole (version 10), or each line of it is (version 11).
fn check_lines(text: &str) {
    let is_json = |text: &str| serde_json::from_str::<Value>(text).is_ok();
    let mut lines = text.lines().filter(|line| !line.is_empty());
    assert!(is_json(text) || lines.all(is_json), "no JSON: {text}");
}

/// Single calls with the inputs of a batch of validations get the same replies.
fn check_batch(site: &Site, path: &str, body: &[u8], entries: &[Value]) {
    let Some((names, query)) = path.split_once('?') else { return };
    let calls = names.split(',').count();
    let is_plain = names.split(',').all(|name| name == "response.validate") && query == "batch=1";
    let Ok(Value::Object(inputs)) = serde_json::from_slice::<Value>(body) else { return };
    if !is_plain {
        return;
    }
    assert_eq!(entries.len(), calls, "one entry for each call");
    let address = format!("/api/v1/{}/trpc/response.validate", site.api_key);
    for (index, entry) in entries.iter().enumerate().take(COMPARED_MAX) {
        // An absent input is not an empty one.
        let Some(input) = inputs.get(&index.to_string()) else { continue };
        // Numbers beyond the range of a Value would be written otherwise.
        let sent = input.to_string();
        let single = site.send(&Method::POST, &address, &[JSON], sent.into_bytes());
        let single = single.expect("a valid request").json();
        assert_eq!(&single, entry, "call {index} of {path}");
    }
}
