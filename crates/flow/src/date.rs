//! Calendar dates, as written in answers, bounds and instants.

/// Whether a text is an existing calendar date, from 0001-01-01 to 9999-12-31.
pub(crate) fn is_date(text: &str) -> bool {
    let [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = *text.as_bytes() else { return false };
    let digits = [y1, y2, y3, y4, m1, m2, d1, d2];
    if !digits.iter().all(u8::is_ascii_digit) {
        return false;
    }
    let two = |tens: u8, ones: u8| u32::from(tens - b'0') * 10 + u32::from(ones - b'0');
    let year = (two(y1, y2) * 100 + two(y3, y4)).cast_signed();
    year > 0 && chrono::NaiveDate::from_ymd_opt(year, two(m1, m2), two(d1, d2)).is_some()
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
