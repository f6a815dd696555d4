//! Numeric answers: counted in few bins, and summed exactly.
//!
//! A whole number below a thousand has its own bin; any other is binned by its first two digits. So
//! there are about two hundred bins for everything from a hundredth to a million, no bounds have to
//! be known in advance, and no limit is needed. The sum is in millionths, so that subtraction is
//! exact to the last digit.

/// The number of sum units in one.
pub const SUM_UNIT: i128 = 1_000_000;

/// Decimal places that are summed.
const SUM_DIGITS: usize = 6;
/// With more digits before the point, a number counts as this many nines; real bounds are far
/// below.
const WHOLE_DIGITS_MAX: usize = 18;
/// Whole numbers below this have their own bins.
const WHOLE_MAX: u32 = 1000;
/// The lowest power of ten of a first digit that is still distinguished.
const PLACE_MIN: i32 = -6;

/// A range of numbers counted together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NumberBin {
    /// The end nearer to zero: the number itself, if it has at most two digits.
    pub near: f64,
    pub far: f64,
}

impl NumberBin {
    /// The bin with this number, see [`key_and_sum`].
    pub fn from_key(key: u32) -> Self {
        let sign = if key & 1 == 0 { 1.0 } else { -1.0 };
        let rest = key >> 2;
        if key & 2 == 0 {
            let number = sign * f64::from(rest);
            return Self { near: number, far: number };
        }
        let digits = rest % 100;
        let place = i32::try_from(rest / 100).unwrap_or(0) + PLACE_MIN - 1;
        // Parsed from a text, because powers of ten are inexact in binary, and 4.2 must stay 4.2.
        let number = |digits: u32| -> f64 { format!("{digits}e{place}").parse().unwrap_or(0.0) };
        Self { near: sign * number(digits), far: sign * number(digits + 1) }
    }
}

/// The bin of a plain decimal number and what it adds to the sum; `None` if the text is not such a
/// number.
///
/// From its lowest bit, the key holds: whether the number is negative; whether it is binned by two
/// digits; and the whole number, or the two digits and the power of ten of the first one.
pub(super) fn key_and_sum(text: &str) -> Option<(u32, i128)> {
    if !crate::question::decimal::is_decimal(text) {
        return None;
    }
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let (whole, fraction) = (whole.trim_start_matches('0'), fraction.trim_end_matches('0'));
    let negative = unsigned.len() < text.len() && !(whole.is_empty() && fraction.is_empty());
    let key = magnitude_key(whole, fraction);
    let is_zero = key == 0;
    let sum = magnitude_sum(whole, fraction);
    Some((key | u32::from(negative && !is_zero), if negative { -sum } else { sum }))
}

fn magnitude_key(whole: &str, fraction: &str) -> u32 {
    if fraction.is_empty() && whole.len() <= 3 {
        return whole.parse::<u32>().unwrap_or(0).min(WHOLE_MAX - 1) << 2;
    }
    let leading = fraction.bytes().take_while(|&byte| byte == b'0').count();
    let (place, digits) = match whole.is_empty() {
        false => (whole.len(), whole.bytes().chain(fraction.bytes())),
        true => (0, fraction[leading..].bytes().chain("".bytes())),
    };
    // The power of ten of the first digit: 1 for tens, 0 for ones, -1 for tenths, and so on.
    let place = i32::try_from(place).unwrap_or(i32::MAX)
        - 1
        - if whole.is_empty() { i32::try_from(leading).unwrap_or(i32::MAX) } else { 0 };
    if place < PLACE_MIN {
        return 0;
    }
    let mut digits = digits.chain([b'0', b'0']).map(|byte| u32::from(byte - b'0'));
    let two = digits.next().unwrap_or(0) * 10 + digits.next().unwrap_or(0);
    let place = u32::try_from(place - PLACE_MIN).unwrap_or(0);
    (place * 100 + two) << 2 | 2
}

fn magnitude_sum(whole: &str, fraction: &str) -> i128 {
    if whole.len() > WHOLE_DIGITS_MAX {
        return (10_i128.pow(18) - 1) * SUM_UNIT;
    }
    let digits =
        |text: &str| text.bytes().fold(0_i128, |sum, byte| sum * 10 + i128::from(byte - b'0'));
    let kept = &fraction[..fraction.len().min(SUM_DIGITS)];
    let missing = u32::try_from(SUM_DIGITS - kept.len()).unwrap_or(0);
    digits(whole) * SUM_UNIT + digits(kept) * 10_i128.pow(missing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_falls_into_the_bin_of_its_first_digits() {
        for (text, near, far) in [
            ("0", 0.0, 0.0),
            ("-0.0", 0.0, 0.0),
            ("7", 7.0, 7.0),
            ("007.0", 7.0, 7.0),
            ("-7", -7.0, -7.0),
            ("999", 999.0, 999.0),
            ("1000", 1000.0, 1100.0),
            ("12345", 12_000.0, 13_000.0),
            ("-12345", -12_000.0, -13_000.0),
            ("4.25", 4.2, 4.3),
            ("4.2", 4.2, 4.3),
            (".5", 0.5, 0.51),
            ("0.05", 0.05, 0.051),
            ("999.5", 990.0, 1000.0),
            ("12.5", 12.0, 13.0),
            ("0.000012", 0.000_012, 0.000_013),
            ("0.000000012", 0.0, 0.0),
            ("99999999999999999999", 99e18, 100e18),
        ] {
            let (key, _) = key_and_sum(text).unwrap();
            assert_eq!(NumberBin::from_key(key), NumberBin { near, far }, "{text}");
        }
        assert_eq!(key_and_sum("seven"), None);
    }

    #[test]
    fn sums_are_exact_to_six_decimals() {
        for (text, millionths) in [
            ("1", 1_000_000),
            ("-1.5", -1_500_000),
            ("0.0000019", 1),
            (".1", 100_000),
            ("123456789.123456", 123_456_789_123_456),
        ] {
            assert_eq!(key_and_sum(text).unwrap().1, millionths, "{text}");
        }
        let longest = "9".repeat(64);
        assert_eq!(key_and_sum(&longest).unwrap().1, 999_999_999_999_999_999_000_000);
    }
}
