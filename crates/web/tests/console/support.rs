//! A service with apps and users, and browsers that are signed in to its console.

#![allow(dead_code, reason = "each test file uses a part of this")]

use crate::use_cases::UseCases as _;
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use axum::body::Body;
use http::{HeaderMap, Request};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use sluice_engine::clock::ManualClock;
use sluice_engine::mail::{MailOptions, OutgoingMail, SendError, Transport};
use sluice_engine::people::NewUser;
use sluice_engine::rows::{Role, Scope};
use sluice_engine::verify::MasterKey;
use sluice_engine::{Actor, Engine, NewFlow, NewToken, Options, Receipt};
use sluice_flow::definition::Kind;
use sluice_flow::id::{AppId, FlowId, FlowVersionId, ResponseId, UserId};
use sluice_flow::time::Timestamp;
use sluice_store::{At, Store, Write};
use sluice_web::{App, AppOptions, ConsoleOptions, KeyFetcher, OutboundPolicy};
use tower::ServiceExt as _;

use crate::faulty::FaultyStore;

/// 2026-11-15T02:00:00.000Z, the start time of every test.
pub(crate) const START: i64 = 1_794_708_000_000;
/// The environment's token: it has every permission.
pub(crate) const ROOT: &str = "root-secret";
pub(crate) const HOST: &str = "ask.example";
pub(crate) const ORIGIN: &str = "https://ask.example";
pub(crate) const PASSWORD: &str = "correct horse battery";

pub(crate) struct Site {
    pub(crate) engine: Arc<Engine>,
    pub(crate) store: Arc<dyn Store>,
    /// The same store, wrapped to count reads.
    pub(crate) faults: Arc<FaultyStore>,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) router: App,
    /// The path of the public URL.
    pub(crate) path: &'static str,
    _folder: tempfile::TempDir,
}

/// A mail server that keeps what it is given, and refuses addresses that start with `bounce`.
#[derive(Debug, Default)]
pub(crate) struct Inbox(Mutex<Vec<OutgoingMail>>);

impl Inbox {
    pub(crate) fn take(&self) -> Vec<OutgoingMail> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

impl Transport for Inbox {
    fn send(
        &self,
        mail: OutgoingMail,
    ) -> Pin<Box<dyn Future<Output = Result<(), SendError>> + Send + '_>> {
        Box::pin(async move {
            if mail.to.starts_with("bounce") {
                return Err(SendError::Bounced("550 5.1.1".to_owned()));
            }
            self.0.lock().unwrap().push(mail);
            Ok(())
        })
    }
}

/// A reply.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Reply {
    /// The redirect target.
    #[track_caller]
    pub(crate) fn to(&self) -> &str {
        assert_eq!(self.status, 303, "{}", self.text);
        self.headers["location"].to_str().unwrap()
    }

    #[track_caller]
    pub(crate) fn ok(self) -> String {
        assert_eq!(self.status, 200, "{}", self.text);
        self.text
    }

    /// The value of a cookie that the reply sets.
    pub(crate) fn cookie(&self, name: &str) -> Option<&str> {
        let set = self.headers.get_all("set-cookie").iter().filter_map(|it| it.to_str().ok());
        let mut pairs = set.filter_map(|it| it.split(';').next()?.split_once('='));
        pairs.find(|(key, _)| *key == name).map(|(_, value)| value)
    }
}

impl Site {
    pub(crate) async fn start() -> Self {
        Self::with(ConsoleOptions { sign_ins_per_minute: 0, ..ConsoleOptions::default() }).await
    }

    /// A service with a mail server, and what that accepts.
    pub(crate) async fn with_mail() -> (Self, Arc<Inbox>) {
        Self::with_mail_below("").await
    }

    /// The same below this path of its host.
    pub(crate) async fn with_mail_below(path: &'static str) -> (Self, Arc<Inbox>) {
        let inbox = Arc::new(Inbox::default());
        let transport = Arc::clone(&inbox) as Arc<dyn Transport>;
        let mail = MailOptions { transport, per_minute: 1_000, interval: None };
        let console = ConsoleOptions { sign_ins_per_minute: 0, ..ConsoleOptions::default() };
        (Self::with_options(console, Some(mail), false, path).await, inbox)
    }

    /// A copy, which sends nothing.
    pub(crate) async fn held() -> Self {
        Self::with_options(ConsoleOptions::default(), None, true, "").await
    }

    pub(crate) async fn with(console: ConsoleOptions) -> Self {
        Self::with_options(console, None, false, "").await
    }

    async fn with_options(
        console: ConsoleOptions,
        mail: Option<MailOptions>,
        is_held: bool,
        path: &'static str,
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let faults = FaultyStore::new(crate::shop::either::open(folder.path()).await);
        let faults = Arc::new(faults);
        let store = Arc::clone(&faults) as Arc<dyn Store>;
        let clock = Arc::new(ManualClock::at(Timestamp::from_millis(START)));
        if is_held {
            let held = Write::HoldOutbound(Some(Timestamp::from_millis(START)));
            store.apply(At::Instance, vec![held].into()).await.unwrap();
        }
        let options = Options {
            admin_token: Some(ROOT.to_owned()),
            master_keys: Some(Arc::new(vec![MasterKey::random()])),
            key_source: Some(Arc::new(KeyFetcher::new(OutboundPolicy::default()))),
            public_url: Some(format!("{ORIGIN}{path}")),
            mail,
            webhook_sender: Some(Arc::new(crate::hooks::Receiver)),
            ..Options::default()
        };
        let engine = Engine::start(store.clone(), clock.clone(), options).await.unwrap();
        let options = AppOptions { console, ..AppOptions::default() };
        let router = App::new(Arc::clone(&engine), options);
        Self { engine, store, faults, clock, router, path, _folder: folder }
    }

    /// The number of store reads that a request makes once published flows are cached: the fewest
    /// of several, since the feed of changes may empty the cache between two of them.
    pub(crate) async fn fewest_reads(&self, request: impl AsyncFn()) -> usize {
        let mut fewest = usize::MAX;
        for _ in 0..3 {
            let before = self.faults.reads.load(Ordering::SeqCst);
            request().await;
            fewest = fewest.min(self.faults.reads.load(Ordering::SeqCst) - before);
        }
        fewest
    }

    /// Sends a request unchanged.
    pub(crate) async fn raw(&self, request: Request<Body>) -> Reply {
        let (head, body) = self.router.clone().oneshot(request).await.unwrap().into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        Reply { status: head.status.as_u16(), headers: head.headers, text }
    }

    /// A signed-out browser.
    pub(crate) fn browser(&self) -> Browser<'_> {
        Browser { site: self, cookie: Mutex::default() }
    }

    /// A browser with this session.
    pub(crate) fn with_session(&self, secret: &str) -> Browser<'_> {
        Browser { site: self, cookie: Mutex::new(secret.to_owned()) }
    }

    /// A browser signed in with a token.
    pub(crate) async fn with_token(&self, token: &str) -> Browser<'_> {
        let browser = self.browser();
        let reply = browser.post("/console/sign-in", &[("token", token)]).await;
        assert_eq!(reply.to(), format!("{}/console", self.path));
        browser
    }

    /// The name of the session cookie.
    fn session_cookie(&self) -> &'static str {
        if self.path.is_empty() { "__Host-sluice" } else { "__Secure-sluice" }
    }

    /// A browser with every permission.
    pub(crate) async fn root(&self) -> Browser<'_> {
        self.with_token(ROOT).await
    }

    /// Creates a user who has set a password.
    pub(crate) async fn user(&self, email: &str, app_id: Option<AppId>, role: Role) -> UserId {
        self.user_with_session(email, app_id, role).await.0
    }

    /// A browser signed in as a new user with this role.
    pub(crate) async fn signed_in(&self, app_id: Option<AppId>, role: Role) -> Browser<'_> {
        let users = self.store.list_users(None, sluice_store::Page { after: None, limit: 999 });
        let email = format!("user-{}@mail.example", users.await.unwrap().len());
        self.with_session(&self.user_with_session(&email, app_id, role).await.1)
    }

    /// Creates a user, and the session that begins when they set their password.
    pub(crate) async fn user_with_session(
        &self,
        email: &str,
        app_id: Option<AppId>,
        role: Role,
    ) -> (UserId, String) {
        let new = NewUser { email: email.into(), name: format!("{role:?}"), role, app_id };
        let (user, link) = self.engine.create_user(&actor(), new).await.unwrap();
        let begun = self.engine.accounts().set_password_by_link(&link.0, PASSWORD, None).await;
        (user.user_id, begun.unwrap().0)
    }

    pub(crate) async fn token(&self, scopes: &[Scope], app_id: Option<AppId>) -> String {
        let new = NewToken { name: "t".into(), scopes: scopes.into(), app_id, expires_at: None };
        self.engine.create_token(&actor(), new).await.unwrap().1.0
    }

    pub(crate) async fn app(&self, name: &str) -> AppId {
        self.engine.create_app(&actor(), name).await.unwrap().row.app_id
    }

    /// Creates a flow with one published version.
    pub(crate) async fn flow(&self, app: AppId, definition: Value) -> (FlowId, FlowVersionId) {
        let name = definition["title"].as_str().unwrap().to_owned();
        let new = NewFlow { name, kind: Kind::Survey, definition: Some(definition) };
        let flow = self.engine.create_flow(&actor(), app, &new).await.unwrap().flow.flow_id;
        let published = self.engine.publish(&actor(), flow).await.unwrap();
        (flow, published.flow_version_id)
    }

    /// Publishes another definition of a flow.
    pub(crate) async fn publish_changed(&self, flow: FlowId, definition: Value) {
        self.engine.put_draft(&actor(), flow, definition).await.unwrap();
        self.engine.publish(&actor(), flow).await.unwrap();
    }

    /// Stores a response, as the public API does.
    pub(crate) async fn respond(
        &self,
        app: AppId,
        version: FlowVersionId,
        more: Value,
    ) -> ResponseId {
        let key = self.engine.get_app(&actor(), app).await.unwrap().api_keys[0].to_string();
        let view = self.engine.app_by_key(&key).await.unwrap().unwrap();
        let mut body = json!({
            "flowVersionId": version, "flowVersionPayloadGeneration": "4",
            "respondentAnalyticsAdmission": "collection_only", "answers": {}
        });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let receipt =
            self.engine.submit_as(&view, Some(body.to_string().as_bytes()), None, None).await;
        match receipt.unwrap() {
            Receipt::Accepted(accepted) => accepted.response_id,
            refused => panic!("{refused:?}"),
        }
    }
}

pub(crate) fn actor() -> Actor {
    Actor::trusted("test")
}

/// One browser with its session.
pub(crate) struct Browser<'s> {
    site: &'s Site,
    cookie: Mutex<String>,
}

impl Browser<'_> {
    pub(crate) fn session(&self) -> String {
        self.cookie.lock().unwrap().clone()
    }

    pub(crate) async fn get(&self, path: &str) -> Reply {
        self.send(self.request("GET", path).body(Body::empty()).unwrap()).await
    }

    /// Sends a form, as a console page does.
    pub(crate) async fn post(&self, path: &str, form: &[(&str, &str)]) -> Reply {
        let request = self.request("POST", path).header("origin", ORIGIN);
        self.send(request.body(Body::from(encoded(form))).unwrap()).await
    }

    /// Starts a request as this browser sends it.
    pub(crate) fn request(&self, method: &str, path: &str) -> http::request::Builder {
        let address = format!("{}{path}", self.site.path);
        let request = Request::builder().method(method).uri(address).header("host", HOST);
        let request = request.header("sec-fetch-site", "same-origin");
        match self.session() {
            session if session.is_empty() => request,
            session => {
                request.header("cookie", format!("{}={session}", self.site.session_cookie()))
            }
        }
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> Reply {
        let reply = self.site.raw(request).await;
        if let Some(cookie) = reply.cookie(self.site.session_cookie()) {
            cookie.clone_into(&mut self.cookie.lock().unwrap());
        }
        reply
    }
}

fn encoded(form: &[(&str, &str)]) -> String {
    let escape = |text: &str| {
        percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
    };
    let pairs = form.iter().map(|(name, value)| format!("{}={}", escape(name), escape(value)));
    pairs.collect::<Vec<_>>().join("&")
}

pub(crate) fn definition(title: &str) -> Value {
    json!({
        "title": title,
        "questions": [
            {"id": "nps", "type": "nps", "prompt": "How likely?"},
            {"id": "why", "type": "longText", "prompt": "Why?"}
        ]
    })
}
