//! Reads the fields of a JSON object and records every fault with its JSON Pointer.
//!
//! Reading never stops at a fault: a reader returns a placeholder or `None`, and continues, so that
//! an author sees all faults at once. The fields that were read are the known fields; all others
//! are faults when the reader is closed, so no separate list of names can get out of sync. `null`
//! and an empty optional text are treated as an absent field.

use std::cell::RefCell;
use std::ops::RangeInclusive;

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::limits::{FAULTS_MAX, ID_CHARS_MAX};
use crate::pointer::escaped;

/// One fault of a draft: where (JSON Pointer), and how to fix it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Fault {
    pub pointer: String,
    pub message: String,
}

impl Fault {
    pub fn new(pointer: impl Into<String>, message: impl Into<String>) -> Self {
        Self { pointer: pointer.into(), message: message.into() }
    }
}

/// The faults found so far.
#[derive(Debug, Default)]
pub(crate) struct Faults(RefCell<Vec<Fault>>);

impl Faults {
    pub(crate) fn add(&self, pointer: String, message: impl Into<String>) {
        let mut faults = self.0.borrow_mut();
        if faults.len() < FAULTS_MAX {
            faults.push(Fault::new(pointer, message));
        }
    }

    pub(crate) fn into_vec(self) -> Vec<Fault> {
        self.0.into_inner()
    }
}

/// The pointer to a member of `parent`, escaped according to RFC 6901.
pub(crate) fn child(parent: &str, step: impl std::fmt::Display) -> String {
    format!("{parent}/{}", escaped(&step.to_string()))
}

/// The object at a pointer, or a fault.
pub(crate) fn object<'a>(
    value: &'a Value,
    pointer: &str,
    faults: &Faults,
) -> Option<&'a Map<String, Value>> {
    let map = value.as_object();
    if map.is_none() {
        faults.add(pointer.to_owned(), "must be an object");
    }
    map
}

/// The text at a pointer, or a fault. A blank text is a fault.
pub(crate) fn text(
    value: &Value,
    pointer: &str,
    chars_max: usize,
    faults: &Faults,
) -> Option<String> {
    let refuse = |message: String| {
        faults.add(pointer.to_owned(), message);
        None
    };
    match value.as_str() {
        None => refuse("must be a text".into()),
        Some(text) if text.trim().is_empty() => refuse("must not be empty".into()),
        Some(text) if text.contains('\0') => refuse("must not hold a NUL character".into()),
        Some(text) if text.chars().count() > chars_max => {
            refuse(format!("must be at most {chars_max} characters long"))
        }
        Some(text) => Some(text.to_owned()),
    }
}

/// The JSON Schema of a text with at most this many characters.
pub(crate) fn text_schema(chars_max: usize) -> Value {
    json!({"type": "string", "maxLength": chars_max})
}

/// An object being read.
#[derive(Debug)]
pub(crate) struct ObjectReader<'a> {
    map: &'a Map<String, Value>,
    pub(crate) pointer: String,
    pub(crate) faults: &'a Faults,
    asked: Vec<&'static str>,
    /// Fields with faults that were reported elsewhere.
    ignored: &'static [&'static str],
}

impl<'a> ObjectReader<'a> {
    pub(crate) fn open(value: &'a Value, pointer: String, faults: &'a Faults) -> Option<Self> {
        let map = object(value, &pointer, faults)?;
        Some(Self { map, pointer, faults, asked: Vec::new(), ignored: &[] })
    }

    /// The pointer to a field.
    pub(crate) fn at(&self, name: &str) -> String {
        child(&self.pointer, name)
    }

    pub(crate) fn fault(&self, name: &str, message: impl Into<String>) {
        self.faults.add(self.at(name), message);
    }

    /// The names of the fields read so far.
    pub(crate) fn asked(&self) -> &[&'static str] {
        &self.asked
    }

    /// A field, if present.
    pub(crate) fn field(&mut self, name: &'static str) -> Option<&'a Value> {
        self.asked.push(name);
        self.map.get(name).filter(|value| !value.is_null())
    }

    /// A required field.
    pub(crate) fn needed(&mut self, name: &'static str) -> Option<&'a Value> {
        let value = self.field(name);
        if value.is_none() {
            self.fault(name, format!("{name} is required"));
        }
        value
    }

    /// An optional text.
    pub(crate) fn text(&mut self, name: &'static str, chars_max: usize) -> Option<String> {
        let value = self.field(name).filter(|value| value.as_str() != Some(""))?;
        text(value, &self.at(name), chars_max, self.faults)
    }

    /// A required text.
    pub(crate) fn needed_text(&mut self, name: &'static str, chars_max: usize) -> Option<String> {
        let value = self.needed(name)?;
        text(value, &self.at(name), chars_max, self.faults)
    }

    /// A boolean field; false if absent.
    pub(crate) fn flag(&mut self, name: &'static str) -> bool {
        self.flag_or(name, false)
    }

    /// A boolean field; `default` if absent.
    pub(crate) fn flag_or(&mut self, name: &'static str, default: bool) -> bool {
        match self.field(name) {
            None => default,
            Some(Value::Bool(flag)) => *flag,
            Some(_) => {
                self.fault(name, "must be true or false");
                default
            }
        }
    }

    /// An optional whole number.
    pub(crate) fn count(
        &mut self,
        name: &'static str,
        allowed: RangeInclusive<u32>,
    ) -> Option<u32> {
        let value = self.field(name)?;
        // A whole number may be written 5.0; JSON has only one number type.
        let whole = value.as_f64().filter(|number| number.fract() == 0.0 && *number >= 0.0);
        let count = whole.filter(|number| *number <= f64::from(u32::MAX)).map(|n| n as u32);
        let count = count.filter(|count| allowed.contains(count));
        if count.is_none() {
            let (low, high) = (allowed.start(), allowed.end());
            self.fault(name, format!("must be a whole number from {low} to {high}"));
        }
        count
    }

    /// An optional field with one of these values.
    pub(crate) fn choice<T: Copy>(
        &mut self,
        name: &'static str,
        choices: &[(&'static str, T)],
    ) -> Option<T> {
        let value = self.field(name)?;
        let found = choices.iter().find(|(name, _)| value.as_str() == Some(name));
        if found.is_none() {
            let choices: Vec<_> = choices.iter().map(|(name, _)| *name).collect();
            self.fault(name, format!("must be one of {}", choices.join(", ")));
        }
        found.map(|(_, meaning)| *meaning)
    }

    /// A required list, each item with its pointer; empty if it is not a list.
    pub(crate) fn list(
        &mut self,
        name: &'static str,
        allowed: RangeInclusive<usize>,
    ) -> Vec<(String, &'a Value)> {
        let Some(value) = self.needed(name) else { return Vec::new() };
        let (low, high) = (allowed.start(), allowed.end());
        let Some(items) = value.as_array() else {
            self.fault(name, "must be a list");
            return Vec::new();
        };
        if !allowed.contains(&items.len()) {
            let message = format!("must hold {low} to {high} items, but holds {}", items.len());
            self.fault(name, message);
        }
        let list = self.at(name);
        items.iter().enumerate().map(|(at, item)| (child(&list, at), item)).take(*high).collect()
    }

    /// An optional list of at most this many items; `None` if absent.
    pub(crate) fn optional_list(
        &mut self,
        name: &'static str,
        most: usize,
    ) -> Option<Vec<(String, &'a Value)>> {
        if self.map.get(name).is_none_or(Value::is_null) {
            self.asked.push(name);
            return None;
        }
        Some(self.list(name, 0..=most))
    }

    /// The required id of a question, an ending or a section.
    pub(crate) fn needed_id(&mut self, is_taken: impl Fn(&str) -> bool) -> Option<&'a str> {
        let id = self.needed("id")?.as_str().filter(|id| is_id(id));
        match id {
            None => self
                .fault("id", "must start with a letter, then at most 63 letters, digits, _ and -"),
            Some(id) if is_taken(id) => self.fault("id", format!("{id:?} is used twice")),
            Some(_) => {}
        }
        id
    }

    /// Excludes these fields from the faults of [`Self::close`].
    pub(crate) fn ignore(&mut self, names: &'static [&'static str]) {
        self.ignored = names;
    }

    /// Ends the reading: every field that was not read is a fault.
    pub(crate) fn close(self) {
        let known = |name: &str| self.asked.contains(&name) || self.ignored.contains(&name);
        for name in self.map.keys().filter(|name| !known(name)) {
            let message = match nearest(name, &self.asked) {
                Some(near) => format!("unknown field; did you mean {near}?"),
                None => format!("unknown field; allowed are {}", self.asked.join(", ")),
            };
            self.fault(name, message);
        }
    }
}

/// Whether a text can be the id of a question, an ending or a section.
fn is_id(id: &str) -> bool {
    id.len() <= ID_CHARS_MAX
        && id.starts_with(|first: char| first.is_ascii_alphabetic())
        && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

/// The most likely intended candidate for a mistyped word.
pub(crate) fn nearest<'c>(word: &str, candidates: &[&'c str]) -> Option<&'c str> {
    const EDITS_MAX: usize = 2;
    let word = word.to_lowercase();
    let edits = |candidate: &&str| distance(&word, &candidate.to_lowercase());
    let near = candidates.iter().copied().min_by_key(edits)?;
    // Two edits turn any short word into any other.
    (edits(&near) <= EDITS_MAX.min(near.len() / 2)).then_some(near)
}

/// The number of letters to add, drop or change (Levenshtein distance).
fn distance(from: &str, to: &str) -> usize {
    const WORD_CHARS_MAX: usize = 40;
    let to: Vec<char> = to.chars().take(WORD_CHARS_MAX).collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (at, letter) in from.chars().take(WORD_CHARS_MAX).enumerate() {
        let mut diagonal = row[0];
        row[0] = at + 1;
        for (column, other) in to.iter().enumerate() {
            let change = diagonal + usize::from(letter != *other);
            diagonal = row[column + 1];
            row[column + 1] = change.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_escapes_tilde_and_slash() {
        assert_eq!(child("/a", "b/c~d"), "/a/b~1c~0d");
        assert_eq!(child("", 0), "/0");
    }

    #[test]
    fn a_mistyped_word_finds_its_nearest() {
        let names = ["prompt", "required", "max", "id"];
        for (word, near) in [
            ("promt", Some("prompt")),
            ("Required", Some("required")),
            ("requierd", Some("required")),
            ("ax", Some("max")),
            ("xy", None),
            ("colour", None),
        ] {
            assert_eq!(nearest(word, &names), near, "{word}");
        }
    }
}
