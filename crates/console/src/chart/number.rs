//! Formats numbers for charts.

pub(super) use crate::parts::number as grouped;

/// At most this many decimals, with thousands separators: 1,234.5. Large numbers have no decimals.
pub(crate) fn decimal(number: f64, places: usize) -> String {
    if !number.is_finite() {
        return "–".to_owned();
    }
    let places = if number.abs() >= 1_000.0 { places.min(1) } else { places };
    let text = format!("{:.places$}", number.abs());
    let (whole, part) = text.split_once('.').unwrap_or((&text, ""));
    let part = part.trim_end_matches('0');
    let whole = whole.parse().map_or_else(|_| whole.to_owned(), grouped);
    let is_nothing = whole == "0" && part.is_empty();
    let sign = if number < 0.0 && !is_nothing { "−" } else { "" };
    if part.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{part}") }
}

/// A score with its sign: +32, −8, 0.
pub(crate) fn signed(number: f64) -> String {
    let text = decimal(number, 0);
    if number > 0.0 && text != "0" { format!("+{text}") } else { text }
}

/// A share in percent. Only zero is shown as 0%, and only the whole as 100%.
pub(crate) fn share(part: u64, of: u64) -> String {
    if of == 0 {
        return "–".to_owned();
    }
    let percent = 100.0 * part as f64 / of as f64;
    if part > 0 && percent < 0.5 {
        "<1%".to_owned()
    } else if part < of && percent >= 99.5 {
        ">99%".to_owned()
    } else {
        format!("{}%", percent.round())
    }
}

/// For ticks: 1.5k, 2M.
pub(super) fn brief(number: f64) -> String {
    let size = number.abs();
    for (unit, mark) in [(1e9, "B"), (1e6, "M"), (1e3, "k")] {
        if size >= unit {
            return format!("{}{mark}", decimal(number / unit, 2));
        }
    }
    decimal(number, 2)
}

/// A count with its unit: 1 answer, 2 answers.
pub(crate) fn count(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(number), if number == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trailing_decimals_are_removed() {
        for (number, places, text) in [
            (7.0, 1, "7"),
            (7.25, 1, "7.2"),
            (7.46, 1, "7.5"),
            (-0.04, 1, "0"),
            (-3.5, 1, "−3.5"),
            (1234.56, 2, "1,234.6"),
            (f64::NAN, 1, "–"),
            (1e21, 0, "1000000000000000000000"),
        ] {
            assert_eq!(decimal(number, places), text, "{number}");
        }
    }

    #[test]
    fn a_score_has_its_sign() {
        for (number, text) in [(32.4, "+32"), (-8.0, "−8"), (0.0, "0"), (0.3, "0"), (-0.3, "0")] {
            assert_eq!(signed(number), text, "{number}");
        }
    }

    #[test]
    fn only_zero_is_0_percent_and_only_the_whole_is_100_percent() {
        for (part, of, text) in [
            (0, 0, "–"),
            (0, 10, "0%"),
            (1, 1_000, "<1%"),
            (999, 1_000, ">99%"),
            (1_000, 1_000, "100%"),
            (1, 3, "33%"),
            (2, 3, "67%"),
            (1, 8, "13%"),
        ] {
            assert_eq!(share(part, of), text, "{part} of {of}");
        }
    }

    #[test]
    fn ticks_are_abbreviated() {
        for (number, text) in [
            (0.0, "0"),
            (0.25, "0.25"),
            (500.0, "500"),
            (1_500.0, "1.5k"),
            (2e6, "2M"),
            (-1e3, "−1k"),
        ] {
            assert_eq!(brief(number), text);
        }
    }
}
