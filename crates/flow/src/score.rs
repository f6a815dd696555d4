//! Scores: numbers with at most two decimal places, added exactly.
//!
//! A score is kept in hundredths, so that the order of a sum does not matter and the script of the
//! hosted page, which adds whole numbers too, gets the same result.

use std::ops::AddAssign;

use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::definition::limits::SCORE_MAX;

const HUNDREDTHS: i64 = 100;
/// How far a binary number may be from the decimal number that it was written as.
const ROUNDING_MAX: f64 = 1e-6;

/// A number of points.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Score(i64);

impl Score {
    /// The rule that [`Self::from_json`] applies.
    pub(crate) const RULE: &str =
        "must be a number from -1000000 to 1000000 with at most two decimal places";

    pub(crate) fn from_json(value: &Value) -> Option<Self> {
        let number = value.as_f64().filter(|number| number.abs() <= f64::from(SCORE_MAX))?;
        let hundredths = number * HUNDREDTHS as f64;
        let whole = hundredths.round();
        ((hundredths - whole).abs() < ROUNDING_MAX).then_some(Self(whole as i64))
    }

    /// The score of an answer on a scale: its value.
    pub(crate) fn from_mark(text: &str) -> Self {
        Self(text.parse::<u32>().map_or(0, |mark| i64::from(mark) * HUNDREDTHS))
    }
}

impl AddAssign for Score {
    fn add_assign(&mut self, other: Self) {
        self.0 = self.0.saturating_add(other.0);
    }
}

/// A plain decimal number: `4`, `-0.5`, `2.25`.
impl std::fmt::Display for Score {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (whole, part) = (self.0.abs() / HUNDREDTHS, self.0.abs() % HUNDREDTHS);
        let sign = if self.0 < 0 { "-" } else { "" };
        match part {
            0 => write!(f, "{sign}{whole}"),
            part if part % 10 == 0 => write!(f, "{sign}{whole}.{}", part / 10),
            part => write!(f, "{sign}{whole}.{part:02}"),
        }
    }
}

impl Serialize for Score {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 % HUNDREDTHS {
            0 => serializer.serialize_i64(self.0 / HUNDREDTHS),
            _ => serializer.serialize_f64(self.0 as f64 / HUNDREDTHS as f64),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_score_has_at_most_two_decimal_places() {
        for (value, text) in [
            (json!(3), "3"),
            (json!(-2.0), "-2"),
            (json!(0.1), "0.1"),
            (json!(-0.25), "-0.25"),
            (json!(2.05), "2.05"),
            (json!(1e6), "1000000"),
        ] {
            let score = Score::from_json(&value).unwrap();
            assert_eq!(score.to_string(), text);
            assert_eq!(Score::from_json(&serde_json::to_value(score).unwrap()), Some(score));
        }
        for value in [json!(0.125), json!(1_000_001), json!("3"), json!(true), json!(null)] {
            assert_eq!(Score::from_json(&value), None, "{value}");
        }
    }

    #[test]
    fn scores_add_exactly() {
        let mut sum = Score::default();
        for part in [json!(0.1), json!(0.2), json!(-0.3)] {
            sum += Score::from_json(&part).unwrap();
        }
        assert_eq!(sum, Score::default());
    }
}
