//! The subset of JSON Schema that the published schema uses, without patterns and formats.
//!
//! An unknown keyword panics, so that the schema cannot outgrow its test.

use serde_json::Value;

/// Whether a value is valid against a schema; `root` holds the `$defs`.
pub(crate) fn is_valid(value: &Value, schema: &Value, root: &Value) -> bool {
    schema.as_object().unwrap().iter().all(|(keyword, rule)| match keyword.as_str() {
        "$schema" | "$defs" | "description" | "default" | "pattern" | "format" => true,
        "$ref" => {
            let pointer = rule.as_str().unwrap().trim_start_matches('#');
            is_valid(value, root.pointer(pointer).unwrap(), root)
        }
        "type" => match rule {
            Value::String(name) => is_type(value, name),
            names => names.as_array().unwrap().iter().any(|n| is_type(value, n.as_str().unwrap())),
        },
        "const" => value == rule,
        "enum" => rule.as_array().unwrap().contains(value),
        "anyOf" => rule.as_array().unwrap().iter().any(|one| is_valid(value, one, root)),
        "oneOf" => {
            rule.as_array().unwrap().iter().filter(|one| is_valid(value, one, root)).count() == 1
        }
        "properties" | "additionalProperties" => is_valid_object(value, schema, root),
        "required" => {
            rule.as_array().unwrap().iter().all(|name| value.get(name.as_str().unwrap()).is_some())
        }
        "maxProperties" => value.as_object().is_none_or(|map| map.len() as u64 <= size(rule)),
        "items" => value.as_array().into_iter().flatten().all(|item| is_valid(item, rule, root)),
        "minItems" => value.as_array().is_none_or(|items| items.len() as u64 >= size(rule)),
        "maxItems" => value.as_array().is_none_or(|items| items.len() as u64 <= size(rule)),
        "minLength" => value.as_str().is_none_or(|text| text.chars().count() as u64 >= size(rule)),
        "maxLength" => value.as_str().is_none_or(|text| text.chars().count() as u64 <= size(rule)),
        "minimum" => value.as_f64().is_none_or(|number| number >= rule.as_f64().unwrap()),
        "maximum" => value.as_f64().is_none_or(|number| number <= rule.as_f64().unwrap()),
        other => panic!("unknown keyword {other}"),
    })
}

fn is_valid_object(value: &Value, schema: &Value, root: &Value) -> bool {
    value.as_object().into_iter().flatten().all(|(name, value)| {
        match schema.get("properties").and_then(|properties| properties.get(name)) {
            Some(rule) => is_valid(value, rule, root),
            None => match &schema["additionalProperties"] {
                Value::Bool(allowed) => *allowed,
                rule => is_valid(value, rule, root),
            },
        }
    })
}

fn is_type(value: &Value, name: &str) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "number" => value.is_number(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        other => panic!("unknown type {other}"),
    }
}

fn size(rule: &Value) -> u64 {
    rule.as_u64().unwrap()
}
