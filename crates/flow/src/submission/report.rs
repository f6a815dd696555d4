//! Paths in a submission, and the issues found by the rules.
//!
//! A path is a chain of borrowed steps on the stack, so a submission without issues pays nothing
//! for naming its fields. Messages quote only part of a key: a reply stays small whatever was sent.

use std::fmt;

use super::node::Node;
use crate::issue::{Code, Issue, Step};

/// The most characters of a key or value that are quoted in a message.
const QUOTED_CHARS_MAX: usize = 64;

/// A path in the submission.
#[derive(Debug, Clone, Copy)]
pub(super) enum At<'p> {
    Whole,
    Field(&'p At<'p>, &'p str),
    Item(&'p At<'p>, usize),
}

impl<'p> At<'p> {
    pub(super) fn field(&'p self, name: &'p str) -> At<'p> {
        At::Field(self, name)
    }

    pub(super) fn item(&'p self, index: usize) -> At<'p> {
        At::Item(self, index)
    }

    fn path(&self) -> Vec<Step> {
        let (mut path, step) = match self {
            At::Whole => return Vec::new(),
            At::Field(parent, name) => (parent.path(), Step::from((*name).to_owned())),
            At::Item(parent, index) => (parent.path(), Step::from(*index)),
        };
        path.push(step);
        path
    }
}

/// The path as text: `metadata.tags.plan`, `identities[0].value`.
impl fmt::Display for At<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            At::Whole => Ok(()),
            At::Field(At::Whole, name) => write!(f, "{}", Quoted(name)),
            At::Field(parent, name) => write!(f, "{parent}.{}", Quoted(name)),
            At::Item(parent, index) => write!(f, "{parent}[{index}]"),
        }
    }
}

/// The beginning of a text that a client sent, without control characters.
pub(super) struct Quoted<'a>(pub(super) &'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0.chars();
        for char in rest.by_ref().take(QUOTED_CHARS_MAX) {
            if char.is_control() {
                write!(f, "{}", char.escape_unicode())?
            } else {
                write!(f, "{char}")?
            }
        }
        if rest.next().is_some() { f.write_str("…") } else { Ok(()) }
    }
}

/// Every issue found so far.
#[derive(Debug, Default)]
pub(super) struct Report(Vec<Issue>);

impl Report {
    /// Adds an issue with a message of the path followed by what is wrong there.
    pub(super) fn add(&mut self, code: Code, at: At<'_>, what: impl fmt::Display) {
        self.0.push(Issue::new(code, at.path(), format!("{at} {what}")));
    }

    pub(super) fn push(&mut self, issue: Issue) {
        self.0.push(issue);
    }

    pub(super) fn missing(&mut self, at: At<'_>, allowed: &str) {
        self.add(Code::FieldRequired, at, format_args!("is required: it must be {allowed}."));
    }

    pub(super) fn wrong_type(&mut self, at: At<'_>, found: &Node<'_>, allowed: &str) {
        // In an object or an array of strings, quotes around the whole would not help.
        let takes_text = ["a string", "the string"].iter().any(|text| allowed.starts_with(text));
        let hint = match found {
            Node::Number | Node::Bool if takes_text => " Write it in quotes.",
            _ => "",
        };
        let kind = found.kind();
        self.add(Code::InvalidType, at, format_args!("is {kind}; it must be {allowed}.{hint}"));
    }

    pub(super) fn into_issues(self) -> Vec<Issue> {
        self.0
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
