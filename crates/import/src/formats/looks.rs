//! What the formats share to tell whether a file is theirs.

use serde_json::Value;

/// The JSON of a file; null if it has none.
pub(super) fn read_json(bytes: &[u8]) -> Value {
    crate::json(bytes).unwrap_or_default()
}

/// Whether a list has an element of a kind.
pub(super) fn any(value: &Value, list: &str, is: impl Fn(&Value) -> bool) -> bool {
    value[list].as_array().is_some_and(|list| list.iter().any(is))
}

pub(super) fn is_text(value: &Value, name: &str) -> bool {
    value[name].is_string()
}
