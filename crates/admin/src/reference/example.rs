//! Examples for the document: JSON for a schema, and a call with curl.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

/// The depth limit of an example, for schemas that contain each other.
const DEPTH_MAX: usize = 8;

/// The example in the content, or else one generated from its schema.
pub(super) fn of_content(document: &Value, content: &Value) -> Value {
    match content.get("example") {
        Some(example) => example.clone(),
        None => of_schema(document, &content["schema"], DEPTH_MAX),
    }
}

fn of_schema(document: &Value, schema: &Value, depth: usize) -> Value {
    let schema = resolved(document, schema);
    if let Some(example) = schema.get("example") {
        return example.clone();
    }
    if depth == 0 {
        return Value::Null;
    }
    if let Some(items) = schema.get("items") {
        return json!([of_schema(document, items, depth - 1)]);
    }
    if let Some(properties) = schema["properties"].as_object() {
        let members = properties
            .iter()
            .map(|(name, property)| (name.clone(), of_schema(document, property, depth - 1)));
        return Value::Object(members.collect::<Map<_, _>>());
    }
    // The rest are cursors, which are null on the last page, and free-form objects.
    if schema["type"] == "object" { json!({}) } else { Value::Null }
}

/// The schema that a reference points to, or the schema itself.
pub(super) fn resolved<'a>(document: &'a Value, schema: &'a Value) -> &'a Value {
    let reference = schema["$ref"].as_str().and_then(|reference| reference.strip_prefix('#'));
    reference.and_then(|pointer| document.pointer(pointer)).unwrap_or(schema)
}

/// A short name for the type of a field.
pub(super) fn type_of(document: &Value, property: &Value) -> String {
    if let Some(either) = ["oneOf", "anyOf"].iter().find_map(|it| property[it].as_array()) {
        let mut types: Vec<String> = either.iter().map(|it| type_of(document, it)).collect();
        types.dedup();
        return types.join(" or ");
    }
    let schema = resolved(document, property);
    if let Some(words) = schema["enum"].as_array() {
        let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
        return words.join(" | ");
    }
    if let Some(only) = schema.get("const") {
        return only.as_str().map_or_else(|| only.to_string(), str::to_owned);
    }
    if ["oneOf", "anyOf"].iter().any(|it| schema.get(it).is_some()) && schema != property {
        return type_of(document, schema);
    }
    let base = match &schema["type"] {
        Value::Array(types) => {
            let types: Vec<&str> = types.iter().filter_map(Value::as_str).collect();
            types.join(" or ")
        }
        Value::String(name) if name == "array" => {
            format!("array of {}", type_of(document, &schema["items"]))
        }
        Value::String(name) => name.clone(),
        _ => "any".to_owned(),
    };
    if schema["format"] == "date-time" { base.replace("string", "time") } else { base }
}

pub(super) fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

/// The call as a command to paste into a shell.
pub(super) fn curl(
    public_url: &str,
    method: &str,
    path: &str,
    is_admin: bool,
    body: Option<&Value>,
) -> String {
    let mut call = String::from("curl");
    let implied = if body.is_some() { "post" } else { "get" };
    if method != implied {
        let _ = write!(call, " -X {}", method.to_uppercase());
    }
    let takes_payload = !is_admin && path.ends_with("{flowVersionId}") || path.ends_with("/schema");
    let query = if takes_payload { "?payload=4" } else { "" };
    let _ = write!(call, " {public_url}{}{query}", filled_in(path));
    if is_admin {
        call.push_str(" \\\n  -H \"Authorization: Bearer $SLUICE_TOKEN\"");
    }
    if let Some(body) = body {
        let text = pretty(body).replace('\'', "'\\''");
        let _ = write!(call, " \\\n  -H 'Content-Type: application/json' \\\n  -d '{text}'");
    }
    call
}

/// A path with sample ids.
fn filled_in(path: &str) -> String {
    path.replace("{apiKey}", "pk_7n42DGM5Tflk9n8mt7Fhc7")
        .replace("{appId}", "app_01KA2VgdPrWYDVgYy3wLpA")
        .replace("{flowId}", "fl_01KA2VgdPrWYDVgYy3wLpB")
        .replace("{flowVersionId}", "fv_01KA2VgdPrWYDVgYy3wLpC")
        .replace("{responseId}", "rs_01KA2VgdPrWYDVgYy3wLpD")
        .replace("{tokenId}", "tk_01KA2VgdPrWYDVgYy3wLpE")
}
