//! Calendar dates for charts. A day is a number of days since 1970-01-01; there are no times or
//! time zones here.

/// Abbreviated month names.
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// A day of the Gregorian calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Date {
    pub(crate) year: i64,
    /// 1 to 12.
    pub(crate) month: u8,
    pub(crate) day: u8,
}

impl Date {
    /// Calculates with eras of 400 years, which start on 1 March.
    pub(crate) fn from_day(days: i64) -> Self {
        let shifted = days + 719_468;
        let era = shifted.div_euclid(146_097);
        let of_era = shifted.rem_euclid(146_097);
        let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let march_month = (5 * of_year + 2) / 153;
        let day = of_year - (153 * march_month + 2) / 5 + 1;
        let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
        let year = year_of_era + era * 400 + i64::from(month <= 2);
        Self { year, month: month as u8, day: day as u8 }
    }

    pub(crate) fn month_name(self) -> &'static str {
        MONTHS.get(usize::from(self.month).saturating_sub(1)).copied().unwrap_or_default()
    }

    /// 3 Nov
    pub(super) fn brief(self) -> String {
        format!("{} {}", self.day, self.month_name())
    }

    /// 3 Nov 2026
    pub(crate) fn full(self) -> String {
        format!("{} {} {}", self.day, self.month_name(), self.year)
    }

    /// Nov 2026
    pub(super) fn month_and_year(self) -> String {
        format!("{} {}", self.month_name(), self.year)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_the_date_of_the_calendar() {
        for (days, year, month, day) in [
            (0, 1970, 1, 1),
            (-1, 1969, 12, 31),
            (11_016, 2000, 2, 29),
            (11_017, 2000, 3, 1),
            (20_772, 2026, 11, 15),
            (-719_162, 1, 1, 1),
            (2_932_896, 9999, 12, 31),
        ] {
            assert_eq!(Date::from_day(days), Date { year, month, day }, "{days}");
        }
        // Each day follows the one before: in its month, or as the first of the next one.
        for days in -800_000..100_000 {
            let (one, next) = (Date::from_day(days), Date::from_day(days + 1));
            let is_next_month = one.day >= 28 && next.day == 1 && next.month == one.month % 12 + 1;
            let is_same_month = next == Date { day: one.day + 1, ..one } && next.day <= 31;
            assert!(is_next_month || is_same_month, "{one:?} {next:?}");
        }
    }
}
