//! What is shown besides single questions: the welcome screen, and sections, whose questions share
//! a page.
//!
//! The questions of a section follow one another in the definition, so that a section is one page
//! of the way through the questions.

use serde::Serialize;
use serde_json::{Value, json};

use super::limits::{
    BUTTON_CHARS_MAX, DESCRIPTION_CHARS_MAX, ID_CHARS_MAX, QUESTIONS_MAX, TITLE_CHARS_MAX,
};
use super::reader::{ObjectReader, text_schema};
use crate::question::Question;

/// The screen before the first question.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Welcome {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub button_text: Option<String>,
}

/// Questions that share a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Section {
    pub id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The ids of its questions, in the order of the definition.
    pub questions: Vec<String>,
}

/// One without any text is no screen.
pub(super) fn read_welcome(reader: &mut ObjectReader<'_>) -> Option<Welcome> {
    let value = reader.field("welcome")?;
    let mut reader = ObjectReader::open(value, reader.at("welcome"), reader.faults)?;
    let welcome = Welcome {
        title: reader.text("title", TITLE_CHARS_MAX),
        body: reader.text("body", DESCRIPTION_CHARS_MAX),
        button_text: reader.text("buttonText", BUTTON_CHARS_MAX),
    };
    reader.close();
    (welcome != Welcome::default()).then_some(welcome)
}

pub(super) fn read_sections(reader: &mut ObjectReader<'_>, questions: &[Question]) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    for (pointer, item) in reader.optional_list("sections", QUESTIONS_MAX).unwrap_or_default() {
        let Some(mut reader) = ObjectReader::open(item, pointer, reader.faults) else { continue };
        let id = reader.needed_id(|id| sections.iter().any(|before| before.id == id));
        let title = reader.text("title", TITLE_CHARS_MAX);
        let members = read_members(&mut reader, questions, &sections);
        reader.close();
        // A missing id is already a fault, so the placeholder is never used.
        sections.push(Section { id: id.unwrap_or_default().to_owned(), title, questions: members });
    }
    sections
}

fn read_members(
    reader: &mut ObjectReader<'_>,
    questions: &[Question],
    before: &[Section],
) -> Vec<String> {
    let mut members: Vec<String> = Vec::new();
    let mut next = None;
    for (pointer, item) in reader.list("questions", 1..=QUESTIONS_MAX) {
        let id = item.as_str().unwrap_or_default();
        let Some(at) = questions.iter().position(|question| question.id == id) else {
            reader.faults.add(pointer, "must be the id of a question");
            continue;
        };
        let is_used = |section: &Section| section.questions.iter().any(|member| member == id);
        if before.iter().any(is_used) || members.iter().any(|member| member == id) {
            reader.faults.add(pointer, format!("{id} is in a section already"));
            continue;
        }
        if next.is_some_and(|next| next != at) {
            let message = "must be the question that follows the one before it";
            reader.faults.add(pointer, message);
        }
        next = Some(at + 1);
        members.push(id.to_owned());
    }
    members
}

pub(super) fn welcome_schema() -> Value {
    json!({
        "title": text_schema(TITLE_CHARS_MAX),
        "body": text_schema(DESCRIPTION_CHARS_MAX),
        "buttonText": text_schema(BUTTON_CHARS_MAX),
    })
}

pub(super) fn section_schema() -> Value {
    json!({
        "title": text_schema(TITLE_CHARS_MAX),
        "questions": {
            "type": "array", "minItems": 1, "maxItems": QUESTIONS_MAX,
            "items": {"type": "string", "maxLength": ID_CHARS_MAX},
        },
    })
}
