//! How a type reads an answer, and how it reports what is wrong with it.
//!
//! Messages name the question and what it takes. They never repeat the answer, because messages
//! reach logs.

use std::fmt;

use crate::issue::{Code, Issue};
use crate::text_map::Texts;

/// Where a type puts what is wrong with one question's answer.
#[derive(Debug)]
pub(crate) struct Problems<'i> {
    pub(crate) question: &'i str,
    pub(crate) issues: &'i mut Vec<Issue>,
}

impl Problems<'_> {
    /// Adds an issue; `rule` continues the sentence that starts with the question.
    pub(crate) fn add(&mut self, code: Code, rule: impl fmt::Display) {
        let message = format!("Question \"{}\" {rule}.", self.question);
        self.issues.push(Issue::of_answer(code, self.question, message));
    }
}

/// The answer where one text is meant; a list of one is that text, any other list is the wrong
/// kind.
pub(crate) fn one<'t>(answer: &'t Texts<'_>, problems: &mut Problems<'_>) -> Option<&'t str> {
    if let [text] = answer.as_slice() {
        return Some(text);
    }
    problems.add(Code::WrongAnswerKind, "takes one text, not a list");
    None
}

/// The words for a range of which either end may be open.
pub(crate) fn within(min: Option<impl fmt::Display>, max: Option<impl fmt::Display>) -> String {
    match (min, max) {
        (Some(min), Some(max)) => format!("from {min} to {max}"),
        (Some(min), None) => format!("at least {min}"),
        (None, Some(max)) => format!("at most {max}"),
        (None, None) => "of any size".into(),
    }
}
