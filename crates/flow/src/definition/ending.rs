//! What is shown after the last question: the `ending`, or one of several `endings` by condition.

use std::collections::HashSet;

use serde::Serialize;
use serde_json::{Value, json};

use super::limits::{
    ENDING_BODY_CHARS_MAX, ENDINGS_MAX, ID_CHARS_MAX, TITLE_CHARS_MAX, URL_CHARS_MAX,
};
use super::reader::{ObjectReader, text_schema};
use crate::logic::{self, Condition, Earlier};
use crate::origin;
use crate::question::types::url::is_url;

pub(super) const REDIRECT: &str =
    "must be an http or https address such as https://www.example.com/thanks, without spaces";

/// What is shown after the last question, or where to redirect.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Ending {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    pub redirect_url: Option<String>,
}

/// An ending for some of the answers: the first whose condition holds, or the one that a jump
/// names. One without a condition is only shown by a jump.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct NamedEnding {
    pub id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when: Option<Condition>,
    #[serde(flatten)]
    pub ending: Ending,
}

/// The ids of the endings of a draft, to check jumps that lead to them.
pub(super) fn ids(draft: &Value) -> HashSet<&str> {
    let endings = draft.get("endings").and_then(Value::as_array).into_iter().flatten();
    endings.filter_map(|ending| ending.get("id")?.as_str()).collect()
}

pub(super) fn read_ending(reader: &mut ObjectReader<'_>) -> Ending {
    let Some(value) = reader.field("ending") else { return Ending::default() };
    let pointer = reader.at("ending");
    let Some(mut reader) = ObjectReader::open(value, pointer, reader.faults) else {
        return Ending::default();
    };
    // [`super::check_new`] is stricter, so that older versions stay readable.
    let ending = read_fields(&mut reader, is_url);
    reader.close();
    ending
}

/// Reads the list of endings; `questions` are all questions.
pub(super) fn read_endings(
    reader: &mut ObjectReader<'_>,
    questions: &Earlier<'_>,
) -> Vec<NamedEnding> {
    let mut endings: Vec<NamedEnding> = Vec::new();
    for (pointer, item) in reader.optional_list("endings", ENDINGS_MAX).unwrap_or_default() {
        let Some(mut reader) = ObjectReader::open(item, pointer, reader.faults) else { continue };
        let id = reader.needed_id(|id| endings.iter().any(|before| before.id == id));
        let when = reader
            .field("when")
            .and_then(|when| logic::read(when, &reader.at("when"), None, questions, reader.faults));
        let is_web = |url: &str| is_url(url) && origin::web_origin(url).is_some();
        let ending = read_fields(&mut reader, is_web);
        reader.close();
        // A missing id is already a fault, so the placeholder is never used.
        endings.push(NamedEnding { id: id.unwrap_or_default().to_owned(), when, ending });
    }
    endings
}

fn read_fields(reader: &mut ObjectReader<'_>, is_address: impl Fn(&str) -> bool) -> Ending {
    let title = reader.text("title", TITLE_CHARS_MAX);
    let body = reader.text("body", ENDING_BODY_CHARS_MAX);
    let redirect_url = reader.text("redirectUrl", URL_CHARS_MAX);
    if redirect_url.as_deref().is_some_and(|url| !is_address(url)) {
        reader.fault("redirectUrl", REDIRECT);
    }
    Ending { title, body, redirect_url }
}

pub(super) fn schema() -> Value {
    json!({
        "title": text_schema(TITLE_CHARS_MAX),
        "body": text_schema(ENDING_BODY_CHARS_MAX),
        "redirectUrl": {
            "type": "string", "maxLength": URL_CHARS_MAX, "pattern": "^$|^[Hh][Tt][Tt][Pp][Ss]?:"
        },
    })
}

/// The pattern of the ids of questions, endings and sections.
pub(super) fn id_schema() -> Value {
    let pattern = format!("^[A-Za-z][A-Za-z0-9_-]{{0,{}}}$", ID_CHARS_MAX - 1);
    json!({"type": "string", "pattern": pattern})
}
