//! `phone`: a telephone number as people write it.
//!
//! Only the characters and the number of digits are checked, not whether the number exists.

use serde::Serialize;

use crate::question::field::Field;
use crate::question::input::{Format, Input};

use crate::counts::count_method::CountMethod;
use crate::definition::reader::ObjectReader;
use crate::issue::Code;
use crate::question::answer::{Problems, one};
use crate::question::rules::{Comparable, Rules};
use crate::question::text::Length;
use crate::text_map::Texts;

const PHONE_CHARS_MAX: usize = 32;
const PHONE_DIGITS_MIN: usize = 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(transparent)]
#[non_exhaustive]
pub struct Phone {
    pub length: Length,
}

impl Rules for Phone {
    const ICON: &str = "M6 3h4l1 5-2.5 1.5a11 11 0 0 0 5 5L15 12l5 1v4a3 3 0 0 1-3 3A14 14 0 0 1 4 6a3 3 0 0 1 2-3z";

    fn read(reader: &mut ObjectReader<'_>) -> Self {
        Self { length: Length::read(reader) }
    }

    fn judge(&self, answer: &Texts<'_>, problems: &mut Problems<'_>) {
        let Some(text) = one(answer, problems) else { return };
        self.length.judge(text, problems);
        if !is_phone(text) {
            problems.add(
                Code::InvalidFormat,
                "takes a telephone number of 3 to 32 digits, spaces and + - ( ) .",
            );
        }
    }

    fn input(&self) -> Input<'_> {
        Input::Line { format: Format::Phone, length: self.length }
    }

    fn count_method(&self) -> CountMethod<'_> {
        CountMethod::Presence
    }

    fn comparable(&self) -> Comparable<'_> {
        Comparable::Text
    }

    fn text_chars_max(&self) -> u32 {
        self.length.at_most(PHONE_CHARS_MAX as u32)
    }

    fn fields() -> Vec<Field> {
        Length::fields()
    }
}

fn is_phone(text: &str) -> bool {
    text.len() <= PHONE_CHARS_MAX
        && text.bytes().filter(u8::is_ascii_digit).count() >= PHONE_DIGITS_MIN
        && text.bytes().all(|byte| byte.is_ascii_digit() || b" +-().".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_has_three_digits_and_the_usual_signs() {
        for (text, accepted) in [
            ("112", true),
            ("+49 (0) 30 123-456.78", true),
            ("12345678901234567890123456789012", true),
            ("123456789012345678901234567890123", false),
            ("", false),
            ("12", false),
            ("+()-.", false),
            ("call me", false),
            ("030 123 x4", false),
            ("٠١٢٣", false),
        ] {
            assert_eq!(is_phone(text), accepted, "{text:?}");
        }
    }
}
