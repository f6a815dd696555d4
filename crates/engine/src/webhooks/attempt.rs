//! One attempt to send an event: the request with its signatures, and what the reply means.

use std::sync::Arc;
use std::time::Instant;

use sluice_flow::event::EventType;
use sluice_flow::event::delivery::{Verdict, next_attempt};
use sluice_flow::event::payload::Payload;
use sluice_flow::id::{DeliveryId, EventId};
use sluice_flow::time::Timestamp;
use sluice_store::{DeliveryRow, DeliveryState, EndpointRow};

use super::format;
use super::sender::{REPLY_BYTES_MAX, WebhookRequest, WebhookSender};
use super::signing;
use crate::core::Core;
use crate::ids::random_bits;

/// What an attempt sends, and for which delivery.
#[derive(Debug, Clone)]
pub(super) struct Attempt {
    pub(super) payload: Payload,
    /// The delivery with the attempts before this one.
    pub(super) delivery: DeliveryRow,
    /// Where the cursor may be after it, if this is the first attempt.
    pub(super) position: Option<EventId>,
}

impl Attempt {
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
        };
        Self { payload, delivery, position }
    }
}

/// The result of an attempt: the delivery after it.
#[derive(Debug)]
pub(super) struct Attempted {
    pub(super) delivery: DeliveryRow,
    pub(super) verdict: Verdict,
}

/// Sends an event. Never fails: what went wrong is in the delivery.
pub(super) async fn send(
    core: Arc<Core>,
    sender: Arc<dyn WebhookSender>,
    endpoint: Arc<EndpointRow>,
    attempt: Attempt,
) -> Attempted {
    let now = core.now();
    let begun = Instant::now();
    let reply = match request(&core, &endpoint, &attempt.payload, now) {
        Ok(request) => sender.send(request).await,
        Err(why) => Err(why),
    };
    let mut delivery = attempt.delivery;
    delivery.attempts = delivery.attempts.saturating_add(1);
    delivery.attempted_at = now;
    delivery.latency_millis = u32::try_from(begun.elapsed().as_millis()).unwrap_or(u32::MAX);
    let verdict = match reply {
        Ok(reply) => {
            delivery.status = Some(u32::from(reply.status));
            delivery.reply = Some(beginning(&reply.body));
            delivery.error = None;
            Verdict::from_reply(reply.status, reply.retry_after.as_deref(), core.now())
        }
        Err(why) => {
            delivery.status = None;
            delivery.reply = None;
            delivery.error = Some(why);
            Verdict::NO_REPLY
        }
    };
    let is_test = attempt.payload.kind == EventType::EndpointTest;
    (delivery.state, delivery.next_at) = match verdict {
        Verdict::Delivered => (DeliveryState::Delivered, None),
        Verdict::Gone => (DeliveryState::Failed, None),
        Verdict::Failed { retry_after_seconds } => {
            let random = random_bits() as u32;
            match next_attempt(delivery.attempts, retry_after_seconds, core.now(), random) {
                Some(next) if !is_test => (DeliveryState::Waiting, Some(next)),
                _ => (DeliveryState::Failed, None),
            }
        }
    };
    core.metrics.deliveries.count(delivery.state);
    Attempted { delivery, verdict }
}

/// The signed request.
fn request(
    core: &Core,
    endpoint: &EndpointRow,
    payload: &Payload,
    now: Timestamp,
) -> Result<WebhookRequest, String> {
    let format = format::find(&endpoint.format)
        .ok_or_else(|| format!("this release does not know the format {}", endpoint.format))?;
    let body = (format.body)(payload, &core.public_url).map_err(|error| error.to_string())?;
    let secrets = signing::secrets(&core.verifying.vault, endpoint, now)
        .map_err(|why| format!("the signing secret cannot be opened: {why}"))?;
    let (id, seconds) = (payload.id.to_string(), now.as_millis().div_euclid(1_000));
    let signature = signing::signature(&secrets, &id, seconds, &body);
    let headers = vec![
        ("content-type", "application/json".to_owned()),
        ("webhook-id", id),
        ("webhook-timestamp", seconds.to_string()),
        ("webhook-signature", signature),
    ];
    Ok(WebhookRequest { url: endpoint.url.clone(), headers, body: body.into() })
}

/// The beginning of a reply as text that any database can hold.
fn beginning(body: &[u8]) -> String {
    let body = body.get(..REPLY_BYTES_MAX).unwrap_or(body);
    String::from_utf8_lossy(body).replace('\0', "\u{FFFD}")
}
