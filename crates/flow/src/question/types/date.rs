//! `date`: a day of the Gregorian calendar, `YYYY-MM-DD`.
//!
//! Dates in this format sort as texts, so they are compared as texts. There is no time of day and
//! no time zone: a birthday is the same day everywhere.

use serde::Serialize;

use crate::question::field::{Field, FieldKind};
use crate::question::input::Input;

use crate::counts::count_method::CountMethod;
use crate::date::is_date;
use crate::definition::reader::ObjectReader;
use crate::issue::Code;
use crate::question::answer::{Problems, one, within};
use crate::question::rules::{Comparable, Rules};
use crate::text_map::Texts;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Date {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<String>,
}

impl Rules for Date {
    const ICON: &str = "M4 6h16v14H4zM4 10h16M8 3v4M16 3v4";

    fn read(reader: &mut ObjectReader<'_>) -> Self {
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

    fn input(&self) -> Input<'_> {
        Input::Date { min: self.min.as_deref(), max: self.max.as_deref() }
    }

    fn count_method(&self) -> CountMethod<'_> {
        CountMethod::Date
    }

    fn comparable(&self) -> Comparable<'_> {
        Comparable::Date
    }

    fn fields() -> Vec<Field> {
        vec![
            Field::new("min", "Earliest date", FieldKind::Date),
            Field::new("max", "Latest date", FieldKind::Date),
        ]
    }
}

fn read_bound(reader: &mut ObjectReader<'_>, name: &'static str) -> Option<String> {
    let value = reader.field(name)?;
    let bound = value.as_str().filter(|text| is_date(text));
    if bound.is_none() {
        reader.fault(name, "must be a date as YYYY-MM-DD");
    }
    bound.map(str::to_owned)
}
