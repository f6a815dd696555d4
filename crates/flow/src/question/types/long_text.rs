//! `longText`: a text of many lines. Without `maxLength` it takes 4,000 characters.

use serde::Serialize;

use crate::question::field::Field;
use crate::question::input::Input;

use crate::counts::count_method::CountMethod;
use crate::definition::limits::LONG_TEXT_CHARS_DEFAULT;
use crate::definition::reader::ObjectReader;
use crate::question::answer::{Problems, one};
use crate::question::rules::{Comparable, Rules};
use crate::question::text::Length;
use crate::text_map::Texts;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(transparent)]
#[non_exhaustive]
pub struct LongText {
    pub length: Length,
}

impl LongText {
    /// The most characters that an answer may have.
    fn chars_max(&self) -> u32 {
        self.length.max_length.unwrap_or(LONG_TEXT_CHARS_DEFAULT)
    }
}

impl Rules for LongText {
    const ICON: &str = "M4 6h16M4 10h16M4 14h16M4 18h9";

    fn read(reader: &mut ObjectReader<'_>) -> Self {
        Self { length: Length::read(reader) }
    }

    fn judge(&self, answer: &Texts<'_>, problems: &mut Problems<'_>) {
        let Some(text) = one(answer, problems) else { return };
        let max_length = Some(self.chars_max());
        Length { max_length, ..self.length }.judge(text, problems);
    }

    fn input(&self) -> Input<'_> {
        Input::Paragraph { length: Length { max_length: Some(self.chars_max()), ..self.length } }
    }

    fn count_method(&self) -> CountMethod<'_> {
        CountMethod::Presence
    }

    fn comparable(&self) -> Comparable<'_> {
        Comparable::Text
    }

    fn text_chars_max(&self) -> u32 {
        self.chars_max()
    }

    fn fields() -> Vec<Field> {
        Length::fields()
    }
}
