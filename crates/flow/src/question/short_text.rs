//! `shortText`: a text of one line.

use serde::Serialize;
use serde_json::Value;

use super::answer::{Problems, one};
use super::rules::{Comparable, Rules};
use super::text::Length;
use crate::counts::counted::Counted;
use crate::definition::limits::ANSWER_CHARS_MAX;
use crate::definition::reader::Reader;
use crate::text_map::Texts;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(transparent)]
#[non_exhaustive]
pub struct ShortText {
    pub length: Length,
}

impl Rules for ShortText {
    fn read(reader: &mut Reader<'_>) -> Self {
        Self { length: Length::read(reader) }
    }

    fn judge(&self, answer: &Texts<'_>, problems: &mut Problems<'_>) {
        let Some(text) = one(answer, problems) else { return };
        self.length.judge(text, problems);
    }

    fn counted(&self) -> Counted<'_> {
        Counted::Presence
    }

    fn comparable(&self) -> Comparable<'_> {
        Comparable::Text
    }

    fn text_chars_max(&self) -> u32 {
        self.length.at_most(ANSWER_CHARS_MAX)
    }

    fn schema() -> Value {
        Length::schema()
    }
}
