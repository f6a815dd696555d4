//! Several events in one request, for endpoints that want that: `{"id", "type": "event.batch",
//! "timestamp", "apiVersion", "data": {"events": […]}}`, signed as one message.

use serde::Serialize;
use sluice_flow::event::batch::{BATCH_TYPE, batch_id};
use sluice_flow::event::payload::{API_VERSION, Payload};
use sluice_flow::time::Timestamp;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Batch<'p> {
    id: &'p str,
    r#type: &'static str,
    timestamp: Timestamp,
    api_version: &'static str,
    data: Events<'p>,
}

#[derive(Serialize)]
struct Events<'p> {
    events: Vec<&'p Payload>,
}

/// The id and the body of a batch that is sent now. A batch that is sent again keeps its id, even
/// if one of its events was deleted in the meantime.
pub(super) fn message<'p>(
    known_id: Option<&str>,
    events: impl Iterator<Item = &'p Payload>,
    now: Timestamp,
) -> Result<(String, Vec<u8>), serde_json::Error> {
    let events: Vec<&Payload> = events.collect();
    let id = match known_id {
        Some(id) => id.to_owned(),
        None => batch_id(events.iter().map(|it| it.id)),
    };
    let batch = Batch {
        id: &id,
        r#type: BATCH_TYPE,
        timestamp: now,
        api_version: API_VERSION,
        data: Events { events },
    };
    Ok((id.clone(), serde_json::to_vec(&batch)?))
}
