//! Calls in a superjson envelope are answered in one, in every framing; plain calls get plain
//! answers.

use serde_json::{Value, json};

use crate::support::{Site, submission};

const PATH: &str = "response.submit";
const TWO: &str = "response.submit,response.submit?batch=1";

fn envelope(input: &Value) -> Value {
    json!({"json": input})
}

#[tokio::test]
async fn a_call_in_an_envelope_is_answered_in_one() {
    let site = Site::start().await;
    let (_, version) = site.published().await;
    let reply = site.trpc(PATH, &[], &envelope(&submission(version)).to_string()).await;
    assert_eq!(reply.status, 200);
    assert_eq!(reply.json()["result"]["data"]["json"]["success"], true);
    let refused = site.trpc(PATH, &[], &envelope(&json!({})).to_string()).await.json();
    assert_eq!(refused["result"]["data"]["json"]["success"], false);
}

#[tokio::test]
async fn errors_of_a_call_in_an_envelope_are_in_one_too() {
    let site = Site::start().await;
    let (_, version) = site.published().await;
    let input = envelope(&submission(version)).to_string();
    let unknown = site.trpc("nope", &[], &input).await;
    assert_eq!(unknown.status, 404);
    assert_eq!(unknown.json()["error"]["json"]["data"]["path"], "nope");
    let bad_key = site.trpc(PATH, &[("idempotency-key", "\"open")], &input).await;
    assert_eq!(bad_key.status, 400);
    assert_eq!(bad_key.json()["error"]["json"]["code"], -32600);
}

#[tokio::test]
async fn a_call_without_a_readable_input_is_answered_plainly() {
    let site = Site::start().await;
    for body in ["", "{\"json\":", "{\"json\":{}} x"] {
        let reply = site.trpc(PATH, &[], body).await;
        assert_eq!(reply.status, 400, "{body}");
        assert_eq!(reply.json()["error"]["code"], -32600, "{body}");
    }
    let large = envelope(&json!("x".repeat(3 << 20))).to_string();
    let reply = site.trpc(PATH, &[], &large).await;
    assert_eq!(reply.status, 413);
    assert_eq!(reply.json()["error"]["code"], -32013);
}

/// A request that is refused as a whole has one error for all its calls.
#[tokio::test]
async fn errors_of_a_whole_request_are_in_an_envelope_if_one_of_its_inputs_is() {
    let site = Site::start().await;
    let many = format!("{}?batch=1", vec![PATH; 101].join(","));
    let lines: &[_] = &[("trpc-accept", "application/jsonl")];
    let gzip: &[_] = &[("content-encoding", "gzip")];
    let long = "x".repeat(100_000);
    let single = |input: &Value| input.to_string();
    let batch = |input: &Value| json!({"0": {}, "100": {}, "99": input}).to_string();
    for (path, headers, body, status) in [
        (many.as_str(), &[][..], &batch as &dyn Fn(&Value) -> String, 400),
        (&many, lines, &batch, 400),
        (PATH, lines, &single, 400),
        ("%zz?batch=1", &[], &batch, 400),
        ("%zz", &[], &single, 400),
        (PATH, gzip, &single, 415),
    ] {
        for input in [json!({}), json!({"answers": {"why": long}})] {
            let plain = site.trpc(path, headers, &body(&input)).await;
            let wrapped = site.trpc(path, headers, &body(&envelope(&input))).await;
            assert_eq!((plain.status, wrapped.status), (status, status), "{path}");
            let error = &plain.json()["error"];
            assert_eq!(error["data"]["httpStatus"], status, "{path}");
            assert_eq!(wrapped.json(), json!({"error": envelope(error)}), "{path}");
        }
        for unreadable in ["", "{\"json\":", "{\"json\":{}} x", "{\"99\":{\"json\":{}}} x"] {
            let reply = site.trpc(path, headers, unreadable).await;
            assert_eq!(reply.json()["error"]["data"]["httpStatus"], status, "{path}");
        }
    }
}

#[tokio::test]
async fn in_a_batch_each_call_is_answered_in_its_format() {
    let site = Site::start().await;
    let (_, version) = site.published().await;
    let plain = submission(version);
    let body = json!({"0": plain, "1": envelope(&plain)}).to_string();
    let items = site.trpc(TWO, &[], &body).await.json();
    assert_eq!(items[0]["result"]["data"]["success"], true);
    assert_eq!(items[1]["result"]["data"]["json"]["success"], true);

    let lines = site.trpc(TWO, &[("trpc-batch-mode", "stream")], &body).await.json();
    assert_eq!(lines["0"]["result"]["data"]["success"], true);
    assert_eq!(lines["1"]["result"]["data"]["json"]["success"], true);
}

#[tokio::test]
async fn each_line_of_version_11_is_an_envelope_as_its_client_reads_it() {
    let site = Site::start().await;
    let (_, version) = site.published().await;
    let input = envelope(&submission(version));
    let body = json!({"0": input, "1": envelope(&json!({}))}).to_string();
    let reply = site.trpc(TWO, &[("trpc-accept", "application/jsonl")], &body).await.text();
    let mut lines = reply.lines();
    let head = r#"{"json":{"0":[[0],[null,0,0]],"1":[[0],[null,0,1]]}}"#;
    assert_eq!(lines.next(), Some(head));
    let mut outcomes = [None, None];
    for line in lines {
        let line: Value = serde_json::from_str(line).unwrap();
        let chunk = &line["json"];
        let index = usize::try_from(chunk[0].as_u64().unwrap()).unwrap();
        outcomes[index] = chunk[2][0][0]["result"]["data"]["success"].as_bool();
    }
    assert_eq!(outcomes, [Some(true), Some(false)]);
}

#[tokio::test]
async fn a_lone_surrogate_refuses_no_submission_in_any_framing() {
    let site = Site::start().await;
    let (_, version) = site.published().await;
    let input = submission(version).to_string().replace("It works.", "half of \\ud83d");
    assert!(input.contains("\\ud83d"));
    site.trpc(PATH, &[], &input).await.assert_accepted();
    let body = format!("{{\"0\":{input},\"1\":{{\"json\":{input}}}}}");
    let items = site.trpc(TWO, &[], &body).await.json();
    assert_eq!(items[0]["result"]["data"]["success"], true);
    assert_eq!(items[1]["result"]["data"]["json"]["success"], true);
}
