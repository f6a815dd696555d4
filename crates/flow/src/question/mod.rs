//! Questions: what all of them have, and the one table of their types.
//!
//! A type is one file that says everything about it (its fields, their rules, what it admits as an
//! answer, how its answers are counted, what conditions may ask of it, its texts, its schema), and one line in the table below.
//! Nothing else in the project lists the types.
//!
//! An answer that is an empty text, an empty list or a list of one empty text is no answer. A text and
//! a list of one text are the same answer; [`crate::judge::canonicalise`] gives it the form of its type.

mod answer;
pub mod choice;
mod consent;
mod date;
pub(crate) mod decimal;
mod dropdown;
pub mod email;
mod long_text;
mod matrix;
mod multiple_choice;
mod nps;
mod number;
mod phone;
mod ranking;
mod rating;
mod shape;
mod short_text;
mod single_choice;
mod size;
mod statement;
mod text;
pub mod url;
mod yes_no;

use std::collections::HashSet;

use serde::{Serialize, Serializer};
use serde_json::{Value, json};

pub(crate) use self::answer::{Problems, is_absent, one, several, within};
use self::choice::Choice;
pub(crate) use self::date::is_date;
pub(crate) use self::matrix::is_cell;
pub use self::shape::Shape;
use crate::counts::Counted;
use crate::definition::limits::{
    ANSWER_CHARS_MAX, HELP_CHARS_MAX, ID_CHARS_MAX, PROMPT_CHARS_MAX, QUESTIONS_MAX,
};
use crate::definition::reader::{Reader, nearest};
use crate::logic::{self, Condition, Earlier};
use crate::submission::{TextMap, Texts};

/// What a type says of itself.
pub(crate) trait Rules: Sized {
    /// Whether there is anything to answer.
    const ANSWERABLE: bool = true;
    /// Those of its own fields that must be given.
    const NEEDED: &[&str] = &[];

    /// Reads its own fields; faults go to the reader.
    fn read(reader: &mut Reader<'_>) -> Self;

    /// Notes whatever is wrong with an answer that is not absent.
    fn judge(&self, answer: &Texts<'_>, problems: &mut Problems<'_>);

    /// Whether an answer is all that `required` asks for.
    fn is_whole(&self, _answer: &Texts<'_>) -> bool {
        true
    }

    /// How its answers are counted. There is no default: whoever adds a type decides.
    fn counted(&self) -> Counted<'_>;

    /// What conditions may ask of an answer.
    fn comparable(&self) -> Comparable<'_>;

    /// The most characters of an answer that is one text.
    fn text_chars_max(&self) -> u32 {
        ANSWER_CHARS_MAX
    }

    /// Its own texts that can be translated, by field name.
    fn labels(&self) -> Vec<(&'static str, Label<'_>)> {
        Vec::new()
    }

    /// The JSON Schema of each of its own fields.
    fn schema() -> Value;
}

/// What conditions may ask of an answer, besides whether there is one.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Comparable<'q> {
    /// There is never an answer.
    Never,
    /// Only whether there is an answer.
    Presence,
    Text,
    Number,
    Date,
    Words(&'static [&'static str]),
    OneOf {
        options: &'q [Choice],
        other: bool,
    },
    SomeOf {
        options: &'q [Choice],
        other: bool,
    },
    Cells {
        rows: &'q [Choice],
        columns: &'q [Choice],
    },
}

/// A text that can be translated.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Label<'q> {
    One,
    /// One label for each of these.
    Each(&'q [Choice]),
}

macro_rules! types {
    ($($name:literal => $variant:ident in $module:ident, $label:literal, $purpose:literal;)*) => {
        $(pub use self::$module::$variant;)*

        /// A question's type with that type's own fields.
        #[derive(Debug, Clone, PartialEq, Serialize)]
        #[serde(untagged)]
        #[non_exhaustive]
        pub enum QuestionType { $($variant($variant),)* }

        impl QuestionType {
            /// The name of every type there is, in the order of the table.
            pub const NAMES: &[&str] = &[$($name),*];

            /// What authors choose from: each type's name, what they call it, and what it is for.
            pub const OFFERED: &[(&str, &str, &str)] = &[$(($name, $label, $purpose)),*];

            pub fn name(&self) -> &'static str {
                match self { $(Self::$variant(_) => $name,)* }
            }

            /// What authors call the type.
            pub fn label(&self) -> &'static str {
                match self { $(Self::$variant(_) => $label,)* }
            }

            /// Whether there is anything to answer.
            pub fn is_answerable(&self) -> bool {
                match self { $(Self::$variant(_) => $variant::ANSWERABLE,)* }
            }

            fn read(name: &str, reader: &mut Reader<'_>) -> Option<Self> {
                match name {
                    $($name => Some(Self::$variant($variant::read(reader))),)*
                    _ => None,
                }
            }

            pub(crate) fn judge(&self, answer: &Texts<'_>, problems: &mut Problems<'_>) {
                match self { $(Self::$variant(rules) => rules.judge(answer, problems),)* }
            }

            pub(crate) fn is_whole(&self, answer: &Texts<'_>) -> bool {
                match self { $(Self::$variant(rules) => rules.is_whole(answer),)* }
            }

            /// How the answers to it are counted.
            pub fn counted(&self) -> Counted<'_> {
                match self { $(Self::$variant(rules) => rules.counted(),)* }
            }

            pub(crate) fn comparable(&self) -> Comparable<'_> {
                match self { $(Self::$variant(rules) => rules.comparable(),)* }
            }

            fn text_chars_max(&self) -> u32 {
                match self { $(Self::$variant(rules) => rules.text_chars_max(),)* }
            }

            fn labels(&self) -> Vec<(&'static str, Label<'_>)> {
                match self { $(Self::$variant(rules) => rules.labels(),)* }
            }
        }

        /// Each type's name, needed fields and schema of its own fields.
        pub(crate) fn schemas() -> Vec<(&'static str, &'static [&'static str], Value)> {
            vec![$(($name, $variant::NEEDED, $variant::schema())),*]
        }
    };
}

types! {
    "shortText" => ShortText in short_text, "Short text", "One line, such as a name.";
    "longText" => LongText in long_text, "Long text", "Several lines of free text.";
    "email" => Email in email, "E-mail address", "The format is checked.";
    "url" => Url in url, "Web address", "A link that starts with http.";
    "phone" => Phone in phone, "Telephone number", "Digits, spaces and + - ( ).";
    "number" => Number in number, "Number", "With optional limits.";
    "date" => Date in date, "Date", "A calendar date.";
    "singleChoice" => SingleChoice in single_choice, "Single choice", "One of several options, all in view.";
    "dropdown" => Dropdown in dropdown, "Dropdown", "One of many options, in a drop-down list.";
    "multipleChoice" => MultipleChoice in multiple_choice, "Multiple choice", "Any of several options.";
    "ranking" => Ranking in ranking, "Ranking", "Options to put in order.";
    "matrix" => Matrix in matrix, "Matrix", "The same scale for several items.";
    "rating" => Rating in rating, "Rating", "Three to ten stars, numbers or faces.";
    "nps" => Nps in nps, "Net promoter score", "How likely to recommend, from 0 to 10.";
    "yesNo" => YesNo in yes_no, "Yes or no", "Two buttons.";
    "consent" => Consent in consent, "Consent", "A checkbox.";
    "statement" => Statement in statement, "Statement", "Text without an answer.";
}

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
    /// Whether these answers lead to it.
    pub fn is_asked(&self, answers: &TextMap<'_>) -> bool {
        self.visible_if.as_ref().is_none_or(|condition| condition.holds(answers))
    }

    /// Its texts that can be translated, by field name.
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
pub(crate) fn read_all(reader: &mut Reader<'_>) -> Vec<Question> {
    let items = reader.list("questions", 0..=QUESTIONS_MAX);
    let all_ids: HashSet<&str> =
        items.iter().filter_map(|(_, item)| item.get("id")?.as_str()).collect();
    let mut earlier = Earlier::new(&all_ids);
    let mut questions = Vec::with_capacity(items.len());
    for (pointer, item) in items {
        let Some(mut reader) = Reader::open(item, pointer, reader.faults) else { continue };
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

fn read_id<'a>(reader: &mut Reader<'a>, earlier: &Earlier<'_>) -> Option<&'a str> {
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

fn read_one(reader: &mut Reader<'_>, id: Option<&str>, earlier: &Earlier<'_>) -> Option<Question> {
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
        // What is missing is a fault already, so these stand-ins are never seen.
        id: id.unwrap_or_default().to_owned(),
        prompt: prompt.unwrap_or_default(),
        help,
        required,
        question_type,
        visible_if,
    })
}

/// The type and its own fields. A type that is not known has no fields to check.
fn read_type(reader: &mut Reader<'_>) -> Option<QuestionType> {
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

/// Options, rows and columns: as questions, but a digit may come first.
pub(crate) fn is_choice_id(id: &str) -> bool {
    id.len() <= ID_CHARS_MAX
        && id.starts_with(|first: char| first.is_ascii_alphanumeric())
        && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

/// The schema of a text of at most so many characters.
pub(crate) fn text_schema(chars_max: usize) -> Value {
    json!({"type": "string", "maxLength": chars_max})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::reader::Faults;

    #[test]
    fn every_types_schema_has_exactly_the_fields_that_it_reads() {
        for (name, needed, schema) in schemas() {
            let faults = Faults::default();
            let empty = json!({});
            let mut reader = Reader::open(&empty, String::new(), &faults).unwrap();
            QuestionType::read(name, &mut reader).unwrap();
            let mut read: Vec<_> = reader.asked().to_vec();
            let mut described: Vec<_> =
                schema.as_object().unwrap().keys().map(String::as_str).collect();
            read.sort_unstable();
            described.sort_unstable();
            assert_eq!(read, described, "{name}");
            let missed: Vec<_> = faults.into_vec().into_iter().map(|fault| fault.pointer).collect();
            let needed: Vec<_> = needed.iter().map(|field| format!("/{field}")).collect();
            assert_eq!(missed, needed, "{name}");
        }
    }
}
