//! One step of work on an endpoint: reads what it has not received, sends it, and notes what became
//! of it. A step is bounded in time, so that it ends within its lease, and in bytes.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use sluice_flow::event::EventType;
use sluice_flow::event::batch::{BATCH_MAX, wait_until};
use sluice_flow::event::delivery::{FAILURES_IN_A_ROW_MAX, Verdict, takes_new};
use sluice_flow::id::{DeliveryId, EventId};
use sluice_flow::time::Timestamp;
use sluice_store::{DeliveryRow, EndpointRow, StoreError};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::attempt::{Answered, Attempt, Attempted, Item, batches, send};
use super::filter_of;
use super::places::{Place, SLOW_AFTER};
use super::scout::Positions;
use super::sender::WebhookSender;
use crate::admin::AdminResult;
use crate::core::Core;
use crate::events::{EventPage, find_payloads, read};

/// The most events that one step reads from the log.
const PAGE: usize = 100;
/// The most bytes of texts that one step reads from the log.
const PAGE_BYTES: usize = 1024 * 1024;
/// The most deliveries that one step sends again.
const AGAIN_MAX: usize = 25;
/// Requests to one endpoint at a time: after its first reply, and while it does not fail.
const CONCURRENCY: usize = 8;
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
    /// The receiver wants nothing more.
    pub(super) is_gone: bool,
    /// Whether there is more to send now.
    pub(super) has_more: bool,
    /// The time up to which the log was read; absent if it was not read to its end.
    pub(super) read_up_to: Option<Timestamp>,
    /// When the events of a batch have waited for long enough.
    pub(super) batch_at: Option<Timestamp>,
    /// What was answered with a text, about responses.
    pub(super) answered: Vec<Answered>,
}

/// What all requests of a process need.
#[derive(Clone)]
pub(super) struct Lines {
    pub(super) core: Arc<Core>,
    pub(super) sender: Arc<dyn WebhookSender>,
    pub(super) positions: Arc<Positions>,
}

/// Works on an endpoint.
pub(super) async fn step(
    lines: &Lines,
    endpoint: &Arc<EndpointRow>,
    place: &mut Place,
) -> AdminResult<Stepped> {
    let core = &lines.core;
    let begun = Instant::now();
    let mut stepped = Stepped {
        failing_since: endpoint.failing_since,
        failures: endpoint.failures,
        ..Stepped::default()
    };
    let (app, id) = (endpoint.app_id, endpoint.endpoint_id);
    let (due, waiting) = core.store.due_deliveries(app, id, core.now(), AGAIN_MAX).await?;
    let is_full = due.len() >= AGAIN_MAX;
    let items = again(core, endpoint, due, &mut stepped).await?;
    let mut attempts = grouped(endpoint, items);
    let mut end = None;
    let filter = filter_of(endpoint);
    // An endpoint with types of a newer release only: their events stay in the log for it.
    let is_known = endpoint.types.is_empty() || !filter.types.is_empty();
    if takes_new(endpoint.failures, waiting) && is_known {
        let after = lines.positions.start(endpoint);
        let page = read(core, app, &filter, after, (PAGE, PAGE_BYTES)).await?;
        stepped.batch_at = batch_at(core, endpoint, &page);
        if stepped.batch_at.is_none() {
            stepped.has_more = page.has_more;
            stepped.read_up_to = (!page.has_more).then(|| page.next.made_at());
            end = Some(page.next);
            let first = |event: crate::events::Event| {
                Item::first(core, endpoint, event.payload, Some(event.position))
            };
            attempts.extend(grouped(endpoint, page.events.into_iter().map(first).collect()));
        }
    }
    stepped.has_more |= is_full;
    let positions: Vec<EventId> =
        attempts.iter().flat_map(|it| it.0.iter().filter_map(|item| item.position)).collect();
    let left = run(lines, endpoint, attempts, begun, &mut stepped, place).await?;
    match left.iter().find_map(Attempt::first_position) {
        None => stepped.cursor = end,
        // What was not started stays in the log, and so does everything at its position and after it.
        Some(first_left) => {
            let started = positions.into_iter().filter(|it| *it < first_left);
            stepped.cursor = started.max();
            stepped.has_more = true;
            stepped.read_up_to = None;
        }
    }
    stepped.has_more |= !left.is_empty();
    Ok(stepped)
}

/// The requests for these events, in order.
fn grouped(endpoint: &EndpointRow, items: Vec<Item>) -> Vec<Attempt> {
    let most = if batches(endpoint) { BATCH_MAX } else { 1 };
    let mut attempts: Vec<Attempt> = Vec::new();
    for item in items {
        match attempts.last_mut() {
            Some(last) if last.0.len() < most => last.0.push(item),
            _ => attempts.push(Attempt(vec![item])),
        }
    }
    attempts
}

/// When to send these events, if they wait for others to share a request with.
fn batch_at(core: &Core, endpoint: &EndpointRow, page: &EventPage) -> Option<Timestamp> {
    let first = page.events.first().filter(|_| batches(endpoint) && !page.has_more)?;
    // An event can be read some time after it happened; the others have as long from then.
    let readable = first.payload.timestamp.as_millis() + core.store.log_delay_millis();
    wait_until(Timestamp::from_millis(readable), page.events.len(), core.now())
}

/// The deliveries that are sent again. Those whose event is gone are dropped.
async fn again(
    core: &Arc<Core>,
    endpoint: &EndpointRow,
    due: Vec<DeliveryRow>,
    stepped: &mut Stepped,
) -> AdminResult<Vec<Item>> {
    let kind = |row: &DeliveryRow| row.kind.parse::<EventType>().ok();
    let events: Vec<_> = due.iter().filter_map(|row| Some((row.event_id, kind(row)?))).collect();
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
    // A batch that is sent again is the same message.
    items.sort_by_key(|item| item.payload.id);
    Ok(items)
}

/// Sends as many as the time, the place and the endpoint allow; returns those that were not started,
/// in order.
async fn run(
    lines: &Lines,
    endpoint: &Arc<EndpointRow>,
    attempts: Vec<Attempt>,
    begun: Instant,
    stepped: &mut Stepped,
    place: &mut Place,
) -> AdminResult<Vec<Attempt>> {
    let mut left = VecDeque::from(attempts);
    let mut running = JoinSet::new();
    let (mut heard, mut is_prompt) = (Instant::now(), true);
    loop {
        let knows_pace = !stepped.deliveries.is_empty();
        let most = if stepped.failures == 0 && knows_pace { CONCURRENCY } else { 1 };
        let is_over = begun.elapsed() >= STEP_MAX || stepped.is_gone || !place.may_start();
        while !is_over && running.len() < most && may_start(left.front(), stepped) {
            let Some(attempt) = left.pop_front() else { break };
            let (lines, endpoint) = (lines.clone(), Arc::clone(endpoint));
            running.spawn(send(lines.core, lines.sender, endpoint, attempt));
        }
        let joined = match is_prompt {
            true => match tokio::time::timeout_at(heard + SLOW_AFTER, running.join_next()).await {
                Ok(joined) => joined,
                Err(_) => {
                    is_prompt = false;
                    place.turn_slow();
                    continue;
                }
            },
            false => running.join_next().await,
        };
        heard = Instant::now();
        match joined {
            Some(Ok(attempted)) => {
                if attempted.latency > SLOW_AFTER && is_prompt {
                    is_prompt = false;
                    place.turn_slow();
                }
                stepped.note(attempted, lines.core.now());
            }
            // Nothing of this step is noted, so that no event is skipped.
            Some(Err(panicked)) => return Err(StoreError::Failed(Box::new(panicked)).into()),
            None => break,
        }
    }
    if is_prompt && !stepped.deliveries.is_empty() {
        place.was_prompt();
    }
    Ok(left.into())
}

/// While the endpoint fails, a first attempt is started only if the step has sent nothing yet.
fn may_start(next: Option<&Attempt>, stepped: &Stepped) -> bool {
    match next.map(Attempt::first_position) {
        Some(Some(_)) => stepped.failures < FAILURES_IN_A_ROW_MAX || stepped.deliveries.is_empty(),
        Some(None) => true,
        None => false,
    }
}

impl Stepped {
    fn note(&mut self, attempted: Attempted, now: Timestamp) {
        match attempted.verdict {
            Verdict::Delivered => {
                self.failures = 0;
                self.failing_since = None;
            }
            Verdict::Gone | Verdict::Failed { .. } => {
                self.failures = self.failures.saturating_add(1);
                self.failing_since.get_or_insert(now);
                self.is_gone |= attempted.verdict == Verdict::Gone;
            }
        }
        self.deliveries.extend(attempted.deliveries);
        self.answered.extend(attempted.answered);
    }
}
