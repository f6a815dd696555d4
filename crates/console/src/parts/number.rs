//! Formats numbers.

/// A whole number with thousands separators.
pub(in super::super) fn number(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A count with its unit: 1 second, 2 seconds.
pub(in super::super) fn counted(count: u64, word: &str) -> String {
    format!("{} {word}{}", number(count), if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_separated() {
        for (value, text) in
            [(0, "0"), (999, "999"), (1_000, "1,000"), (10_000, "10,000"), (1_234_567, "1,234,567")]
        {
            assert_eq!(number(value), text);
        }
    }

    #[test]
    fn a_count_of_one_has_no_plural() {
        for (count, text) in [(0, "0 seconds"), (1, "1 second"), (1_000, "1,000 seconds")] {
            assert_eq!(counted(count, "second"), text);
        }
    }
}
