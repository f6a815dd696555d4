//! How a type reads an answer and reports its problems.
//!
//! Messages name the question and what it accepts. They never repeat the answer, because messages
//! reach logs.

use std::fmt;

use crate::issue::{Code, Issue};
use crate::text_map::Texts;

/// Collects the problems with one question's answer.
#[derive(Debug)]
pub(crate) struct Problems<'i> {
    pub(crate) question: &'i str,
    pub(crate) issues: &'i mut Vec<Issue>,
}

impl Problems<'_> {
    /// Adds an issue; `rule` completes the sentence that starts with the question.
    pub(crate) fn add(&mut self, code: Code, rule: impl fmt::Display) {
        let message = format!("Question \"{}\" {rule}.", self.question);
        self.issues.push(Issue::for_answer(code, self.question, message));
    }
}

/// The answer as a single text; a list of one is that text, any other list is the wrong kind.
pub(crate) fn one<'t>(answer: &'t Texts<'_>, problems: &mut Problems<'_>) -> Option<&'t str> {
    if let [text] = answer.as_slice() {
        return Some(text);
    }
    problems.add(Code::WrongAnswerKind, "takes one text, not a list");
    None
}

/// A description of a range with optional ends.
pub(crate) fn within(min: Option<impl fmt::Display>, max: Option<impl fmt::Display>) -> String {
    match (min, max) {
        (Some(min), Some(max)) => format!("from {min} to {max}"),
        (Some(min), None) => format!("at least {min}"),
        (None, Some(max)) => format!("at most {max}"),
        (None, None) => "of any size".into(),
    }
}
