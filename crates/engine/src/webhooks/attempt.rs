//! One attempt to send an event, or a batch of events: the request with its signatures, and what
//! the reply means.

use std::hash::{Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::{Duration, Instant};

use sluice_flow::event::EventType;
use sluice_flow::event::delivery::{Verdict, next_attempt};
use sluice_flow::event::payload::Payload;
use sluice_flow::id::{DeliveryId, EventId};
use sluice_flow::time::Timestamp;
use sluice_store::{DeliveryRow, DeliveryState, EndpointRow};

use super::batch;
use super::format;
use super::sender::{REPLY_BYTES_MAX, WebhookReply, WebhookRequest, WebhookSender};
use super::signing;
use crate::core::Core;
use crate::ids::random_bits;
use crate::stop::{Phase, Stop};

/// The longest time for one attempt. The sender has a shorter limit; a step relies on this one.
pub(super) const ATTEMPT_MAX: Duration = Duration::from_secs(17);

/// An event to send, and for which delivery.
#[derive(Debug, Clone)]
pub(super) struct Item {
    pub(super) payload: Payload,
    /// The delivery with the attempts before this one.
    pub(super) delivery: DeliveryRow,
    /// Where the cursor may be after it, if this is the first attempt.
    pub(super) position: Option<EventId>,
}

impl Item {
    /// The first attempt to deliver an event.
    pub(super) fn first(
        core: &Core,
        endpoint: &EndpointRow,
        payload: Payload,
        position: Option<EventId>,
    ) -> Self {
        let delivery = DeliveryRow {
            app_id: endpoint.app_id,
            endpoint_id: endpoint.endpoint_id,
            delivery_id: DeliveryId::from_uuid(core.new_id()),
            event_id: payload.id,
            kind: payload.kind.as_str().to_owned(),
            state: DeliveryState::Waiting,
            attempts: 0,
            next_at: None,
            attempted_at: core.now(),
            status: None,
            latency_millis: 0,
            reply: None,
            error: None,
            batch_id: None,
        };
        Self { payload, delivery, position }
    }
}

/// One request: an event, or several if the endpoint takes batches. Never empty.
#[derive(Debug, Clone)]
pub(super) struct Attempt(pub(super) Vec<Item>);

impl Attempt {
    /// Whether all its events are sent for the first time.
    pub(super) fn first_position(&self) -> Option<EventId> {
        self.0.first().and_then(|item| item.position)
    }

    /// For how long its first event has waited: since it happened, or since it is due again.
    pub(super) fn waited_millis(&self, now: Timestamp) -> i64 {
        let since = |item: &Item| item.delivery.next_at.unwrap_or(item.payload.timestamp);
        self.0.first().map_or(0, |item| now.as_millis().saturating_sub(since(item).as_millis()))
    }
}

/// Whether requests to an endpoint contain several events.
pub(super) fn batches(endpoint: &EndpointRow) -> bool {
    endpoint.batch && format::find(&endpoint.format).is_some_and(|it| it.batches)
}

/// The result of an attempt: the deliveries after it.
#[derive(Debug)]
pub(super) struct Attempted {
    pub(super) deliveries: Vec<DeliveryRow>,
    /// Absent if the server stopped before there was a reply.
    pub(super) verdict: Option<Verdict>,
    pub(super) latency: Duration,
    /// Events about responses that the receiver answered with a text.
    pub(super) answered: Vec<Answered>,
}

/// An event about a response whose receiver answered with a text, and a hash of what was sent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Answered {
    pub(super) event: EventId,
    pub(super) kind: EventType,
    pub(super) hash: u64,
}

impl Answered {
    pub(super) fn hash(payload: &Payload) -> u64 {
        let mut hasher = std::hash::DefaultHasher::new();
        payload.data.get().hash(&mut hasher);
        hasher.finish()
    }
}

/// Sends events. Never fails: errors are recorded in the deliveries.
pub(super) async fn send(
    core: Arc<Core>,
    sender: Arc<dyn WebhookSender>,
    stop: Arc<Stop>,
    endpoint: Arc<EndpointRow>,
    attempt: Attempt,
) -> Attempted {
    let now = core.now();
    let begun = Instant::now();
    let (batch_id, reply) = match request(&core, &endpoint, &attempt, now) {
        Ok((batch_id, request)) => (batch_id, exchange(&*sender, &stop, request).await),
        Err(why) => (None, Some(Err(why))),
    };
    let latency = begun.elapsed();
    let Some(reply) = reply else { return cut_off(&core, attempt, batch_id, now) };
    let done = core.now();
    let verdict = match &reply {
        Ok(it) => Verdict::from_reply(it.status, it.retry_after.as_deref(), done),
        Err(_) => Verdict::NO_REPLY,
    };
    // The time and the random number are the same for all events, so that a batch stays together.
    let random = random_bits() as u32;
    let has_text = reply.as_ref().is_ok_and(|it| !it.body.is_empty());
    let (mut deliveries, mut answered) = (Vec::new(), Vec::new());
    for item in attempt.0 {
        let kind = item.payload.kind;
        if has_text && kind.is_derived() {
            let hash = Answered::hash(&item.payload);
            answered.push(Answered { event: item.payload.id, kind, hash });
        }
        let mut delivery = item.delivery;
        delivery.attempts = delivery.attempts.saturating_add(1);
        delivery.attempted_at = now;
        delivery.latency_millis = u32::try_from(latency.as_millis()).unwrap_or(u32::MAX);
        delivery.status = reply.as_ref().ok().map(|it| u32::from(it.status));
        delivery.reply = reply.as_ref().ok().map(|it| beginning(&it.body));
        delivery.error = reply.as_ref().err().cloned();
        delivery.batch_id.clone_from(&batch_id);
        (delivery.state, delivery.next_at) = next_state(&delivery, verdict, done, random);
        let is_test = kind == EventType::EndpointTest;
        if is_test && delivery.state == DeliveryState::Waiting {
            (delivery.state, delivery.next_at) = (DeliveryState::Failed, None);
        }
        core.metrics.deliveries.count(delivery.state, is_test);
        deliveries.push(delivery);
    }
    Attempted { deliveries, verdict: Some(verdict), latency, answered }
}

/// Sends a request and waits for its reply; `None` if the server stops first.
async fn exchange(
    sender: &dyn WebhookSender,
    stop: &Stop,
    request: WebhookRequest,
) -> Option<Result<WebhookReply, String>> {
    let sent = tokio::time::timeout(ATTEMPT_MAX, sender.send(request));
    tokio::select! {
        sent = sent => {
            Some(sent.unwrap_or_else(|_| Err("there was no complete reply in time".to_owned())))
        }
        () = stop.reaches(Phase::Cut) => None,
    }
}

/// The server stops: whether the receiver accepted the request is unknown, so it is sent again.
fn cut_off(
    core: &Core,
    attempt: Attempt,
    batch_id: Option<String>,
    attempted_at: Timestamp,
) -> Attempted {
    // One time for all, so that a batch stays together.
    let next_at = Some(core.now());
    let waits = |item: Item| DeliveryRow {
        state: DeliveryState::Waiting,
        next_at,
        attempted_at,
        status: None,
        reply: None,
        error: Some("the server stopped before there was a reply".to_owned()),
        batch_id: batch_id.clone(),
        ..item.delivery
    };
    let deliveries = attempt.0.into_iter().map(waits).collect();
    Attempted { deliveries, verdict: None, latency: Duration::ZERO, answered: Vec::new() }
}

/// The state of a delivery after an attempt, and when it is sent again.
fn next_state(
    delivery: &DeliveryRow,
    verdict: Verdict,
    now: Timestamp,
    random: u32,
) -> (DeliveryState, Option<Timestamp>) {
    match verdict {
        Verdict::Delivered => (DeliveryState::Delivered, None),
        Verdict::Gone => (DeliveryState::Failed, None),
        Verdict::Failed { retry_after_seconds } => {
            match next_attempt(delivery.attempts, retry_after_seconds, now, random) {
                Some(next) => (DeliveryState::Waiting, Some(next)),
                None => (DeliveryState::Failed, None),
            }
        }
    }
}

/// The signed request, and the id of its message if that is a batch.
fn request(
    core: &Core,
    endpoint: &EndpointRow,
    attempt: &Attempt,
    now: Timestamp,
) -> Result<(Option<String>, WebhookRequest), String> {
    let format = format::find(&endpoint.format)
        .ok_or_else(|| format!("this release does not know the format {}", endpoint.format))?;
    let Item { payload, delivery, .. } = attempt.0.first().ok_or("there is nothing to send")?;
    let is_batch = batches(endpoint);
    let message = match is_batch {
        true => {
            let events = attempt.0.iter().map(|item| &item.payload);
            batch::message(delivery.batch_id.as_deref(), events, now)
        }
        false => (format.body)(payload, &core.admin_url).map(|body| (payload.id.to_string(), body)),
    };
    let (id, body) = message.map_err(|error| error.to_string())?;
    let secrets = signing::secrets(&core.verifying.vault, endpoint, now)
        .map_err(|why| format!("the signing secret cannot be opened: {why}"))?;
    let seconds = now.as_millis().div_euclid(1_000);
    let signature = signing::signature(&secrets, &id, seconds, &body);
    let batch_id = is_batch.then(|| id.clone());
    let headers = vec![
        ("content-type", "application/json".to_owned()),
        ("webhook-id", id),
        ("webhook-timestamp", seconds.to_string()),
        ("webhook-signature", signature),
    ];
    Ok((batch_id, WebhookRequest { url: endpoint.url.clone(), headers, body: body.into() }))
}

/// The beginning of a reply as text that any database can hold.
fn beginning(body: &[u8]) -> String {
    let body = body.get(..REPLY_BYTES_MAX).unwrap_or(body);
    String::from_utf8_lossy(body).replace('\0', "\u{FFFD}")
}
