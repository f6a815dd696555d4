//! Decimal numbers as texts, compared exactly.
//!
//! Answers are texts, and a binary number could not represent `0.1` exactly or hold sixty digits.
//! So a number stays a text, and comparing it needs no parsing and no memory.

use std::cmp::Ordering;

use serde::{Serialize, Serializer};
use serde_json::{Number, Value};

use crate::definition::limits::{NUMBER_BOUND_MAX, NUMBER_CHARS_MAX};

/// A number in a definition (a bound, or an operand of a condition), in plain decimal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decimal(String);

impl Decimal {
    /// The number in JSON, if it is small enough to be exact.
    pub(crate) fn from_json(value: &Value) -> Option<Self> {
        let number = value.as_f64().filter(|number| number.abs() <= NUMBER_BOUND_MAX)?;
        // A float is written without an exponent, and a whole one without a point.
        let text = if number == 0.0 { "0".to_owned() } else { number.to_string() };
        Some(Self(text))
    }

    /// A plain decimal number in a text, of any size.
    pub fn parse(text: &str) -> Option<Self> {
        is_decimal(text).then(|| Self(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// How a text compares with this number; `None` if the text is not a number.
    pub(crate) fn compare(&self, text: &str) -> Option<Ordering> {
        is_decimal(text).then(|| compare(text, &self.0))
    }
}

impl Decimal {
    /// How two numbers compare by value.
    pub(crate) fn compared(&self, other: &Self) -> Ordering {
        compare(&self.0, &other.0)
    }
}

impl std::fmt::Display for Decimal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for Decimal {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let whole = self.0.parse::<i64>().ok().map(Number::from);
        let number = whole.or_else(|| Number::from_f64(self.0.parse().ok()?));
        number.serialize(serializer)
    }
}

/// Whether a text is a plain decimal number: an optional minus, digits, an optional fraction.
pub(crate) fn is_decimal(text: &str) -> bool {
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, "0"));
    text.len() <= NUMBER_CHARS_MAX
        && !fraction.is_empty()
        && digits(fraction)
        && digits(whole)
        && (!whole.is_empty() || unsigned.starts_with('.'))
}

/// Compares two plain decimal numbers.
pub(super) fn compare(one: &str, other: &str) -> Ordering {
    let (one, other) = (Parts::new(one), Parts::new(other));
    match (one.negative, other.negative) {
        (false, true) => Ordering::Greater,
        (true, false) => Ordering::Less,
        (false, false) => one.magnitude(&other),
        (true, true) => other.magnitude(&one),
    }
}

/// A number without leading and trailing zeros.
struct Parts<'t> {
    negative: bool,
    whole: &'t str,
    fraction: &'t str,
}

impl<'t> Parts<'t> {
    fn new(text: &'t str) -> Self {
        let unsigned = text.strip_prefix('-').unwrap_or(text);
        let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
        let (whole, fraction) = (whole.trim_start_matches('0'), fraction.trim_end_matches('0'));
        let zero = whole.is_empty() && fraction.is_empty();
        Self { negative: unsigned.len() < text.len() && !zero, whole, fraction }
    }

    fn magnitude(&self, other: &Self) -> Ordering {
        let digits = self.whole.len().cmp(&other.whole.len());
        digits
            .then_with(|| self.whole.cmp(other.whole))
            .then_with(|| self.fraction.cmp(other.fraction))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_number_is_digits_with_an_optional_sign_and_fraction() {
        let (longest, longer) = ("9".repeat(64), "9".repeat(65));
        for text in ["0", "7", "-7", "007", "3.25", "-0.5", ".5", "-.5", &longest] {
            assert!(is_decimal(text), "{text:?}");
        }
        let refused =
            ["", "-", ".", "5.", "-.", "+5", "--5", "1e3", "0x10", "1_000", "1,5", " 5", "5 "];
        for text in refused.iter().chain(&["NaN", "inf", "Infinity", "٣", "1.2.3", &longer]) {
            assert!(!is_decimal(text), "{text:?}");
        }
    }

    #[test]
    fn numbers_compare_by_value_and_exactly() {
        use Ordering::{Equal, Greater, Less};
        for (one, expected, other) in [
            ("0", Equal, "-0.00"),
            ("007", Equal, "7.0"),
            (".5", Equal, "0.50"),
            ("9", Less, "10"),
            ("-9", Greater, "-10"),
            ("-1", Less, "1"),
            ("0.1", Less, "0.10000000000000000000000000000001"),
            (
                "99999999999999999999999999999999999998",
                Less,
                "99999999999999999999999999999999999999",
            ),
            ("-0.2", Less, "-0.1"),
        ] {
            assert_eq!(compare(one, other), expected, "{one} and {other}");
            assert_eq!(compare(other, one), expected.reverse(), "{other} and {one}");
        }
    }

    #[test]
    fn a_bound_keeps_its_value_in_json() {
        for (value, text) in [
            (json!(7), "7"),
            (json!(7.0), "7"),
            (json!(-0.0), "0"),
            (json!(0.1), "0.1"),
            (json!(1e-7), "0.0000001"),
            (json!(-1e15), "-1000000000000000"),
        ] {
            let bound = Decimal::from_json(&value).unwrap();
            assert_eq!(bound.as_str(), text);
            assert_eq!(Decimal::from_json(&serde_json::to_value(&bound).unwrap()), Some(bound));
        }
        for value in [json!(1.1e15), json!("7"), json!(true), json!(null)] {
            assert_eq!(Decimal::from_json(&value), None, "{value}");
        }
    }
}
