//! The JSON of an event: `{"id", "type", "timestamp", "apiVersion", "data"}`, as the Standard
//! Webhooks specification asks for.
//!
//! The log and webhooks send the same bytes. [`data_schema`] and [`example`] document every type.

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::id::{EventId, ResponseId};
use crate::time::Timestamp;

use super::EventType;

/// The version of all payloads. A field may be added to a version; nothing else changes.
pub const API_VERSION: &str = "2026-11";

/// An event as it is sent.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Payload {
    /// The same for every attempt and every reader: receivers recognise duplicates by it.
    pub id: EventId,
    #[serde(rename = "type")]
    pub kind: EventType,
    /// When it happened.
    pub timestamp: Timestamp,
    pub api_version: &'static str,
    pub data: Box<RawValue>,
}

impl Payload {
    pub fn new(id: EventId, kind: EventType, data: Box<RawValue>) -> Self {
        Self { id, kind, timestamp: id.made_at(), api_version: API_VERSION, data }
    }
}

/// The longest text that an event without its contents keeps, in bytes.
const KEPT_BYTES_MAX: usize = 200;

impl Payload {
    /// The same event for a reader that cannot take one of this size: ids, times and other short
    /// values stay; objects, lists and long texts are left out, and `omitted` has their JSON
    /// Pointers in `data`.
    pub fn without_contents(&self) -> Self {
        let data = serde_json::from_str::<Value>(self.data.get()).unwrap_or_default();
        let mut omitted = Vec::new();
        let mut kept = match data {
            Value::Object(fields) => kept(fields, "", &mut omitted),
            _ => serde_json::Map::new(),
        };
        kept.insert("omitted".to_owned(), json!(omitted));
        let data =
            serde_json::value::to_raw_value(&kept).unwrap_or_else(|_| RawValue::NULL.to_owned());
        Self { data, ..self.clone() }
    }
}

/// The short fields of `data` and of the objects directly in it.
fn kept(
    fields: serde_json::Map<String, Value>,
    within: &str,
    omitted: &mut Vec<String>,
) -> serde_json::Map<String, Value> {
    let mut kept = serde_json::Map::new();
    for (name, value) in fields {
        let pointer = format!("{within}/{name}");
        match value {
            Value::Object(inner) if within.is_empty() => {
                kept.insert(name, Value::Object(self::kept(inner, &pointer, omitted)));
            }
            Value::Object(_) | Value::Array(_) => omitted.push(pointer),
            Value::String(text) if text.len() > KEPT_BYTES_MAX => omitted.push(pointer),
            short => {
                kept.insert(name, short);
            }
        }
    }
    kept
}

/// The id of the event that a response was stored.
pub fn created_id(response: ResponseId) -> EventId {
    EventId::from_uuid(response.uuid())
}

/// The id of the event that a response completed its invitation: next to that of the response.
pub fn completed_id(response: ResponseId) -> EventId {
    EventId::from_uuid(uuid::Uuid::from_u128(response.uuid().as_u128() ^ 1))
}

/// The response that an event with a derived type is about.
pub fn response_of(event: EventId, kind: EventType) -> Option<ResponseId> {
    let bits = event.uuid().as_u128();
    match kind {
        EventType::ResponseCreated => Some(ResponseId::from_uuid(event.uuid())),
        EventType::InvitationCompleted => {
            Some(ResponseId::from_uuid(uuid::Uuid::from_u128(bits ^ 1)))
        }
        _ => None,
    }
}

/// The fields of `data`: name, JSON Schema, example.
type Field = (&'static str, Value, Value);

fn id(name: &'static str, example: &str) -> Field {
    (name, json!({"type": "string"}), json!(example))
}

fn fields(kind: EventType) -> Vec<Field> {
    let app = id("appId", "app_01KA2VgdPrWYDVgYy3wLpA");
    let flow = || id("flowId", "fl_01KA2VgdPrWYDVgYy3wLpB");
    let version = || id("flowVersionId", "fv_01KA2VgdPrWYDVgYy3wLpC");
    let number = || ("number", json!({"type": "integer"}), json!(3));
    let response = || id("responseId", "rs_01KA2VgdPrWYDVgYy3wLpD");
    let endpoint = || id("webhookId", "ep_01KA2VgdPrWYDVgYy3wLpH");
    let own = match kind {
        EventType::ResponseCreated => {
            vec![flow(), ("response", json!({"$ref": "#/components/schemas/Response"}), json!({}))]
        }
        EventType::ResponseDeleted => vec![flow(), response()],
        EventType::FlowPublished | EventType::FlowVersionRetired => {
            vec![flow(), version(), number()]
        }
        EventType::FlowClosed | EventType::FlowReopened => vec![
            flow(),
            (
                "endsAt",
                json!({"type": ["string", "null"], "format": "date-time",
                    "description": "The end of the live window from now on."}),
                json!("2026-11-15T02:10:00.000Z"),
            ),
        ],
        EventType::FlowArchived => vec![flow()],
        EventType::RespondentErased => vec![
            id("respondentId", "rp_01KA2VgdPrWYDVgYy3wLpE"),
            (
                "answers",
                json!({"type": "string", "enum": ["keep", "delete"],
                    "description": "What happened to the answers."}),
                json!("delete"),
            ),
        ],
        EventType::InvitationCompleted => {
            vec![flow(), id("flowAssignmentId", "fa_01KA2VgdPrWYDVgYy3wLpG"), response()]
        }
        EventType::EndpointDisabled => vec![
            endpoint(),
            (
                "reason",
                json!({"type": "string", "enum": ["gone", "failing"],
                    "description": "`gone`: the receiver answered 410; `failing`: no delivery \
                        succeeded for days."}),
                json!("failing"),
            ),
        ],
        EventType::EndpointTest => vec![endpoint()],
    };
    std::iter::once(app).chain(own).collect()
}

/// The JSON Schema of `data`.
pub fn data_schema(kind: EventType) -> Value {
    let fields = fields(kind);
    let names: Vec<&str> = fields.iter().map(|(name, ..)| *name).collect();
    let properties: serde_json::Map<String, Value> =
        fields.iter().map(|(name, schema, _)| ((*name).to_owned(), schema.clone())).collect();
    json!({"type": "object", "required": names, "properties": properties})
}

/// An example of `data`; `response` is that of a stored response.
pub fn example(kind: EventType, response: &Value) -> Value {
    let value = |(name, _, example): Field| match name {
        "response" => (name.to_owned(), response.clone()),
        _ => (name.to_owned(), example),
    };
    fields(kind).into_iter().map(value).collect::<serde_json::Map<_, _>>().into()
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::id::v7;

    #[test]
    fn a_payload_has_the_fields_of_the_specification_in_order() {
        let id = EventId::from_uuid(v7(Timestamp::from_millis(1_763_172_000_123), 0, 0));
        let data = RawValue::from_string(r#"{"flowId":"fl_1"}"#.to_owned()).unwrap();
        let text = serde_json::to_string(&Payload::new(id, EventType::FlowArchived, data)).unwrap();
        let expected = format!(
            r#"{{"id":"{id}","type":"flow.archived","timestamp":"2025-11-15T02:00:00.123Z","apiVersion":"2026-11","data":{{"flowId":"fl_1"}}}}"#
        );
        assert_eq!(text, expected);
    }

    #[test]
    fn an_event_without_its_contents_keeps_what_is_short_and_lists_the_rest() {
        let data = json!({"appId": "app_1", "response": {"responseId": "rs_1", "answers": {"a": "b"},
            "identities": [], "identityVerified": false, "respondentId": null,
            "link": "x".repeat(201), "shortLink": "x".repeat(200)}});
        let data = RawValue::from_string(data.to_string()).unwrap();
        let id = EventId::from_uuid(v7(Timestamp::from_millis(1), 0, 0));
        let whole = Payload::new(id, EventType::ResponseCreated, data);
        let short = whole.without_contents();
        assert_eq!((short.id, short.kind, short.timestamp), (id, whole.kind, whole.timestamp));
        let mut data: Value = serde_json::from_str(short.data.get()).unwrap();
        let mut omitted: Vec<String> = serde_json::from_value(data["omitted"].take()).unwrap();
        omitted.sort();
        assert_eq!(omitted, ["/response/answers", "/response/identities", "/response/link"]);
        let response = json!({"responseId": "rs_1", "identityVerified": false, "respondentId": null,
            "shortLink": "x".repeat(200)});
        assert_eq!(data, json!({"appId": "app_1", "response": response, "omitted": null}));
        // Its own size is bounded, also if it is made smaller again.
        let again = short.without_contents();
        assert!(again.data.get().len() <= short.data.get().len());
    }

    #[test]
    fn derived_events_lead_back_to_their_response() {
        for bits in [4_u128, 5, u128::MAX] {
            let response = ResponseId::from_uuid(Uuid::from_u128(bits));
            let (created, completed) = (created_id(response), completed_id(response));
            assert_ne!(created, completed);
            assert_eq!(response_of(created, EventType::ResponseCreated), Some(response));
            assert_eq!(response_of(completed, EventType::InvitationCompleted), Some(response));
            assert_eq!(response_of(created, EventType::FlowClosed), None);
        }
    }

    #[test]
    fn every_type_has_a_schema_that_its_example_fits() {
        for kind in EventType::ALL {
            let (schema, example) = (data_schema(*kind), example(*kind, &json!({"answers": {}})));
            let required = schema["required"].as_array().unwrap();
            assert_eq!(required.len(), example.as_object().unwrap().len(), "{kind:?}");
            assert!(required.iter().all(|name| example.get(name.as_str().unwrap()).is_some()));
            assert_eq!(required[0], "appId");
        }
    }
}
