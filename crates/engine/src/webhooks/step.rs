//! One step of work on an endpoint: reads the events that it has not received, sends them, and
//! records the outcomes. A step is bounded in time, so that it ends within its lease, and in bytes.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use sluice_flow::event::EventType;
use sluice_flow::event::batch::{BATCH_MAX, wait_until};
use sluice_flow::event::delivery::{
    DISABLED_AFTER_SECONDS, FAILURES_IN_A_ROW_MAX, Verdict, takes_new,
};
use sluice_flow::event::pace::cost;
use sluice_flow::id::{DeliveryId, EventId};
use sluice_flow::time::Timestamp;
use sluice_store::{DeliveryRow, EndpointRow, StoreError};
use tokio::task::{JoinError, JoinSet};
use tokio::time::Instant;

use super::attempt::{Answered, Attempt, Attempted, Item, batches, send};
use super::filter_of;
use super::pacing::Pacing;
use super::pages::{Pages, SharedPage};
use super::removals::Removals;
use super::scout::Positions;
use super::sender::WebhookSender;
use super::slots::{EndpointSlot, SLOW_AFTER};
use crate::admin::AdminResult;
use crate::core::Core;
use crate::events::{Event, find_payloads, not_ahead};
use crate::stop::{Phase, Stop};

/// The most deliveries that one step sends again.
const AGAIN_MAX: usize = 25;
/// The same for an endpoint that takes batches: the last batch may be cut, the first never is.
const AGAIN_BATCHED_MAX: usize = 2 * BATCH_MAX;
/// Requests to one endpoint at a time: after its first reply, and while it does not fail.
const CONCURRENCY: usize = 8;
/// When a delivery of a type that this release does not know is tried again: a server of a newer
/// release may send it until then.
const UNKNOWN_TYPE_RETRY_MILLIS: i64 = 60_000;
/// After this time, a step starts no more requests.
pub(super) const STEP_MAX: Duration = Duration::from_secs(10);

/// What a step did.
#[derive(Debug, Default)]
pub(super) struct Stepped {
    pub(super) deliveries: Vec<DeliveryRow>,
    pub(super) dropped: Vec<DeliveryId>,
    /// Where the endpoint continues.
    pub(super) cursor: Option<EventId>,
    pub(super) failing_since: Option<Timestamp>,
    pub(super) failures: u32,
    /// The receiver no longer accepts events.
    pub(super) is_gone: bool,
    /// Whether there is more to send now.
    pub(super) has_more: bool,
    /// The time up to which the log was read; absent if it was not read to its end.
    pub(super) read_up_to: Option<Timestamp>,
    /// When the events of a batch have waited for long enough.
    pub(super) batch_at: Option<Timestamp>,
    /// Events about responses that the receiver answered with a text.
    pub(super) answered: Vec<Answered>,
    /// How many times replies had been removed before anything was read.
    pub(super) removals: u32,
}

/// What all requests of a process need.
#[derive(Clone)]
pub(super) struct Lines {
    pub(super) core: Arc<Core>,
    pub(super) sender: Arc<dyn WebhookSender>,
    pub(super) positions: Arc<Positions>,
    pub(super) pages: Arc<Pages>,
    pub(super) pacing: Arc<Pacing>,
    pub(super) stop: Arc<Stop>,
}

/// Works on an endpoint.
pub(super) async fn step(
    lines: &Lines,
    endpoint: &Arc<EndpointRow>,
    removals: &Removals,
    slot: &mut EndpointSlot,
) -> AdminResult<Stepped> {
    let core = &lines.core;
    let begun = Instant::now();
    let mut stepped = Stepped {
        failing_since: endpoint.failing_since,
        failures: endpoint.failures,
        removals: removals.now(),
        ..Stepped::default()
    };
    let (app, id) = (endpoint.app_id, endpoint.endpoint_id);
    let most = if batches(endpoint) { AGAIN_BATCHED_MAX } else { AGAIN_MAX };
    let (due, waiting) = core.store.due_deliveries(app, id, core.now(), most).await?;
    let is_full = due.len() >= most;
    let due = if batches(endpoint) { whole_batches(due, is_full) } else { due };
    let oldest = core.now().plus_seconds(-DISABLED_AFTER_SECONDS);
    let (due, unknown) = split_unknown(due, oldest);
    let items = again(core, endpoint, due, &mut stepped).await?;
    let mut attempts = grouped(endpoint, items);
    let mut end = None;
    // Other endpoints of the app can use the page for as long as this one sends it.
    let mut shared = None;
    if takes_new(endpoint.failures, waiting) {
        let (new, page) = new_events(lines, endpoint, removals, &mut stepped).await?;
        attempts.extend(grouped(endpoint, new));
        end = page.as_ref().filter(|_| stepped.batch_at.is_none()).map(|page| page.next());
        shared = page;
    }
    stepped.has_more |= is_full;
    let positions: Vec<EventId> =
        attempts.iter().flat_map(|it| it.0.iter().filter_map(|item| item.position)).collect();
    let left = run(lines, endpoint, attempts, begun, &mut stepped, slot).await?;
    drop(shared);
    match left.iter().find_map(Attempt::first_position) {
        None => stepped.cursor = end,
        // What was not started stays in the log, and so does everything at its position and after
        // it.
        Some(first_left) => {
            let started = positions.into_iter().filter(|it| *it < first_left);
            stepped.cursor = started.max();
            stepped.has_more = true;
            stepped.read_up_to = None;
        }
    }
    stepped.has_more |= !left.is_empty();
    // Last: nothing of it was sent, so it says nothing about the receiver.
    stepped.postpone_unknown(unknown, core.now(), oldest);
    Ok(stepped)
}

/// The events that the endpoint has not been sent yet, and the page that they are on. None of them
/// if they wait for others to share a request with.
async fn new_events(
    lines: &Lines,
    endpoint: &EndpointRow,
    removals: &Removals,
    stepped: &mut Stepped,
) -> AdminResult<(Vec<Item>, Option<Arc<SharedPage>>)> {
    let (core, filter) = (&lines.core, filter_of(endpoint));
    // An endpoint with types of a newer release only: their events stay in the log for it.
    if !endpoint.types.is_empty() && filter.types.is_empty() {
        return Ok((Vec::new(), None));
    }
    let after = not_ahead(core, lines.positions.start(endpoint));
    let page = lines.pages.read(core, endpoint.app_id, &filter, after, removals).await?;
    stepped.removals = removals.at(page.read_at).unwrap_or(stepped.removals);
    let events = page.select(&filter, after);
    stepped.batch_at = batch_at(core, endpoint, &events, page.has_more());
    if stepped.batch_at.is_some() {
        return Ok((Vec::new(), Some(page)));
    }
    stepped.has_more = page.has_more();
    stepped.read_up_to =
        (!page.has_more() && !page.ends_before_unknown()).then(|| page.next().made_at());
    let first = |event: Event| Item::first(core, endpoint, event.payload, Some(event.position));
    Ok((events.into_iter().map(first).collect(), Some(page)))
}

/// Without the last batch, if there may be more of it than was read. Replays of the same events
/// have the same batch: if these fill the page, the rows that were read are sent.
fn whole_batches(mut due: Vec<DeliveryRow>, is_full: bool) -> Vec<DeliveryRow> {
    let last = due.last().and_then(|row| row.batch_id.clone());
    let is_alone = due.iter().all(|row| row.batch_id == last);
    if is_full && last.is_some() && !is_alone {
        due.retain(|row| row.batch_id != last);
    }
    due
}

/// The requests for these events, in order. Events that shared a request before do so again.
fn grouped(endpoint: &EndpointRow, items: Vec<Item>) -> Vec<Attempt> {
    let most = if batches(endpoint) { BATCH_MAX } else { 1 };
    let mut attempts: Vec<Attempt> = Vec::new();
    for item in items {
        let is_together = |last: &&mut Attempt| {
            // Equal attempts have equal pauses, so that a batch stays one.
            let of = |delivery: &DeliveryRow| (delivery.batch_id.clone(), delivery.attempts);
            let first = last.0.first().map(|first| of(&first.delivery));
            last.0.len() < most && first == Some(of(&item.delivery))
        };
        match attempts.last_mut().filter(is_together) {
            Some(last) => last.0.push(item),
            None => attempts.push(Attempt(vec![item])),
        }
    }
    attempts
}

/// When to send these events, if they wait for others to share a request with.
fn batch_at(
    core: &Core,
    endpoint: &EndpointRow,
    events: &[Event],
    has_more: bool,
) -> Option<Timestamp> {
    let first = events.first().filter(|_| batches(endpoint) && !has_more)?;
    // An event can be read some time after it happened; the others have as long from then.
    let readable = first.payload.timestamp.as_millis() + core.store.log_delay_millis();
    wait_until(Timestamp::from_millis(readable), events.len(), core.now())
}

/// The deliveries that are sent again. Those whose event is gone are dropped.
async fn again(
    core: &Arc<Core>,
    endpoint: &EndpointRow,
    due: Vec<DeliveryRow>,
    stepped: &mut Stepped,
) -> AdminResult<Vec<Item>> {
    let events: Vec<_> = due.iter().filter_map(|row| Some((row.event_id, kind_of(row)?))).collect();
    let payloads = find_payloads(core, endpoint.app_id, &events).await?;
    let mut items = Vec::new();
    for delivery in due {
        match payloads.get(&delivery.event_id) {
            Some(payload) => {
                items.push(Item { payload: payload.clone(), delivery, position: None })
            }
            None => stepped.dropped.push(delivery.delivery_id),
        }
    }
    Ok(items)
}

/// Absent if a newer release wrote it.
fn kind_of(row: &DeliveryRow) -> Option<EventType> {
    row.kind.parse().ok()
}

/// Those that this release can send, and those that only a newer one can. A batch is not split
/// while it may be sent as a whole: a receiver would take the rest, sent later under the same id,
/// for a repetition. What is left of it after that becomes another batch.
fn split_unknown(due: Vec<DeliveryRow>, oldest: Timestamp) -> (Vec<DeliveryRow>, Vec<DeliveryRow>) {
    let batches_of = |waits: bool| -> HashSet<String> {
        let unknown = due.iter().filter(|row| kind_of(row).is_none());
        let of_age = unknown.filter(|row| (row.event_id.made_at() >= oldest) == waits);
        of_age.filter_map(|row| row.batch_id.clone()).collect()
    };
    let (whole, mut broken) = (batches_of(true), batches_of(false));
    broken.retain(|id| !whole.contains(id));
    let is_in = |row: &DeliveryRow, batches: &HashSet<String>| {
        row.batch_id.as_ref().is_some_and(|id| batches.contains(id))
    };
    let is_known = |row: &DeliveryRow| kind_of(row).is_some() && !is_in(row, &whole);
    let (mut known, unknown): (Vec<_>, Vec<_>) = due.into_iter().partition(is_known);
    for row in known.iter_mut().filter(|row| is_in(row, &broken)) {
        row.batch_id = None;
    }
    (known, unknown)
}

/// Sends as many as the time, the load, the slot and the endpoint allow; returns those that were
/// not started, in order.
async fn run(
    lines: &Lines,
    endpoint: &Arc<EndpointRow>,
    attempts: Vec<Attempt>,
    begun: Instant,
    stepped: &mut Stepped,
    slot: &mut EndpointSlot,
) -> AdminResult<Vec<Attempt>> {
    let mut left = VecDeque::from(attempts);
    let mut running = JoinSet::new();
    let (mut heard, mut is_prompt) = (Instant::now(), true);
    // When the first of those that are left may start, once that is known.
    let mut turn = None;
    loop {
        let knows_pace = !stepped.deliveries.is_empty();
        let most = if stepped.failures == 0 && knows_pace { CONCURRENCY } else { 1 };
        let mut wait = None;
        while running.len() < most
            && may_continue(lines, begun, stepped, slot)
            && let Some(next) = left.front().filter(|next| may_start(next, stepped))
        {
            let at = *turn.get_or_insert_with(|| turn_of(lines, next));
            if at > Instant::now() {
                wait = Some(at.min(begun + STEP_MAX));
                break;
            }
            turn = None;
            if running.is_empty() {
                heard = Instant::now();
            }
            let Some(attempt) = left.pop_front() else { break };
            let (core, sender) = (Arc::clone(&lines.core), Arc::clone(&lines.sender));
            let (stop, endpoint) = (Arc::clone(&lines.stop), Arc::clone(endpoint));
            running.spawn(send(core, sender, stop, endpoint, attempt));
        }
        let slow_at = (is_prompt && !running.is_empty()).then(|| heard + SLOW_AFTER);
        let Some(joined) = next_reply(lines, &mut running, wait, slow_at).await else {
            if slow_at.is_some_and(|at| at <= Instant::now()) {
                is_prompt = false;
                slot.turn_slow();
            }
            continue;
        };
        heard = Instant::now();
        match joined {
            Some(Ok(attempted)) => {
                if attempted.latency > SLOW_AFTER && is_prompt {
                    is_prompt = false;
                    slot.turn_slow();
                }
                stepped.note(attempted, lines.core.now());
            }
            // Nothing of this step is recorded, so that no event is skipped.
            Some(Err(panicked)) => return Err(StoreError::Failed(Box::new(panicked)).into()),
            None => break,
        }
    }
    if is_prompt && !stepped.deliveries.is_empty() {
        slot.was_prompt();
    }
    Ok(left.into())
}

/// Whether a step may start another request.
fn may_continue(lines: &Lines, begun: Instant, stepped: &Stepped, slot: &EndpointSlot) -> bool {
    let has_time = begun.elapsed() < STEP_MAX && !lines.stop.is_ending();
    has_time && !stepped.is_gone && slot.may_start()
}

fn turn_of(lines: &Lines, next: &Attempt) -> Instant {
    lines.pacing.turn(cost(next.0.len()), next.waited_millis(lines.core.now()))
}

/// The next result: `Some(None)` if nothing is running and nothing waits for its turn; `None` at
/// the first of the two times, or if the server stops.
async fn next_reply(
    lines: &Lines,
    running: &mut JoinSet<Attempted>,
    wait: Option<Instant>,
    slow_at: Option<Instant>,
) -> Option<Option<Result<Attempted, JoinError>>> {
    if running.is_empty() && wait.is_none() {
        return Some(None);
    }
    let until = [wait, slow_at].into_iter().flatten().min();
    let time = async {
        match until {
            Some(until) => tokio::time::sleep_until(until).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        Some(joined) = running.join_next() => Some(Some(joined)),
        () = time => None,
        () = lines.stop.reaches(Phase::Ending), if wait.is_some() => None,
    }
}

/// While the endpoint fails, a first attempt is started only if the step has sent nothing yet.
fn may_start(next: &Attempt, stepped: &Stepped) -> bool {
    match next.first_position() {
        Some(_) => stepped.failures < FAILURES_IN_A_ROW_MAX || stepped.deliveries.is_empty(),
        None => true,
    }
}

impl Stepped {
    /// Deliveries of events that this release does not know wait, so that a server of the newer
    /// release may send them; not longer than an endpoint may fail.
    fn postpone_unknown(&mut self, unknown: Vec<DeliveryRow>, now: Timestamp, oldest: Timestamp) {
        let next_at = Some(Timestamp::from_millis(now.as_millis() + UNKNOWN_TYPE_RETRY_MILLIS));
        let (wait, old): (Vec<_>, Vec<_>) = unknown
            .into_iter()
            .partition(|row| kind_of(row).is_some() || row.event_id.made_at() >= oldest);
        if !old.is_empty() {
            let dropped = old.len();
            tracing::warn!(dropped, "dropped webhooks of types that this release does not know");
        }
        self.dropped.extend(old.iter().map(|row| row.delivery_id));
        // Without the receiver's reply: an erasure may have removed it since the row was read.
        let again = |row| DeliveryRow { next_at, reply: None, error: None, ..row };
        self.deliveries.extend(wait.into_iter().map(again));
    }

    fn note(&mut self, attempted: Attempted, now: Timestamp) {
        match attempted.verdict {
            Some(Verdict::Delivered) => {
                self.failures = 0;
                self.failing_since = None;
            }
            Some(Verdict::Gone | Verdict::Failed { .. }) => {
                self.failures = self.failures.saturating_add(1);
                self.failing_since.get_or_insert(now);
                self.is_gone |= attempted.verdict == Some(Verdict::Gone);
            }
            // The receiver did not fail.
            None => {}
        }
        self.deliveries.extend(attempted.deliveries);
        self.answered.extend(attempted.answered);
    }
}

#[cfg(test)]
mod tests;
