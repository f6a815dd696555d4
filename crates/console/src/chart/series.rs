//! Daily data in buckets, no more than can be distinguished: days, weeks from Monday, or months.

use super::calendar::Date;

/// The most columns or points that can be distinguished on a phone.
const PARTS_MAX: i64 = 62;

/// The data of one day, or of one bucket.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Day {
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
    pub(crate) parts: Vec<Day>,
}

impl Series {
    /// From the first day to the last, including days without data. `days` can be in any order.
    pub(crate) fn of(days: &[Day], from: i64, to: i64) -> Self {
        let to = to.max(from);
        let step = Step::for_days(to - from + 1);
        let first = step.start(from);
        let mut parts: Vec<Day> = Vec::new();
        let mut start = first;
        while start <= to {
            parts.push(Day { day: start, count: 0, value: None });
            start = step.next(start);
        }
        let mut sums = vec![(0.0, 0u64); parts.len()];
        for day in days.iter().filter(|day| (from..=to).contains(&day.day)) {
            let at = parts.partition_point(|part| part.day <= day.day).saturating_sub(1);
            parts[at].count += day.count;
            if let Some(value) = day.value {
                sums[at].0 += value * day.count as f64;
                sums[at].1 += day.count;
            }
        }
        for (part, (sum, weight)) in parts.iter_mut().zip(sums) {
            part.value = (weight > 0).then(|| sum / weight as f64);
        }
        Self { step, parts }
    }

    /// The names of a bucket: short for a label, and in full.
    pub(crate) fn names(&self, part: &Day) -> (String, String) {
        let date = Date::of(part.day);
        match self.step {
            Step::Day => (date.brief(), date.full()),
            Step::Week => (date.brief(), format!("Week from {}", date.full())),
            Step::Month => (date.of_month(), date.of_month()),
        }
    }
}

impl Step {
    fn for_days(days: i64) -> Self {
        if days <= PARTS_MAX {
            Self::Day
        } else if days <= 7 * PARTS_MAX {
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
            Self::Month => Date { day: 1, ..Date::of(day) }.days(),
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

    fn day(day: i64, count: u64, value: Option<f64>) -> Day {
        Day { day, count, value }
    }

    #[test]
    fn days_without_data_are_included() {
        let series = Series::of(&[day(FRIDAY, 3, None)], FRIDAY - 1, FRIDAY + 1);
        assert_eq!(series.step, Step::Day);
        assert_eq!(series.parts.iter().map(|part| part.count).collect::<Vec<_>>(), [0, 3, 0]);
    }

    #[test]
    fn weeks_start_on_monday_and_means_are_weighted() {
        let days =
            [day(FRIDAY, 1, Some(10.0)), day(FRIDAY + 2, 3, Some(2.0)), day(FRIDAY + 3, 5, None)];
        let series = Series::of(&days, FRIDAY - 80, FRIDAY + 3);
        assert_eq!(series.step, Step::Week);
        let [.., before, last] = &series.parts[..] else { panic!("{series:?}") };
        assert_eq!((before.day, before.count, before.value), (FRIDAY - 4, 4, Some(4.0)));
        assert_eq!((last.day, last.count, last.value), (FRIDAY + 3, 5, None));
        assert_eq!(series.names(before).1, "Week from 9 Nov 2026");
    }

    #[test]
    fn years_are_shown_by_month() {
        let series = Series::of(&[day(FRIDAY, 7, None)], FRIDAY - 800, FRIDAY);
        assert_eq!(series.step, Step::Month);
        assert_eq!(series.names(series.parts.last().unwrap()).0, "Nov 2026");
        assert_eq!(series.parts.iter().map(|part| part.count).sum::<u64>(), 7);
        assert!(series.parts.windows(2).all(|pair| pair[0].day < pair[1].day));
    }

    #[test]
    fn nothing_outside_the_days_is_counted() {
        let days = [day(FRIDAY - 1, 1, None), day(FRIDAY, 2, None), day(FRIDAY + 1, 4, None)];
        let series = Series::of(&days, FRIDAY, FRIDAY);
        assert_eq!(series.parts, [day(FRIDAY, 2, None)]);
    }
}
