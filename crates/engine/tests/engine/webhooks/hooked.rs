//! An app with receivers that the test scripts, and a clock that the test sets.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use sluice_engine::rows::{DeliveryRow, Scope};
use sluice_engine::verify::MasterKey;
use sluice_engine::webhooks::{SendFuture, WebhookReply, WebhookRequest, WebhookSender};
use sluice_engine::{AppDetail, AppHandle, AppView, EndpointState, NewEndpoint, Options};
use sluice_flow::event::EventType;
use sluice_flow::event::filter::EventFilter;
use sluice_flow::id::{EndpointId, FlowId};
use sluice_store::EventStore as _;
use tokio::sync::Semaphore;

use crate::metrics::value;
use crate::support::{World, accepted, submission};

/// What a scripted receiver does.
#[derive(Debug, Clone)]
pub(crate) enum Does {
    Reply(u16),
    RetryAfter(u16, &'static str),
    /// No reply in time.
    Hang,
    /// A reply with this text as soon as the test allows it, with one permit for each.
    Until(Arc<Semaphore>, &'static str),
}

/// Receivers that follow a script by URL and remember what they got; without a script they accept.
#[derive(Debug, Default)]
pub(crate) struct Receivers {
    scripts: Mutex<BTreeMap<String, VecDeque<Does>>>,
    got: Mutex<Vec<(String, WebhookRequest)>>,
    /// URLs that the operator allows no more.
    pub(crate) forbidden: Mutex<Vec<String>>,
}

impl Receivers {
    pub(crate) fn script(&self, url: &str, does: &[Does]) {
        self.scripts.lock().unwrap().insert(url.to_owned(), does.iter().cloned().collect());
    }

    /// The bodies that a receiver got, in order.
    pub(crate) fn got(&self, url: &str) -> Vec<Value> {
        let got = self.got.lock().unwrap();
        let theirs = got.iter().filter(|(to, _)| to == url);
        theirs.map(|(_, request)| serde_json::from_slice(&request.body).unwrap()).collect()
    }

    pub(crate) fn types(&self, url: &str) -> Vec<String> {
        let name = |body: Value| body["type"].as_str().unwrap().to_owned();
        self.got(url).into_iter().map(name).collect()
    }

    /// The body of a request, as it was signed.
    pub(crate) fn body(&self, number: usize) -> Vec<u8> {
        self.got.lock().unwrap()[number].1.body.to_vec()
    }

    pub(crate) fn header(&self, number: usize, name: &str) -> String {
        let got = self.got.lock().unwrap();
        let headers = &got[number].1.headers;
        headers.iter().find(|(it, _)| *it == name).unwrap().1.clone()
    }
}

impl WebhookSender for Receivers {
    fn permits(&self, url: &str) -> Result<(), String> {
        let is_forbidden = self.forbidden.lock().unwrap().iter().any(|it| it == url);
        match url.starts_with("https://") && !is_forbidden {
            true => Ok(()),
            false => Err("must be an https address".to_owned()),
        }
    }

    fn send(&self, request: WebhookRequest) -> SendFuture<'_> {
        let url = request.url.clone();
        let does = self.scripts.lock().unwrap().get_mut(&url).and_then(|script| {
            if script.len() > 1 { script.pop_front() } else { script.front().cloned() }
        });
        self.got.lock().unwrap().push((url, request));
        Box::pin(async move {
            let reply = |status, retry_after: Option<&str>| WebhookReply {
                status,
                retry_after: retry_after.map(str::to_owned),
                body: format!("status {status}").into_bytes(),
            };
            match does.unwrap_or(Does::Reply(204)) {
                Does::Reply(status) => Ok(reply(status, None)),
                Does::RetryAfter(status, seconds) => Ok(reply(status, Some(seconds))),
                Does::Hang => Err("there was no complete reply in time".to_owned()),
                Does::Until(gate, text) => {
                    gate.acquire().await.unwrap().forget();
                    Ok(WebhookReply { body: text.into(), ..reply(200, None) })
                }
            }
        })
    }
}

pub(crate) struct Hooked {
    pub(crate) world: World,
    key: MasterKey,
    pub(crate) receivers: Arc<Receivers>,
    pub(crate) app: AppDetail,
    pub(crate) view: Arc<AppView>,
    pub(crate) flow: FlowId,
    pub(crate) version: sluice_flow::id::FlowVersionId,
}

pub(crate) const URL: &str = "https://one.example/hook";

pub(crate) fn options(receivers: &Arc<Receivers>, key: &MasterKey) -> Options {
    Options {
        master_keys: Some(Arc::new(vec![key.clone()])),
        webhook_sender: Some(Arc::clone(receivers) as Arc<dyn WebhookSender>),
        ..Options::default()
    }
}

impl Hooked {
    pub(crate) async fn new() -> Self {
        let (receivers, key) = (Arc::new(Receivers::default()), MasterKey::random());
        let world = World::with(options(&receivers, &key)).await;
        let app = world.app().await;
        let flow = world.flow(&app).await.flow.flow_id;
        let version = world.publish(flow).await.flow_version_id;
        let view = world.view(&app).await;
        Self { world, key, receivers, app, view, flow, version }
    }

    /// The same on another server, after the first one was closed.
    pub(crate) async fn restarted(self) -> Self {
        let world = self.world.another_with(options(&self.receivers, &self.key)).await;
        let view = world.view(&self.app).await;
        Self { world, view, ..self }
    }

    pub(crate) async fn handle(&self) -> AppHandle {
        let (engine, actor) = (&self.world.engine, &self.world.actor);
        engine.app(actor, Scope::Admin, self.app.row.app_id).await.unwrap()
    }

    pub(crate) async fn endpoint(&self, url: &str, types: &[EventType]) -> EndpointId {
        // What happened so far is over when the endpoint is created.
        self.world.clock.advance_millis(1_000);
        let filter = EventFilter { types: types.to_vec(), flows: vec![] };
        let new = NewEndpoint { url: url.to_owned(), filter, ..NewEndpoint::default() };
        self.handle().await.create_endpoint(&new).await.unwrap().0.endpoint_id
    }

    pub(crate) async fn submit(&self) -> String {
        let receipt = self.world.submit(&self.view, &submission(self.version)).await;
        accepted(receipt).response_id.to_string()
    }

    /// Lets as much time pass as is needed to read what was stored.
    pub(crate) fn settle(&self) {
        self.world.clock.advance_millis(self.world.faults.log_delay_millis() + 300);
    }

    /// Lets time pass, and delivers until nothing is due any more.
    pub(crate) async fn pass(&self, seconds: i64) {
        self.world.clock.advance_millis(seconds * 1_000);
        self.deliver().await;
    }

    pub(crate) async fn deliver(&self) {
        for _ in 0..3 {
            self.world.engine.upkeep().deliver_webhooks().await.unwrap();
        }
    }

    /// Delivers until the receiver has got this many requests.
    pub(crate) async fn until(&self, url: &str, requests: usize) {
        let enough = async {
            while self.receivers.got(url).len() < requests {
                self.world.clock.advance_millis(500);
                self.deliver().await;
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let waited = tokio::time::timeout(Duration::from_secs(60), enough).await;
        assert!(waited.is_ok(), "{} of {requests} requests", self.receivers.got(url).len());
    }

    pub(crate) async fn deliveries(&self, endpoint: EndpointId) -> Vec<DeliveryRow> {
        self.handle().await.list_deliveries(endpoint, None, None, 100).await.unwrap()
    }

    /// How many deliveries the metrics count as given up.
    pub(crate) fn given_up(&self) -> f64 {
        let metrics = self.world.engine.health().metrics_text();
        value(&metrics, "sluice_webhook_attempts_total{outcome=\"failed\"}")
    }

    pub(crate) async fn state(&self, endpoint: EndpointId) -> EndpointState {
        self.handle().await.endpoint(endpoint).await.unwrap().state
    }
}
