//! Checks the placeholders of a definition: an answer must be that to an earlier question, and a
//! score needs a question that has one.
//!
//! Not part of [`super::check`]: versions that were published before texts had placeholders may
//! have any text, and must stay readable.

use std::ops::RangeTo;

use serde_json::Value;

use super::Definition;
use super::reader::{Fault, child};
use crate::piping::{Source, placeholders};

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
pub(super) fn faults(definition: &Definition) -> Vec<Fault> {
    let value = definition.to_json();
    let mut check = Check { definition, faults: Vec::new() };
    check.texts(&value, "");
    if let Some(languages) = value["translations"].as_object() {
        for (tag, texts) in languages {
            check.texts(texts, &child("/translations", tag));
        }
    }
    check.faults
}

struct Check<'d> {
    definition: &'d Definition,
    faults: Vec<Fault>,
}

impl Check<'_> {
    /// Checks the texts of the definition, or of one language.
    fn texts(&mut self, value: &Value, root: &str) {
        for (name, value) in value.as_object().into_iter().flatten() {
            let at = child(root, name);
            match name.as_str() {
                "questions" => self.each(value, &at, |definition, key| {
                    definition.position(key).unwrap_or_default()
                }),
                "sections" => self.each(value, &at, |definition, key| {
                    let section = definition.sections.iter().find(|section| section.id == key);
                    let first = section.and_then(|section| section.questions.first());
                    first.and_then(|id| definition.position(id)).unwrap_or_default()
                }),
                "ending" | "endings" => self.all(value, &at, ..self.definition.questions.len()),
                "translations" => {}
                _ => self.all(value, &at, ..0),
            }
        }
    }

    /// The items of a list with ids, or of an object by id, each with its own place.
    fn each(&mut self, items: &Value, at: &str, place: impl Fn(&Definition, &str) -> usize) {
        let named = |(key, item): (String, &Value)| {
            let id = item.get("id").and_then(Value::as_str).unwrap_or(&key).to_owned();
            (child(at, &key), id, item.clone())
        };
        let items: Vec<(String, String, Value)> = match items {
            Value::Array(items) => {
                items.iter().enumerate().map(|(at, item)| named((at.to_string(), item))).collect()
            }
            Value::Object(items) => {
                items.iter().map(|(key, item)| named((key.clone(), item))).collect()
            }
            _ => Vec::new(),
        };
        for (pointer, id, item) in items {
            let before = place(self.definition, &id);
            self.all(&item, &pointer, ..before);
        }
    }

    /// Every text in a value. Placeholders may name the questions of this range.
    fn all(&mut self, value: &Value, at: &str, earlier: RangeTo<usize>) {
        match value {
            Value::String(text) => self.text(text, at, earlier),
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.all(item, &child(at, index), earlier);
                }
            }
            Value::Object(fields) => {
                let fields =
                    fields.iter().filter(|(name, _)| !WITHOUT_TEXTS.contains(&name.as_str()));
                for (name, value) in fields {
                    self.all(value, &child(at, name), earlier);
                }
            }
            _ => {}
        }
    }

    fn text(&mut self, text: &str, at: &str, earlier: RangeTo<usize>) {
        for placeholder in placeholders(text) {
            let message = match placeholder.source {
                Source::Answer(id) => self.answer(id, earlier),
                Source::Tag("") => Some("a placeholder needs the name of a tag".to_owned()),
                Source::Tag(_) => None,
                Source::Score => {
                    let mut before = self.definition.questions[earlier].iter();
                    let is_scored = before.any(|question| question.question_type.is_scored());
                    let message = "no question before this text has a score";
                    (!is_scored).then(|| message.to_owned())
                }
            };
            if let Some(message) = message {
                self.faults.push(Fault { pointer: at.to_owned(), message });
            }
        }
    }

    fn answer(&self, id: &str, earlier: RangeTo<usize>) -> Option<String> {
        match self.definition.position(id) {
            None => Some(format!("there is no question {id} whose answer could be shown here")),
            Some(at) if !earlier.contains(&at) => {
                Some(format!("the answer to {id} is not known here: it is asked later"))
            }
            Some(at) if !self.definition.questions[at].question_type.is_answerable() => {
                Some(format!("{id} takes no answer that could be shown here"))
            }
            Some(_) => None,
        }
    }
}
