//! Comparisons of decimal numbers as regular expressions: exact, however many digits there are.
//!
//! A number is written `-12.50`: an optional minus, digits with any leading zeros, an optional
//! fraction with any trailing zeros. The expressions only tell such texts apart; [`number`] refuses
//! all others.

use serde_json::{Value, json};

use super::patterns::{not_whole, whole};
use crate::definition::limits::NUMBER_CHARS_MAX;
use crate::question::decimal::Decimal;

const FRACTION: &str = r"(?:\.[0-9]+)?";

/// A number in plain notation.
pub(super) fn number(min: Option<&Decimal>, max: Option<&Decimal>, integer: bool) -> Value {
    let form = if integer { "-?[0-9]+" } else { r"-?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)" };
    let mut all = vec![whole(form)];
    all.extend(min.map(|min| json!({"not": less(min)})));
    all.extend(max.map(|max| json!({"not": greater(max)})));
    json!({"allOf": all, "maxLength": NUMBER_CHARS_MAX})
}

/// Numbers with the value of this one.
pub(super) fn equal(to: &Decimal) -> Value {
    let it = Magnitude::new(to);
    whole(&format!("{}{}", it.sign(), it.equal()))
}

/// Numbers below this one.
pub(super) fn less(than: &Decimal) -> Value {
    let it = Magnitude::new(than);
    if it.is_negative || it.is_zero() {
        return whole(&format!("-{}", it.greater()));
    }
    not_whole(&format!("(?:{}|{})", it.greater(), it.equal()))
}

/// Numbers above this one.
pub(super) fn greater(than: &Decimal) -> Value {
    let it = Magnitude::new(than);
    if it.is_negative {
        return not_whole(&format!("-(?:{}|{})", it.greater(), it.equal()));
    }
    whole(&it.greater())
}

/// A number without its sign, leading and trailing zeros.
struct Magnitude<'d> {
    is_negative: bool,
    whole: &'d str,
    fraction: &'d str,
    /// Whether its fraction is longer than that of any answer.
    is_cut: bool,
}

impl<'d> Magnitude<'d> {
    fn new(decimal: &'d Decimal) -> Self {
        let text = decimal.as_str();
        let unsigned = text.strip_prefix('-').unwrap_or(text);
        let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
        let (whole, fraction) = (whole.trim_start_matches('0'), fraction.trim_end_matches('0'));
        let is_zero = whole.is_empty() && fraction.is_empty();
        let kept = fraction.len().min(NUMBER_CHARS_MAX);
        Self {
            is_negative: unsigned.len() < text.len() && !is_zero,
            whole,
            fraction: &fraction[..kept],
            is_cut: kept < fraction.len(),
        }
    }

    fn is_zero(&self) -> bool {
        self.whole.is_empty() && self.fraction.is_empty()
    }

    /// Zero is written with and without a minus.
    fn sign(&self) -> &'static str {
        if self.is_zero() {
            "-?"
        } else if self.is_negative {
            "-"
        } else {
            ""
        }
    }

    fn equal(&self) -> String {
        let Self { whole, fraction, .. } = self;
        if self.is_cut {
            // No answer has this many digits.
            return "[^0-9.-]".to_owned();
        }
        match (whole.is_empty(), fraction.is_empty()) {
            (true, true) => r"(?:0+(?:\.0+)?|\.0+)".to_owned(),
            (false, true) => format!(r"0*{whole}(?:\.0+)?"),
            (_, false) => format!(r"0*{whole}\.{fraction}0*"),
        }
    }

    /// Larger magnitudes.
    fn greater(&self) -> String {
        let Self { whole, fraction, .. } = self;
        let digits = whole.len();
        let mut larger = vec![format!("[1-9][0-9]{{{digits},}}{FRACTION}")];
        larger.extend(next_digits(whole).map(|(at, start)| {
            let rest = digits - at - 1;
            format!("{start}[0-9]{{{rest}}}{FRACTION}")
        }));
        larger.extend(next_digits(fraction).map(|(_, start)| format!(r"{whole}\.{start}[0-9]*")));
        larger.push(format!(r"{whole}\.{fraction}[0-9]*[1-9][0-9]*"));
        format!("0*(?:{})", larger.join("|"))
    }
}

/// For each digit, the digits before it and the range above it.
fn next_digits(digits: &str) -> impl Iterator<Item = (usize, String)> {
    digits
        .bytes()
        .enumerate()
        .filter(|(_, digit)| *digit < b'9')
        .map(move |(at, digit)| (at, format!("{}[{}-9]", &digits[..at], char::from(digit + 1))))
}
