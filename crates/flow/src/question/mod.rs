//! Questions: their common fields, and the table of their types.
//!
//! A type is one file that defines everything about it (its fields and their rules, which answers
//! it accepts, its control, how its answers are counted, which conditions may use it, its texts),
//! and one line in [`types`]. Nothing else in the project lists the types.
//!
//! An empty text, an empty list or a list of one empty text counts as no answer. A text and a list
//! of one text are the same answer; [`crate::judge::canonicalise`] converts it to the form of its
//! type.

mod answer;
pub mod choice;
pub(crate) mod decimal;
mod field;
mod input;
pub(crate) mod rules;
mod shape;
mod size;
mod text;
pub(crate) mod types;

use std::collections::HashSet;

use serde::{Serialize, Serializer};

pub(crate) use self::answer::Problems;
use self::choice::is_choice_id;
pub use self::decimal::Decimal;
pub use self::field::{Field, FieldKind};
pub use self::input::{Format, Input, Marks};
pub(crate) use self::rules::Label;
pub use self::shape::Shape;
pub use self::text::Length;
pub use self::types::*;
use crate::definition::limits::{HELP_CHARS_MAX, PROMPT_CHARS_MAX, QUESTIONS_MAX};
use crate::definition::reader::{ObjectReader, nearest};
use crate::logic::{self, Condition, Earlier};
use crate::text_map::TextMap;

/// One question of a definition.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Question {
    pub id: String,
    pub prompt: String,
    pub help: Option<String>,
    pub required: bool,
    pub question_type: QuestionType,
    pub visible_if: Option<Condition>,
}

impl Question {
    /// Whether these answers make it visible.
    pub fn is_asked(&self, answers: &TextMap<'_>) -> bool {
        self.visible_if.as_ref().is_none_or(|condition| condition.holds(answers))
    }

    /// Its translatable texts, by field name.
    pub(crate) fn labels(&self) -> Vec<(&'static str, Label<'_>)> {
        let mut labels = vec![("prompt", Label::One)];
        if self.help.is_some() {
            labels.push(("help", Label::One));
        }
        labels.extend(self.question_type.labels());
        labels
    }
}

impl Serialize for Question {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        /// The order of the fields on the wire, with the type's own in the middle.
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Wire<'q> {
            id: &'q str,
            r#type: &'static str,
            prompt: &'q str,
            #[serde(skip_serializing_if = "Option::is_none")]
            help: Option<&'q str>,
            #[serde(skip_serializing_if = "std::ops::Not::not")]
            required: bool,
            #[serde(flatten)]
            own: &'q QuestionType,
            #[serde(skip_serializing_if = "Option::is_none")]
            visible_if: Option<&'q Condition>,
        }
        let wire = Wire {
            id: &self.id,
            r#type: self.question_type.name(),
            prompt: &self.prompt,
            help: self.help.as_deref(),
            required: self.required,
            own: &self.question_type,
            visible_if: self.visible_if.as_ref(),
        };
        wire.serialize(serializer)
    }
}

/// Reads the list of questions.
pub(crate) fn read_all(reader: &mut ObjectReader<'_>) -> Vec<Question> {
    let items = reader.list("questions", 0..=QUESTIONS_MAX);
    let all_ids: HashSet<&str> =
        items.iter().filter_map(|(_, item)| item.get("id")?.as_str()).collect();
    let mut earlier = Earlier::new(&all_ids);
    let mut questions = Vec::with_capacity(items.len());
    for (pointer, item) in items {
        let Some(mut reader) = ObjectReader::open(item, pointer, reader.faults) else { continue };
        let id = read_id(&mut reader, &earlier);
        let question = read_one(&mut reader, id, &earlier);
        if let Some(id) = id {
            earlier.add(id, question.as_ref().map(|question| question.question_type.clone()));
        }
        if let Some(question) = question {
            reader.close();
            questions.push(question);
        }
    }
    questions
}

fn read_id<'a>(reader: &mut ObjectReader<'a>, earlier: &Earlier<'_>) -> Option<&'a str> {
    let id = reader.needed("id")?.as_str().filter(|id| is_question_id(id));
    match id {
        None => {
            reader.fault("id", "must start with a letter, then at most 63 letters, digits, _ and -")
        }
        Some(id) if earlier.has(id) => reader.fault("id", format!("{id} is used twice")),
        Some(_) => {}
    }
    id
}

fn read_one(
    reader: &mut ObjectReader<'_>,
    id: Option<&str>,
    earlier: &Earlier<'_>,
) -> Option<Question> {
    let prompt = reader.needed_text("prompt", PROMPT_CHARS_MAX);
    let help = reader.text("help", HELP_CHARS_MAX);
    let required = reader.flag("required");
    let visible_if = reader.field("visibleIf").and_then(|condition| {
        logic::read(condition, &reader.at("visibleIf"), id, earlier, reader.faults)
    });
    let question_type = read_type(reader)?;
    if required && !question_type.is_answerable() {
        reader.fault("required", format!("a {} takes no answer", question_type.name()));
    }
    Some(Question {
        // A missing value is already a fault, so these placeholders are never used.
        id: id.unwrap_or_default().to_owned(),
        prompt: prompt.unwrap_or_default(),
        help,
        required,
        question_type,
        visible_if,
    })
}

/// The type and its own fields. An unknown type has no fields to check.
fn read_type(reader: &mut ObjectReader<'_>) -> Option<QuestionType> {
    let name = reader.needed("type")?.as_str().unwrap_or_default();
    let question_type = QuestionType::read(name, reader);
    if question_type.is_none() {
        let message = match nearest(name, QuestionType::NAMES) {
            Some(near) => format!("unknown type; did you mean {near}?"),
            None => format!("must be one of {}", QuestionType::NAMES.join(", ")),
        };
        reader.fault("type", message);
    }
    question_type
}

fn is_question_id(id: &str) -> bool {
    id.starts_with(|first: char| first.is_ascii_alphabetic()) && is_choice_id(id)
}
