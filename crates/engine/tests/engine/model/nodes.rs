//! The nodes of a run: engines over one database, which crash and are started again.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use sluice_engine::clock::Clock;
use sluice_engine::rate::Rates;
use sluice_engine::{Engine, Options, Store};
use sluice_store::UpkeepStore as _;
use sluice_store::sqlite::{self, SqliteStore};
use tokio::sync::{Notify, RwLock};
use tokio::task::JoinHandle;

use super::recorder::Recorder;
use super::tampering::{Broken, Tampering};
use crate::support::{FaultyStore, either};

/// Where a database is.
#[derive(Debug, Clone)]
pub(super) enum Place {
    Sqlite(PathBuf),
    /// A folder with a database of this test run's backend.
    Either(PathBuf),
}

/// Whether this test run has a PostgreSQL.
pub(super) fn has_postgres() -> bool {
    std::env::var_os("SLUICE_TEST_STORE").is_some()
}

impl Place {
    pub(super) async fn open(&self) -> Arc<dyn Store> {
        match self {
            Self::Sqlite(path) => {
                Arc::new(SqliteStore::open(path, sqlite::Options::default()).unwrap())
            }
            Self::Either(folder) => either::open(folder).await,
        }
    }

    /// Whether several nodes may share it.
    pub(super) fn is_shared(&self) -> bool {
        matches!(self, Self::Either(_)) && has_postgres()
    }
}

/// An engine that runs.
pub(super) struct Running {
    pub(super) engine: Arc<Engine>,
    pub(super) store: Arc<FaultyStore>,
    pub(super) tampering: Arc<Tampering>,
    /// Of all engines of a run, each has its own number.
    pub(super) number: u32,
}

/// What all nodes of a run share.
pub(super) struct Site {
    pub(super) recorder: Arc<Recorder>,
    pub(super) seed: u64,
    pub(super) broken: Option<Broken>,
    pub(super) started: AtomicU32,
}

impl Site {
    pub(super) async fn start(&self, place: &Place) -> Arc<Running> {
        let number = self.started.fetch_add(1, Ordering::SeqCst);
        let store = Arc::new(FaultyStore::new(place.open().await));
        let tampering = Tampering::new(&self.recorder, number, self.seed, self.broken);
        let tampering = Arc::new(tampering);
        assert!(store.tamper.set(Arc::clone(&tampering) as _).is_ok());
        let clock = Arc::clone(&self.recorder.clock) as Arc<dyn Clock>;
        let options =
            Options { rates: Rates { calls: None, bytes_per_day: None }, ..Options::default() };
        let engine = Engine::start(Arc::clone(&store) as _, clock, options).await.unwrap();
        Arc::new(Running { engine, store, tampering, number })
    }
}

/// One node: an engine, and another one after a crash.
pub(super) struct Node {
    running: RwLock<Arc<Running>>,
    crash: Notify,
}

impl Node {
    /// The engine that runs now; waits for one that is being started.
    pub(super) async fn running(&self) -> Arc<Running> {
        Arc::clone(&*self.running.read().await)
    }

    /// Ends the process without warning, and returns when another one runs.
    pub(super) async fn crash(&self) {
        let before = self.running().await.number;
        self.crash.notify_one();
        while self.running().await.number == before {
            tokio::task::yield_now().await;
        }
    }

    /// Starts an engine whenever the last one has crashed, or must not continue.
    async fn supervise(self: Arc<Self>, site: Arc<Site>, place: Place) {
        loop {
            let running = self.running().await;
            tokio::select! {
                () = running.engine.health().lost_track() => {}
                () = self.crash.notified() => {}
            }
            let mut slot = self.running.write().await;
            running.tampering.crashed.store(true, Ordering::SeqCst);
            running.store.close().await;
            *slot = site.start(&place).await;
            site.recorder.count("! restart");
        }
    }
}

pub(super) struct Cluster {
    pub(super) nodes: Vec<Arc<Node>>,
    supervisors: Vec<JoinHandle<()>>,
}

impl Cluster {
    pub(super) async fn start(site: &Arc<Site>, place: &Place, count: usize) -> Self {
        let (mut nodes, mut supervisors) = (Vec::new(), Vec::new());
        for _ in 0..count {
            let running = RwLock::new(site.start(place).await);
            let node = Arc::new(Node { running, crash: Notify::new() });
            let supervisor = Arc::clone(&node).supervise(Arc::clone(site), place.clone());
            supervisors.push(tokio::spawn(supervisor));
            nodes.push(node);
        }
        Self { nodes, supervisors }
    }

    /// Stores what is queued, and ends all nodes.
    pub(super) async fn close(self) {
        for (node, supervisor) in self.nodes.iter().zip(&self.supervisors) {
            // Not while it starts an engine.
            let slot = node.running.write().await;
            supervisor.abort();
            slot.engine.close().await;
        }
    }
}
