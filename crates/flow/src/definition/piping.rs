//! Checks the placeholders of a draft: an answer must be that to an earlier question, and a score
//! needs a question that has one.
//!
//! Not part of [`super::check`]: versions that were published before texts had placeholders may
//! have any text, and must stay readable. A draft with other faults is checked too; what depends on
//! those faults is not reported.

use std::ops::RangeTo;

use serde_json::Value;

use super::ending;
use super::limits::{FAULTS_MAX, QUESTIONS_MAX};
use super::reader::{Fault, Faults, ObjectReader, child};
use crate::logic::Earlier;
use crate::piping::{Source, placeholders};
use crate::question::{self, QuestionType};

/// The fields of a definition that hold no texts for respondents.
const WITHOUT_TEXTS: &[&str] = &[
    "id",
    "type",
    "to",
    "when",
    "visibleIf",
    "redirectUrl",
    "defaultLocale",
    "optionOrder",
    "assetId",
];

/// Every fault of a placeholder.
pub(super) fn faults(draft: &Value) -> Vec<Fault> {
    // The reader of the draft reports them.
    let others = Faults::default();
    let Some(mut reader) = ObjectReader::open(draft, String::new(), &others) else {
        return Vec::new();
    };
    let (_, known) = question::read_all(&mut reader, &ending::ids(draft));
    let questions = items(&draft["questions"]).take(QUESTIONS_MAX);
    let ids = questions.map(|(_, question)| question["id"].as_str()).collect();
    let mut check = Check { draft, ids, known, faults: Vec::new() };
    check.texts(draft, "");
    for (tag, texts) in items(&draft["translations"]) {
        check.texts(texts, &child("/translations", tag));
    }
    check.faults
}

/// The items of a list by index, or those of an object by name.
fn items(value: &Value) -> Box<dyn Iterator<Item = (String, &Value)> + '_> {
    match value {
        Value::Array(items) => {
            Box::new(items.iter().enumerate().map(|(at, item)| (at.to_string(), item)))
        }
        Value::Object(fields) => Box::new(fields.iter().map(|(name, value)| (name.clone(), value))),
        _ => Box::new(std::iter::empty()),
    }
}

struct Check<'d> {
    draft: &'d Value,
    /// The ids of the questions, in their order.
    ids: Vec<Option<&'d str>>,
    known: Earlier<'d>,
    faults: Vec<Fault>,
}

impl Check<'_> {
    /// Checks the texts of the definition, or of one language, where questions and sections are by
    /// id.
    fn texts(&mut self, value: &Value, root: &str) {
        let everywhere = self.ids.len();
        for (name, value) in value.as_object().into_iter().flatten() {
            let at = child(root, name);
            match name.as_str() {
                "questions" | "sections" => {
                    for (key, item) in items(value) {
                        let before = match (name.as_str(), value) {
                            ("questions", Value::Array(_)) => key.parse().ok(),
                            ("questions", _) => self.position(&key),
                            (_, Value::Array(_)) => self.start_of(item),
                            _ => self.section(&key).and_then(|section| self.start_of(section)),
                        };
                        self.all(item, &child(&at, &key), ..before.unwrap_or(everywhere));
                    }
                }
                "ending" | "endings" => self.all(value, &at, ..everywhere),
                "translations" => {}
                _ => self.all(value, &at, ..0),
            }
        }
    }

    /// The index of a question.
    fn position(&self, id: &str) -> Option<usize> {
        self.ids.iter().position(|one| *one == Some(id))
    }

    fn section(&self, id: &str) -> Option<&Value> {
        self.draft["sections"].as_array()?.iter().find(|section| section["id"] == id)
    }

    /// The index of the first question of a section.
    fn start_of(&self, section: &Value) -> Option<usize> {
        self.position(section["questions"][0].as_str()?)
    }

    /// Every text in a value. Placeholders may name the questions of this range.
    fn all(&mut self, value: &Value, at: &str, earlier: RangeTo<usize>) {
        if let Value::String(text) = value {
            return self.text(text, at, earlier);
        }
        // In a translation, the names are ids as well.
        let is_translated = at.starts_with("/translations/");
        for (name, value) in items(value) {
            if is_translated || !WITHOUT_TEXTS.contains(&name.as_str()) {
                self.all(value, &child(at, name), earlier);
            }
        }
    }

    fn text(&mut self, text: &str, at: &str, earlier: RangeTo<usize>) {
        for placeholder in placeholders(text) {
            let message = match placeholder.source {
                Source::Answer(id) => self.answer(id, earlier),
                Source::Tag("") => Some("a placeholder needs the name of a tag".to_owned()),
                Source::Tag(_) => None,
                Source::Score => {
                    let message = "no question before this text has a score";
                    (!self.is_scored(earlier)).then(|| message.to_owned())
                }
            };
            let Some(message) = message else { continue };
            let fault = Fault::new(at, message);
            // A text may name the same question twice.
            if self.faults.len() < FAULTS_MAX && !self.faults.contains(&fault) {
                self.faults.push(fault);
            }
        }
    }

    fn answer(&self, id: &str, earlier: RangeTo<usize>) -> Option<String> {
        match self.position(id) {
            None => Some(format!("there is no question {id} whose answer could be shown here")),
            Some(at) if !earlier.contains(&at) => {
                Some(format!("the answer to {id} is not known here: it is asked later"))
            }
            Some(_) => {
                let of = self.known.question_type(id);
                of.is_some_and(|of| !of.is_answerable())
                    .then(|| format!("{id} takes no answer that could be shown here"))
            }
        }
    }

    /// Whether one of these questions has a score. One that could not be read may.
    fn is_scored(&self, earlier: RangeTo<usize>) -> bool {
        self.ids.iter().take(earlier.end).any(|id| {
            let of = id.and_then(|id| self.known.question_type(id));
            of.is_none_or(QuestionType::is_scored)
        })
    }
}
