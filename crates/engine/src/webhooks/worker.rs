//! The background work that delivers events.
//!
//! Every node looks for endpoints that are due, takes their leases, and works on each in a task of
//! its own, so that a slow receiver delays no other. An endpoint is due when its app has something
//! new ([`super::wakes`]), when a failed delivery is sent again, and now and then, in case another
//! process wrote something. A lease that is not renewed ends, and another node continues.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::json;
use sluice_flow::event::EventType;
use sluice_flow::event::delivery::is_given_up;
use sluice_flow::id::AppId;
use sluice_flow::time::Timestamp;
use sluice_store::{At, Claim, EndpointRow, EndpointWrite, Progress, StoreError, WorkerId, Write};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::step::{Lines, Stepped, step};
use crate::actor::Actor;
use crate::admin::{AdminError, AdminResult};
use crate::audit_action::AuditAction;
use crate::background::keep_running_after;
use crate::core::Core;
use crate::ids::random_bits;

/// How often a node looks for endpoints that are due.
const TICK: Duration = Duration::from_millis(250);
/// How often the backlog is counted for the metrics.
const BACKLOG_INTERVAL: Duration = Duration::from_secs(15);
/// How long an endpoint is left alone if nothing is new.
const IDLE_SECONDS: i64 = 30;
/// How much later than usual the log may end before it counts as held back by a slow write.
const HELD_BACK_MILLIS: i64 = 1_000;
/// When an endpoint is looked at again whose log is held back.
const HELD_BACK_SECONDS: i64 = 1;
/// The length of a lease. Longer than a step with its last request.
const LEASE_SECONDS: i64 = 40;
/// Endpoints that a node works on at a time.
const ENDPOINTS_MAX: usize = 128;
/// Requests of a node at a time.
const REQUESTS_MAX: usize = 256;
/// Finished deliveries that are kept of an endpoint.
pub(super) const KEPT_MAX: usize = 1_000;
/// How long finished deliveries are kept.
const KEPT_SECONDS: i64 = 30 * 24 * 60 * 60;
/// The actor of what happens by itself.
const ACTOR: &str = "webhooks";

pub(crate) struct DeliveryWorker {
    lines: Option<Lines>,
    core: Arc<Core>,
    worker: WorkerId,
    endpoints: Arc<Semaphore>,
    /// Apps with something new, and when that can be read. An endpoint that is woken before would
    /// find nothing, and be left alone.
    woken: Mutex<Vec<(Timestamp, Vec<AppId>)>>,
    /// The work on endpoints; it ends when this is dropped.
    tasks: Mutex<JoinSet<()>>,
}

impl DeliveryWorker {
    pub(crate) fn new(core: &Arc<Core>) -> Self {
        let lines = core.deliveries.sender.clone().map(|sender| Lines {
            core: Arc::clone(core),
            sender,
            requests: Arc::new(Semaphore::new(REQUESTS_MAX)),
        });
        Self {
            lines,
            core: Arc::clone(core),
            worker: random_bits().to_be_bytes(),
            endpoints: Arc::new(Semaphore::new(ENDPOINTS_MAX)),
            woken: Mutex::default(),
            tasks: Mutex::default(),
        }
    }

    pub(crate) async fn run(self: Arc<Self>) {
        let Some(lines) = &self.lines else { return };
        let mut counted_at: Option<Instant> = None;
        loop {
            if let Err(error) = self.look(lines).await
                && !keep_running_after(&error, "webhooks were not delivered", &self.core.lost)
            {
                return;
            }
            if counted_at.is_none_or(|at| at.elapsed() >= BACKLOG_INTERVAL) {
                counted_at = Some(Instant::now());
                if let Ok(backlog) = self.core.store.delivery_backlog().await {
                    self.core.metrics.deliveries.set_backlog(backlog, self.core.now());
                }
            }
            tokio::time::sleep(TICK).await;
        }
    }

    /// Delivers everything that is due now, and returns when that is done.
    pub(crate) async fn deliver_due(&self) -> Result<(), StoreError> {
        let Some(lines) = &self.lines else { return Ok(()) };
        self.look(lines).await?;
        // All tasks have ended when all of their permits are back.
        let all = u32::try_from(ENDPOINTS_MAX).unwrap_or(u32::MAX);
        drop(self.endpoints.acquire_many(all).await);
        Ok(())
    }

    /// Ends the work on endpoints before the store is closed. What was sent and not noted is sent
    /// again.
    pub(crate) async fn close(&self) {
        let mut tasks =
            std::mem::take(&mut *self.tasks.lock().unwrap_or_else(PoisonError::into_inner));
        tasks.shutdown().await;
    }

    /// Wakes the endpoints of apps with something new, and starts on those that are due.
    async fn look(&self, lines: &Lines) -> Result<(), StoreError> {
        let core = &self.core;
        if core.outbound.is_held(&*core.store).await? {
            return Ok(());
        }
        let apps = match core.deliveries.known_apps() {
            Some(known) => known,
            None => core.deliveries.learn(core.store.apps_with_endpoints().await?),
        };
        if apps.is_empty() {
            return Ok(());
        }
        let now = core.now();
        let woken = self.readable(core.deliveries.wakes.take(apps.iter()), now);
        if !woken.is_empty() {
            core.watched(core.store.wake_endpoints(woken, now).await)?;
        }
        let until = now.plus_seconds(LEASE_SECONDS);
        let limit = self.endpoints.available_permits();
        if limit == 0 {
            return Ok(());
        }
        let claim = Claim { worker: self.worker, now, until, limit };
        for endpoint in core.watched(core.store.claim_endpoints(claim).await)? {
            let Ok(permit) = Arc::clone(&self.endpoints).acquire_owned().await else { break };
            let task = EndpointTask { lines: lines.clone(), worker: self.worker, until };
            let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
            while tasks.try_join_next().is_some() {}
            tasks.spawn(async move {
                task.run(endpoint).await;
                drop(permit);
            });
        }
        Ok(())
    }
}

impl DeliveryWorker {
    /// Adds these apps to those with something new, and returns those in which it can be read now.
    fn readable(&self, new: Vec<AppId>, now: Timestamp) -> Vec<AppId> {
        let mut woken = self.woken.lock().unwrap_or_else(PoisonError::into_inner);
        if !new.is_empty() {
            let readable = now.as_millis() + self.core.store.log_delay_millis();
            woken.push((Timestamp::from_millis(readable), new));
        }
        let readable: Vec<_> = woken.extract_if(.., |(at, _)| *at <= now).collect();
        readable.into_iter().flat_map(|(_, apps)| apps).collect()
    }
}

/// The work on one endpoint while its lease lasts.
struct EndpointTask {
    lines: Lines,
    worker: WorkerId,
    /// When the lease ends.
    until: Timestamp,
}

impl EndpointTask {
    async fn run(mut self, endpoint: EndpointRow) {
        let id = endpoint.endpoint_id;
        let mut endpoint = Arc::new(endpoint);
        loop {
            match self.step(&endpoint).await {
                Ok(Some(next)) => endpoint = Arc::new(next),
                Ok(None) => return,
                Err(error) => {
                    // The lease ends by itself; then a node tries again.
                    let source = std::error::Error::source(&error).map(ToString::to_string);
                    tracing::warn!(%error, source, endpoint = %id, "an endpoint was not served");
                    return;
                }
            }
        }
    }

    /// Returns the endpoint as it is now if there is more to do for it.
    async fn step(&mut self, endpoint: &Arc<EndpointRow>) -> AdminResult<Option<EndpointRow>> {
        let core = &self.lines.core;
        let stepped = step(&self.lines, endpoint).await?;
        let now = core.now();
        let is_over =
            stepped.is_gone || stepped.failing_since.is_some_and(|since| is_given_up(since, now));
        let continues = stepped.has_more && !is_over;
        let lease_until = continues.then(|| now.plus_seconds(LEASE_SECONDS));
        let to = stepped.cursor.unwrap_or(endpoint.cursor);
        let reason = if stepped.is_gone { "gone" } else { "failing" };
        let (failing_since, failures) = (stepped.failing_since, stepped.failures);
        let progress = Progress {
            app_id: endpoint.app_id,
            endpoint_id: endpoint.endpoint_id,
            worker: self.worker,
            leased_until: self.until,
            from: endpoint.cursor,
            to,
            failing_since,
            failures,
            due_at: lease_until.unwrap_or_else(|| due_again(core, &stepped, now)),
            deliveries: stepped.deliveries,
            dropped: stepped.dropped,
            lease_until,
            keep: KEPT_MAX,
            keep_since: now.plus_seconds(-KEPT_SECONDS),
        };
        let saved = core.watched(core.store.save_progress(progress).await)?;
        if saved && is_over {
            disable(core, endpoint, reason).await?;
        }
        let Some(until) = lease_until.filter(|_| saved) else { return Ok(None) };
        self.until = until;
        let row = EndpointRow::clone(endpoint);
        Ok(Some(EndpointRow { cursor: to, failing_since, failures, ..row }))
    }
}

/// When an endpoint without anything to do is looked at again.
fn due_again(core: &Core, stepped: &Stepped, now: Timestamp) -> Timestamp {
    let usual = core.store.log_delay_millis() + HELD_BACK_MILLIS;
    let is_held = |read: Timestamp| now.as_millis() - read.as_millis() > usual;
    match stepped.read_up_to.is_some_and(is_held) {
        true => now.plus_seconds(HELD_BACK_SECONDS),
        false => now.plus_seconds(IDLE_SECONDS),
    }
}

/// Disables an endpoint, with an event and an audit entry.
async fn disable(core: &Arc<Core>, endpoint: &EndpointRow, reason: &str) -> AdminResult<()> {
    let (app_id, endpoint_id) = (endpoint.app_id, endpoint.endpoint_id);
    loop {
        let rows = core.store.list_endpoints(app_id).await?;
        let now = rows.into_iter().find(|row| row.endpoint_id == endpoint_id);
        if now.is_none_or(|row| row.disabled_at.is_some()) {
            return Ok(());
        }
        let Some(app) = core.store.find_app(app_id).await? else { return Ok(()) };
        let actor = Actor::trusted(ACTOR);
        let action = AuditAction::EndpointDisabled;
        let audit =
            core.audit(&actor, Some(app_id), action, endpoint_id, &json!({"reason": reason}));
        let data = json!({"endpointId": endpoint_id, "reason": reason});
        let writes = vec![
            Write::Endpoint(EndpointWrite::Disable {
                app_id,
                endpoint_id,
                at: core.now(),
                reason: Some(reason.to_owned()),
            }),
            core.event(app_id, None, EventType::EndpointDisabled, data),
            Write::Audit(audit),
        ];
        match core.apply(At::App { app: app_id, expected: app.revision }, writes).await {
            Err(StoreError::Conflict) => {}
            done => {
                core.deliveries.wakes.mark(app_id);
                tracing::warn!(endpoint = %endpoint_id, reason, "a webhook endpoint was disabled");
                return done.map_err(AdminError::from);
            }
        }
    }
}
