//! The requests that webhook endpoints receive: one for each type of event.

use serde_json::{Map, Value, json};
use sluice_engine::stored_response::FIELDS;
use sluice_flow::event::EventType;
use sluice_flow::event::payload::{API_VERSION, data_schema, example};
use utoipa::openapi::path::Paths;

/// The `webhooks` of the OpenAPI document.
pub(super) fn webhooks() -> Option<Paths> {
    let all: Map<String, Value> =
        EventType::ALL.iter().map(|kind| (kind.as_str().to_owned(), webhook(*kind))).collect();
    serde_json::from_value(Value::Object(all)).ok()
}

fn webhook(kind: EventType) -> Value {
    let header = |name: &str, description: &str| {
        json!({
            "name": name, "in": "header", "required": true, "description": description,
            "schema": {"type": "string"},
        })
    };
    json!({"post": {
        "operationId": format!("on.{}", kind.as_str()),
        "summary": kind.description(),
        "tags": ["Webhooks"],
        "parameters": [
            header("webhook-id", "The id of the event: the same for every attempt."),
            header("webhook-timestamp", "When it was sent, in seconds since 1970."),
            header("webhook-signature", "One or two signatures: `v1,` and the base64 of an HMAC-SHA256."),
        ],
        "requestBody": {"required": true, "content": {"application/json": {
            "schema": event_schema(kind),
            "example": event_example(kind),
        }}},
        "responses": {
            "2XX": {"description": "Received"},
            "410": {"description": "Send nothing more: the endpoint is disabled"},
            "default": {"description": "Send it again later"},
        },
    }})
}

fn event_schema(kind: EventType) -> Value {
    json!({
        "type": "object",
        "description": kind.description(),
        "required": ["id", "type", "timestamp", "apiVersion", "data"],
        "properties": {
            "id": {"type": "string", "description": "The same for every attempt and every reader."},
            "type": {"type": "string", "enum": [kind.as_str()]},
            "timestamp": {"type": "string", "format": "date-time"},
            "apiVersion": {"type": "string", "enum": [API_VERSION]},
            "data": data_schema(kind),
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
