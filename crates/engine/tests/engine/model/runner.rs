//! Runs a plan: sets up apps and flows, lets the clients work segment by segment, and audits in
//! between.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex};

use sluice_engine::clock::{Clock as _, SystemClock};
use sluice_engine::{Actor, Engine, NewFlow, Options};
use sluice_flow::definition::Kind;
use tempfile::TempDir;

use super::audit::{audit, back_up_and_restore, copy};
use super::clients::{Board, Client, Versions};
use super::history::History;
use super::nodes::{Cluster, Place, Site};
use super::operations::{Between, Plan};
use super::recorder::{ModelClock, Recorder};
use super::settings::read;
use super::tampering::Broken;
use crate::support::{UseCases as _, definition};

/// The run's clock starts this long after the real one: what the store compares with its own clock
/// is then never ahead.
const AHEAD_SECONDS: i64 = 24 * 60 * 60;
const HOUR_MILLIS: i64 = 60 * 60 * 1_000;

/// How a plan is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Setup {
    /// How many nodes share the database, if it can be shared.
    pub(super) nodes: usize,
    pub(super) broken: Option<Broken>,
}

pub(super) struct Ran {
    pub(super) history: History,
    pub(super) figures: BTreeMap<String, u64>,
}

pub(super) async fn run(plan: &Plan, setup: Setup) -> Ran {
    let folder = TempDir::new().unwrap();
    let mut place = fresh(&folder, 0);
    let start = SystemClock.now().plus_seconds(AHEAD_SECONDS);
    let recorder = Arc::new(Recorder::new(Arc::new(ModelClock::new(start))));
    let board = Arc::new(set_up(plan, &place, &recorder).await);
    let made: Vec<_> = (0..plan.shape.clients).map(|_| Arc::new(AtomicU32::new(0))).collect();
    let client = |number: usize, nodes| Client {
        number,
        nodes,
        board: Arc::clone(&board),
        recorder: Arc::clone(&recorder),
        actor: Actor::trusted("model"),
        made: Arc::clone(&made[number]),
    };
    // Not one of the clients that work.
    let auditor = client(0, Vec::new());
    let flows = initial(&auditor, &place).await;
    let site = Arc::new(Site {
        recorder: Arc::clone(&recorder),
        seed: plan.seed,
        broken: setup.broken,
        started: AtomicU32::new(0),
    });
    for (number, (segment, between)) in plan.segments.iter().zip(&plan.between).enumerate() {
        let nodes = if place.is_shared() { setup.nodes } else { 1 };
        let cluster = Cluster::start(&site, &place, nodes).await;
        let clients = segment.iter().enumerate().map(|(number, steps)| {
            tokio::spawn(client(number, cluster.nodes.clone()).run(steps.clone()))
        });
        let clients: Vec<_> = clients.collect();
        for client in clients {
            client.await.unwrap();
        }
        cluster.close().await;
        audit(&auditor, &place).await;
        let (next, hours) = *between;
        recorder.clock.advance(hours * HOUR_MILLIS);
        place = follow(&auditor, place, next, &folder, number + 1).await;
    }
    let figures = std::mem::take(&mut *recorder.figures.lock().unwrap());
    Ran { history: recorder.history(plan.shape.apps, flows), figures }
}

/// A new database of this test run's backend.
fn fresh(folder: &TempDir, number: usize) -> Place {
    let path = folder.path().join(format!("store-{number}"));
    std::fs::create_dir(&path).unwrap();
    Place::Either(path)
}

async fn follow(
    auditor: &Client,
    place: Place,
    next: Between,
    folder: &TempDir,
    number: usize,
) -> Place {
    match next {
        Between::Restart => {
            auditor.recorder.count("restart");
            place
        }
        Between::Move => {
            auditor.recorder.count("move");
            let to = match place.is_shared() {
                true => Place::Sqlite(folder.path().join(format!("moved-{number}.db"))),
                false => fresh(folder, number),
            };
            copy(auditor, &place, &to).await;
            to
        }
        Between::BackUpAndRestore => {
            auditor.recorder.count("back up and restore");
            let to = match &place {
                Place::Sqlite(_) => Place::Sqlite(folder.path().join(format!("new-{number}.db"))),
                Place::Either(_) => fresh(folder, number),
            };
            let file = folder.path().join(format!("backup-{number}.gz"));
            back_up_and_restore(auditor, &place, &to, &file).await;
            to
        }
    }
}

/// Apps with flows, each with one published version.
async fn set_up(plan: &Plan, place: &Place, recorder: &Recorder) -> Board {
    let shape = plan.shape;
    let clock = Arc::clone(&recorder.clock);
    let engine = Engine::start(place.open().await, clock, Options::default()).await.unwrap();
    let actor = Actor::trusted("model");
    let mut board = Board {
        apps: Vec::new(),
        flows: Vec::new(),
        versions: Vec::new(),
        sent: (0..shape.clients).map(|_| Mutex::default()).collect(),
        accepted: (0..shape.clients).map(|_| Mutex::default()).collect(),
    };
    for app in 0..shape.apps {
        let made = engine.create_app(&actor, &format!("App {app}")).await.unwrap();
        board.apps.push((made.row.app_id, made.api_keys[0].as_str().to_owned()));
    }
    for flow in 0..shape.flows {
        let name = format!("Flow {flow}");
        let new = NewFlow { name, kind: Kind::Survey, definition: Some(definition()) };
        let app = board.apps[shape.app_of(flow)].0;
        let made = engine.create_flow(&actor, app, &new).await.unwrap();
        let published = engine.publish(&actor, made.flow.flow_id).await.unwrap();
        board.flows.push(made.flow.flow_id);
        let published = vec![published.flow_version_id];
        board.versions.push(Mutex::new(Versions { published, draft: None }));
    }
    engine.close().await;
    board
}

async fn initial(auditor: &Client, place: &Place) -> Vec<super::model::FlowConfig> {
    let clock = Arc::clone(&auditor.recorder.clock);
    let engine = Engine::start(place.open().await, clock, Options::default()).await.unwrap();
    let mut flows = Vec::new();
    for flow in 0..auditor.board.flows.len() {
        flows.push(read(auditor, &engine, flow).await.unwrap().0);
    }
    engine.close().await;
    flows
}
