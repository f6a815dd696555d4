//! Options to choose from, shared by several types.
//!
//! With `allowOther` a respondent may answer with free text as `other:<text>`. In conditions,
//! `other` then matches any such answer, so no option may have that id.

use std::collections::HashSet;
use std::ops::RangeInclusive;

use serde::Serialize;
use serde_json::{Value, json};

use super::answer::Problems;
use crate::definition::limits::{ID_CHARS_MAX, LABEL_CHARS_MAX, OTHER_CHARS_MAX};
use crate::definition::reader::{ObjectReader, text_schema};
use crate::issue::Code;

/// The prefix of a free-text answer.
pub const OTHER_PREFIX: &str = "other:";
/// The name of such an answer in conditions.
pub const OTHER: &str = "other";

/// How many ids a message lists before it only gives the number of the rest.
const LISTED_MAX: usize = 20;

/// One option, row or column.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Choice {
    pub id: String,
    pub label: String,
}

/// Options, optionally with a free-text answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Options {
    pub options: Vec<Choice>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub allow_other: bool,
}

impl Options {
    pub(super) fn read(reader: &mut ObjectReader<'_>, allowed: RangeInclusive<usize>) -> Self {
        let options = read_choices(reader, "options", allowed);
        let allow_other = reader.flag("allowOther");
        if allow_other && has(&options, OTHER) {
            reader.fault("options", "must not hold the id other where allowOther is on");
        }
        Self { options, allow_other }
    }

    /// Judges one choice: an option's id, or `other:<text>`. Returns whether it was valid.
    pub(super) fn judge(&self, chosen: &str, problems: &mut Problems<'_>) -> bool {
        let (code, rule) = match chosen.strip_prefix(OTHER_PREFIX) {
            None if has(&self.options, chosen) => return true,
            Some(text) if self.allow_other => {
                if text.trim().is_empty() {
                    (Code::InvalidFormat, "takes other: only with a text after it".to_owned())
                } else if text.chars().count() > OTHER_CHARS_MAX {
                    let rule = format!("takes at most {OTHER_CHARS_MAX} characters after other:");
                    (Code::OutOfRange, rule)
                } else {
                    return true;
                }
            }
            _ => {
                let other = if self.allow_other { ", or other: and a text" } else { "" };
                let rule = format!("takes only its options: {}{other}", listed(&self.options));
                (Code::UnknownOption, rule)
            }
        };
        problems.add(code, rule);
        false
    }
}

pub(crate) fn has(choices: &[Choice], id: &str) -> bool {
    choices.iter().any(|choice| choice.id == id)
}

/// The ids as a list, abbreviated if there are many.
pub(crate) fn listed(choices: &[Choice]) -> String {
    let ids: Vec<&str> = choices.iter().take(LISTED_MAX).map(|choice| choice.id.as_str()).collect();
    match choices.len().saturating_sub(LISTED_MAX) {
        0 => ids.join(", "),
        more => format!("{} and {more} more", ids.join(", ")),
    }
}

/// Ids of options, rows and columns: like question ids, but may start with a digit.
pub(super) fn is_choice_id(id: &str) -> bool {
    id.len() <= ID_CHARS_MAX
        && id.starts_with(|first: char| first.is_ascii_alphanumeric())
        && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

/// Reads a list of options, rows or columns.
pub(super) fn read_choices(
    reader: &mut ObjectReader<'_>,
    name: &'static str,
    allowed: RangeInclusive<usize>,
) -> Vec<Choice> {
    let mut ids = HashSet::new();
    let mut choices = Vec::new();
    for (pointer, item) in reader.list(name, allowed) {
        let Some(mut reader) = ObjectReader::open(item, pointer, reader.faults) else { continue };
        let id = reader.needed("id").map(|id| id.as_str().filter(|id| is_choice_id(id)));
        let label = reader.needed_text("label", LABEL_CHARS_MAX).unwrap_or_default();
        match id {
            None => {}
            Some(None) => reader.fault("id", "must be 1 to 64 letters, digits, _ and -"),
            Some(Some(id)) if !ids.insert(id) => reader.fault("id", format!("{id} is used twice")),
            Some(Some(id)) => choices.push(Choice { id: id.to_owned(), label }),
        }
        reader.close();
    }
    choices
}

pub(super) fn choices_schema(allowed: RangeInclusive<usize>) -> Value {
    let id = format!("^[A-Za-z0-9][A-Za-z0-9_-]{{0,{}}}$", ID_CHARS_MAX - 1);
    json!({
        "type": "array",
        "minItems": allowed.start(),
        "maxItems": allowed.end(),
        "items": {
            "type": "object",
            "properties": {
                "id": {"type": "string", "pattern": id},
                "label": text_schema(LABEL_CHARS_MAX),
            },
            "required": ["id", "label"],
            "additionalProperties": false,
        },
    })
}
