//! Measures how many responses a database stores per second, beside another database.
//!
//! `cargo run --release -p sluice-store --example commit_rate -- URL URL [SECONDS] [ROUNDS]` takes
//! two empty databases, such as one of a plain PostgreSQL and one on a Citus cluster with its
//! tables placed. They take turns; the printed ratio is the second rate divided by the first.
//!
//! 64 clients submit without a pause to three flows of each app. The writes are composed as by the
//! engine's queue: each lane has one write in progress, which takes everything that waits in it.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "an example may panic, and prints its result"
)]

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant, SystemTime};

use sluice_flow::counts::Contribution;
use sluice_flow::definition::Kind;
use sluice_flow::id::{AppId, FlowId, FlowVersionId, ResponseId, v7};
use sluice_flow::time::{Timestamp, Window};
use sluice_store::conformance::rows::empty_response;
use sluice_store::postgres::{Options, PgStore};
use sluice_store::roles::*;
use sluice_store::{
    AppLimits, AppRow, At, Change, FlowRow, IdentityVerification, IfBusy, NewResponse, Outcome,
    ResponseRow, Resume, Write,
};
use tokio::sync::mpsc;
use uuid::Uuid;

const CLIENTS: u32 = 64;
const FLOWS: u32 = 3;
const ANSWERS: &str = r#"{"nps":"9","why":"It does what it says, and it was running before the coffee was ready.","use":["api","exports"],"docs":"5","contact":"no"}"#;
const TAGS: &str = r#"{"plan":"pro","release":"2026.11"}"#;
const CONTEXT: &str = r#"{"page":{"path":"/settings","referrer":"https://example.com/"},"locale":"en-GB","userAgent":"Mozilla/5.0 (X11; Linux x86_64) Gecko/20100101 Firefox/145.0"}"#;

#[tokio::main]
async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, usual| arguments.get(at).map_or(usual, |it| it.parse().unwrap());
    let (seconds, rounds) = (Duration::from_secs(number(2, 5)), number(3, 3));
    let mut databases = Vec::new();
    for url in arguments.get(..2).expect("the URLs of two databases") {
        databases.push(PgStore::connect(url, Options::default()).await.unwrap());
    }
    println!("apps  keys  rates per second, and responses per write     ratio");
    for apps in [1, 20] {
        for with_keys in [true, false] {
            let mut loads = Vec::new();
            for store in &databases {
                loads.push(Load::new(store, apps, with_keys).await);
            }
            let mut medians = [Vec::new(), Vec::new()];
            for _ in 0..rounds {
                for (load, rates) in loads.iter_mut().zip(&mut medians) {
                    rates.push(load.run(seconds).await);
                }
            }
            let [first, second] = medians.map(median);
            let ratio = second.0 / first.0;
            let keys = if with_keys { "yes" } else { "no" };
            println!(
                "{apps:4}  {keys:4}  {:7.0} ({:4.1})  {:7.0} ({:4.1})     {ratio:9.2}",
                first.0, first.1, second.0, second.1
            );
        }
    }
}

/// By rate.
fn median(mut rates: Vec<(f64, f64)>) -> (f64, f64) {
    rates.sort_by(|one, two| one.0.total_cmp(&two.0));
    rates[rates.len() / 2]
}

/// Whose responses share a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum WriteLane {
    All,
    Server(u32),
    App(AppId),
}

/// Clients that submit to apps of one store.
struct Load<'s> {
    store: &'s PgStore,
    apps: Vec<(AppId, u64)>,
    with_keys: bool,
    submitted: u32,
}

impl<'s> Load<'s> {
    async fn new(store: &'s PgStore, apps: u32, with_keys: bool) -> Self {
        let mut created = Vec::new();
        for number in 0..apps {
            let id = v7(now(), number, unique());
            let app_id = AppId::from_uuid(id);
            let mut rows = vec![Write::App(app_row(app_id))];
            rows.extend((0..FLOWS).map(|flow| Write::Flow(flow_row(app_id, flow))));
            store.apply(At::Instance, Change::new(|| rows)).await.unwrap();
            let found = store.find_app(app_id).await.unwrap().unwrap();
            created.push((app_id, found.public_revision));
        }
        Self { store, apps: created, with_keys, submitted: 0 }
    }

    /// The responses per second, and per write.
    async fn run(&mut self, duration: Duration) -> (f64, f64) {
        let lanes = self.store.lanes();
        let (ended, mut writes) = mpsc::unbounded_channel::<(WriteLane, usize)>();
        let mut waiting: BTreeMap<WriteLane, Vec<NewResponse>> = BTreeMap::new();
        let mut turns: VecDeque<WriteLane> = VecDeque::new();
        let (mut in_progress, mut stored, mut count) = (Vec::new(), 0, 0);
        let (started, mut arrive) = (Instant::now(), CLIENTS as usize);
        loop {
            for _ in 0..arrive {
                let response = self.response();
                let app = response.row.app_id;
                let lane = match self.store.server_of(app) {
                    _ if !lanes.by_app => WriteLane::All,
                    Some(server) => WriteLane::Server(server),
                    None => WriteLane::App(app),
                };
                let line = waiting.entry(lane).or_default();
                if line.is_empty() {
                    turns.push_back(lane);
                }
                line.push(response);
            }
            while in_progress.len() < lanes.count
                && let Some(turn) = turns.iter().position(|lane| !in_progress.contains(lane))
                && let Some(lane) = turns.remove(turn)
            {
                in_progress.push(lane);
                self.write(lane, waiting.remove(&lane).unwrap_or_default(), &ended);
            }
            let (lane, responses) = writes.recv().await.unwrap();
            in_progress.retain(|it| *it != lane);
            stored += responses;
            count += 1;
            arrive = if started.elapsed() < duration { responses } else { 0 };
            if in_progress.is_empty() && waiting.is_empty() && arrive == 0 {
                break;
            }
        }
        (stored as f64 / started.elapsed().as_secs_f64(), stored as f64 / f64::from(count))
    }

    fn write(
        &self,
        lane: WriteLane,
        mut responses: Vec<NewResponse>,
        ended: &mpsc::UnboundedSender<(WriteLane, usize)>,
    ) {
        let at = now();
        for (number, response) in (0..).zip(&mut responses) {
            response.row.response_id = ResponseId::from_uuid(v7(at, number, unique()));
        }
        let if_busy = match lane {
            WriteLane::App(_) => IfBusy::Wait,
            WriteLane::All | WriteLane::Server(_) => IfBusy::Skip,
        };
        let ended = ended.clone();
        let then = Box::new(move |outcomes: Result<Vec<Outcome>, _>| {
            let outcomes = outcomes.unwrap();
            assert!(outcomes.iter().all(|it| *it == Outcome::Stored), "{outcomes:?}");
            let _ = ended.send((lane, outcomes.len()));
            Resume::nothing()
        });
        self.store.commit_then(responses, if_busy, then);
    }

    /// The next response, without its id. Apps and flows take turns.
    fn response(&mut self) -> NewResponse {
        let number = self.submitted;
        self.submitted += 1;
        let apps = u32::try_from(self.apps.len()).unwrap();
        let (app_id, public_revision) = self.apps[(number % apps) as usize];
        let flow_id = flow_of(app_id, number / apps % FLOWS);
        let version_id = FlowVersionId::from_uuid(flow_id.uuid());
        let row = ResponseRow {
            answers: ANSWERS.to_owned(),
            tags: Some(TAGS.to_owned()),
            context: Some(CONTEXT.to_owned()),
            digest: [1; 16],
            ..empty_response(app_id, flow_id, version_id, ResponseId::from_uuid(Uuid::nil()))
        };
        let contribution = Contribution::from_stored(None, ANSWERS, Some(TAGS), row.admission);
        NewResponse {
            row,
            idempotency_key: self.with_keys.then(|| mixed(u128::from(unique())).to_be_bytes()),
            public_revision,
            claim: None,
            invitation: None,
            limits: Vec::new(),
            contribution,
        }
    }
}

fn app_row(app_id: AppId) -> AppRow {
    AppRow {
        app_id,
        name: "Shop".to_owned(),
        identity_verification: IdentityVerification::Off,
        allowed_origins: Vec::new(),
        grace_window_seconds: None,
        retention_days: None,
        token_lifetime_seconds: None,
        hosted: None,
        limits: AppLimits::default(),
        created_at: now(),
    }
}

fn flow_of(app: AppId, number: u32) -> FlowId {
    FlowId::from_uuid(Uuid::from_u128(app.uuid().as_u128() ^ u128::from(number)))
}

fn flow_row(app_id: AppId, number: u32) -> FlowRow {
    FlowRow {
        app_id,
        flow_id: flow_of(app_id, number),
        kind: Kind::Survey,
        name: "Feedback".to_owned(),
        live: Window::default(),
        grace_window_seconds: None,
        closing: None,
        invitation_email: None,
        key: None,
        labels: Vec::new(),
        design: None,
        test_links: 0,
        created_at: now(),
        archived_at: None,
    }
}

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap())
}

/// A number that no other call returns, also in another run. Its last 48 bits differ too.
fn unique() -> u64 {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let started = now().as_millis().unsigned_abs() << 24;
    let _ = NEXT.compare_exchange(0, started, Ordering::Relaxed, Ordering::Relaxed);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Looks random, as a key does, and differs for every number.
fn mixed(number: u128) -> u128 {
    let spread = number.wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835);
    (spread ^ (spread >> 64)).wrapping_mul(0xD129_0BD3_A5F1_6E4B_8F1B_BCDC_BFA5_3E0B)
}
