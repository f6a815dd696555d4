//! `number`: a decimal number in plain notation (`-12.5`; no exponent, no thousands separator).

use std::cmp::Ordering;

use serde::Serialize;

use crate::question::field::{Field, FieldKind};
use crate::question::input::Input;

use crate::counts::count_method::CountMethod;
use crate::definition::limits::NUMBER_BOUND_MAX;
use crate::definition::reader::ObjectReader;
use crate::issue::Code;
use crate::question::answer::{Problems, one, within};
use crate::question::decimal::{Decimal, compare, is_decimal};
use crate::question::rules::{Comparable, Rules};
use crate::text_map::Texts;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Number {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<Decimal>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<Decimal>,
    /// Only whole numbers, written without a point.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub integer: bool,
}

impl Rules for Number {
    const ICON: &str = "M9 4 7 20M17 4l-2 16M4 9h17M3 15h17";

    fn read(reader: &mut ObjectReader<'_>) -> Self {
        let min = read_bound(reader, "min");
        let max = read_bound(reader, "max");
        if let (Some(min), Some(max)) = (&min, &max)
            && compare(min.as_str(), max.as_str()) == Ordering::Greater
        {
            reader.fault("min", "must not be more than max");
        }
        Self { min, max, integer: reader.flag("integer") }
    }

    fn judge(&self, answer: &Texts<'_>, problems: &mut Problems<'_>) {
        let Some(text) = one(answer, problems) else { return };
        if !is_decimal(text) {
            return problems.add(Code::InvalidFormat, "takes a decimal number such as 12 or -0.5");
        }
        if self.integer && text.contains('.') {
            problems.add(Code::InvalidFormat, "takes a whole number");
        }
        let below = self.min.as_ref().is_some_and(|min| compare(text, min.as_str()).is_lt());
        let above = self.max.as_ref().is_some_and(|max| compare(text, max.as_str()).is_gt());
        if below || above {
            let range = within(self.min.as_ref(), self.max.as_ref());
            problems.add(Code::OutOfRange, format_args!("takes a number {range}"));
        }
    }

    fn input(&self) -> Input<'_> {
        Input::Number { min: self.min.as_ref(), max: self.max.as_ref(), integer: self.integer }
    }

    fn count_method(&self) -> CountMethod<'_> {
        CountMethod::Number
    }

    fn comparable(&self) -> Comparable<'_> {
        Comparable::Number
    }

    fn fields() -> Vec<Field> {
        let bound = FieldKind::Number { limit: NUMBER_BOUND_MAX };
        vec![
            Field::new("min", "Minimum", bound),
            Field::new("max", "Maximum", bound),
            Field::new("integer", "Whole numbers only", FieldKind::Flag),
        ]
    }
}

fn read_bound(reader: &mut ObjectReader<'_>, name: &'static str) -> Option<Decimal> {
    let bound = Decimal::from_json(reader.field(name)?);
    if bound.is_none() {
        reader.fault(name, "must be a number from -1e15 to 1e15");
    }
    bound
}
