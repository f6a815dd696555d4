//! `email`: an e-mail address.

use serde::Serialize;

use crate::question::field::Field;
use crate::question::input::{Format, Input};

use crate::counts::count_method::CountMethod;
use crate::definition::reader::ObjectReader;
use crate::email::{EMAIL_BYTES_MAX, is_email};
use crate::issue::Code;
use crate::question::answer::{Problems, one};
use crate::question::rules::{Comparable, Rules};
use crate::question::text::Length;
use crate::text_map::Texts;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(transparent)]
#[non_exhaustive]
pub struct Email {
    pub length: Length,
}

impl Rules for Email {
    const ICON: &str = "M3 6h18v12H3zM3 7l9 7 9-7";

    fn read(reader: &mut ObjectReader<'_>) -> Self {
        Self { length: Length::read(reader) }
    }

    fn judge(&self, answer: &Texts<'_>, problems: &mut Problems<'_>) {
        let Some(text) = one(answer, problems) else { return };
        self.length.judge(text, problems);
        if !is_email(text) {
            problems.add(Code::InvalidFormat, "takes an e-mail address such as ada@example.com");
        }
    }

    fn input(&self) -> Input<'_> {
        Input::Line { format: Format::Email, length: self.length }
    }

    fn count_method(&self) -> CountMethod<'_> {
        CountMethod::Presence
    }

    fn comparable(&self) -> Comparable<'_> {
        Comparable::Text
    }

    fn text_chars_max(&self) -> u32 {
        self.length.at_most(EMAIL_BYTES_MAX as u32)
    }

    fn fields() -> Vec<Field> {
        Length::fields()
    }
}
