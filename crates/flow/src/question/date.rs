//! `date`: a day of the Gregorian calendar, `YYYY-MM-DD`.
//!
//! Dates of this form sort as texts do, so they are compared as texts. There is no time of day and
//! no time zone: a birthday is the same day everywhere.

use serde::Serialize;
use serde_json::{Value, json};

use super::{Comparable, Problems, Rules, one, within};
use crate::counts::Counted;
use crate::definition::reader::Reader;
use crate::issue::Code;
use crate::submission::Texts;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Date {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<String>,
}

impl Rules for Date {
    fn read(reader: &mut Reader<'_>) -> Self {
        let min = read_bound(reader, "min");
        let max = read_bound(reader, "max");
        if min.as_ref().zip(max.as_ref()).is_some_and(|(min, max)| min > max) {
            reader.fault("min", "must not be later than max");
        }
        Self { min, max }
    }

    fn judge(&self, answer: &Texts<'_>, problems: &mut Problems<'_>) {
        let Some(text) = one(answer, problems) else { return };
        if !is_date(text) {
            return problems.add(Code::InvalidFormat, "takes a date as YYYY-MM-DD");
        }
        let early = self.min.as_deref().is_some_and(|min| text < min);
        let late = self.max.as_deref().is_some_and(|max| text > max);
        if early || late {
            let range = within(self.min.as_ref(), self.max.as_ref());
            problems.add(Code::OutOfRange, format_args!("takes a date {range}"));
        }
    }

    fn counted(&self) -> Counted<'_> {
        Counted::Date
    }

    fn comparable(&self) -> Comparable<'_> {
        Comparable::Date
    }

    fn schema() -> Value {
        let bound = json!({"type": "string", "format": "date"});
        json!({"min": bound, "max": bound})
    }
}

fn read_bound(reader: &mut Reader<'_>, name: &'static str) -> Option<String> {
    let value = reader.field(name)?;
    let bound = value.as_str().filter(|text| is_date(text));
    if bound.is_none() {
        reader.fault(name, "must be a date as YYYY-MM-DD");
    }
    bound.map(str::to_owned)
}

/// Whether a text is a day that the calendar has, from 0001-01-01 to 9999-12-31.
pub(crate) fn is_date(text: &str) -> bool {
    let [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = *text.as_bytes() else { return false };
    let digits = [y1, y2, y3, y4, m1, m2, d1, d2];
    if !digits.iter().all(u8::is_ascii_digit) {
        return false;
    }
    let two = |tens: u8, ones: u8| ((tens - b'0') * 10 + (ones - b'0')).cast_signed();
    let year = i16::from(two(y1, y2)) * 100 + i16::from(two(y3, y4));
    year > 0 && jiff::civil::Date::new(year, two(m1, m2), two(d1, d2)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_is_a_day_that_the_calendar_has() {
        for text in ["2024-02-29", "0001-01-01", "9999-12-31", "2000-02-29"] {
            assert!(is_date(text), "{text:?}");
        }
        for text in [
            "",
            "2023-02-29",
            "1900-02-29",
            "2024-13-01",
            "2024-00-10",
            "2024-01-00",
            "2024-04-31",
            "0000-01-01",
            "24-01-01",
            "2024-1-1",
            "2024/01/01",
            "20240101",
            "01-02-2024",
            "2024-01-01T00:00",
            "+024-01-01",
            " 2024-01-01",
            "2024-01-0١",
        ] {
            assert!(!is_date(text), "{text:?}");
        }
    }
}
