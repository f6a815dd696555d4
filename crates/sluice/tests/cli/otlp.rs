//! Traces: a real receiver decodes what a server exports, and what it must not contain is searched
//! for in every byte.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Bytes;
use axum::routing::post;
use http::HeaderMap;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value as AnyValue;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use opentelemetry_proto::tonic::trace::v1::{Span, status::StatusCode};
use prost::Message as _;
use reqwest::Method;
use serde_json::json;

use crate::identity::{change, demo_app};
use crate::support::{Server, http, run, submission, text};

const RECEIVED_MAX: Duration = Duration::from_secs(60);
const SUBMIT: &str = "POST /api/v1/{apiKey}/trpc/{*procedure}";
const TRACE: u128 = 0x4bf9_2f35_77b3_4da6_a3ce_929d_0e0e_4736;
const CLIENT_SPAN: u64 = 0x00f0_67aa_0ba9_02b7;
const CANARY: &str = "5gQ2";

struct Received {
    headers: HeaderMap,
    body: Bytes,
}

/// A receiver of OTLP over HTTP, which also takes webhooks.
pub(crate) struct Receiver {
    pub(crate) address: String,
    received: Arc<Mutex<Vec<Received>>>,
}

impl Receiver {
    pub(crate) async fn start() -> Self {
        let received: Arc<Mutex<Vec<Received>>> = Arc::default();
        let kept = Arc::clone(&received);
        let keep = move |headers: HeaderMap, body: Bytes| {
            kept.lock().unwrap().push(Received { headers, body });
            std::future::ready(())
        };
        let hangs = post(async || std::future::pending::<()>().await);
        let routes = Router::new()
            .route("/v1/traces", post(keep))
            .route("/hangs/v1/traces", hangs)
            .route("/webhook/{secret}", post(async || ()));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        tokio::spawn(async move { axum::serve(listener, routes).await });
        Self { address, received }
    }

    fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    fn requests(&self) -> Vec<ExportTraceServiceRequest> {
        let received = self.received.lock().unwrap();
        received
            .iter()
            .map(|it| ExportTraceServiceRequest::decode(it.body.clone()).unwrap())
            .collect()
    }

    pub(crate) fn spans(&self) -> Vec<Span> {
        let requests = self.requests().into_iter().flat_map(|it| it.resource_spans);
        requests.flat_map(|it| it.scope_spans).flat_map(|it| it.spans).collect()
    }

    async fn until(&self, name: &str) -> Span {
        let begin = Instant::now();
        loop {
            if let Some(span) = self.spans().into_iter().find(|span| span.name == name) {
                return span;
            }
            assert!(begin.elapsed() < RECEIVED_MAX, "no {name}: {:?}", self.spans());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Whether these bytes are anywhere in what was received; ids are bytes as well.
    pub(crate) fn contains(&self, needle: &str) -> bool {
        let received = self.received.lock().unwrap();
        received.iter().any(|it| it.body.windows(needle.len()).any(|at| at == needle.as_bytes()))
    }
}

fn serve(folder: &Path, url: &str, more: &[&str]) -> Server {
    Server::start_with(folder, "127.0.0.1:0", |command| {
        command.args(["--otlp-endpoint", url]).args(more)
    })
}

/// Submits once, and returns the status.
async fn submit_with(server: &Server, why: &str, headers: &[(&str, &str)]) -> u16 {
    let mut request = http().post(server.submit_url(&server.id("pk_")));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let reply = request.json(&submission(&server.id("fv_"), why)).send().await.unwrap();
    reply.status().as_u16()
}

fn traceparent(flags: &str) -> String {
    format!("00-{TRACE:032x}-{CLIENT_SPAN:016x}-{flags}")
}

fn attributes(of: &[KeyValue]) -> BTreeMap<String, String> {
    let value = |pair: &KeyValue| match pair.value.clone().unwrap().value.unwrap() {
        AnyValue::StringValue(text) => text,
        AnyValue::IntValue(number) => number.to_string(),
        other => panic!("{other:?}"),
    };
    of.iter().map(|pair| (pair.key.clone(), value(pair))).collect()
}

fn expected(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_submission_is_a_tree_of_spans_that_continues_the_trace_of_its_client() {
    let (folder, receiver) = (tempfile::tempdir().unwrap(), Receiver::start().await);
    let server = Server::start_with(folder.path(), "127.0.0.1:0", |command| {
        command
            .args(["--otlp-endpoint", &receiver.url()])
            .env("OTEL_SERVICE_NAME", "feedback")
            .env("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test%20x,service.name=y")
            .env("OTEL_EXPORTER_OTLP_HEADERS", "api-key=of%20the receiver")
    });
    let parent = traceparent("01");
    let own = [("traceparent", parent.as_str()), ("tracestate", "a=canary-5gQ2")];
    assert_eq!(submit_with(&server, "canary-5gQ2", &own).await, 200);
    // Nothing else is waited for: a server that stops exports what it has.
    assert_eq!(server.stop(), Some(0));

    let spans: Vec<Span> =
        receiver.spans().into_iter().filter(|it| it.trace_id == TRACE.to_be_bytes()).collect();
    let named = |name: &str| spans.iter().filter(|it| it.name == name).collect::<Vec<_>>();
    let [request] = named(SUBMIT)[..] else { panic!("{spans:?}") };
    assert_eq!(request.parent_span_id, CLIENT_SPAN.to_be_bytes());
    assert_eq!(request.kind(), SpanKind::Server);
    assert_eq!(request.flags, 0x301, "recorded, and the parent is the client's");
    assert_eq!(request.status, None);
    let route = SUBMIT.strip_prefix("POST ").unwrap();
    let of_request = [
        ("http.response.status_code", "200"),
        ("http.request.method", "POST"),
        ("http.route", route),
    ];
    assert_eq!(attributes(&request.attributes), expected(&of_request));
    let ([wait], [commit]) = (&named("queue wait")[..], &named("commit")[..]) else {
        panic!("{spans:?}")
    };
    assert_eq!(attributes(&commit.attributes), expected(&[("sluice.batch.size", "1")]));
    assert!(wait.end_time_unix_nano <= commit.start_time_unix_nano, "{wait:?} {commit:?}");
    assert!(!named("store read").is_empty(), "the app and the version were not cached: {spans:?}");
    for child in spans.iter().filter(|it| it.span_id != request.span_id) {
        assert_eq!(child.parent_span_id, request.span_id, "{child:?}");
        assert_eq!((child.kind(), child.flags), (SpanKind::Internal, 0x101));
        assert!(child.start_time_unix_nano >= request.start_time_unix_nano, "{child:?}");
        assert!(child.end_time_unix_nano >= child.start_time_unix_nano, "{child:?}");
    }
    let resource = receiver.requests()[0].resource_spans[0].resource.clone().unwrap();
    let of_process = [
        ("deployment.environment.name", "test x"),
        ("service.name", "feedback"),
        ("service.version", env!("CARGO_PKG_VERSION")),
    ];
    assert_eq!(attributes(&resource.attributes), expected(&of_process));
    let received = receiver.received.lock().unwrap();
    assert_eq!(received[0].headers["content-type"], "application/x-protobuf");
    assert_eq!(received[0].headers["api-key"], "of the receiver");
    drop(received);
    assert!(!receiver.contains(CANARY));
}

#[tokio::test(flavor = "multi_thread")]
async fn other_requests_are_named_by_their_route_and_refusals_by_their_code() {
    let (folder, receiver) = (tempfile::tempdir().unwrap(), Receiver::start().await);
    let server = serve(folder.path(), &receiver.url(), &[]);
    let path = |path: &str| format!("{}{path}", server.base);
    let odd = Method::from_bytes(b"CANARY5gQ2").unwrap();
    for (method, path, status) in [
        (Method::GET, path("/api/v1/pk_canary5gQ2canary5gQ2ca/flows/canary-5gQ2?x=5gQ2"), 401),
        (Method::GET, path("/api/admin/v1/apps?canary=5gQ2"), 401),
        (Method::GET, path("/canary-5gQ2"), 404),
        (odd, path("/canary-5gQ2"), 404),
    ] {
        assert_eq!(http().request(method, path).send().await.unwrap().status(), status);
    }
    assert_eq!(server.stop(), Some(0));
    let spans = receiver.spans();
    let found: Vec<(&str, String)> = spans
        .iter()
        .filter(|it| it.kind() == SpanKind::Server)
        .map(|it| {
            let mut attributes = attributes(&it.attributes);
            (it.name.as_str(), attributes.remove("sluice.refusal").unwrap_or_default())
        })
        .collect();
    let name = |name: &str| found.iter().find(|(it, _)| *it == name).map(|(_, code)| code.as_str());
    assert_eq!(name("GET /api/v1/{apiKey}/flows/{flowId}"), Some("api_key_invalid"), "{found:?}");
    assert!(name("GET /api/admin/v1/apps").is_some(), "{found:?}");
    assert!(name("GET (none)").is_some() && name("_OTHER (none)").is_some(), "{found:?}");
    assert!(spans.iter().all(|it| it.status.is_none()), "no refusal is a failure of the server");
    assert!(!receiver.contains(CANARY));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_is_a_trace_without_its_address() {
    let (folder, receiver) = (tempfile::tempdir().unwrap(), Receiver::start().await);
    let allow = ["--webhook-allow", "127.0.0.0/8", "--webhook-allow-http"];
    let server = serve(folder.path(), &receiver.url(), &allow);
    let admin = server.token().unwrap();
    let endpoints = format!("/apps/{}/webhooks", demo_app(&server, &admin).await);
    let url = format!("{}/webhook/canary-5gQ2", receiver.url());
    change(&server, &admin, Method::POST, &endpoints, Some(&json!({"url": url}))).await;
    assert_eq!(submit_with(&server, "canary-5gQ2", &[]).await, 200);
    let webhook = receiver.until("webhook").await;
    assert_eq!((webhook.kind(), webhook.parent_span_id.len()), (SpanKind::Client, 0));
    let status = expected(&[("http.response.status_code", "200")]);
    assert_eq!(attributes(&webhook.attributes), status);
    let (_, metrics) = metrics_of(&server, "exported").await;
    assert!(metrics > 0);
    assert_eq!(server.stop(), Some(0));
    assert!(!receiver.contains(CANARY) && !receiver.contains("/webhook/"));
}

/// All metrics, and the count of spans with this outcome.
async fn metrics_of(server: &Server, outcome: &str) -> (String, u64) {
    let reply = http().get(format!("{}/metrics", server.base)).send().await.unwrap();
    let all = reply.text().await.unwrap();
    let series = format!("sluice_trace_spans_total{{outcome=\"{outcome}\"}} ");
    let value = all.lines().find_map(|line| line.strip_prefix(&series)).unwrap().parse().unwrap();
    (all, value)
}

#[tokio::test(flavor = "multi_thread")]
async fn with_a_ratio_of_0_or_without_the_wish_of_the_client_nothing_is_exported() {
    let (folder, receiver) = (tempfile::tempdir().unwrap(), Receiver::start().await);
    let server = serve(folder.path(), &receiver.url(), &["--otlp-sample", "0"]);
    assert_eq!(submit_with(&server, "none", &[]).await, 200);
    assert_eq!(submit_with(&server, "none", &[("traceparent", &traceparent("01"))]).await, 200);
    assert_eq!(server.stop(), Some(0));
    assert_eq!(receiver.requests().len(), 0);

    let server = serve(folder.path(), &receiver.url(), &[]);
    let url = format!("{}/healthz", server.base);
    let reply = http().get(&url).header("traceparent", traceparent("00")).send().await.unwrap();
    assert_eq!(reply.status(), 200);
    assert_eq!(http().get(&url).send().await.unwrap().status(), 200);
    assert_eq!(server.stop(), Some(0));
    let healthy = receiver.spans().iter().filter(|it| it.name == "GET /healthz").count();
    assert_eq!(healthy, 1, "only the second was recorded");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_cannot_have_more_requests_traced_than_the_ratio_allows() {
    let (folder, receiver) = (tempfile::tempdir().unwrap(), Receiver::start().await);
    let server = serve(folder.path(), &receiver.url(), &["--otlp-sample", "0.01"]);
    let url = format!("{}/healthz", server.base);
    // The lowest trace id, which a decision by the id would record with any ratio.
    let header = format!("00-{:032x}-{CLIENT_SPAN:016x}-01", 1);
    for _ in 0..200 {
        let reply = http().get(&url).header("traceparent", &header).send().await.unwrap();
        assert_eq!(reply.status(), 200);
    }
    assert_eq!(server.stop(), Some(0));
    let traced = receiver.spans().iter().filter(|it| it.name == "GET /healthz").count();
    assert!(traced < 20, "{traced} of 200 were recorded");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_is_down_or_hangs_disturbs_nothing() {
    let receiver = Receiver::start().await;
    // Nothing listens at this port any more.
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for (url, logged) in [
        (format!("http://user:canary-5gQ2@{gone}"), "traces could not be exported"),
        (format!("{}/hangs", receiver.url()), "the last traces were not exported"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let server = serve(folder.path(), &url, &[]);
        let (token, flow) = (server.token().unwrap(), server.id("fl_"));
        for at in 0..30 {
            assert_eq!(submit_with(&server, &format!("answer {at}"), &[]).await, 200);
        }
        assert_eq!(server.stored(&token, &flow, None).await.len(), 30);
        assert_eq!(server.stop(), Some(0), "{url}");
        let log = std::fs::read_to_string(folder.path().join("server.log")).unwrap();
        assert_eq!(log.matches(logged).count(), 1, "{log}");
        assert!(log.contains("everything acknowledged is stored"), "{log}");
        assert!(!log.contains(CANARY), "{log}");
    }
    assert_eq!(receiver.spans().len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_of_the_server_is_an_error_in_the_trace() {
    let (folder, receiver) = (tempfile::tempdir().unwrap(), Receiver::start().await);
    // Any free space is below this reserve, so no response is stored.
    let reserve = ["--disk-reserve", "1000000000000000"];
    let server = serve(folder.path(), &receiver.url(), &reserve);
    assert_eq!(submit_with(&server, "refused", &[]).await, 503);
    assert_eq!(server.stop(), Some(0));
    let spans = receiver.spans();
    for name in [SUBMIT, "commit"] {
        let span = spans.iter().find(|it| it.name == name).unwrap_or_else(|| panic!("{spans:?}"));
        assert_eq!(span.status.as_ref().map(|it| it.code()), Some(StatusCode::Error), "{span:?}");
        assert_eq!(span.status.as_ref().unwrap().message, "");
    }
}

#[test]
fn an_address_that_is_none_is_refused_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let output = run(folder.path(), &["serve", "--otlp-endpoint", "canary-5gQ2.example:4317"]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("--otlp-endpoint http://127.0.0.1:4318"), "{said}");
    assert!(!said.contains(CANARY), "{said}");
}
