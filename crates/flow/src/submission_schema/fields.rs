//! The fields of a submission besides its answers.

use serde_json::{Value, json};

use super::patterns;
use crate::submission::{
    ASSIGNMENT_ID_CHARS_MAX, IDEMPOTENCY_KEY_CHARS_MAX, IDENTITIES_MAX, IDENTITIES_SENT_MAX,
    IDENTITY_TYPE_CHARS_MAX, IDENTITY_VALUE_CHARS_MAX, TAG_ITEMS_MAX, TAG_NAME_CHARS_MAX,
    TAG_VALUE_CHARS_MAX, TAGS_MAX, USER_ID_CHARS_MAX,
};

/// `null` means that a field is absent.
pub(super) fn optional(schema: Value) -> Value {
    json!({"anyOf": [{"type": "null"}, schema]})
}

/// Exact repeats are merged before they are counted, which a schema cannot do: the limits of their
/// number apply if no item is repeated.
pub(super) fn identities() -> Value {
    let of = |kind: &str, value: Value| json!({"if": {"properties": {"type": {"const": kind}}}, "then": {"properties": {"value": value}}});
    let kind = format!("[A-Za-z0-9_.-]{{1,{IDENTITY_TYPE_CHARS_MAX}}}");
    let other = patterns::text(0, chars(IDENTITY_VALUE_CHARS_MAX));
    let item = json!({
        "type": "object",
        "properties": {"type": patterns::whole(&kind), "value": other},
        "required": ["type", "value"],
        "allOf": [
            of("userId", patterns::text(1, chars(USER_ID_CHARS_MAX))),
            of("traits.email", patterns::email()),
        ],
    });
    let plain = json!({"properties": {"type": true, "value": true}, "additionalProperties": false});
    let user_id = json!({"properties": {"type": {"const": "userId"}}, "required": ["type"]});
    optional(json!({
        "type": "array",
        "items": item,
        "maxItems": IDENTITIES_SENT_MAX,
        "if": {"uniqueItems": true, "items": plain},
        "then": {
            "maxItems": IDENTITIES_MAX,
            "contains": user_id, "minContains": 0, "maxContains": 1,
        },
    }))
}

/// Tags that are `null` are absent: neither their names nor their number counts.
pub(super) fn metadata() -> Value {
    let text = patterns::text(0, chars(TAG_VALUE_CHARS_MAX));
    let list = json!({"type": "array", "items": text, "maxItems": TAG_ITEMS_MAX});
    let too_long = format!("^[\\s\\S]{{{}}}", TAG_NAME_CHARS_MAX + 1);
    let tags = json!({
        "type": "object",
        "properties": {"": {"type": "null"}},
        "patternProperties": {too_long: {"type": "null"}, "\u{0}": {"type": "null"}},
        "additionalProperties": {"anyOf": [{"type": "null"}, text, list]},
        "if": {"additionalProperties": {"not": {"type": "null"}}},
        "then": {"maxProperties": TAGS_MAX},
    });
    optional(json!({"type": "object", "properties": {"tags": optional(tags)}}))
}

pub(super) fn flow_assignment_id() -> Value {
    optional(patterns::text(0, chars(ASSIGNMENT_ID_CHARS_MAX)))
}

pub(super) fn idempotency_key() -> Value {
    let bare = format!(r"[ !#-~][ -~]{{0,{}}}", IDEMPOTENCY_KEY_CHARS_MAX - 1);
    let quoted = format!(r#""(?:[ !#-\[\]-~]|\\["\\]){{1,{IDEMPOTENCY_KEY_CHARS_MAX}}}""#);
    optional(patterns::whole(&format!("(?:{bare}|{quoted})")))
}

fn chars(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
