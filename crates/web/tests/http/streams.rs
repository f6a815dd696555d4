//! Batches answered line by line, in the framings of both versions.

use axum::body::Body;
use axum::body::Bytes;
use http::Method;
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::support::{Site, request, submission};

const LINES_11: (&str, &str) = ("trpc-accept", "application/jsonl");
const LINES_10: (&str, &str) = ("trpc-batch-mode", "stream");
const THREE: &str = "response.submit,nope,response.submit?batch=1";

#[tokio::test]
async fn version_11_sends_a_head_then_one_chunk_per_call() {
    let site = Site::start().await;
    let (_, version) = site.published().await;
    let body = json!({"0": submission(version), "2": {}}).to_string();
    let reply = site.trpc(THREE, &[LINES_11], &body).await;
    assert_eq!(reply.status, 200);
    assert_eq!(reply.header("content-type").as_deref(), Some("application/json"));
    let text = reply.text();
    assert!(text.ends_with('\n'));
    let mut lines = text.lines();
    let head = "{\"0\":[[0],[null,0,0]],\"1\":[[0],[null,0,1]],\"2\":[[0],[null,0,2]]}";
    assert_eq!(lines.next(), Some(head));
    let mut items = [Value::Null, Value::Null, Value::Null];
    for line in lines {
        let chunk: Value = serde_json::from_str(line).unwrap();
        assert_eq!(chunk[1], 0, "fulfilled: {line}");
        let index = usize::try_from(chunk[0].as_u64().unwrap()).unwrap();
        items[index] = chunk[2][0][0].clone();
    }
    assert_eq!(items[0]["result"]["data"]["success"], true);
    assert_eq!(items[1]["error"]["data"]["httpStatus"], 404);
    assert_eq!(items[2]["result"]["data"]["success"], false);
}

#[tokio::test]
async fn version_10_is_one_object_over_many_lines() {
    let site = Site::start().await;
    let (_, version) = site.published().await;
    let body = json!({"0": submission(version), "2": {}}).to_string();
    let reply = site.trpc(THREE, &[LINES_10], &body).await;
    assert_eq!(reply.status, 200);
    assert!(reply.header("vary").unwrap().contains("trpc-batch-mode"));
    let text = reply.text();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    assert_eq!(lines.len(), 4);
    assert!(lines[0].starts_with("{\""));
    assert!(lines[1].starts_with(",\"") && lines[2].starts_with(",\""));
    assert_eq!(lines[3], "}\n");
    let items: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(items["0"]["result"]["data"]["success"], true);
    assert_eq!(items["1"]["error"]["data"]["httpStatus"], 404);
    assert_eq!(items["2"]["result"]["data"]["success"], false);
}

#[tokio::test]
async fn version_10_sends_nothing_but_ascii() {
    let site = Site::start().await;
    let (_, version) = site.published().await;
    let mut bad = submission(version);
    bad["answers"] = json!({"nps": "1", "größe😀": "x"});
    let body = json!({"0": bad}).to_string();
    let reply = site.trpc("response.submit?batch=1", &[LINES_10], &body).await;
    assert!(reply.text().is_ascii(), "{}", reply.text());
    let path = &reply.json()["0"]["result"]["data"]["errors"]["issues"][0]["path"];
    assert_eq!(*path, json!(["answers", "größe😀"]));
    let reply = site.trpc("response.submit?batch=1", &[LINES_11], &body).await;
    assert!(reply.text().contains("größe😀"));
}

#[tokio::test]
async fn the_framing_follows_from_the_headers() {
    let site = Site::start().await;
    let body = "{}";
    let path = "response.submit?batch=1";
    for (headers, opening) in [
        (vec![("accept", "application/jsonl")], "{\"0\":[["),
        (vec![("accept", "text/html, application/jsonl")], "{\"0\":[["),
        (vec![LINES_11, LINES_10], "{\"0\":[["),
        (vec![("trpc-accept", "text/event-stream"), ("accept", "application/jsonl")], "[{"),
        (vec![("accept", "application/jsonl;q=0.9")], "[{"),
        (vec![("trpc-accept", "Application/JSONL")], "[{"),
        (vec![LINES_10], "{\"0\":{"),
        (vec![("trpc-batch-mode", "Stream")], "[{"),
        (vec![("accept", "*/*")], "[{"),
    ] {
        let reply = site.trpc(path, &headers, body).await;
        assert!(reply.text().starts_with(opening), "{headers:?}: {}", reply.text());
    }
    // Without a batch, version 10's mode has no effect.
    assert_eq!(site.trpc("response.submit", &[LINES_10], body).await.data()["success"], false);
}

#[tokio::test]
async fn a_stream_is_200_whatever_the_outcome_of_its_calls() {
    let site = Site::start().await;
    for headers in [LINES_11, LINES_10] {
        let reply = site.trpc("response.submit,nope?batch=1", &[headers], "{\"0\":").await;
        assert_eq!(reply.status, 200);
        assert_eq!(reply.text().matches("\"error\"").count(), 2, "{}", reply.text());
    }
}

#[tokio::test]
async fn each_line_is_sent_as_its_call_completes() {
    let site = Site::start().await;
    let (_, version) = site.published().await;
    let body = json!({"0": submission(version)}).to_string();
    for (header, expected) in [(LINES_11, 3), (LINES_10, 3)] {
        let headers = [("content-type", "application/json"), header];
        let path = site.path("trpc/response.submit,nope?batch=1");
        // The unknown procedure needs no disk, so its reply overtakes that of the call before it;
        // on a busy machine not every time.
        let mut has_overtaken = false;
        for _ in 0..100 {
            let request = request(Method::POST, &path, &headers, Body::from(body.clone()));
            let mut response = site.router.clone().oneshot(request).await.unwrap().into_body();
            let mut frames = Vec::new();
            while let Some(frame) = response.frame().await {
                frames.push(frame.unwrap().into_data().unwrap());
            }
            assert_eq!(frames.len(), expected, "{frames:?}");
            assert!(frames.iter().all(|frame| frame.ends_with(b"\n")));
            let of = |part: &[u8]| {
                let has = |frame: &Bytes| frame.windows(part.len()).any(|it| it == part);
                frames.iter().position(has).unwrap()
            };
            has_overtaken |= of(b"nope") < of(b"rs_");
            if has_overtaken {
                break;
            }
        }
        assert!(has_overtaken);
    }
}
