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
pub(crate) mod image;
mod input;
pub(crate) mod jump;
pub(crate) mod rules;
mod shape;
mod size;
mod text;
pub(crate) mod types;

use std::collections::HashSet;

use serde::{Serialize, Serializer};

pub(crate) use self::answer::Problems;
pub use self::decimal::Decimal;
pub use self::field::{Field, FieldKind};
pub use self::image::Image;
pub use self::input::{Format, Input, Marks};
pub use self::jump::{Jump, Target};
pub(crate) use self::rules::Label;
pub use self::shape::Shape;
pub use self::text::Length;
pub use self::types::*;
use crate::definition::limits::{HELP_CHARS_MAX, PROMPT_CHARS_MAX, QUESTIONS_MAX};
use crate::definition::reader::{ObjectReader, nearest};
use crate::logic::{self, Condition, Earlier};

/// The names of the texts of images in a translation.
pub(crate) const IMAGE_ALT: &str = "imageAlt";
pub(crate) const OPTION_ALTS: &str = "optionAlts";

/// One question of a definition.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Question {
    pub id: String,
    pub prompt: String,
    pub help: Option<String>,
    pub image: Option<Image>,
    pub required: bool,
    pub question_type: QuestionType,
    pub visible_if: Option<Condition>,
    /// Where to go on; without a jump that applies, at the next question.
    pub next: Vec<Jump>,
}

impl Question {
    /// Its translatable texts, by field name.
    pub(crate) fn labels(&self) -> Vec<(&'static str, Label<'_>)> {
        let mut labels = vec![("prompt", Label::One)];
        if self.help.is_some() {
            labels.push(("help", Label::One));
        }
        if self.image.as_ref().is_some_and(|image| image.alt.is_some()) {
            labels.push((IMAGE_ALT, Label::One));
        }
        labels.extend(self.question_type.labels());
        if self.options().iter().any(|option| option.alt().is_some()) {
            labels.push((OPTION_ALTS, Label::Alts(self.options())));
        }
        labels
    }

    /// Its options; empty if it has none.
    pub(crate) fn options(&self) -> &[choice::Choice] {
        self.question_type.options()
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
            #[serde(skip_serializing_if = "Option::is_none")]
            image: Option<&'q Image>,
            #[serde(skip_serializing_if = "std::ops::Not::not")]
            required: bool,
            #[serde(flatten)]
            own: &'q QuestionType,
            #[serde(skip_serializing_if = "Option::is_none")]
            visible_if: Option<&'q Condition>,
            #[serde(skip_serializing_if = "<[Jump]>::is_empty")]
            next: &'q [Jump],
        }
        let wire = Wire {
            id: &self.id,
            r#type: self.question_type.name(),
            prompt: &self.prompt,
            help: self.help.as_deref(),
            image: self.image.as_ref(),
            required: self.required,
            own: &self.question_type,
            visible_if: self.visible_if.as_ref(),
            next: &self.next,
        };
        wire.serialize(serializer)
    }
}

/// Reads the list of questions. `endings` are the ids that jumps may lead to.
pub(crate) fn read_all<'a>(
    reader: &mut ObjectReader<'a>,
    endings: &HashSet<&str>,
) -> (Vec<Question>, Earlier<'a>) {
    let items = reader.list("questions", 0..=QUESTIONS_MAX);
    let all_ids = items.iter().filter_map(|(_, item)| item.get("id")?.as_str()).collect();
    let mut earlier = Earlier::new(all_ids);
    let mut questions = Vec::with_capacity(items.len());
    for (pointer, item) in items {
        let Some(mut reader) = ObjectReader::open(item, pointer, reader.faults) else { continue };
        let id = reader.needed_id(|id| earlier.has(id));
        let question = read_one(&mut reader, id, &earlier);
        if let Some(id) = id {
            earlier.add(id, question.as_ref().map(|question| question.question_type.clone()));
        }
        if let Some(mut question) = question {
            // Jumps may depend on the question's own answer.
            question.next = jump::read(&mut reader, id, &earlier, endings);
            reader.close();
            questions.push(question);
        }
    }
    (questions, earlier)
}

fn read_one(
    reader: &mut ObjectReader<'_>,
    id: Option<&str>,
    earlier: &Earlier<'_>,
) -> Option<Question> {
    let prompt = reader.needed_text("prompt", PROMPT_CHARS_MAX);
    let help = reader.text("help", HELP_CHARS_MAX);
    let image = image::read(reader);
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
        image,
        required,
        question_type,
        visible_if,
        next: Vec::new(),
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
