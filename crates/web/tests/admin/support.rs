//! A service with one app, and helpers to call it.

#[path = "../../../store/tests/support/either.rs"]
mod either;

use std::sync::Arc;

use axum::body::Body;
use http::{HeaderMap, Request};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use sluice_engine::clock::ManualClock;
use sluice_engine::verify::MasterKey;
use sluice_engine::webhooks::{SendFuture, WebhookReply, WebhookRequest, WebhookSender};
use sluice_engine::{Engine, Options, Receipt};
use sluice_flow::time::Timestamp;
use sluice_web::{App, AppOptions, KeyFetcher, OutboundPolicy, WebhookClient, admin};
use tower::ServiceExt as _;

/// 2026-11-15T02:00:00.000Z, the start time of every test.
pub(crate) const START: i64 = 1_794_708_000_000;
/// The environment's token: it has every permission.
pub(crate) const ROOT: &str = "root-secret";

pub(crate) struct Site {
    pub(crate) engine: Arc<Engine>,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) router: App,
    pub(crate) folder: tempfile::TempDir,
}

/// A reply: the status, the headers, and the body if it is JSON.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
    pub(crate) json: Value,
}

impl Reply {
    #[track_caller]
    pub(crate) fn ok(self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.text);
        self.json
    }

    /// Asserts that this is a problem with this status and code, in the form of RFC 9457.
    #[track_caller]
    pub(crate) fn problem(self, status: u16, code: &str) -> Value {
        assert_eq!((self.status, &self.json["code"]), (status, &json!(code)), "{}", self.text);
        assert_eq!(self.headers["content-type"], "application/problem+json");
        assert_eq!(self.json["status"], status);
        assert_eq!(self.json["type"], format!("urn:sluice:problem:{code}"));
        assert!(self.json["title"].is_string() && self.json["detail"].is_string());
        self.json
    }

    /// Asserts that these are all the faults, each as a pointer and the start of its message.
    #[track_caller]
    pub(crate) fn faults(self, expected: &[(&str, &str)]) {
        let problem = self.problem(422, "invalid");
        let errors = problem["errors"].as_array().unwrap();
        let found = errors.iter().map(|error| (text(&error["pointer"]), text(&error["message"])));
        let found: Vec<(String, String)> = found.collect();
        let same = found.len() == expected.len()
            && found.iter().zip(expected).all(|((pointer, message), (wanted, start))| {
                pointer == wanted && message.starts_with(start)
            });
        assert!(same, "found {found:?}, expected {expected:?}");
    }
}

pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}")).to_owned()
}

/// A receiver of webhooks that accepts everything.
#[derive(Debug)]
struct Accepting;

impl WebhookSender for Accepting {
    fn permits(&self, url: &str) -> Result<(), String> {
        WebhookClient::new(OutboundPolicy::default()).permits(url)
    }

    fn send(&self, _: WebhookRequest) -> SendFuture<'_> {
        let reply = WebhookReply { status: 202, retry_after: None, body: b"queued".to_vec() };
        Box::pin(std::future::ready(Ok(reply)))
    }
}

impl Site {
    pub(crate) async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = either::open(folder.path()).await;
        let clock = Arc::new(ManualClock::at(Timestamp::from_millis(START)));
        let options = Options {
            admin_token: Some(ROOT.to_owned()),
            master_keys: Some(Arc::new(vec![MasterKey::random()])),
            key_source: Some(Arc::new(KeyFetcher::new(OutboundPolicy::default()))),
            public_url: Some("https://ask.example".to_owned()),
            webhook_sender: Some(Arc::new(Accepting)),
            ..Options::default()
        };
        let engine = Engine::start(store, clock.clone(), options).await.unwrap();
        let router = App::new(Arc::clone(&engine), AppOptions::default());
        Self { engine, clock, router, folder }
    }

    /// Sends a request unchanged, to any path.
    pub(crate) async fn raw(&self, request: Request<Body>) -> Reply {
        let (head, body) = self.router.clone().oneshot(request).await.unwrap().into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        Reply {
            status: head.status.as_u16(),
            headers: head.headers,
            text: String::from_utf8_lossy(&bytes).into_owned(),
            json: serde_json::from_slice(&bytes).unwrap_or(Value::Null),
        }
    }

    /// Sends a request with a token; null means no body.
    pub(crate) async fn call(&self, token: &str, method: &str, path: &str, body: &Value) -> Reply {
        let request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", admin::BASE))
            .header("authorization", format!("Bearer {token}"));
        let request = if body.is_null() {
            request.body(Body::empty())
        } else {
            request.header("content-type", "application/json").body(Body::from(body.to_string()))
        };
        self.raw(request.unwrap()).await
    }

    pub(crate) async fn get(&self, path: &str) -> Reply {
        self.call(ROOT, "GET", path, &Value::Null).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Reply {
        self.call(ROOT, "POST", path, &body).await
    }

    pub(crate) async fn put(&self, path: &str, body: Value) -> Reply {
        self.call(ROOT, "PUT", path, &body).await
    }

    pub(crate) async fn patch(&self, path: &str, body: Value) -> Reply {
        self.call(ROOT, "PATCH", path, &body).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Reply {
        self.call(ROOT, "DELETE", path, &Value::Null).await
    }

    /// Creates an app; returns its id and its key.
    pub(crate) async fn app(&self) -> (String, String) {
        let app = self.post("/apps", json!({"name": "Acme"})).await.ok(201);
        (text(&app["appId"]), text(&app["apiKeys"][0]))
    }

    /// Creates a flow of the app, with a draft that can be published.
    pub(crate) async fn flow(&self, app: &str) -> String {
        let new = json!({"name": "Feedback", "kind": "survey", "definition": definition("One")});
        let flow = self.post(&format!("/apps/{app}/flows"), new).await.ok(201);
        text(&flow["flowId"])
    }

    /// Publishes the draft; returns the version's id.
    pub(crate) async fn publish(&self, flow: &str) -> String {
        let published = self.post(&format!("/flows/{flow}/publish"), Value::Null).await.ok(200);
        text(&published["flowVersionId"])
    }

    /// Creates a token with these scopes, for one app or for all.
    pub(crate) async fn token(&self, scopes: &[&str], app: Option<&str>) -> String {
        let new = json!({"name": "Test", "scopes": scopes, "appId": app});
        text(&self.post("/tokens", new).await.ok(201)["token"])
    }

    /// Submits through the engine, as the public API does; returns the outcome.
    pub(crate) async fn submit(&self, key: &str, submission: &Value) -> Receipt {
        let app = self.engine.app_by_key(key).await.unwrap().unwrap();
        let body = submission.to_string();
        self.engine.submit_as(&app, Some(body.as_bytes()), None, None).await.unwrap()
    }

    /// Stores a response; returns its id.
    pub(crate) async fn store(&self, key: &str, version: &str, more: Value) -> String {
        let mut submission = submission(version);
        submission.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        match self.submit(key, &submission).await {
            Receipt::Accepted(accepted) => accepted.response_id.to_string(),
            refused => panic!("{refused:?}"),
        }
    }
}

pub(crate) fn definition(title: &str) -> Value {
    json!({
        "title": title,
        "questions": [
            {"id": "nps", "type": "nps", "prompt": "How likely?", "required": true},
            {"id": "why", "type": "longText", "prompt": "Why?"}
        ]
    })
}

pub(crate) fn submission(version: &str) -> Value {
    json!({
        "flowVersionId": version, "flowVersionPayloadGeneration": "4",
        "respondentAnalyticsAdmission": "collection_only", "answers": {"nps": "9"}
    })
}

/// The time this number of milliseconds after the start.
pub(crate) fn at(millis: i64) -> String {
    Timestamp::from_millis(START + millis).to_string()
}
