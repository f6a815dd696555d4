//! The grammar of definitions as components: one schema for each type of question, by reference.
//!
//! It is taken from the published JSON Schema of definitions. Only a condition has a plainer form,
//! an object in which all its parts are optional: some generators cannot read a choice of forms
//! that contains itself.

use serde_json::{Map, Value, json};
use sluice_flow::definition::json_schema;

/// Adds `Definition` and what it refers to.
pub(super) fn add_to(schemas: &mut Map<String, Value>) {
    let mut definition = json_schema().clone();
    let mut parts = definition["$defs"].take();
    if let Some(members) = definition.as_object_mut() {
        members.remove("$defs");
        members.remove("$schema");
    }
    let mut variants = Vec::new();
    let mut mapping = Map::new();
    for question in parts["question"]["oneOf"].as_array_mut().into_iter().flatten() {
        let kind = question["properties"]["type"]["const"].as_str().unwrap_or_default().to_owned();
        question["properties"]["type"] = json!({"type": "string", "const": kind});
        let name = format!("{}Question", capitalised(&kind));
        variants.push(json!({"$ref": reference(&name)}));
        mapping.insert(kind, reference(&name).into());
        schemas.insert(name, question.take());
    }
    let discriminator = json!({"propertyName": "type", "mapping": mapping});
    schemas
        .insert("Question".to_owned(), json!({"oneOf": variants, "discriminator": discriminator}));
    schemas.insert("Condition".to_owned(), condition());
    schemas.insert("Ending".to_owned(), parts["ending"].take());
    schemas.insert("Translation".to_owned(), parts["translation"].take());
    schemas.insert("Definition".to_owned(), definition);
    schemas.values_mut().for_each(point_to_components);
}

fn reference(name: &str) -> String {
    format!("#/components/schemas/{name}")
}

fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

/// Turns `#/$defs/question` into the name of its component.
fn point_to_components(value: &mut Value) {
    match value {
        Value::Object(members) => {
            if let Some(Value::String(target)) = members.get_mut("$ref")
                && let Some(name) = target.strip_prefix("#/$defs/")
            {
                *target = reference(&capitalised(name));
            }
            members.values_mut().for_each(point_to_components);
        }
        Value::Array(elements) => elements.iter_mut().for_each(point_to_components),
        _ => {}
    }
}

fn condition() -> Value {
    let this = json!({"$ref": reference("Condition")});
    let value = json!({"oneOf": [{"type": "string"}, {"type": "number"}]});
    let conditions = json!({"type": "array", "items": this, "minItems": 1, "maxItems": 100});
    let values = json!({"type": "array", "items": value, "minItems": 1, "maxItems": 100});
    json!({
        "type": "object",
        "description": "Either one of `all`, `any` and `not`; or `question` with one test of its \
            answer; or `score` with `equals`, `lessThan` or `greaterThan`. \
            `/schemas/definition.json` has the exact forms.",
        "properties": {
            "all": conditions,
            "any": conditions,
            "not": this,
            "question": {"type": "string", "description": "The id of an earlier question."},
            "score": {"type": "boolean", "const": true},
            "equals": value,
            "in": values,
            "notIn": values,
            "includes": {"type": "string"},
            "answered": {"type": "boolean"},
            "lessThan": value,
            "greaterThan": value,
        },
        "additionalProperties": false,
    })
}
