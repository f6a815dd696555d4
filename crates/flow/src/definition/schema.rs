//! The published JSON Schema (2020-12) of a definition.
//!
//! The part for questions is generated from the table of types, so it always includes every type. A
//! schema cannot express everything that [`super::check`] checks (unique ids, ordered bounds,
//! fitting conditions): what it rejects is invalid, but what it accepts may still have faults.

use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use super::limits::{
    DESCRIPTION_CHARS_MAX, ENDING_BODY_CHARS_MAX, ENDINGS_MAX, HELP_CHARS_MAX, PROMPT_CHARS_MAX,
    QUESTIONS_MAX, TITLE_CHARS_MAX, TRANSLATIONS_MAX,
};
use super::reader::text_schema;
use super::{DEFAULT_LOCALE, RespondentAnalytics, ending, screens};
use crate::logic;
use crate::question::types::schemas;
use crate::question::{image, jump};

/// The JSON Schema (2020-12) of a definition.
pub fn json_schema() -> &'static Value {
    static SCHEMA: LazyLock<Value> = LazyLock::new(make);
    &SCHEMA
}

fn make() -> Value {
    let analytics: Vec<&str> = RespondentAnalytics::WORDS.iter().map(|(word, _)| *word).collect();
    let mut schema = object(
        json!({
            "title": needed_text(TITLE_CHARS_MAX),
            "description": text_schema(DESCRIPTION_CHARS_MAX),
            "defaultLocale": {
                "type": "string", "description": "A BCP 47 tag.", "default": DEFAULT_LOCALE
            },
            "respondentAnalytics": {"enum": analytics, "default": "never"},
            "autoAdvance": {
                "type": "boolean", "default": true,
                "description": "Whether the page advances by itself after a single choice.",
            },
            "questions": {
                "type": "array", "maxItems": QUESTIONS_MAX, "items": {"$ref": "#/$defs/question"}
            },
            "ending": {"$ref": "#/$defs/ending"},
            "endings": endings(),
            "welcome": object(screens::welcome_schema(), &[]),
            "sections": sections(),
            "translations": {
                "type": "object",
                "description": "The texts in other languages, by BCP 47 tag.",
                "maxProperties": TRANSLATIONS_MAX,
                "additionalProperties": optional(json!({"$ref": "#/$defs/translation"})),
            },
        }),
        &["title", "questions"],
    );
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema["description"] = json!("A survey, form or message as its author writes it.");
    schema["$defs"] = json!({
        "question": {"oneOf": schemas().into_iter().map(question).collect::<Vec<_>>()},
        "condition": logic::schema(),
        "ending": object(ending::schema(), &[]),
        "translation": translation(),
    });
    schema
}

/// The schema of one question type: the common fields, and the type's own fields.
fn question(
    (name, needed, own): (&'static str, &'static [&'static str], Map<String, Value>),
) -> Value {
    let mut properties = json!({
        "id": ending::id_schema(),
        "type": {"const": name},
        "prompt": needed_text(PROMPT_CHARS_MAX),
        "help": text_schema(HELP_CHARS_MAX),
        "image": image::schema(),
        "required": {"type": "boolean", "default": false},
        "visibleIf": {"$ref": "#/$defs/condition"},
        "next": jump::schema(),
    });
    for (field, schema) in own {
        properties[field] = schema;
    }
    let mut all_needed = vec!["id", "type", "prompt"];
    all_needed.extend(needed);
    object(properties, &all_needed)
}

fn sections() -> Value {
    let mut properties = screens::section_schema();
    properties["id"] = ending::id_schema();
    let section = object(properties, &["id", "questions"]);
    json!({"type": "array", "maxItems": QUESTIONS_MAX, "items": section})
}

fn endings() -> Value {
    let mut properties = ending::schema();
    properties["id"] = ending::id_schema();
    properties["when"] = json!({"$ref": "#/$defs/condition"});
    json!({"type": "array", "maxItems": ENDINGS_MAX, "items": object(properties, &["id"])})
}

/// Only the structure: which texts a question has depends on the definition.
fn translation() -> Value {
    let labels = json!({"type": "object", "additionalProperties": {"type": ["string", "null"]}});
    let texts = json!({
        "type": ["object", "null"],
        "additionalProperties": {"anyOf": [{"type": ["string", "null"]}, labels]},
    });
    let section = object(json!({"title": text_schema(TITLE_CHARS_MAX)}), &[]);
    let ending = object(
        json!({
            "title": text_schema(TITLE_CHARS_MAX),
            "body": text_schema(ENDING_BODY_CHARS_MAX),
        }),
        &[],
    );
    object(
        json!({
            "title": text_schema(TITLE_CHARS_MAX),
            "description": text_schema(DESCRIPTION_CHARS_MAX),
            "questions": {"type": "object", "additionalProperties": texts},
            "ending": ending,
            "endings": {"type": "object", "additionalProperties": optional(ending.clone())},
            "welcome": object(screens::welcome_schema(), &[]),
            "sections": {"type": "object", "additionalProperties": optional(section)},
        }),
        &[],
    )
}

/// An object with these fields and no others; optional ones may be null.
fn object(properties: Value, needed: &[&str]) -> Value {
    let mut fields = Map::new();
    for (name, schema) in properties.as_object().into_iter().flatten() {
        let schema = schema.clone();
        let needed = needed.contains(&name.as_str());
        fields.insert(name.clone(), if needed { schema } else { optional(schema) });
    }
    let mut object = json!({"type": "object", "properties": fields, "additionalProperties": false});
    if !needed.is_empty() {
        object["required"] = json!(needed);
    }
    object
}

fn optional(schema: Value) -> Value {
    json!({"anyOf": [schema, {"type": "null"}]})
}

fn needed_text(chars_max: usize) -> Value {
    json!({"type": "string", "minLength": 1, "maxLength": chars_max})
}
