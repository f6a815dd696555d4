//! Calendar dates, as written in answers, bounds and instants.

/// Whether a text is an existing calendar date, from 0001-01-01 to 9999-12-31.
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
    fn a_date_must_exist_in_the_calendar() {
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
