//! The real router on a real engine and a real store, with a clock that the test moves.
//!
//! Nothing is mocked: a request goes all the way to the disk. Flows are created through the
//! engine's use cases, since the admin API has separate tests.

#[path = "../../../store/tests/support/either.rs"]
pub(crate) mod either;
#[allow(dead_code, reason = "each test file uses a part of it")]
pub(crate) mod tokens;

use crate::use_cases::UseCases as _;
use std::sync::Arc;

use axum::body::Body;
use bytes::Bytes;
use http::{HeaderMap, Method, Request};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use sluice_engine::clock::ManualClock;
use sluice_engine::verify::MasterKey;
use sluice_engine::{Actor, Engine, FlowPatch, NewFlow, Options, Rates};
use sluice_flow::definition::Kind;
use sluice_flow::id::{AppId, FlowId, FlowVersionId};
use sluice_flow::time::{Timestamp, Window};
use sluice_store::Store;
use sluice_web::{App, AppOptions, KeyFetcher, Limits, OutboundPolicy};
use tower::ServiceExt;

/// The instant at which every test starts: 2026-11-15T02:00:00.000Z.
pub(crate) const START: i64 = 1_794_708_000_000;

/// A running service with one app.
pub(crate) struct Site {
    pub(crate) engine: Arc<Engine>,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) router: App,
    pub(crate) app: AppId,
    pub(crate) key: String,
    _folder: Arc<tempfile::TempDir>,
}

impl Site {
    pub(crate) async fn start() -> Self {
        Self::with_limits(Limits::default()).await
    }

    pub(crate) async fn with_limits(limits: Limits) -> Self {
        Self::with_rates(limits, Rates::default()).await
    }

    pub(crate) async fn with_rates(limits: Limits, rates: Rates) -> Self {
        Self::with_options(limits, Options { rates, ..Options::default() }).await
    }

    pub(crate) async fn with_options(limits: Limits, options: Options) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = either::open(folder.path()).await;
        let clock = Arc::new(ManualClock::at(Timestamp::from_millis(START)));
        let loopback =
            OutboundPolicy { networks: vec!["127.0.0.0/8".parse().unwrap()], plain_http: true };
        let options = Options {
            master_keys: Some(Arc::new(vec![MasterKey::random()])),
            key_source: Some(Arc::new(KeyFetcher::new(loopback))),
            ..options
        };
        let engine = Engine::start(store.clone(), clock.clone(), options).await.unwrap();
        let router = App::new(Arc::clone(&engine), AppOptions { limits, ..AppOptions::default() });
        let detail = engine.create_app(&actor(), "Test").await.unwrap();
        let key = detail.api_keys[0].to_string();
        let app = detail.row.app_id;
        Self { engine, store, clock, router, app, key, _folder: Arc::new(folder) }
    }

    /// The same service, called with the key of another app.
    pub(crate) async fn other_app(&self) -> Self {
        let detail = self.engine.create_app(&actor(), "Other").await.unwrap();
        Self {
            engine: Arc::clone(&self.engine),
            store: Arc::clone(&self.store),
            clock: Arc::clone(&self.clock),
            router: self.router.clone(),
            app: detail.row.app_id,
            key: detail.api_keys[0].to_string(),
            _folder: Arc::clone(&self._folder),
        }
    }

    /// Creates a flow with this definition as its draft.
    pub(crate) async fn flow(&self, definition: Value) -> FlowId {
        let new = NewFlow {
            name: "Product feedback".to_owned(),
            kind: Kind::Survey,
            definition: Some(definition),
        };
        let state = self.engine.create_flow(&actor(), self.app, &new).await.unwrap();
        state.flow.flow_id
    }

    pub(crate) async fn publish(&self, flow: FlowId) -> FlowVersionId {
        self.engine.publish(&actor(), flow).await.unwrap().flow_version_id
    }

    /// Saves the draft and publishes it as the next version.
    pub(crate) async fn publish_again(&self, flow: FlowId) -> FlowVersionId {
        self.engine.put_draft(&actor(), flow, survey()).await.unwrap();
        self.publish(flow).await
    }

    /// A flow with one published version of [`survey`].
    pub(crate) async fn published(&self) -> (FlowId, FlowVersionId) {
        let flow = self.flow(survey()).await;
        let version = self.publish(flow).await;
        (flow, version)
    }

    pub(crate) async fn live_window(
        &self,
        flow: FlowId,
        starts_at: Option<i64>,
        ends_at: Option<i64>,
    ) {
        let live_window = Some(Window {
            starts_at: starts_at.map(Timestamp::from_millis),
            ends_at: ends_at.map(Timestamp::from_millis),
        });
        let patch = FlowPatch { live_window, ..FlowPatch::default() };
        self.engine.update_flow(&actor(), flow, &patch).await.unwrap();
    }

    pub(crate) async fn grace(&self, flow: FlowId, seconds: u32) {
        let patch = FlowPatch { grace_window_seconds: Some(Some(seconds)), ..FlowPatch::default() };
        self.engine.update_flow(&actor(), flow, &patch).await.unwrap();
    }

    /// Sets the clock to this number of milliseconds after [`START`].
    pub(crate) fn at(&self, millis: i64) {
        self.clock.set(Timestamp::from_millis(START + millis));
    }

    /// The path of a resource of this app.
    pub(crate) fn path(&self, rest: &str) -> String {
        format!("/api/v1/{}/{rest}", self.key)
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> Reply {
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (head, body) = response.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        Reply { status: head.status.as_u16(), headers: head.headers, body }
    }

    pub(crate) async fn get(&self, path: &str, headers: &[(&str, &str)]) -> Reply {
        self.send(request(Method::GET, path, headers, Body::empty())).await
    }

    /// One call of `response.submit`.
    pub(crate) async fn submit(&self, input: &Value) -> Reply {
        self.trpc("response.submit", &[], &input.to_string()).await
    }

    /// A POST to the tRPC transport with the usual content type.
    pub(crate) async fn trpc(&self, rest: &str, headers: &[(&str, &str)], body: &str) -> Reply {
        let mut all = vec![("content-type", "application/json")];
        all.extend_from_slice(headers);
        let path = self.path(&format!("trpc/{rest}"));
        self.send(request(Method::POST, &path, &all, Body::from(body.to_owned()))).await
    }
}

/// A reply.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Reply {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("no JSON: {}", self.text()))
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// A header's value; if it is repeated, all values, joined.
    pub(crate) fn header(&self, name: &str) -> Option<String> {
        let values: Vec<&str> =
            self.headers.get_all(name).iter().filter_map(|value| value.to_str().ok()).collect();
        (!values.is_empty()).then(|| values.join(", "))
    }

    /// The result of a call that was validated.
    #[track_caller]
    pub(crate) fn data(&self) -> Value {
        assert_eq!(self.status, 200, "{}", self.text());
        self.json()["result"]["data"].clone()
    }

    #[track_caller]
    pub(crate) fn assert_accepted(&self) -> String {
        let data = self.data();
        assert_eq!(data["success"], true, "{data}");
        data["responseId"].as_str().unwrap().to_owned()
    }

    /// Asserts that the call was validated and refused with one message and its code.
    #[track_caller]
    pub(crate) fn assert_refused(&self, code: &str, message: &str) {
        let data = self.data();
        assert_eq!(data["success"], false, "{data}");
        assert_eq!(data["errors"]["formErrors"], json!([message]));
        assert_eq!(data["errors"]["issues"][0]["code"], code);
        assert_eq!(data["errors"]["issues"][0]["message"], message);
        assert!(data.get("responseId").is_none());
    }

    /// Asserts a problem document with this status and code.
    #[track_caller]
    pub(crate) fn assert_problem(&self, status: u16, code: &str) {
        assert_eq!(self.status, status, "{}", self.text());
        assert_eq!(self.header("content-type").as_deref(), Some("application/problem+json"));
        let problem = self.json();
        assert_eq!(problem["code"], code);
        assert_eq!(problem["status"], status);
        for member in ["type", "title", "detail"] {
            assert!(problem[member].as_str().is_some_and(|text| !text.is_empty()), "{problem}");
        }
        assert_eq!(self.header("cache-control").as_deref(), Some("no-store"));
    }
}

pub(crate) fn actor() -> Actor {
    Actor::trusted("test")
}

pub(crate) fn request(
    method: Method,
    path: &str,
    headers: &[(&str, &str)],
    body: Body,
) -> Request<Body> {
    let mut builder = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        builder = builder.header(*name, *value);
    }
    builder.body(body).unwrap()
}

/// A survey of three questions, the first required.
pub(crate) fn survey() -> Value {
    json!({
        "title": "Product feedback",
        "questions": [
            {"id": "nps", "type": "nps", "prompt": "How likely are you to recommend us?",
             "required": true},
            {"id": "why", "type": "longText", "prompt": "Why?", "maxLength": 2000},
            {"id": "use", "type": "multipleChoice", "prompt": "What do you use?",
             "options": [{"id": "api", "label": "The API"}, {"id": "ui", "label": "The UI"}]},
        ],
    })
}

/// A valid submission to the survey.
pub(crate) fn submission(version: FlowVersionId) -> Value {
    json!({
        "flowVersionId": version,
        "flowVersionPayloadGeneration": "4",
        "respondentAnalyticsAdmission": "collection_only",
        "answers": {"nps": "9", "why": "It works."},
    })
}
