//! The engine itself: what it holds, how it starts, how it stops.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use sluice_flow::id::AppId;
use sluice_flow::submission::BODY_BYTES_DEFAULT;
use sluice_flow::time::Timestamp;
use sluice_store::{At, AuditRow, Change, FeedPosition, Store, StoreError};
use tokio::sync::{Mutex, Notify, watch};
use uuid::Uuid;

use crate::actor::Actor;
use crate::blocks::Blocks;
use crate::clock::Clock;
use crate::commit::Committer;
use crate::counting::Counting;
use crate::erasure::Erasures;
use crate::export::Exports;
use crate::ids::Ids;
use crate::live::Watches;
use crate::metrics::Metrics;
use crate::people::Passwords;
use crate::rate::{Rates, Usages};
use crate::registry::Registry;
use crate::retention::Retention;
use crate::tokens::hash_of;
use crate::verify::{KeySource, MasterKeySource, Verifying};

/// How often changes by other processes are looked for.
const FEED_INTERVAL: Duration = Duration::from_millis(200);

/// Where a server listens that was told nothing.
const PUBLIC_URL_DEFAULT: &str = "http://127.0.0.1:8080";

/// What an operator can set.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// An admin token from the environment, valid while this process runs.
    pub admin_token: Option<String>,
    /// What signing secrets are sealed with; without it none can be made.
    pub master_keys: Option<Arc<dyn MasterKeySource>>,
    /// The way to key sets that others publish; without it none can be used.
    pub key_source: Option<Arc<dyn KeySource>>,
    /// Where respondents reach this service, for personal links; without a slash at its end.
    pub public_url: Option<String>,
    /// The largest body of a submission, in bytes, if it is not the default: for warnings to authors.
    pub body_bytes_max: Option<usize>,
    /// What an app may send that has no limits of its own.
    pub rates: Rates,
}

/// The service cannot do this now; the caller may try again after so many seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Unavailable {
    pub reason: &'static str,
    pub retry_after_seconds: u32,
}

impl Unavailable {
    pub(crate) const OVERLOADED: Self = Self {
        reason: "The service is overloaded and stored nothing. Try again shortly.",
        retry_after_seconds: 1,
    };
    pub(crate) const DISK_RESERVE: Self = Self {
        reason: "The service is short of disk space and stored nothing. Try again later.",
        retry_after_seconds: 30,
    };
    pub(crate) const STORE_DOWN: Self = Self {
        reason: "The service cannot reach its store. Try again shortly.",
        retry_after_seconds: 2,
    };
    pub(crate) const OUTCOME_UNKNOWN: Self = Self {
        reason: "The service cannot say whether this was stored. \
                 Try again with the same Idempotency-Key.",
        retry_after_seconds: 2,
    };
}

/// Every use case is a method of this, in the file named after it.
pub struct Engine {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ids: Ids,
    pub(crate) registry: Registry,
    pub(crate) committer: Committer,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) verifying: Verifying,
    pub(crate) exports: Arc<Exports>,
    pub(crate) watches: Watches,
    pub(crate) passwords: Passwords,
    pub(crate) environment_token: Option<[u8; 32]>,
    pub(crate) public_url: String,
    pub(crate) body_bytes_max: usize,
    lost: watch::Sender<bool>,
    feed: tokio::task::JoinHandle<()>,
    pub(crate) retention: Arc<Retention>,
    retaining: tokio::task::JoinHandle<()>,
    pub(crate) blocks: Arc<Blocks>,
    blocking: tokio::task::JoinHandle<()>,
    pub(crate) counting: Arc<Counting>,
    tending: tokio::task::JoinHandle<()>,
    pub(crate) erasures: Arc<Erasures>,
    erasing: tokio::task::JoinHandle<()>,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").finish_non_exhaustive()
    }
}

impl Engine {
    /// Starts the committer and the watch for changes by others. Needs a Tokio runtime.
    pub async fn start(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        options: Options,
    ) -> Result<Arc<Self>, StoreError> {
        let metrics = Arc::new(Metrics::new(store.disk_space().is_some()));
        // Read before anything is loaded, so that no change falls between the two.
        let position = store.changes(FeedPosition::default()).await?.position;
        let verifying = Verifying::new(options.master_keys, options.key_source);
        let usages = Usages::new(options.rates);
        let registry =
            Registry::new(Arc::clone(&store), Arc::clone(&clock), verifying.clone(), usages);
        let lost = watch::Sender::new(false);
        let stored = Arc::new(AtomicBool::new(false));
        let committer = Committer::start(
            Arc::clone(&store),
            Arc::clone(&clock),
            Arc::clone(&metrics),
            lost.clone(),
            Arc::clone(&stored),
        );
        let feed = tokio::spawn(registry.clone().follow(position, FEED_INTERVAL));
        let retention = Arc::new(Retention {
            store: Arc::clone(&store),
            clock: Arc::clone(&clock),
            ids: Ids::default(),
            metrics: Arc::clone(&metrics),
            lost: lost.clone(),
        });
        let retaining = tokio::spawn(Arc::clone(&retention).run());
        let blocks = Arc::new(Blocks {
            store: Arc::clone(&store),
            clock: Arc::clone(&clock),
            lost: lost.clone(),
        });
        let blocking = tokio::spawn(Arc::clone(&blocks).run());
        let counting = Arc::new(Counting { store: Arc::clone(&store), lost: lost.clone(), stored });
        let tending = tokio::spawn(Arc::clone(&counting).run());
        let erasures = Arc::new(Erasures {
            store: Arc::clone(&store),
            clock: Arc::clone(&clock),
            ids: Ids::default(),
            lost: lost.clone(),
            turn: Mutex::default(),
            left: Notify::default(),
        });
        let erasing = tokio::spawn(Arc::clone(&erasures).run());
        let environment_token = options.admin_token.as_deref().map(hash_of);
        Ok(Arc::new(Self {
            store,
            clock,
            ids: Ids::default(),
            registry,
            committer,
            metrics,
            verifying,
            exports: Arc::default(),
            watches: Watches::default(),
            passwords: Passwords::new(),
            environment_token,
            body_bytes_max: options.body_bytes_max.unwrap_or(BODY_BYTES_DEFAULT),
            public_url: options.public_url.unwrap_or_else(|| PUBLIC_URL_DEFAULT.to_owned()),
            lost,
            feed,
            retention,
            retaining,
            blocks,
            blocking,
            counting,
            tending,
            erasures,
            erasing,
        }))
    }

    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Where people reach this service; without a slash at its end.
    pub fn public_url(&self) -> &str {
        &self.public_url
    }

    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// All counters as text, with the disk's free space as it is now.
    pub fn metrics_text(&self) -> String {
        if let Some(space) = self.store.disk_space() {
            self.metrics.set_disk_space(space);
        }
        self.metrics.render()
    }

    /// Whether a submission could be stored now.
    pub async fn ready(&self) -> Result<(), StoreError> {
        if *self.lost.borrow() {
            return Err(StoreError::Closed);
        }
        self.watched(self.store.check().await)
    }

    /// Writes the rows of a change; every administrative write goes through here.
    pub(crate) async fn apply(&self, at: At, change: Change) -> Result<(), StoreError> {
        self.watched(self.store.apply(at, change).await)
    }

    /// A store that lost track of any write, or has stopped, ends the process, whoever met it first.
    pub(crate) fn watched<T>(&self, result: Result<T, StoreError>) -> Result<T, StoreError> {
        if let Err(error @ (StoreError::Unknown(_) | StoreError::Closed)) = &result
            && !self.lost.send_replace(true)
        {
            let source = std::error::Error::source(error).map(ToString::to_string);
            tracing::error!(%error, source, "the store can no longer be written to");
        }
        result
    }

    /// Returns once the store has lost track of a write: the process must then exit and recover.
    pub async fn lost_track(&self) {
        let mut lost = self.lost.subscribe();
        if lost.wait_for(|&lost| lost).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Stores what is queued, then lets the store go. New submissions are refused from here on.
    pub async fn close(&self) {
        self.committer.close().await;
        self.feed.abort();
        self.retaining.abort();
        self.blocking.abort();
        self.tending.abort();
        self.erasing.abort();
        self.store.close().await;
    }

    pub(crate) fn new_id(&self) -> Uuid {
        self.ids.next(self.clock.now())
    }

    pub(crate) fn audit(
        &self,
        actor: &Actor,
        app_id: Option<AppId>,
        action: &str,
        subject: impl ToString,
        detail: &serde_json::Value,
    ) -> AuditRow {
        AuditRow {
            audit_id: sluice_flow::id::AuditId::from_uuid(self.new_id()),
            app_id,
            actor: actor.name.clone(),
            action: action.to_owned(),
            subject: subject.to_string(),
            detail: detail.to_string(),
        }
    }
}
