//! `shortText`: a text of one line.

use serde::Serialize;

use crate::question::field::Field;
use crate::question::input::{Format, Input};

use crate::counts::count_method::CountMethod;
use crate::definition::limits::ANSWER_CHARS_MAX;
use crate::definition::reader::ObjectReader;
use crate::question::answer::{Problems, one};
use crate::question::rules::{Comparable, Rules};
use crate::question::text::Length;
use crate::text_map::Texts;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(transparent)]
#[non_exhaustive]
pub struct ShortText {
    pub length: Length,
}

impl Rules for ShortText {
    const ICON: &str = "M4 9h16v6H4zM8 9v6";

    fn read(reader: &mut ObjectReader<'_>) -> Self {
        Self { length: Length::read(reader) }
    }

    fn judge(&self, answer: &Texts<'_>, problems: &mut Problems<'_>) {
        let Some(text) = one(answer, problems) else { return };
        self.length.judge(text, problems);
    }

    fn input(&self) -> Input<'_> {
        Input::Line { format: Format::Text, length: self.length }
    }

    fn count_method(&self) -> CountMethod<'_> {
        CountMethod::Presence
    }

    fn comparable(&self) -> Comparable<'_> {
        Comparable::Text
    }

    fn text_chars_max(&self) -> u32 {
        self.length.at_most(ANSWER_CHARS_MAX)
    }

    fn fields() -> Vec<Field> {
        Length::fields()
    }
}
