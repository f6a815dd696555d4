//! The fields specific to a type: one description defines the JSON Schema and the author's form.

use std::ops::RangeInclusive;

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::choice::{ChoiceFields, OptionOrder, Options, choices_schema};
use crate::definition::reader::text_schema;

/// One field of a type.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Field {
    pub name: &'static str,
    /// The author-facing name.
    pub label: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<&'static str>,
    #[serde(flatten)]
    pub kind: FieldKind,
}

/// The kind of value of a field.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase", rename_all_fields = "camelCase")]
pub enum FieldKind {
    /// A whole number.
    Count {
        min: u32,
        max: u32,
        #[serde(skip_serializing_if = "Option::is_none")]
        default: Option<u32>,
    },
    /// A number between minus `limit` and `limit`.
    Number { limit: f64 },
    /// A day.
    Date,
    /// A boolean.
    Flag,
    /// One of these values, each with its label; the first is the default.
    Word { words: &'static [(&'static str, &'static str)] },
    /// A text that can be translated.
    Text { chars_max: usize },
    /// A list of choices with translatable labels.
    Choices {
        min: usize,
        max: usize,
        #[serde(flatten)]
        fields: ChoiceFields,
    },
}

impl Field {
    pub(crate) const fn new(name: &'static str, label: &'static str, kind: FieldKind) -> Self {
        Self { name, label, hint: None, kind }
    }

    pub(crate) const fn hint(self, hint: &'static str) -> Self {
        Self { hint: Some(hint), ..self }
    }

    fn schema(&self) -> Value {
        match self.kind {
            FieldKind::Count { min, max, default } => {
                let mut schema = json!({"type": "integer", "minimum": min, "maximum": max});
                if let Some(default) = default {
                    schema["default"] = json!(default);
                }
                schema
            }
            FieldKind::Number { limit } => {
                json!({"type": "number", "minimum": -limit, "maximum": limit})
            }
            FieldKind::Date => json!({"type": "string", "format": "date"}),
            FieldKind::Flag => json!({"type": "boolean"}),
            FieldKind::Word { words } => {
                let values: Vec<&str> = words.iter().map(|(value, _)| *value).collect();
                json!({"enum": values, "default": values.first()})
            }
            FieldKind::Text { chars_max } => text_schema(chars_max),
            FieldKind::Choices { min, max, fields } => choices_schema(min..=max, fields),
        }
    }
}

/// The JSON Schema of each of these fields, by name.
pub(super) fn schemas(fields: &[Field]) -> Map<String, Value> {
    fields.iter().map(|field| (field.name.to_owned(), field.schema())).collect()
}

impl Options {
    pub(super) fn fields(allowed: RangeInclusive<usize>, fields: ChoiceFields) -> Vec<Field> {
        let (min, max) = (*allowed.start(), *allowed.end());
        let other = "Offer “Other” with free text";
        vec![
            Field::new("options", "Options", FieldKind::Choices { min, max, fields }),
            Field::new("allowOther", other, FieldKind::Flag),
            OptionOrder::FIELD,
        ]
    }
}

impl OptionOrder {
    pub(super) const FIELD: Field =
        Field::new("optionOrder", "Order of options", FieldKind::Word { words: Self::NAMES });
}
