//! One step of work on an endpoint: reads what it has not received, sends it, and notes what became
//! of it. A step is bounded in time, so that it ends within its lease.

use std::sync::Arc;
use std::time::{Duration, Instant};

use sluice_flow::event::EventType;
use sluice_flow::event::delivery::{FAILURES_IN_A_ROW_MAX, Verdict, takes_new};
use sluice_flow::id::{DeliveryId, EventId};
use sluice_flow::time::Timestamp;
use sluice_store::{DeliveryRow, EndpointRow, StoreError};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::attempt::{Attempt, Attempted, send};
use super::filter_of;
use super::sender::WebhookSender;
use crate::admin::AdminResult;
use crate::core::Core;
use crate::events::{find_payloads, read};

/// The most events that one step reads.
const PAGE: usize = 100;
/// Requests to one endpoint at a time; one while it fails.
const CONCURRENCY: usize = 8;
/// After this time, a step starts no more requests.
const STEP_MAX: Duration = Duration::from_secs(20);

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
}

/// What all requests of a process need.
#[derive(Clone)]
pub(super) struct Lines {
    pub(super) core: Arc<Core>,
    pub(super) sender: Arc<dyn WebhookSender>,
    /// Limits the requests at a time.
    pub(super) requests: Arc<Semaphore>,
}

/// Works on an endpoint.
pub(super) async fn step(lines: &Lines, endpoint: &Arc<EndpointRow>) -> AdminResult<Stepped> {
    let core = &lines.core;
    let begun = Instant::now();
    let mut stepped = Stepped {
        failing_since: endpoint.failing_since,
        failures: endpoint.failures,
        ..Stepped::default()
    };
    let (app, id) = (endpoint.app_id, endpoint.endpoint_id);
    let (due, waiting) = core.store.due_deliveries(app, id, core.now(), PAGE).await?;
    let is_full = due.len() >= PAGE;
    let mut attempts = again(core, endpoint, due, &mut stepped).await?;
    let mut end = None;
    let filter = filter_of(endpoint);
    // An endpoint with types of a newer release only: their events stay in the log for it.
    let is_known = endpoint.types.is_empty() || !filter.types.is_empty();
    if takes_new(endpoint.failures, waiting) && is_known {
        let page = read(core, app, &filter, endpoint.cursor, PAGE).await?;
        let first = page
            .events
            .into_iter()
            .map(|event| Attempt::first(core, endpoint, event.payload, Some(event.position)));
        attempts.extend(first);
        stepped.has_more = page.has_more;
        stepped.read_up_to = (!page.has_more).then(|| page.next.made_at());
        end = Some(page.next);
    }
    stepped.has_more |= is_full;
    let positions: Vec<EventId> = attempts.iter().filter_map(|it| it.position).collect();
    let left = run(lines, endpoint, attempts, begun, &mut stepped).await?;
    match left.iter().find_map(|attempt| attempt.position) {
        None => stepped.cursor = end,
        // What was not started stays in the log, and so does everything at its position and after it.
        Some(first_left) => {
            let started = positions.into_iter().filter(|it| *it < first_left);
            stepped.cursor = started.max();
            stepped.has_more = true;
            stepped.read_up_to = None;
        }
    }
    Ok(stepped)
}

/// The deliveries that are sent again. Those whose event is gone are dropped.
async fn again(
    core: &Arc<Core>,
    endpoint: &EndpointRow,
    due: Vec<DeliveryRow>,
    stepped: &mut Stepped,
) -> AdminResult<Vec<Attempt>> {
    let kind = |row: &DeliveryRow| row.kind.parse::<EventType>().ok();
    let events: Vec<_> = due.iter().filter_map(|row| Some((row.event_id, kind(row)?))).collect();
    let payloads = find_payloads(core, endpoint.app_id, &events).await?;
    let mut attempts = Vec::new();
    for delivery in due {
        match payloads.get(&delivery.event_id) {
            Some(payload) => {
                attempts.push(Attempt { payload: payload.clone(), delivery, position: None })
            }
            None => stepped.dropped.push(delivery.delivery_id),
        }
    }
    Ok(attempts)
}

/// Sends as many as the time and the endpoint allow; returns those that were not started, in order.
async fn run(
    lines: &Lines,
    endpoint: &Arc<EndpointRow>,
    attempts: Vec<Attempt>,
    begun: Instant,
    stepped: &mut Stepped,
) -> AdminResult<Vec<Attempt>> {
    let mut left = std::collections::VecDeque::from(attempts);
    let mut running = JoinSet::new();
    loop {
        let most = if stepped.failures == 0 { CONCURRENCY } else { 1 };
        let is_over = begun.elapsed() >= STEP_MAX || stepped.is_gone;
        while !is_over && running.len() < most && may_start(left.front(), stepped) {
            let Some(attempt) = left.pop_front() else { break };
            let (lines, endpoint) = (lines.clone(), Arc::clone(endpoint));
            running.spawn(async move {
                // Closed only when the process ends.
                let _turn = lines.requests.acquire_owned().await;
                send(lines.core, lines.sender, endpoint, attempt).await
            });
        }
        match running.join_next().await {
            Some(Ok(attempted)) => stepped.note(attempted, lines.core.now()),
            // Nothing of this step is noted, so that no event is passed over.
            Some(Err(panicked)) => return Err(StoreError::Failed(Box::new(panicked)).into()),
            None => return Ok(left.into()),
        }
    }
}

/// While the endpoint fails, a first attempt is started only if the step has sent nothing yet.
fn may_start(next: Option<&Attempt>, stepped: &Stepped) -> bool {
    match next {
        Some(Attempt { position: Some(_), .. }) => {
            stepped.failures < FAILURES_IN_A_ROW_MAX || stepped.deliveries.is_empty()
        }
        Some(_) => true,
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
        self.deliveries.push(attempted.delivery);
    }
}
