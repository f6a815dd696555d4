//! Daily data in buckets of equal length, no more than can be distinguished: days, weeks from
//! Monday, or several weeks. Equal lengths keep distances along the axis proportional to time; and
//! data that is counted by week belongs to exactly one bucket, which is not true of months.

use super::axis::Axis;
use super::calendar::Date;

/// The most columns or points that can be distinguished on a phone.
const BUCKETS_MAX: i64 = 62;
/// The lengths of buckets longer than a day, in weeks.
const WEEKS: [i64; 4] = [1, 4, 13, 52];

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
    Weeks(i64),
}

/// Consecutive buckets of the same length, including empty ones.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Series {
    pub(crate) step: Step,
    pub(crate) buckets: Vec<DayValue>,
    counted: Option<CountedDays>,
}

/// The days whose data is counted; those of a period without ends are all until today.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CountedDays {
    pub(crate) from: Option<i64>,
    pub(crate) to: Option<i64>,
    /// It is not over yet.
    pub(crate) today: i64,
}

impl Series {
    /// From the first day to the last, including days without data. `days` can be in any order.
    pub(crate) fn new(days: &[DayValue], from: i64, to: i64) -> Self {
        let to = to.max(from);
        let step = Step::for_days(to - from + 1);
        let first = step.first(from, to);
        let mut buckets: Vec<DayValue> = Vec::new();
        let mut start = first;
        while start <= to {
            buckets.push(DayValue { day: start, count: 0, value: None });
            start += step.days();
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
        Self { step, buckets, counted: None }
    }

    /// Marks buckets that are not complete.
    pub(crate) fn counting(self, days: CountedDays) -> Self {
        Self { counted: Some(days), ..self }
    }

    /// The name of a bucket, in full, with the part of it that is counted if it is not complete.
    pub(crate) fn name(&self, bucket: &DayValue) -> String {
        let date = Date::from_day(bucket.day).full();
        let name = match self.step {
            Step::Day => date,
            Step::Weeks(1) => format!("Week from {date}"),
            Step::Weeks(weeks) => format!("{weeks} weeks from {date}"),
        };
        match self.counted_part(bucket) {
            Some(part) => format!("{name} ({part})"),
            None => name,
        }
    }

    pub(crate) fn is_complete(&self, bucket: &DayValue) -> bool {
        self.counted_part(bucket).is_none()
    }

    /// The counted part of a partial bucket; `None` if complete or in the future.
    fn counted_part(&self, bucket: &DayValue) -> Option<String> {
        let CountedDays { from, to, today } = self.counted?;
        let end = bucket.day + self.step.days() - 1;
        let last = to.map_or(today, |to| to.min(today));
        let from = from.filter(|from| *from > bucket.day);
        let until = (end > last || end == today).then_some(last);
        let date = |day: i64| Date::from_day(day).full();
        match (from, until) {
            _ if bucket.day > today => None,
            (None, None) => None,
            (None, Some(_)) if end == today => Some("so far".to_owned()),
            (None, Some(last)) => Some(format!("until {}", date(last))),
            (Some(first), None) => Some(format!("only from {}", date(first))),
            (Some(first), Some(last)) if first == last => Some(format!("only {}", date(first))),
            (Some(first), Some(last)) => Some(format!("only {} to {}", date(first), date(last))),
        }
    }

    pub(crate) fn axis(&self) -> Axis {
        let date = |bucket: &DayValue| Date::from_day(bucket.day);
        let ends = self.buckets.first().zip(self.buckets.last());
        let is_one_year = ends.is_none_or(|(from, to)| date(from).year == date(to).year);
        let text = |bucket: &DayValue| match is_one_year {
            true => date(bucket).brief(),
            false => date(bucket).full(),
        };
        let texts = self.buckets.iter().map(text).collect();
        let number = |bucket: &DayValue| (bucket.day + SINCE_MONDAY) / self.step.days();
        let steps: &[i64] = match self.step {
            // Mondays, if not every label fits.
            Step::Day => &[1, 2, 7, 14, 28],
            Step::Weeks(_) => &[1, 2, 4, 8, 13, 26, 52],
        };
        let first = self.buckets.first().map_or(0, number);
        Axis::centred(self.step.name(), first, steps, texts)
    }
}

/// From the Monday before 1970-01-01, which was a Thursday.
const SINCE_MONDAY: i64 = 3;

impl Step {
    fn for_days(days: i64) -> Self {
        if days <= BUCKETS_MAX {
            return Self::Day;
        }
        let weeks = WEEKS.into_iter().find(|weeks| days <= 7 * weeks * BUCKETS_MAX);
        Self::Weeks(weeks.unwrap_or(WEEKS[WEEKS.len() - 1]))
    }

    fn days(self) -> i64 {
        match self {
            Self::Day => 1,
            Self::Weeks(weeks) => 7 * weeks,
        }
    }

    /// The first day of the first bucket. Buckets of several weeks end with the week of the last
    /// day, so that the last one is not shorter than the others by weeks.
    fn first(self, from: i64, to: i64) -> i64 {
        let last = match self {
            Self::Day => to,
            Self::Weeks(weeks) => to - (to + SINCE_MONDAY).rem_euclid(7) - 7 * (weeks - 1),
        };
        let before = (last - from).max(0);
        last - (before + self.days() - 1) / self.days() * self.days()
    }

    /// The name of the axis of such buckets.
    fn name(self) -> String {
        match self {
            Self::Day => "Day".to_owned(),
            Self::Weeks(1) => "Week".to_owned(),
            Self::Weeks(weeks) => format!("{weeks} weeks"),
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
        assert_eq!(series.step, Step::Weeks(1));
        let [.., before, last] = &series.buckets[..] else { panic!("{series:?}") };
        assert_eq!((before.day, before.count, before.value), (FRIDAY - 4, 4, Some(4.0)));
        assert_eq!((last.day, last.count, last.value), (FRIDAY + 3, 5, None));
        assert_eq!(series.name(before), "Week from 9 Nov 2026");
    }

    #[test]
    fn years_are_shown_by_several_weeks_of_equal_length() {
        for (days, weeks) in [(800, 4), (1_736, 4), (1_737, 13), (9_000, 52), (90_000, 52)] {
            let series = Series::new(&[day(FRIDAY, 7, None)], FRIDAY - days + 1, FRIDAY);
            assert_eq!(series.step, Step::Weeks(weeks), "{days}");
            assert_eq!(series.buckets.iter().map(|bucket| bucket.count).sum::<u64>(), 7);
            let has_length = |pair: &[DayValue]| pair[1].day - pair[0].day == 7 * weeks;
            assert!(series.buckets.windows(2).all(has_length), "{days}");
        }
        let series = Series::new(&[day(FRIDAY, 7, None)], FRIDAY - 799, FRIDAY);
        let last = series.buckets.last().unwrap();
        assert!(series.name(last).starts_with("4 weeks from "), "{}", series.name(last));
    }

    #[test]
    fn buckets_begin_on_mondays_and_the_last_ends_with_the_week_of_the_last_day() {
        for length in WEEKS {
            let step = Step::Weeks(length);
            for (from, to) in (0..3_000).map(|day| (FRIDAY - 2 * day, FRIDAY + day)) {
                let first = step.first(from, to);
                assert!(first <= from || first + step.days() > to, "{length} {from} {to}");
                assert_eq!((first + SINCE_MONDAY).rem_euclid(7), 0, "{length} {from} {to}");
                let sunday = to + 6 - (to + SINCE_MONDAY).rem_euclid(7);
                assert_eq!((sunday + 1 - first).rem_euclid(step.days()), 0, "{length} {from} {to}");
            }
        }
    }

    #[test]
    fn buckets_that_are_not_complete_name_the_part_that_is_counted() {
        let names = |from: i64, to: i64, counted: CountedDays| {
            let series = Series::new(&[], from, to).counting(counted);
            let names = series
                .buckets
                .iter()
                .map(|bucket| (series.name(bucket), series.is_complete(bucket)));
            names.filter(|(_, is_complete)| !is_complete).map(|(name, _)| name).collect::<Vec<_>>()
        };
        let (all, today) = (CountedDays { from: None, to: None, today: FRIDAY }, FRIDAY);
        assert_eq!(names(today - 6, today, all), ["13 Nov 2026 (so far)"]);
        assert_eq!(names(today - 6, today - 1, all), [""; 0]);
        assert_eq!(names(today - 90, today, all), ["Week from 9 Nov 2026 (until 13 Nov 2026)"]);
        let period = CountedDays { from: Some(today - 90), to: Some(today - 3), today };
        assert_eq!(
            names(today - 90, today - 3, period),
            [
                "Week from 10 Aug 2026 (only from 15 Aug 2026)",
                "Week from 9 Nov 2026 (until 10 Nov 2026)"
            ]
        );
        // Days of whole weeks, and days in the future.
        let weeks = CountedDays { from: Some(today - 88), to: Some(today - 5), today };
        assert_eq!(names(today - 88, today - 5, weeks), [""; 0]);
        let future = CountedDays { from: Some(today), to: Some(today + 80), today };
        assert_eq!(names(today, today + 80, future), ["Week from 9 Nov 2026 (only 13 Nov 2026)"]);
    }

    #[test]
    fn nothing_outside_the_days_is_counted() {
        let days = [day(FRIDAY - 1, 1, None), day(FRIDAY, 2, None), day(FRIDAY + 1, 4, None)];
        let series = Series::new(&days, FRIDAY, FRIDAY);
        assert_eq!(series.buckets, [day(FRIDAY, 2, None)]);
    }
}
