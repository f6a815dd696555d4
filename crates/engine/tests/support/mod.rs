//! A real engine over a real store, with a clock that the test sets, and a store that can fail or
//! be slow on demand.
#![allow(dead_code, unreachable_pub, reason = "each test file uses its own part")]
#![allow(clippy::unwrap_used, reason = "in a test a failed set-up is a failed test")]

#[path = "../../../store/tests/support/either.rs"]
pub(crate) mod either;
mod faulty;
mod use_cases;

use std::sync::Arc;

use serde_json::{Value, json};
use sluice_engine::clock::{Clock, ManualClock, SystemClock};
use sluice_engine::idempotency::IdempotencyKey;
use sluice_engine::rows::{FlowState, Order, ResponseRow};
use sluice_engine::{
    Actor, AppDetail, AppView, Engine, NewFlow, Options, Paging, Published, Receipt,
    ResponseFilter, Store, SubmitError,
};
use sluice_flow::definition::Kind;
use sluice_flow::id::{FlowId, FlowVersionId};
use sluice_flow::time::Timestamp;
use sluice_store::Lanes;
use tempfile::TempDir;

#[allow(unused_imports, reason = "each test file uses its own part")]
pub use faulty::{FaultyStore, Mood, Tamper};
#[allow(unused_imports, reason = "each test file uses its own part")]
pub(crate) use use_cases::UseCases;

/// 2026-11-15T02:00:00.000Z.
pub const START_MILLIS: i64 = 1_794_708_000_000;

/// Wall time as set, durations of the runtime.
struct RuntimeClock(Arc<ManualClock>);

impl Clock for RuntimeClock {
    fn now(&self) -> Timestamp {
        self.0.now()
    }

    fn monotonic(&self) -> std::time::Instant {
        tokio::time::Instant::now().into_std()
    }
}

pub struct World {
    pub engine: Arc<Engine>,
    pub clock: Arc<ManualClock>,
    pub faults: Arc<FaultyStore>,
    pub folder: Arc<TempDir>,
    pub actor: Actor,
}

impl World {
    pub async fn new() -> Self {
        let folder = Arc::new(TempDir::new().unwrap());
        let clock = Arc::new(ManualClock::at(Timestamp::from_millis(START_MILLIS)));
        Self::on(folder, Arc::clone(&clock) as Arc<dyn Clock>, clock).await
    }

    /// Wall time in seconds.
    pub fn clock_seconds(&self) -> i64 {
        self.clock.now().as_millis() / 1_000
    }

    /// Another process, simulated, on the same database and with the same clock.
    pub async fn another(&self) -> Self {
        let time = Arc::clone(&self.clock) as Arc<dyn Clock>;
        Self::on(Arc::clone(&self.folder), time, Arc::clone(&self.clock)).await
    }

    /// A process on this world's database that uses the system clock.
    pub async fn in_real_time(&self) -> Self {
        let time = Arc::new(SystemClock);
        Self::on(Arc::clone(&self.folder), time, Arc::clone(&self.clock)).await
    }

    /// A world whose durations follow the runtime's clock, which a test can pause.
    pub async fn in_runtime_time() -> Self {
        let folder = Arc::new(TempDir::new().unwrap());
        let clock = Arc::new(ManualClock::at(Timestamp::from_millis(START_MILLIS)));
        let time = Arc::new(RuntimeClock(Arc::clone(&clock)));
        Self::on(folder, time, clock).await
    }

    /// A world with these options.
    pub async fn with(options: Options) -> Self {
        let folder = Arc::new(TempDir::new().unwrap());
        let clock = Arc::new(ManualClock::at(Timestamp::from_millis(START_MILLIS)));
        Self::with_options(folder, Arc::clone(&clock) as Arc<dyn Clock>, clock, options).await
    }

    /// Another process, simulated, on the same database, with these options.
    pub async fn another_with(&self, options: Options) -> Self {
        let time = Arc::clone(&self.clock) as Arc<dyn Clock>;
        Self::with_options(Arc::clone(&self.folder), time, Arc::clone(&self.clock), options).await
    }

    async fn on(folder: Arc<TempDir>, time: Arc<dyn Clock>, clock: Arc<ManualClock>) -> Self {
        Self::with_options(folder, time, clock, Options::default()).await
    }

    async fn with_options(
        folder: Arc<TempDir>,
        time: Arc<dyn Clock>,
        clock: Arc<ManualClock>,
        options: Options,
    ) -> Self {
        let store = either::open(folder.path()).await;
        let faults = Arc::new(FaultyStore::new(store));
        let store = Arc::clone(&faults) as Arc<dyn Store>;
        let engine = Engine::start(store, time, options).await.unwrap();
        Self { engine, clock, faults, folder, actor: Actor::trusted("test") }
    }

    /// On a store that takes several writes at once.
    pub async fn with_lanes(lanes: Lanes) -> Self {
        let folder = Arc::new(TempDir::new().unwrap());
        let clock = Arc::new(ManualClock::at(Timestamp::from_millis(START_MILLIS)));
        let faults = Arc::new(FaultyStore::new(either::open(folder.path()).await));
        faults.lanes.set(lanes).unwrap();
        let (store, time) = (Arc::clone(&faults) as Arc<dyn Store>, Arc::clone(&clock));
        let engine = Engine::start(store, time, Options::default()).await.unwrap();
        Self { engine, clock, faults, folder, actor: Actor::trusted("test") }
    }

    pub async fn app(&self) -> AppDetail {
        self.engine.create_app(&self.actor, "Shop").await.unwrap()
    }

    pub async fn view(&self, app: &AppDetail) -> Arc<AppView> {
        self.engine.app_by_key(app.api_keys[0].as_str()).await.unwrap().unwrap()
    }

    pub async fn flow(&self, app: &AppDetail) -> FlowState {
        let new =
            NewFlow { name: "Feedback".into(), kind: Kind::Survey, definition: Some(definition()) };
        self.engine.create_flow(&self.actor, app.row.app_id, &new).await.unwrap()
    }

    pub async fn publish(&self, flow: FlowId) -> Published {
        if self.engine.get_draft(&self.actor, flow).await.is_err() {
            self.engine.put_draft(&self.actor, flow, definition()).await.unwrap();
        }
        self.engine.publish(&self.actor, flow).await.unwrap()
    }

    pub async fn stored(&self, flow: FlowId) -> Vec<ResponseRow> {
        let mut rows = Vec::new();
        let mut paging = Paging { after: None, order: Order::Asc, limit: 1_000_000 };
        let all = ResponseFilter::default();
        loop {
            let page = self.engine.list_responses(&self.actor, flow, &all, paging).await.unwrap();
            rows.extend(page.rows);
            paging.after = page.next;
            if page.next.is_none() {
                return rows;
            }
        }
    }

    pub async fn submit(&self, app: &AppView, body: &Value) -> Result<Receipt, SubmitError> {
        self.engine.submit_as(app, Some(body.to_string().as_bytes()), None, None).await
    }

    pub async fn submit_with_key(
        &self,
        app: &AppView,
        body: &Value,
        key: &str,
    ) -> Result<Receipt, SubmitError> {
        let key = IdempotencyKey::parse(key.as_bytes()).unwrap();
        self.engine.submit_as(app, Some(body.to_string().as_bytes()), Some(&key), None).await
    }
}

pub fn definition() -> Value {
    json!({
        "title": "Feedback",
        "questions": [
            {"id": "nps", "type": "nps", "prompt": "How likely?", "required": true},
            {"id": "why", "type": "longText", "prompt": "Why?"}
        ]
    })
}

pub fn submission(version: FlowVersionId) -> Value {
    json!({
        "flowVersionId": version,
        "flowVersionPayloadGeneration": "4",
        "respondentAnalyticsAdmission": "collection_only",
        "answers": {"nps": "9", "why": "quick"}
    })
}

/// The code of the only issue of a refusal.
#[track_caller]
pub fn code(receipt: &Result<Receipt, SubmitError>) -> &'static str {
    match receipt {
        Ok(Receipt::Refused(issues)) => {
            assert_eq!(issues.len(), 1, "{issues:?}");
            issues[0].code.as_str()
        }
        other => panic!("not refused: {other:?}"),
    }
}

#[track_caller]
pub fn accepted(receipt: Result<Receipt, SubmitError>) -> sluice_engine::intake::Accepted {
    match receipt {
        Ok(Receipt::Accepted(accepted)) => accepted,
        other => panic!("not accepted: {other:?}"),
    }
}

/// The version that a flow was resolved to.
pub fn version_in(resolved: &sluice_engine::Resolved) -> Value {
    let body: Value = serde_json::from_slice(&resolved.served.body).unwrap();
    body["flowVersionId"].clone()
}
