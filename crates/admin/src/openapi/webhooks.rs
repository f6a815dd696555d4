//! The requests that webhook endpoints receive: one for each type of event, and batches.

use serde_json::{Map, Value, json};
use sluice_engine::stored_response::FIELDS;
use sluice_flow::event::EventType;
use sluice_flow::event::batch::{BATCH_MAX, BATCH_TYPE};
use sluice_flow::event::payload::{API_VERSION, data_schema, example};
use utoipa::openapi::path::Paths;

/// The `webhooks` of the OpenAPI document.
pub(super) fn webhooks() -> Option<Paths> {
    let of_event = |kind: &EventType| {
        let (name, summary) = (kind.as_str(), kind.description());
        let id = "The id of the event: the same for every attempt.";
        (name.to_owned(), webhook(name, summary, id, &event_schema(*kind), &event_example(*kind)))
    };
    let mut all: Map<String, Value> = EventType::ALL.iter().map(of_event).collect();
    all.insert(BATCH_TYPE.to_owned(), batch());
    serde_json::from_value(Value::Object(all)).ok()
}

fn batch() -> Value {
    let summary = "Several events, for endpoints with `batch`.";
    let event = json!({"type": "object", "description": "An event, as it would be sent alone."});
    let mut schema = message_schema(BATCH_TYPE, summary);
    schema["properties"]["data"] = json!({
        "type": "object", "required": ["events"],
        "properties": {"events": {"type": "array", "maxItems": BATCH_MAX, "items": event}},
    });
    let example = json!({
        "id": "batch_6f1c0d5c1d0f4d0b8f8f0a3f5b6c7d8e",
        "type": BATCH_TYPE,
        "timestamp": "2026-11-15T02:10:01.000Z",
        "apiVersion": API_VERSION,
        "data": {"events": [event_example(EventType::FlowPublished)]},
    });
    let id = "The id of the batch: the same for every attempt with the same events.";
    webhook(BATCH_TYPE, summary, id, &schema, &example)
}

fn webhook(name: &str, summary: &str, id: &str, schema: &Value, example: &Value) -> Value {
    let header = |name: &str, description: &str| {
        json!({
            "name": name, "in": "header", "required": true, "description": description,
            "schema": {"type": "string"},
        })
    };
    json!({"post": {
        "operationId": format!("on.{name}"),
        "summary": summary,
        "tags": ["Webhooks"],
        "parameters": [
            header("webhook-id", id),
            header("webhook-timestamp", "When it was sent, in seconds since 1970."),
            header("webhook-signature", "One or two signatures: `v1,` and the base64 of an HMAC-SHA256."),
        ],
        "requestBody": {"required": true, "content": {"application/json": {
            "schema": schema,
            "example": example,
        }}},
        "responses": {
            "2XX": {"description": "Received"},
            "410": {"description": "Send nothing more: the endpoint is disabled"},
            "default": {"description": "Send it again later"},
        },
    }})
}

fn event_schema(kind: EventType) -> Value {
    let mut schema = message_schema(kind.as_str(), kind.description());
    schema["properties"]["data"] = data_schema(kind);
    schema
}

/// The schema of a message, without its `data`.
fn message_schema(name: &str, description: &str) -> Value {
    json!({
        "type": "object",
        "description": description,
        "required": ["id", "type", "timestamp", "apiVersion", "data"],
        "properties": {
            "id": {"type": "string", "description": "The same for every attempt and every reader."},
            "type": {"type": "string", "enum": [name]},
            "timestamp": {"type": "string", "format": "date-time"},
            "apiVersion": {"type": "string", "enum": [API_VERSION]},
            "data": {},
        },
    })
}

/// An example of an event of this type.
pub(crate) fn event_example(kind: EventType) -> Value {
    let response: Map<String, Value> =
        FIELDS.iter().map(|field| (field.name.to_owned(), (field.example)())).collect();
    json!({
        "id": "evt_01KA2VgdPrWYDVgYy3wLpD",
        "type": kind.as_str(),
        "timestamp": "2026-11-15T02:10:00.000Z",
        "apiVersion": API_VERSION,
        "data": example(kind, &Value::Object(response)),
    })
}
