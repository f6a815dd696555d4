//! The whole service on a store in memory, for targets that send requests to it: one app with one
//! published survey that has every question type, and a clock that stands still.

use std::sync::{Arc, OnceLock};

use axum::body::Body;
use http::{HeaderMap, Method, Request, Uri};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use sluice_engine::clock::ManualClock;
use sluice_engine::rows::Scope;
use sluice_engine::{Actor, Engine, NewFlow, Options, Rates};
use sluice_flow::definition::Kind;
use sluice_flow::payload::Generation;
use sluice_flow::time::Timestamp;
use sluice_store::sqlite::{self, SqliteStore};
use sluice_web::{App, AppOptions, HostedOptions, Limits};
use tokio::runtime::Runtime;
use tower::ServiceExt as _;

/// 2026-11-15T02:00:00Z, fixed, so that findings are reproducible.
pub(super) const NOW_SECONDS: i64 = 1_794_708_000;
/// The environment's token, which may do everything.
pub(super) const ADMIN_TOKEN: &str = "token-of-the-fuzz-targets-0123456789";
/// A folder in memory, if the system has one: a submission waits for its write.
const MEMORY: &str = "/dev/shm";

pub(super) struct Site {
    runtime: Runtime,
    app: App,
    pub(super) app_id: String,
    pub(super) api_key: String,
    pub(super) flow_id: String,
    pub(super) flow_version_id: String,
    _folder: tempfile::TempDir,
}

/// What the service replied.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    pub(super) text: String,
}

impl Reply {
    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("no JSON: {}", self.text))
    }
}

/// An empty folder for a store.
pub(super) fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(MEMORY).or_else(|_| tempfile::tempdir()).expect("a folder for the store")
}

/// A runtime on the caller's thread: the fuzzer measures one input at a time.
pub(super) fn runtime() -> Runtime {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().build().expect("a runtime")
}

/// The service, started once in a process.
pub(super) fn site() -> &'static Site {
    static SITE: OnceLock<Site> = OnceLock::new();
    SITE.get_or_init(start)
}

fn start() -> Site {
    let (runtime, folder) = (runtime(), folder());
    let store = SqliteStore::open(&folder.path().join("sluice.db"), sqlite::Options::default());
    let store = Arc::new(store.expect("an empty store"));
    let clock = Arc::new(ManualClock::at(Timestamp::from_millis(NOW_SECONDS * 1000)));
    let (app, app_id, api_key, flow_id, flow_version_id) = runtime.block_on(async {
        let options = Options {
            admin_token: Some(ADMIN_TOKEN.to_owned()),
            rates: Rates { calls: None, bytes_per_day: None },
            ..Options::default()
        };
        let engine = Engine::start(store, clock, options).await.expect("an engine");
        let actor = Actor::trusted("fuzz");
        let created = engine.instance(&actor).expect("all").create_app("Fuzzed").await;
        let created = created.expect("an app");
        let definition: Value =
            serde_json::from_str(include_str!("../seeds/definition/every-type.json"))
                .expect("JSON");
        let new =
            NewFlow { name: "Survey".to_owned(), kind: Kind::Survey, definition: Some(definition) };
        let app = engine.app(&actor, Scope::Admin, created.row.app_id).await.expect("the app");
        let flow_id = app.create_flow(&new).await.expect("a flow").flow.flow_id;
        let flow = engine.flow(&actor, Scope::Admin, flow_id).await.expect("the flow");
        let version = flow.publish().await.expect("a version").flow_version_id;
        let limits =
            Limits { calls_per_address: None, bytes_per_address: None, ..Limits::default() };
        let hosted = HostedOptions { sends_per_minute: 0, ..HostedOptions::default() };
        let app = App::new(engine, AppOptions { limits, hosted, ..AppOptions::default() });
        let (app_id, key) = (created.row.app_id.to_string(), created.api_keys[0].to_string());
        (app, app_id, key, flow_id.to_string(), version.to_string())
    });
    let site = Site { runtime, app, app_id, api_key, flow_id, flow_version_id, _folder: folder };
    site.answer_the_survey();
    site
}

impl Site {
    /// Stores some responses, so that lists have pages.
    fn answer_the_survey(&self) {
        let address = format!("/api/v1/{}/trpc/response.submit", self.api_key);
        for nps in ["3", "8", "10"] {
            let submission = json!({
                "flowVersionId": self.flow_version_id,
                "flowVersionPayloadGeneration": Generation::LATEST.as_str(),
                "respondentAnalyticsAdmission": "admitted",
                "answers": {"nps": nps, "plan": "a", "why": "Fast"},
                "identities": [{"type": "userId", "value": format!("user-{nps}")}],
                "metadata": {"tags": {"plan": "pro"}},
            });
            let headers = [("content-type", "application/json")];
            let body = submission.to_string().into_bytes();
            let reply = self.send(&Method::POST, &address, &headers, body).expect("a request");
            assert_eq!(reply.json()["result"]["data"]["success"], true, "{}", reply.text);
        }
    }

    /// Sends a request. `None` if it cannot be sent at all: its address or a header is invalid.
    pub(super) fn send(
        &self,
        method: &Method,
        address: &str,
        headers: &[(&str, &str)],
        body: Vec<u8>,
    ) -> Option<Reply> {
        let uri: Uri = address.parse().ok()?;
        let mut request = Request::builder().method(method).uri(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Body::from(body)).ok()?;
        let reply = self.runtime.block_on(async {
            let (head, body) =
                self.app.clone().oneshot(request).await.expect("infallible").into_parts();
            let body = body.collect().await.expect("a whole body").to_bytes();
            let text = String::from_utf8_lossy(&body).into_owned();
            Reply { status: head.status.as_u16(), headers: head.headers, text }
        });
        assert!(reply.status < 500, "{method} {address}: {} {}", reply.status, reply.text);
        Some(reply)
    }
}

/// Splits an input into lines of a head and a body, as HTTP does: at the first empty line.
pub(super) fn head_and_body(data: &[u8]) -> Option<(&str, &[u8])> {
    let at = data.windows(2).position(|pair| pair == b"\n\n")?;
    Some((std::str::from_utf8(&data[..at]).ok()?, &data[at + 2..]))
}

/// Replaces a placeholder, since ids differ in each process.
pub(super) fn filled(bytes: &[u8], placeholder: &str, value: &str) -> Vec<u8> {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.replace(placeholder, value).into_bytes(),
        Err(_) => bytes.to_vec(),
    }
}

/// The elements that hosted pages are made of. Anything else came from an input.
const ELEMENTS: &[&str] = &[
    "a",
    "b",
    "body",
    "br",
    "button",
    "dd",
    "div",
    "dl",
    "dt",
    "em",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "h1",
    "h2",
    "h3",
    "head",
    "header",
    "hr",
    "html",
    "img",
    "input",
    "label",
    "legend",
    "li",
    "link",
    "main",
    "meta",
    "nav",
    "noscript",
    "ol",
    "optgroup",
    "option",
    "output",
    "p",
    "path",
    "progress",
    "script",
    "section",
    "select",
    "small",
    "span",
    "strong",
    "style",
    "sup",
    "svg",
    "table",
    "tbody",
    "td",
    "textarea",
    "tfoot",
    "th",
    "thead",
    "time",
    "title",
    "tr",
    "ul",
    "circle",
    "g",
    "rect",
    "line",
    "polyline",
    "template",
    "details",
    "summary",
];

/// A page has only its own elements, and as many scripts as `scripts`: no input became markup.
pub(super) fn check_page(reply: &Reply, scripts: usize) {
    let page = reply.text.as_str();
    for (at, _) in page.match_indices('<') {
        let rest = page[at + 1..].trim_start_matches('/');
        let name: String = rest.chars().take_while(char::is_ascii_alphanumeric).collect();
        let is_known = name.is_empty() || ELEMENTS.contains(&name.to_ascii_lowercase().as_str());
        assert!(is_known, "the element {name} in {page}");
    }
    assert!(page.matches("<script").count() <= scripts, "another script in {page}");
    let policy = reply.headers.get("content-security-policy");
    assert!(policy.is_some(), "a page without a policy");
}
