//! `longText`: a text of many lines. Without `maxLength` it takes 4,000 characters.

use serde::Serialize;
use serde_json::Value;

use super::answer::{Problems, one};
use super::rules::{Comparable, Rules};
use super::text::Length;
use crate::counts::counted::Counted;
use crate::definition::limits::LONG_TEXT_CHARS_DEFAULT;
use crate::definition::reader::Reader;
use crate::text_map::Texts;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(transparent)]
#[non_exhaustive]
pub struct LongText {
    pub length: Length,
}

impl LongText {
    /// The most characters that an answer may have.
    pub fn chars_max(&self) -> u32 {
        self.length.max_length.unwrap_or(LONG_TEXT_CHARS_DEFAULT)
    }
}

impl Rules for LongText {
    fn read(reader: &mut Reader<'_>) -> Self {
        Self { length: Length::read(reader) }
    }

    fn judge(&self, answer: &Texts<'_>, problems: &mut Problems<'_>) {
        let Some(text) = one(answer, problems) else { return };
        let max_length = Some(self.chars_max());
        Length { max_length, ..self.length }.judge(text, problems);
    }

    fn counted(&self) -> Counted<'_> {
        Counted::Presence
    }

    fn comparable(&self) -> Comparable<'_> {
        Comparable::Text
    }

    fn text_chars_max(&self) -> u32 {
        self.chars_max()
    }

    fn schema() -> Value {
        Length::schema()
    }
}
