//! The background work that delivers events.
//!
//! Every node looks for endpoints that are due, takes their leases, and works on each in a separate
//! task, within the [`slots`](super::slots) that it has. An endpoint is due when its app has
//! something new for it ([`super::wakes`], [`super::scout`]), when a failed delivery is sent again,
//! and now and then, in case another process wrote something. A lease that is not renewed ends, and
//! another node continues; the worker that lost it writes nothing more.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::json;
use sluice_flow::event::EventType;
use sluice_flow::event::delivery::is_given_up;
use sluice_flow::id::{AppId, EventId};
use sluice_flow::time::{DAY_SECONDS, Timestamp};
use sluice_store::{
    At, Claim, DeliveryRow, EndpointLane, EndpointRow, EndpointWrite, Progress, Saved, StoreError,
    WorkerId, Write,
};
use tokio::sync::Notify;
use tokio::task::JoinSet;

use super::attempt::{ATTEMPT_MAX, Answered};
use super::pacing::Pacing;
use super::removals::Removals;
use super::scout::{HELD_BACK_MILLIS, scout};
use super::slots::{EndpointSlot, EndpointSlots};
use super::step::{Lines, STEP_MAX, Stepped, step};
use crate::actor::Actor;
use crate::admin::{AdminError, AdminResult};
use crate::audit_action::AuditAction;
use crate::background::keep_running_after;
use crate::core::Core;
use crate::events::find_payloads;
use crate::ids::random_bits;
use crate::stop::Phase;

/// How often a node looks for endpoints that are due.
const TICK: Duration = Duration::from_millis(250);
/// How often the backlog is counted for the metrics.
const BACKLOG_INTERVAL: Duration = Duration::from_secs(15);
/// How often an endpoint without new events is checked. Its position is saved as often.
const IDLE_SECONDS: i64 = 30;
/// When an endpoint is checked again whose log is held back.
const HELD_BACK_SECONDS: i64 = 1;
/// The pause before a log that could not be read is tried again.
const UNREADABLE_SECONDS: i64 = 5;
/// The length of a lease. Longer than a step with its last request.
const LEASE_SECONDS: i64 = 40;
/// Finished deliveries that are kept of an endpoint.
pub(super) const KEPT_MAX: usize = 1_000;
/// How long finished deliveries are kept.
const KEPT_SECONDS: i64 = 30 * DAY_SECONDS;
/// How long it may take after that to record what was cut off.
const NOTED_MAX: Duration = Duration::from_secs(3);
/// The actor of automatic actions.
const ACTOR: &str = "webhooks";

const _: () = assert!(STEP_MAX.as_secs() + ATTEMPT_MAX.as_secs() + 10 < LEASE_SECONDS as u64);

pub(crate) struct DeliveryWorker {
    lines: Option<Lines>,
    core: Arc<Core>,
    worker: WorkerId,
    slots: Arc<EndpointSlots>,
    /// Apps with something new, and when that can be read. An endpoint that is woken earlier would
    /// find nothing, and wait for its next check.
    woken: Mutex<Vec<(Timestamp, Vec<AppId>)>>,
    /// The work on endpoints; it ends when this is dropped.
    tasks: Mutex<JoinSet<()>>,
    /// Held while endpoints are taken.
    looking: tokio::sync::Mutex<()>,
    /// A slot is free, or there is more to send.
    more: Arc<Notify>,
}

impl DeliveryWorker {
    pub(crate) fn new(core: &Arc<Core>) -> Self {
        let lines = core.deliveries.sender.clone().map(|sender| Lines {
            core: Arc::clone(core),
            sender,
            positions: Arc::default(),
            pages: Arc::default(),
            pacing: Arc::new(Pacing::new(&core.metrics)),
            stop: Arc::clone(&core.stop),
        });
        Self {
            lines,
            core: Arc::clone(core),
            worker: random_bits().to_be_bytes(),
            slots: Arc::default(),
            woken: Mutex::default(),
            tasks: Mutex::default(),
            looking: tokio::sync::Mutex::default(),
            more: Arc::default(),
        }
    }

    pub(crate) async fn run(self: Arc<Self>) {
        let Some(lines) = &self.lines else { return };
        let mut counted_at: Option<Instant> = None;
        while !self.core.stop.is_ending() {
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
            // Also after a notice, so that endpoints with little to do do not keep the store busy.
            let _ = tokio::time::timeout(TICK, self.more.notified()).await;
        }
    }

    /// Delivers everything that is due now, and returns when that is done.
    pub(crate) async fn deliver_due(&self) -> Result<(), StoreError> {
        let Some(lines) = &self.lines else { return Ok(()) };
        self.look(lines).await?;
        self.slots.all_free().await;
        Ok(())
    }

    /// Takes no more endpoints. One that is just being taken would stay leased if the task that
    /// takes it were aborted.
    pub(crate) async fn stop_taking(&self) {
        self.core.stop.time_left();
        let _ = tokio::time::timeout(NOTED_MAX, self.looking.lock()).await;
    }

    /// Ends the work on endpoints before the store is closed. The outcomes of the requests are
    /// recorded, and the leases are released. A request that takes too long is cut off, to be sent
    /// again.
    pub(crate) async fn close(&self) {
        let left = self.core.stop.time_left();
        let is_lost = *self.core.lost.borrow();
        if is_lost || tokio::time::timeout(left, self.slots.all_free()).await.is_err() {
            self.core.stop.advance(Phase::Cut);
            let _ = tokio::time::timeout(NOTED_MAX, self.slots.all_free()).await;
        }
        let mut tasks =
            std::mem::take(&mut *self.tasks.lock().unwrap_or_else(PoisonError::into_inner));
        tasks.shutdown().await;
    }

    /// Wakes the endpoints with something new, and starts on those that are due.
    async fn look(&self, lines: &Lines) -> Result<(), StoreError> {
        let core = &self.core;
        let _looking = self.looking.lock().await;
        if core.stop.is_ending() || core.outbound.is_held(&*core.store).await? {
            return Ok(());
        }
        let apps = match core.deliveries.known_apps() {
            Some(known) => known,
            None => core.deliveries.learn(core.store.apps_with_endpoints().await?),
        };
        if apps.is_empty() {
            return Ok(());
        }
        let new = core.deliveries.wakes.take(apps.iter());
        // What is due is sent, even if the log of an app cannot be read.
        let woken = self.wake(lines, new).await;
        self.start(lines, EndpointLane::Prompt).await?;
        self.start(lines, EndpointLane::Slow).await?;
        woken
    }

    /// Makes the endpoints due that have something to send. What could not be read or written is
    /// tried again the next time.
    async fn wake(&self, lines: &Lines, new: Vec<AppId>) -> Result<(), StoreError> {
        let (core, now) = (&self.core, self.core.now());
        let readable = self.readable(new, now);
        if readable.is_empty() {
            return Ok(());
        }
        let scouted = scout(core, &self.slots, &lines.positions, readable).await;
        self.wake_again(scouted.unfinished, now);
        self.wake_again(scouted.held_back, now.plus_seconds(HELD_BACK_SECONDS));
        self.wake_again(scouted.failed, now.plus_seconds(UNREADABLE_SECONDS));
        if !scouted.endpoints.is_empty() {
            let apps = |endpoints: &[(AppId, _)]| endpoints.iter().map(|(app, _)| *app).collect();
            let all = apps(&scouted.endpoints);
            match core.watched(core.store.wake_endpoints(scouted.endpoints, now).await) {
                Ok(skipped) => self.wake_again(apps(&skipped), now),
                Err(error) => {
                    self.wake_again(all, now);
                    return Err(error);
                }
            }
        }
        scouted.error.map_or(Ok(()), Err)
    }

    /// Takes the endpoints of a lane that are due, as many as there are slots.
    async fn start(&self, lines: &Lines, lane: EndpointLane) -> Result<(), StoreError> {
        let core = &self.core;
        let free = self.slots.free(lane);
        if free.is_empty() {
            return Ok(());
        }
        let now = core.now();
        let until = now.plus_seconds(LEASE_SECONDS);
        let (worker, slow) = (self.worker, self.slots.known_slow());
        let claim = Claim { worker, now, until, limit: free.len(), lane, slow };
        let taken = core.watched(core.store.claim_endpoints(claim).await)?;
        if taken.len() >= free.len() {
            // There may be more.
            self.more.notify_one();
        }
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        while tasks.try_join_next().is_some() {}
        for (endpoint, free) in taken.into_iter().zip(free) {
            let slot = EndpointSlot::new(&self.slots, free, endpoint.endpoint_id);
            let (lines, more) = (lines.clone(), Arc::clone(&self.more));
            let slots = Arc::clone(&self.slots);
            let removals = Removals::new(endpoint.removals);
            let task = EndpointTask { lines, slots, worker, until, removals };
            tasks.spawn(async move {
                if task.run(endpoint, slot).await {
                    more.notify_one();
                }
            });
        }
        Ok(())
    }

    /// Adds these apps to those with something new, and returns those in which it can be read now.
    fn readable(&self, new: Vec<AppId>, now: Timestamp) -> Vec<AppId> {
        let mut woken = self.woken.lock().unwrap_or_else(PoisonError::into_inner);
        if !new.is_empty() {
            let readable = now.as_millis() + self.core.store.log_delay_millis();
            woken.push((Timestamp::from_millis(readable), new));
        }
        let readable = woken.extract_if(.., |(at, _)| *at <= now);
        let mut readable: Vec<AppId> = readable.flat_map(|(_, apps)| apps).collect();
        readable.sort_unstable();
        readable.dedup();
        readable
    }

    fn wake_again(&self, apps: Vec<AppId>, at: Timestamp) {
        if !apps.is_empty() {
            self.woken.lock().unwrap_or_else(PoisonError::into_inner).push((at, apps));
        }
    }
}

/// The work on one endpoint while its lease lasts.
struct EndpointTask {
    lines: Lines,
    slots: Arc<EndpointSlots>,
    worker: WorkerId,
    /// When the lease ends.
    until: Timestamp,
    removals: Removals,
}

impl EndpointTask {
    /// Works until there is nothing to do, or others wait for the slot. Returns whether there is
    /// something to do for this or another endpoint.
    async fn run(mut self, endpoint: EndpointRow, mut slot: EndpointSlot) -> bool {
        let id = endpoint.endpoint_id;
        let mut endpoint = Arc::new(endpoint);
        loop {
            match self.step(&endpoint, &mut slot).await {
                Ok(Next::Continue(next)) => endpoint = Arc::new(*next),
                Ok(Next::Released) => return true,
                Ok(Next::Done) => return !self.slots.has_free(slot.lane),
                Err(error) => {
                    // The lease ends by itself; then a node tries again.
                    let source = std::error::Error::source(&error).map(ToString::to_string);
                    tracing::warn!(%error, source, endpoint = %id, "cannot deliver to an endpoint");
                    return false;
                }
            }
        }
    }

    async fn step(
        &mut self,
        endpoint: &Arc<EndpointRow>,
        slot: &mut EndpointSlot,
    ) -> AdminResult<Next> {
        let core = &self.lines.core;
        let stepped = step(&self.lines, endpoint, &self.removals, slot).await?;
        let now = core.now();
        let is_over =
            stepped.is_gone || stepped.failing_since.is_some_and(|since| is_given_up(since, now));
        let has_more = stepped.has_more && !is_over;
        let continues = has_more
            && slot.may_start()
            && self.slots.has_free(slot.lane)
            && !self.lines.stop.is_ending();
        let lease_until = continues.then(|| now.plus_seconds(LEASE_SECONDS));
        let reason = if stepped.is_gone { "gone" } else { "failing" };
        let due_at = match (lease_until, has_more) {
            (Some(until), _) => until,
            (None, true) => now,
            (None, false) => due_again(core, &stepped, now),
        };
        let failing_since = stepped.failing_since;
        let progress = Progress {
            app_id: endpoint.app_id,
            endpoint_id: endpoint.endpoint_id,
            worker: self.worker,
            leased_until: self.until,
            from: endpoint.cursor,
            to: stepped.cursor.unwrap_or(endpoint.cursor),
            failing_since,
            failures: stepped.failures,
            due_at,
            deliveries: stepped.deliveries,
            dropped: stepped.dropped,
            lease_until,
            keep: KEPT_MAX,
            keep_since: now.plus_seconds(-KEPT_SECONDS),
            removals: stepped.removals,
        };
        let saved = save(core, progress, &stepped.answered).await?;
        let Some(row) = saved else { return Ok(Next::Done) };
        self.removals = self.removals.next(row.removals);
        self.lines.positions.forget(endpoint.endpoint_id);
        if is_over {
            disable(core, endpoint, failing_since, reason).await?;
        }
        Ok(match lease_until {
            Some(until) => {
                self.until = until;
                Next::Continue(row)
            }
            None if has_more => Next::Released,
            None => Next::Done,
        })
    }
}

/// What follows a step.
enum Next {
    /// There is more to do; with the endpoint as it is now.
    Continue(Box<EndpointRow>),
    /// There is more to do when the endpoint is taken again.
    Released,
    Done,
}

/// Writes what was done; `None` if the lease was lost. A reply about a response that was erased or
/// deleted since it was sent is not stored.
async fn save(
    core: &Core,
    mut progress: Progress,
    answered: &[Answered],
) -> AdminResult<Option<Box<EndpointRow>>> {
    loop {
        match core.watched(core.store.save_progress(progress.clone()).await)? {
            Saved::Done(row) => return Ok(Some(row)),
            Saved::LeaseLost => return Ok(None),
            Saved::RepliesRemoved { removals } => {
                progress.removals = removals;
                forget_erased(core, progress.app_id, answered, &mut progress.deliveries).await?;
            }
        }
    }
}

/// Drops the replies about responses that are gone or have changed since they were sent.
async fn forget_erased(
    core: &Core,
    app: AppId,
    answered: &[Answered],
    deliveries: &mut [DeliveryRow],
) -> AdminResult<()> {
    let events: Vec<_> = answered.iter().map(|it| (it.event, it.kind)).collect();
    let now = find_payloads(core, app, &events).await?;
    let has_changed = |it: &&Answered| {
        now.get(&it.event).is_none_or(|payload| Answered::hash(payload) != it.hash)
    };
    let changed: HashSet<EventId> =
        answered.iter().filter(has_changed).map(|it| it.event).collect();
    for row in deliveries.iter_mut().filter(|row| changed.contains(&row.event_id)) {
        (row.reply, row.error) = (None, None);
    }
    Ok(())
}

/// When an endpoint without anything to do now is checked again.
fn due_again(core: &Core, stepped: &Stepped, now: Timestamp) -> Timestamp {
    let usual = core.store.log_delay_millis() + HELD_BACK_MILLIS;
    let is_held = |read: Timestamp| now.as_millis() - read.as_millis() > usual;
    let again = match stepped.read_up_to.is_some_and(is_held) {
        true => now.plus_seconds(HELD_BACK_SECONDS),
        false => now.plus_seconds(IDLE_SECONDS),
    };
    stepped.batch_at.map_or(again, |at| at.min(again))
}

/// Disables an endpoint, with an event and an audit entry; unless someone enabled it again, which
/// clears its failures.
async fn disable(
    core: &Arc<Core>,
    endpoint: &EndpointRow,
    failing_since: Option<Timestamp>,
    reason: &str,
) -> AdminResult<()> {
    let (app_id, endpoint_id) = (endpoint.app_id, endpoint.endpoint_id);
    loop {
        let rows = core.store.list_endpoints(app_id).await?;
        let row = rows.into_iter().find(|row| row.endpoint_id == endpoint_id);
        let is_same =
            |row: &EndpointRow| row.disabled_at.is_none() && row.failing_since == failing_since;
        if !row.as_ref().is_some_and(is_same) {
            return Ok(());
        }
        let Some(app) = core.store.find_app(app_id).await? else { return Ok(()) };
        let actor = Actor::trusted(ACTOR);
        let action = AuditAction::EndpointDisabled;
        let audit =
            core.audit(&actor, Some(app_id), action, endpoint_id, &json!({"reason": reason}));
        let data = json!({"webhookId": endpoint_id, "reason": reason});
        let at = core.now();
        let mut writes = vec![
            Write::Endpoint(EndpointWrite::Disable {
                app_id,
                endpoint_id,
                at,
                reason: Some(reason.to_owned()),
            }),
            core.event(app_id, None, EventType::EndpointDisabled, data),
            Write::Audit(audit),
        ];
        writes.extend(core.queued_disabled(app_id, endpoint_id, reason, at).await?);
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
