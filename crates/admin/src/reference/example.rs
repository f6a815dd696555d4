//! Examples for the document: JSON for a schema.

use serde_json::{Map, Value, json};

/// The depth limit of an example, for schemas that contain each other.
const DEPTH_MAX: usize = 8;

/// The example in the content, or else one generated from its schema.
pub(crate) fn of_content(document: &Value, content: &Value) -> Value {
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

pub(crate) fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}
