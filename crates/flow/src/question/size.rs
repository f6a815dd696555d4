//! The maximum size of an answer, for the warning that not all answers fit into one body.

use super::choice::{Choice, OTHER_PREFIX};
use super::rules::Comparable;
use super::types::QuestionType;
use crate::definition::limits::{ANSWER_CHARS_MAX, NUMBER_CHARS_MAX, OTHER_CHARS_MAX};

/// Bytes of a character in UTF-8, at most.
const CHAR_BYTES_MAX: usize = 4;
/// `YYYY-MM-DD`.
const DATE_BYTES: usize = 10;
/// Quotes and the comma.
const TEXT_OVERHEAD_BYTES: usize = 3;

impl QuestionType {
    /// The bytes of the longest answer as JSON, ignoring escapes. Ids are ASCII.
    pub(crate) fn answer_bytes_max(&self) -> usize {
        let own = |other: bool| match other {
            true => OTHER_PREFIX.len() + OTHER_CHARS_MAX * CHAR_BYTES_MAX + TEXT_OVERHEAD_BYTES,
            false => 0,
        };
        let bytes = match self.comparable() {
            Comparable::Never => return 0,
            Comparable::Text => self.text_chars_max() as usize * CHAR_BYTES_MAX,
            Comparable::Number => NUMBER_CHARS_MAX,
            Comparable::Date => DATE_BYTES,
            Comparable::Words(words) => words.iter().map(|word| word.len()).max().unwrap_or(0),
            Comparable::OneOf { options, other } => longest(options).max(own(other)),
            Comparable::SomeOf { options, other } => all(options) + own(other),
            Comparable::Presence => all(self.options()),
            Comparable::Cells { rows, columns } => {
                all(rows) + rows.len() * (":".len() + longest(columns))
            }
        };
        bytes.min(ANSWER_CHARS_MAX as usize * CHAR_BYTES_MAX) + TEXT_OVERHEAD_BYTES
    }
}

fn longest(choices: &[Choice]) -> usize {
    choices.iter().map(|choice| choice.id.len()).max().unwrap_or(0)
}

fn all(choices: &[Choice]) -> usize {
    choices.iter().map(|choice| choice.id.len() + TEXT_OVERHEAD_BYTES).sum()
}
