//! The rules for every text of a submission.

use std::borrow::Cow;

use super::report::{At, Report};
use super::tree::Node;
use crate::issue::Code;

/// The string, if it may be stored; otherwise reports an issue.
pub(super) fn text<'a>(node: Node<'a>, at: At<'_>, report: &mut Report) -> Option<Cow<'a, str>> {
    match node {
        Node::Text(text) => has_no_nul(&text, at, report).then_some(text),
        other => {
            report.wrong_type(at, &other, "a string");
            None
        }
    }
}

pub(super) fn has_no_nul(text: &str, at: At<'_>, report: &mut Report) -> bool {
    let clean = !text.contains('\0');
    if !clean {
        report.add(Code::NulCharacter, at, "has a NUL character (\\u0000); leave it out.");
    }
    clean
}

pub(super) fn is_within(text: &str, chars_max: usize, at: At<'_>, report: &mut Report) -> bool {
    // Bytes are an upper bound for characters, so counting is often unnecessary.
    let length = if text.len() <= chars_max { text.len() } else { text.chars().count() };
    if length > chars_max {
        let what = format_args!("has {length} characters; at most {chars_max} are allowed.");
        report.add(Code::TooLong, at, what);
    }
    length <= chars_max
}
