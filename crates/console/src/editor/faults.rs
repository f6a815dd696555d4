//! The faults of a draft in the author's terms: where each of them is, and what is wrong there.
//!
//! The checks report JSON Pointers and speak of ids, for programs. Authors see numbers, labels and
//! what happened.

use maud::{Markup, html};
use serde::Serialize;
use serde_json::Value;
use sluice_flow::definition::Fault;
use sluice_flow::pointer;
use sluice_flow::question::QuestionType;

use crate::parts::counted;

/// The longest part of a text that names a question or an ending.
const NAME_CHARS_MAX: usize = 40;

/// A fault, for the pages and for the editor's script.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct FaultNote<'f> {
    pub(super) pointer: &'f str,
    pub(super) message: &'f str,
    /// Such as `Question 3 “Why?”, condition`.
    pub(super) place: String,
    /// Such as `depends on a question that was deleted`.
    pub(super) problem: String,
}

pub(super) fn notes<'f>(faults: &'f [Fault], definition: &Value) -> Vec<FaultNote<'f>> {
    let note = |fault: &'f Fault| FaultNote {
        pointer: &fault.pointer,
        message: &fault.message,
        place: place(&fault.pointer, definition),
        problem: problem(fault, definition),
    };
    faults.iter().map(note).collect()
}

/// The faults with links to their fields in the editor.
pub(super) fn list(faults: &[Fault], definition: &Value, base: &str) -> Markup {
    html! {
        div.errors role="alert" tabindex="-1" {
            ul { @for note in notes(faults, definition) {
                li { a href={ (base) "/edit#" (note.pointer) } { (note.place) ": " (note.problem) } }
            } }
        }
    }
}

/// A heading such as `Fix 2 problems first`.
pub(super) fn heading(faults: &[Fault]) -> String {
    format!("Fix {} first", counted(faults.len() as u64, "problem"))
}

/// Whether nothing was written yet: there is no question, and no description to show instead.
pub(in super::super) fn is_blank(definition: &Value) -> bool {
    let questions = definition["questions"].as_array();
    let described = definition["description"].as_str().is_some_and(|text| !text.trim().is_empty());
    questions.is_some_and(Vec::is_empty) && !described
}

fn place(pointer: &str, definition: &Value) -> String {
    let steps = pointer::steps(pointer);
    let steps: Vec<&str> = steps.iter().map(String::as_str).collect();
    match steps.as_slice() {
        [] => "Flow".to_owned(),
        ["translations"] => "Languages".to_owned(),
        ["translations", tag, rest @ ..] => {
            let inner = place_of(rest, definition);
            if inner.is_empty() {
                format!("Language {tag}")
            } else {
                format!("Language {tag}, {inner}")
            }
        }
        steps => place_of(steps, definition),
    }
}

/// The place of a path in the definition. Translations have ids instead of indexes.
fn place_of(steps: &[&str], definition: &Value) -> String {
    let (head, rest, kind) = match steps {
        [] => return String::new(),
        [list @ ("questions" | "endings" | "sections"), which, rest @ ..] => {
            let items = definition[*list].as_array().map(Vec::as_slice).unwrap_or_default();
            let by_id = || items.iter().position(|item| item["id"] == **which);
            let at = which.parse().ok().or_else(by_id);
            let item = at.and_then(|at: usize| items.get(at));
            let (word, text) = match *list {
                "questions" => ("Question", "prompt"),
                "endings" => ("Ending", "title"),
                _ => ("Section", "title"),
            };
            let number = at.map_or_else(|| (*which).to_owned(), |at| (at + 1).to_string());
            let text = item.and_then(|item| item[text].as_str()).unwrap_or_default();
            let kind = item.and_then(|item| item["type"].as_str()).unwrap_or_default();
            (format!("{word} {number}{}", name(text)), rest, kind)
        }
        [first, rest @ ..] => (capitalised(&label(first, "")), rest, ""),
    };
    std::iter::once(head).chain(parts(rest, kind)).collect::<Vec<_>>().join(", ")
}

/// The parts of a question or an ending, from the outside to the inside.
fn parts(mut steps: &[&str], kind: &str) -> Vec<String> {
    let mut parts = Vec::new();
    while let [first, rest @ ..] = steps {
        steps = rest;
        match (*first, rest) {
            // What is inside a condition has no name.
            ("visibleIf" | "when", _) => {
                parts.push("condition".to_owned());
                break;
            }
            ("next", [which, inner @ ..]) => {
                parts.push(numbered("jump", which));
                steps = inner;
            }
            ("options" | "rows" | "columns", [which, inner @ ..]) => {
                parts.push(numbered(first.trim_end_matches('s'), which));
                steps = inner;
            }
            // The only text of a choice, the only target of a jump, the only file of an image.
            ("label" | "to" | "assetId", _) if !parts.is_empty() => {}
            (index, _) if index.parse::<usize>().is_ok() => {}
            (name, _) => parts.push(label(name, kind)),
        }
    }
    parts
}

fn numbered(word: &str, which: &str) -> String {
    match which.parse::<usize>() {
        Ok(at) => format!("{word} {}", at + 1),
        Err(_) => format!("{word} {which}"),
    }
}

/// The name of a field in the forms of the editor.
fn label(name: &str, kind: &str) -> String {
    let label = match name {
        "alt" | "imageAlt" | "optionAlts" => "description of the image",
        "body" | "prompt" => "text",
        "buttonText" => "button",
        "defaultLocale" => "default language",
        "ending" => "ending",
        "help" => "help text",
        "id" => "ID",
        "next" => "jumps",
        "redirectUrl" => "redirect URL",
        "welcome" => "welcome screen",
        name => {
            let fields = QuestionType::blank(kind).map(|blank| blank.fields()).unwrap_or_default();
            let field = fields.iter().find(|field| field.name == name);
            return field.map_or_else(|| name.to_owned(), |field| lowered(field.label));
        }
    };
    label.to_owned()
}

/// The first words of a text, in quotes.
fn name(text: &str) -> String {
    let text = text.trim();
    let start: String = text.chars().take(NAME_CHARS_MAX).collect();
    match text {
        "" => String::new(),
        _ if start.len() < text.len() => format!(" “{}…”", start.trim_end()),
        _ => format!(" “{text}”"),
    }
}

fn problem(fault: &Fault, definition: &Value) -> String {
    let message = fault.message.as_str();
    let is_empty = || definition.pointer(&fault.pointer).is_some_and(|value| value == "");
    let in_words = match message {
        "must be the id of an earlier question" if is_empty() => "no question is chosen",
        "must be the id of an earlier question" => "depends on a question that was deleted",
        "must be an earlier question; this one comes later" => {
            "depends on a question that comes later"
        }
        "must be an earlier question, not the question itself" => "depends on the question itself",
        "must be the id of a later question, end, or end: and the id of an ending" => {
            "goes to a question or an ending that was deleted"
        }
        _ if message.starts_with("must be an option of that question") => {
            "depends on an option that was deleted"
        }
        _ if message.strip_suffix(" is required").is_some_and(|it| !it.contains(' ')) => {
            "is missing"
        }
        _ => message.strip_prefix("must not be empty: ").unwrap_or(message),
    };
    in_words.to_owned()
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

fn lowered(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_lowercase().chain(letters).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use sluice_flow::definition::check;

    fn worded(definition: &Value) -> Vec<String> {
        let faults = check(definition).unwrap_err();
        notes(&faults, definition)
            .iter()
            .map(|it| format!("{}: {}", it.place, it.problem))
            .collect()
    }

    #[test]
    fn a_fault_is_described_in_the_authors_terms() {
        let rating = json!({"id": "a", "type": "rating", "prompt": "How?"});
        let broken = json!({"title": "T", "questions": [
            {"id": "b", "type": "shortText", "prompt": "Why?", "visibleIf": {"all": [{"question": "gone", "lessThan": 3}]}},
            {"id": "c", "type": "singleChoice", "prompt": "Which?", "options": [{"id": "x", "label": "X"}, {"id": "y", "label": ""}]},
            {"id": "d", "type": "shortText", "next": [{"to": "gone"}]},
            rating,
        ], "endings": [{"id": "low", "title": "Sorry", "when": {"question": "gone", "lessThan": 3}}]});
        assert_eq!(
            worded(&broken),
            [
                "Question 1 “Why?”, condition: depends on a question that was deleted",
                "Question 2 “Which?”, option 2: must not be empty",
                "Question 3, text: is missing",
                "Question 3, jump 1: goes to a question or an ending that was deleted",
                "Ending 1 “Sorry”, condition: depends on a question that was deleted",
            ]
        );
        let translations = json!({"de": {"questions": {"a": {"prompt": 1}}}});
        let translated = json!({"title": "T", "questions": [rating], "translations": translations});
        assert_eq!(worded(&translated), ["Language de, Question 1 “How?”, text: must be a text"]);
    }

    #[test]
    fn a_flow_without_questions_is_blank_unless_it_is_a_message() {
        assert!(is_blank(&json!({"title": "T", "questions": []})));
        assert!(!is_blank(&json!({"title": "T", "questions": [], "description": "Hello"})));
        assert!(!is_blank(&json!({"title": "T"})));
        let blank = [Fault::new("/questions", "x")];
        assert_eq!(heading(&blank), "Fix 1 problem first");
    }
}
