//! Daily data in buckets, no more than can be distinguished: days, weeks from Monday, or months.

use super::calendar::Date;

/// The most columns or points that can be distinguished on a phone.
const BUCKETS_MAX: i64 = 62;

/// The data of one day, or of one bucket.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct DayValue {
    /// Days since 1970-01-01.
    pub(crate) day: i64,
    pub(crate) count: u64,
    /// A mean or a score of the counted items, if they have one.
    pub(crate) value: Option<f64>,
}

/// The length of a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    Day,
    Week,
    Month,
}

/// Consecutive buckets of the same length, including empty ones.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Series {
    pub(crate) step: Step,
    pub(crate) buckets: Vec<DayValue>,
}

impl Series {
    /// From the first day to the last, including days without data. `days` can be in any order.
    pub(crate) fn new(days: &[DayValue], from: i64, to: i64) -> Self {
        let to = to.max(from);
        let step = Step::for_days(to - from + 1);
        let first = step.start(from);
        let mut buckets: Vec<DayValue> = Vec::new();
        let mut start = first;
        while start <= to {
            buckets.push(DayValue { day: start, count: 0, value: None });
            start = step.next(start);
        }
        let mut sums = vec![(0.0, 0u64); buckets.len()];
        for day in days.iter().filter(|day| (from..=to).contains(&day.day)) {
            let at = buckets.partition_point(|bucket| bucket.day <= day.day).saturating_sub(1);
            buckets[at].count += day.count;
            if let Some(value) = day.value {
                sums[at].0 += value * day.count as f64;
                sums[at].1 += day.count;
            }
        }
        for (bucket, (sum, weight)) in buckets.iter_mut().zip(sums) {
            bucket.value = (weight > 0).then(|| sum / weight as f64);
        }
        Self { step, buckets }
    }

    /// The names of a bucket: short for a label, and in full.
    pub(crate) fn names(&self, bucket: &DayValue) -> (String, String) {
        let date = Date::from_day(bucket.day);
        match self.step {
            Step::Day => (date.brief(), date.full()),
            Step::Week => (date.brief(), format!("Week from {}", date.full())),
            Step::Month => (date.month_and_year(), date.month_and_year()),
        }
    }
}

impl Step {
    fn for_days(days: i64) -> Self {
        if days <= BUCKETS_MAX {
            Self::Day
        } else if days <= 7 * BUCKETS_MAX {
            Self::Week
        } else {
            Self::Month
        }
    }

    /// The first day of the bucket that contains this day.
    fn start(self, day: i64) -> i64 {
        match self {
            Self::Day => day,
            // 1970-01-01 was a Thursday.
            Self::Week => day - (day + 3).rem_euclid(7),
            Self::Month => Date { day: 1, ..Date::from_day(day) }.days(),
        }
    }

    fn next(self, start: i64) -> i64 {
        match self {
            Self::Day => start + 1,
            Self::Week => start + 7,
            Self::Month => self.start(start + 31),
        }
    }

    /// The axis title for such buckets.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Day => "Day",
            Self::Week => "Week",
            Self::Month => "Month",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRIDAY: i64 = 20_770; // 2026-11-13

    fn day(day: i64, count: u64, value: Option<f64>) -> DayValue {
        DayValue { day, count, value }
    }

    #[test]
    fn days_without_data_are_included() {
        let series = Series::new(&[day(FRIDAY, 3, None)], FRIDAY - 1, FRIDAY + 1);
        assert_eq!(series.step, Step::Day);
        assert_eq!(series.buckets.iter().map(|bucket| bucket.count).collect::<Vec<_>>(), [0, 3, 0]);
    }

    #[test]
    fn weeks_start_on_monday_and_means_are_weighted() {
        let days =
            [day(FRIDAY, 1, Some(10.0)), day(FRIDAY + 2, 3, Some(2.0)), day(FRIDAY + 3, 5, None)];
        let series = Series::new(&days, FRIDAY - 80, FRIDAY + 3);
        assert_eq!(series.step, Step::Week);
        let [.., before, last] = &series.buckets[..] else { panic!("{series:?}") };
        assert_eq!((before.day, before.count, before.value), (FRIDAY - 4, 4, Some(4.0)));
        assert_eq!((last.day, last.count, last.value), (FRIDAY + 3, 5, None));
        assert_eq!(series.names(before).1, "Week from 9 Nov 2026");
    }

    #[test]
    fn years_are_shown_by_month() {
        let series = Series::new(&[day(FRIDAY, 7, None)], FRIDAY - 800, FRIDAY);
        assert_eq!(series.step, Step::Month);
        assert_eq!(series.names(series.buckets.last().unwrap()).0, "Nov 2026");
        assert_eq!(series.buckets.iter().map(|bucket| bucket.count).sum::<u64>(), 7);
        assert!(series.buckets.windows(2).all(|pair| pair[0].day < pair[1].day));
    }

    #[test]
    fn nothing_outside_the_days_is_counted() {
        let days = [day(FRIDAY - 1, 1, None), day(FRIDAY, 2, None), day(FRIDAY + 1, 4, None)];
        let series = Series::new(&days, FRIDAY, FRIDAY);
        assert_eq!(series.buckets, [day(FRIDAY, 2, None)]);
    }
}
