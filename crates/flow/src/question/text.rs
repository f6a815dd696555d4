//! The length limits shared by all text types.

use serde::Serialize;

use super::answer::{Problems, within};
use super::field::{Field, FieldKind};
use crate::definition::limits::ANSWER_CHARS_MAX;
use crate::definition::reader::ObjectReader;
use crate::issue::Code;

/// How many characters a text may have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Length {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_length: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_length: Option<u32>,
}

impl Length {
    pub(super) fn read(reader: &mut ObjectReader<'_>) -> Self {
        let min_length = reader.count("minLength", 0..=ANSWER_CHARS_MAX);
        let max_length = reader.count("maxLength", 1..=ANSWER_CHARS_MAX);
        if min_length.zip(max_length).is_some_and(|(min, max)| min > max) {
            reader.fault("minLength", "must not be more than maxLength");
        }
        Self { min_length, max_length }
    }

    pub(super) fn judge(self, text: &str, problems: &mut Problems<'_>) {
        if self == Self::default() {
            return;
        }
        let chars = text.chars().count();
        let long_enough = self.min_length.is_none_or(|min| chars >= min as usize);
        let short_enough = self.max_length.is_none_or(|max| chars <= max as usize);
        if !(long_enough && short_enough) {
            let range = within(self.min_length, self.max_length);
            problems.add(Code::OutOfRange, format_args!("takes a text of {range} characters"));
        }
    }

    /// The most characters of a text, given an absolute limit of `most`.
    pub(super) fn at_most(self, most: u32) -> u32 {
        self.max_length.map_or(most, |max| max.min(most))
    }

    pub(super) fn fields() -> Vec<Field> {
        let count = |min| FieldKind::Count { min, max: ANSWER_CHARS_MAX, default: None };
        vec![
            Field::new("minLength", "Minimum length", count(0)).hint("In characters"),
            Field::new("maxLength", "Maximum length", count(1)).hint("In characters"),
        ]
    }
}
