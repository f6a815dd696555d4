//! The rules for every text of a submission.

use std::borrow::Cow;

use super::node::Node;
use super::report::{At, Report};
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

/// The position of the first byte that JSON does not allow in a string as it is: a quote, a
/// backslash or a control character. Every text of every submission is searched, so eight bytes at
/// a time.
pub(super) fn first_escaped(text: &[u8]) -> Option<usize> {
    let (words, last) = text.as_chunks();
    let marks = |word: &[u8; 8]| escaped_in(u64::from_le_bytes(*word));
    if let Some(word) = words.iter().position(|word| marks(word) != 0) {
        return Some(8 * word + marks(&words[word]).trailing_zeros() as usize / 8);
    }
    let is_escaped = |byte: &u8| matches!(byte, 0..0x20 | b'"' | b'\\');
    Some(8 * words.len() + last.iter().position(is_escaped)?)
}

/// Zero if none of the eight bytes is escaped; otherwise the lowest bit that is set is the highest
/// of the first such byte.
fn escaped_in(word: u64) -> u64 {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const QUOTES: u64 = ONES * b'"' as u64;
    const BACKSLASHES: u64 = ONES * b'\\' as u64;
    const SPACES: u64 = ONES * b' ' as u64;
    // A borrow reaches only bytes after one that is found.
    let below = |word: u64, bound: u64| word.wrapping_sub(bound) & !word;
    let found = below(word ^ QUOTES, ONES) | below(word ^ BACKSLASHES, ONES) | below(word, SPACES);
    found & ONES << 7
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_first_escaped_byte_is_found(text in "[a\"\\\\\u{1f}\u{0} !\u{7f}\u{e9}\u{20ac}#\\[\\]]{0,40}") {
            let is_escaped = |byte: u8| byte < 0x20 || byte == b'"' || byte == b'\\';
            prop_assert_eq!(first_escaped(text.as_bytes()), text.bytes().position(is_escaped));
        }
    }
}
