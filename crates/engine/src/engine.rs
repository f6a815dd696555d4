//! The engine: the entry point to every use case. Transports hold it; use cases do not know it.
//!
//! Operations that need permission are reached through a handle, which proves it
//! ([`crate::handle`]). Operations of the public API and hosted pages need none and are here. Each
//! method delegates to the module that does the work.

mod addresses;
mod administration;
mod health;
mod judging;
mod links;
mod options;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use sluice_flow::identity::Bearer;
use sluice_flow::payload::Generation;
use sluice_flow::submission::{BODY_BYTES_DEFAULT, Submission};
use sluice_flow::time::Timestamp;
use sluice_flow::visit::Visit;
use sluice_store::{FeedPosition, Store, StoreError, StoreResult};
use tokio::sync::{Mutex, Notify, watch};
use tokio::task::JoinHandle;

use crate::background::keep_running_after;
use crate::backlogs;
use crate::clock::Clock;
use crate::commit::Committer;
use crate::computed::cache::Computations;
use crate::core::Core;
use crate::definitions::Definitions;
use crate::encoded_body::EncodedBody;
use crate::erasure::Erasures;
use crate::idempotency::IdempotencyKey;
use crate::ids::Ids;
use crate::images::Images;
use crate::intake::{Receipt, SubmitError};
use crate::metrics::Metrics;
use crate::outbound_hold::{Outbound, Publishes};
use crate::people::password::Passwords;
use crate::rate::{Limited, Usages};
use crate::registry::{AppView, NoFlow, Registry, Resolved};
use crate::sink::SinkOptions;
use crate::spans::Tracer;
use crate::tokens::hash_of;
use crate::upkeep::Upkeep;
use crate::verify::{Presented, TokenRefused, Verifying};
use crate::visit_counts::VisitCounts;
use crate::visits::VisitRefused;
use crate::watches::Watches;
use crate::webhooks::outbox::Deliveries;
pub use addresses::Addresses;
pub use health::Health;
pub use links::Links;
pub use options::Options;

/// How often changes by other processes are polled.
const FEED_INTERVAL: Duration = Duration::from_millis(200);

/// The address of a server without configuration.
const PUBLIC_URL_DEFAULT: &str = "http://127.0.0.1:8080";

/// The service that transports call.
pub struct Engine {
    core: Arc<Core>,
    upkeep: Upkeep,
    /// Background tasks that run until the engine is closed.
    tasks: Vec<JoinHandle<()>>,
    tracer: Option<Tracer>,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").finish_non_exhaustive()
    }
}

impl Engine {
    /// Starts the committer and the polling for changes by others. Needs a Tokio runtime.
    pub async fn start(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        options: Options,
    ) -> Result<Arc<Self>, StoreError> {
        let metrics = Arc::new(metrics_of(&*store, &*clock, options.tracer.as_ref()));
        // Read before anything is loaded, so that no change in between is missed.
        let position = store.changes(FeedPosition::END).await?.position;
        let verifying = Verifying::new(options.master_keys, options.key_source);
        let definitions = Definitions::new();
        let registry = Registry::new(
            Arc::clone(&store),
            Arc::clone(&clock),
            verifying.clone(),
            Usages::new(options.rates),
            definitions.clone(),
        );
        let lost = watch::Sender::new(false);
        let stored = Arc::new(AtomicBool::new(false));
        let committer = Committer::new(
            Arc::clone(&store),
            Arc::clone(&clock),
            Arc::clone(&metrics),
            lost.clone(),
            Arc::clone(&stored),
        );
        let erasures = Arc::new(Erasures {
            store: Arc::clone(&store),
            clock: Arc::clone(&clock),
            ids: Ids::default(),
            lost: lost.clone(),
            turn: Mutex::default(),
            left: Notify::default(),
        });
        let publishes = options.sink.as_ref().map(publishes_of);
        let visits = VisitCounts::new(Arc::clone(&store), Arc::clone(&metrics), lost.clone());
        let public_url = options.public_url.unwrap_or_else(|| PUBLIC_URL_DEFAULT.to_owned());
        let core = Arc::new(Core {
            store,
            clock,
            ids: Ids::default(),
            registry,
            committer,
            metrics,
            verifying,
            exports: Arc::default(),
            computations: Computations::default(),
            visits: Arc::new(visits),
            watches: Watches::default(),
            passwords: Passwords::new(),
            images: Images::new(),
            definitions,
            erasures,
            deliveries: Deliveries::new(options.webhook_sender),
            mail: options.mail,
            outbound: Outbound::new(options.hold_outbound, publishes),
            stop: Arc::default(),
            environment_token: options.admin_token.as_deref().map(hash_of),
            body_bytes_max: options.body_bytes_max.unwrap_or(BODY_BYTES_DEFAULT),
            admin_url: options.admin_url.unwrap_or_else(|| public_url.clone()),
            public_url,
            last_check: Default::default(),
            lost,
        });
        let upkeep = Upkeep::new(&core, stored, options.scrub_interval, options.sink);
        let feed = core.registry.clone().follow(position, FEED_INTERVAL);
        let mut tasks = upkeep.start();
        tasks.push(tokio::spawn(feed));
        tasks.push(tokio::spawn(Arc::clone(&core).watch_files()));
        tasks.push(tokio::spawn(Arc::clone(&core).send_mails()));
        tasks.push(tokio::spawn(backlogs::follow(Arc::clone(&core))));
        Ok(Arc::new(Self { core, upkeep, tasks, tracer: options.tracer }))
    }

    pub fn now(&self) -> Timestamp {
        self.core.now()
    }

    /// Where people reach this service.
    pub fn addresses(&self) -> Addresses<'_> {
        Addresses { public_url: &self.core.public_url, admin_url: &self.core.admin_url }
    }

    pub fn tracer(&self) -> Option<&Tracer> {
        self.tracer.as_ref()
    }

    pub fn metrics(&self) -> &Metrics {
        &self.core.metrics
    }

    /// How the server is doing, for health checks and metrics.
    pub fn health(&self) -> Health<'_> {
        Health { core: &self.core }
    }

    /// Starts no more webhook requests and e-mails; those in progress may continue for this long,
    /// also during [`Self::close`].
    pub fn stop_sending(&self, drain: Duration) {
        self.core.stop.begin(drain);
    }

    /// Stores what is queued, then releases the store. New submissions are refused from here on.
    pub async fn close(&self) {
        self.core.committer.close().await;
        if let Err(error) = self.core.visits.close().await {
            keep_running_after(&error, "the last visits were not counted", &self.core.lost);
        }
        self.upkeep.deliveries.stop_taking().await;
        self.core.finish_mails().await;
        self.tasks.iter().for_each(JoinHandle::abort);
        self.upkeep.sink.close().await;
        self.upkeep.deliveries.close().await;
        self.core.store.close().await;
    }

    /// Whether there is a mail server.
    pub fn sends_mail(&self) -> bool {
        self.core.sends_mail()
    }

    /// The maintenance that the server runs in the background.
    pub fn upkeep(&self) -> &Upkeep {
        &self.upkeep
    }
}

fn metrics_of(store: &dyn Store, clock: &dyn Clock, tracer: Option<&Tracer>) -> Metrics {
    let (has_disk, has_clock) = (store.disk_space().is_some(), clock.offset_millis().is_some());
    let mut metrics = Metrics::new(&store.status(), has_disk, has_clock);
    if let Some(tracer) = tracer {
        metrics.add_spans(tracer.metrics());
    }
    metrics
}

fn publishes_of(options: &SinkOptions) -> Publishes {
    Publishes { sink: options.sink.name().to_owned(), apps: options.apps.clone() }
}

impl Drop for Engine {
    /// The tasks hold the store: without them, its files and connections are closed.
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

/// The public API and hosted pages: an API key, a link or nothing at all is enough.
impl Engine {
    /// The app of an active key, if the text is such a key.
    pub async fn app_by_key(&self, api_key: &str) -> StoreResult<Option<Arc<AppView>>> {
        match api_key.parse() {
            Ok(key) => self.core.registry.app(&key).await,
            Err(_) => Ok(None),
        }
    }

    /// Whether an app may make these calls now. Takes all of them from its bucket, or none.
    pub fn admit_calls(&self, app: &AppView, calls: u32) -> Result<(), Limited> {
        let refused = |limited: &Limited| self.core.metrics.count_limited(limited.by.as_str());
        app.usage.take_calls(calls).inspect_err(refused)
    }

    /// Identifies the caller as the app's mode requires: `off` checks nothing, `observe` counts but
    /// refuses no one, `enforce` refuses a caller without proof.
    pub async fn identify(
        &self,
        app: &AppView,
        presented: Presented<'_>,
    ) -> Result<Option<Bearer>, TokenRefused> {
        self.core.identify(app, presented).await
    }

    /// The latest published version of a flow of this app.
    pub async fn resolve(
        &self,
        app: &AppView,
        flow_id: &str,
    ) -> StoreResult<Result<Resolved, NoFlow>> {
        self.core.registry.resolve(app, flow_id).await
    }

    /// The snapshot of a published version of this app that is not retired.
    pub async fn snapshot(
        &self,
        app: &AppView,
        flow_version_id: &str,
        generation: Generation,
    ) -> StoreResult<Option<Arc<EncodedBody>>> {
        self.core.registry.snapshot(app, flow_version_id, generation).await
    }

    /// Checks one submission and stores it if it is accepted. `input` is `None` if the call had no
    /// input. A key in the submission itself takes precedence over `key`. The bearer is a caller
    /// with a token ([`Engine::identify`]).
    pub async fn submit_as(
        &self,
        app: &AppView,
        input: Option<&[u8]>,
        key: Option<&IdempotencyKey>,
        bearer: Option<&Bearer>,
    ) -> Result<Receipt, SubmitError> {
        self.core.submit_as(app, input, key, bearer).await
    }

    /// The same for a submission that was built from its parts, with the same rules.
    pub async fn submit_parts(
        &self,
        app: &AppView,
        parts: Submission<'_>,
        key: Option<&IdempotencyKey>,
        bearer: Option<&Bearer>,
    ) -> Result<Receipt, SubmitError> {
        self.core.submit_parts(app, parts, key, bearer).await
    }

    /// Runs the calls of one request. Those that store a response share a write.
    pub async fn together<T>(&self, calls: impl Future<Output = T>) -> T {
        self.core.committer.together(calls).await
    }

    /// Counts the steps of a visit to a published version of this app that is not retired.
    pub async fn count_visit(
        &self,
        app: &AppView,
        visit: &Visit,
    ) -> StoreResult<Result<(), VisitRefused>> {
        self.core.count_visit(app, visit).await
    }

    /// What a link alone gives access to.
    pub fn links(&self) -> Links<'_> {
        Links { core: &self.core }
    }
}
