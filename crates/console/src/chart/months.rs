//! Dates by month over all parts, including months without any. If there are too many months to
//! distinguish, by quarter, by year, or by several years.

use super::axis::Axis;
use super::calendar::Date;
use super::columns::Column;

/// The most columns that can be distinguished on a phone.
const BUCKETS_MAX: i64 = 60;
/// The lengths of a bucket, in months.
const LENGTHS: [i64; 8] = [1, 3, 12, 60, 120, 600, 1_200, 12_000];
const YEAR: i64 = 12;

/// Buckets of the same length, from the first date to the last.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MonthAxis {
    /// In months.
    length: i64,
    /// The number of the first bucket: it starts at this many lengths.
    first: i64,
    buckets: usize,
}

impl MonthAxis {
    /// `months` are `YYYY-MM`, or `YYYY` if only the year is known; others are left out.
    pub(crate) fn new<'m>(months: impl Iterator<Item = &'m str> + Clone) -> Self {
        let known = || months.clone().filter_map(number);
        let (Some(low), Some(high)) = (known().min(), known().max()) else {
            return Self { length: 1, first: 0, buckets: 0 };
        };
        let least = if months.clone().any(|month| !month.contains('-')) { YEAR } else { 1 };
        let buckets = |length: i64| high.div_euclid(length) - low.div_euclid(length) + 1;
        let lengths = LENGTHS.into_iter().filter(|length| *length >= least);
        let mut fitting = lengths.filter(|length| buckets(*length) <= BUCKETS_MAX);
        let length = fitting.next().unwrap_or(LENGTHS[LENGTHS.len() - 1]);
        Self { length, first: low.div_euclid(length), buckets: buckets(length) as usize }
    }

    /// The count of each bucket.
    pub(crate) fn counts(&self, months: &[(String, u64)]) -> Vec<u64> {
        let mut counts = vec![0; self.buckets];
        for (month, count) in months {
            let bucket = number(month).map(|month| month.div_euclid(self.length) - self.first);
            if let Some(sum) = bucket.and_then(|at| counts.get_mut(usize::try_from(at).ok()?)) {
                *sum += count;
            }
        }
        counts
    }

    pub(crate) fn columns(&self) -> Vec<Column> {
        self.numbers().map(|bucket| Column::new(self.name(bucket))).collect()
    }

    pub(crate) fn axis(&self) -> Axis {
        // Whole years are labelled at their start.
        let (name, steps): (&str, &[i64]) = match self.length {
            1 => ("Month", &[1, 2, 3, 6, 12, 24, 60]),
            3 => ("Quarter", &[1, 2, 4, 8, 20, 40]),
            YEAR => ("Year", &[1, 2, 5, 10, 20, 50]),
            _ => ("Years", &[1, 2, 4, 10, 20, 50]),
        };
        Axis::centred(name, self.first, steps, self.numbers().map(|it| self.label(it)).collect())
    }

    fn numbers(&self) -> impl Iterator<Item = i64> {
        (self.first..).take(self.buckets)
    }

    fn label(&self, bucket: i64) -> String {
        let date = date(bucket * self.length);
        match self.length {
            1 => date.month_and_year(),
            3 => format!("Q{} {}", (date.month - 1) / 3 + 1, date.year),
            _ => date.year.to_string(),
        }
    }

    fn name(&self, bucket: i64) -> String {
        let (from, to) = (date(bucket * self.length), date((bucket + 1) * self.length - 1));
        match self.length {
            1 => from.month_and_year(),
            3 => format!("{} to {}", from.month_name(), to.month_and_year()),
            YEAR => from.year.to_string(),
            _ => format!("{} to {}", from.year, to.year),
        }
    }
}

/// The month since the year 0 of `YYYY-MM`; the first month of `YYYY`.
fn number(month: &str) -> Option<i64> {
    let (year, month) = month.split_once('-').unwrap_or((month, "01"));
    let (year, month) = (year.parse::<i64>().ok()?, month.parse::<i64>().ok()?);
    (1..=YEAR).contains(&month).then_some(year * YEAR + month - 1)
}

fn date(month: i64) -> Date {
    Date { year: month.div_euclid(YEAR), month: month.rem_euclid(YEAR) as u8 + 1, day: 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(months: &[&str]) -> Vec<String> {
        let axis = MonthAxis::new(months.iter().copied());
        axis.columns().into_iter().map(|column| column.name).collect()
    }

    #[test]
    fn months_without_dates_are_kept() {
        assert_eq!(
            names(&["2027-01", "2026-10"]),
            ["Oct 2026", "Nov 2026", "Dec 2026", "Jan 2027"]
        );
        assert_eq!(names(&["2026-10"]), ["Oct 2026"]);
        assert!(names(&[]).is_empty());
    }

    #[test]
    fn many_months_are_shown_by_quarter_year_or_several_years() {
        for (months, first, last) in [
            (&["2022-01", "2026-12"][..], "Jan 2022", "Dec 2026"),
            (&["2021-12", "2026-12"], "Oct to Dec 2021", "Oct to Dec 2026"),
            (&["2000-05", "2026-12"], "2000", "2026"),
            (&["1948-05", "2013-12"], "1945 to 1949", "2010 to 2014"),
            (&["1850", "2026-12"], "1850 to 1854", "2025 to 2029"),
            (&["2100", "2099-12"], "2099", "2100"),
            (&["0001", "9999"], "0 to 999", "9000 to 9999"),
        ] {
            let names = names(months);
            assert_eq!((names[0].as_str(), names[names.len() - 1].as_str()), (first, last));
            assert!(names.len() <= BUCKETS_MAX as usize, "{names:?}");
        }
    }

    #[test]
    fn every_date_is_counted_in_its_bucket() {
        let months = [("2026-10", 2), ("2027-01", 3)].map(|(it, count)| (it.to_owned(), count));
        let axis = MonthAxis::new(["2026-09", "2027-02"].into_iter());
        assert_eq!(axis.counts(&months), [0, 2, 0, 0, 3, 0]);
        let axis = MonthAxis::new(["1850", "2027-01"].into_iter());
        assert_eq!(axis.counts(&months).iter().sum::<u64>(), 5);
    }
}
