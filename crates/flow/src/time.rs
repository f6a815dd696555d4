//! Instants with millisecond precision, and half-open windows.
//!
//! Times are plain data: nothing in this crate can read a clock.

use std::fmt;
use std::str::FromStr;

use chrono::{DateTime, SecondsFormat};
use serde::{Deserialize, Serialize};

pub const HOUR_SECONDS: i64 = 60 * 60;
pub const HOUR_MILLIS: i64 = HOUR_SECONDS * 1000;
pub const DAY_SECONDS: i64 = 24 * HOUR_SECONDS;
pub const DAY_MILLIS: i64 = DAY_SECONDS * 1000;

/// Milliseconds since the Unix epoch, written as RFC 3339 in UTC with milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

/// The text is not an RFC 3339 instant in the years 1 to 9999 in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidTimestamp {
    #[error("must be an RFC 3339 time such as 2026-11-15T02:00:00.000Z")]
    Format,
    /// An offset can lead out of the range.
    #[error("must be a time from {} to {}", Timestamp::MIN, Timestamp::MAX)]
    Range,
}

impl Timestamp {
    /// 0001-01-01T00:00:00.000Z, the first instant that has an RFC 3339 form.
    pub const MIN: Self = Self(-62_135_596_800_000);
    /// 9999-12-31T23:59:59.999Z, the last one, which many clients send for "never".
    pub const MAX: Self = Self(253_402_300_799_999);

    /// The instant this many milliseconds after the epoch, clamped to [`Self::MIN`] and
    /// [`Self::MAX`].
    pub fn from_millis(millis: i64) -> Self {
        Self(millis.clamp(Self::MIN.0, Self::MAX.0))
    }

    pub fn as_millis(self) -> i64 {
        self.0
    }

    /// This instant moved by whole seconds, clamped to the range.
    #[must_use]
    pub fn plus_seconds(self, seconds: i64) -> Self {
        Self::from_millis(self.0.saturating_add(seconds.saturating_mul(1000)))
    }
}

/// A day in UTC, counted from the epoch, written `YYYY-MM-DD`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Day(i32);

/// The text is not a date of the years 1 to 9999.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be a date such as 2026-11-15")]
pub struct InvalidDay;

impl Timestamp {
    /// The day that contains this instant.
    pub fn day(self) -> Day {
        Day::from_number(i32::try_from(self.0.div_euclid(DAY_MILLIS)).unwrap_or(0))
    }
}

impl Day {
    const MIN: i32 = -719_162;
    const MAX: i32 = 2_932_896;

    /// The day this many days after the epoch, clamped to the years 1 to 9999.
    pub fn from_number(days: i32) -> Self {
        Self(days.clamp(Self::MIN, Self::MAX))
    }

    /// Days since the epoch.
    pub fn number(self) -> i32 {
        self.0
    }

    pub fn starts_at(self) -> Timestamp {
        Timestamp::from_millis(i64::from(self.0) * DAY_MILLIS)
    }

    /// This day moved by whole days, clamped to the range.
    #[must_use]
    pub fn plus(self, days: i32) -> Self {
        Self::from_number(self.0.saturating_add(days))
    }

    /// The Monday of this day's week.
    #[must_use]
    pub fn monday(self) -> Self {
        // The epoch was a Thursday.
        self.plus(-(self.0 + 3).rem_euclid(7))
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.starts_at().to_string();
        f.write_str(text.get(..10).ok_or(fmt::Error)?)
    }
}

impl FromStr for Day {
    type Err = InvalidDay;

    fn from_str(text: &str) -> Result<Self, InvalidDay> {
        if !crate::date::is_date(text) {
            return Err(InvalidDay);
        }
        let midnight: Timestamp = format!("{text}T00:00:00Z").parse().map_err(|_| InvalidDay)?;
        Ok(midnight.day())
    }
}

impl<'de> Deserialize<'de> for Day {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl Serialize for Day {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let instant = DateTime::from_timestamp_millis(self.0).ok_or(fmt::Error)?;
        f.write_str(&instant.to_rfc3339_opts(SecondsFormat::Millis, true))
    }
}

impl FromStr for Timestamp {
    type Err = InvalidTimestamp;

    fn from_str(text: &str) -> Result<Self, InvalidTimestamp> {
        let instant = DateTime::parse_from_rfc3339(text).map_err(|_| InvalidTimestamp::Format)?;
        let millis = instant.timestamp_millis();
        if (Self::MIN.0..=Self::MAX.0).contains(&millis) {
            Ok(Self(millis))
        } else {
            Err(InvalidTimestamp::Range)
        }
    }
}

impl Serialize for Timestamp {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// A half-open window `[starts_at, ends_at)`; an absent end is unbounded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Window {
    #[serde(default)]
    pub starts_at: Option<Timestamp>,
    #[serde(default)]
    pub ends_at: Option<Timestamp>,
}

impl Window {
    /// Whether the window can ever be open: if it has a start and an end, the end is later.
    pub fn is_ordered(&self) -> bool {
        match (self.starts_at, self.ends_at) {
            (Some(start), Some(end)) => start < end,
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{ResponseId, v7};

    #[test]
    fn a_timestamp_is_written_with_milliseconds_in_utc_and_read_back() {
        let noon = Timestamp::from_millis(1_763_172_000_000);
        assert_eq!(noon.to_string(), "2025-11-15T02:00:00.000Z");
        for text in
            ["2025-11-15T02:00:00.000Z", "2025-11-15T03:00:00+01:00", "2025-11-15T02:00:00Z"]
        {
            assert_eq!(text.parse(), Ok(noon), "{text}");
        }
    }

    #[test]
    fn an_invalid_instant_is_refused() {
        for text in ["", "now", "2025-11-15", "2025-13-01T00:00:00Z", "2025-11-15T02:00:00"] {
            assert_eq!(text.parse::<Timestamp>(), Err(InvalidTimestamp::Format), "{text}");
        }
    }

    #[test]
    fn the_last_second_of_the_year_9999_is_a_time() {
        let last_second = Timestamp::from_millis(Timestamp::MAX.as_millis() - 999);
        for (text, expected) in [
            ("9999-12-31T23:59:59Z", Ok(last_second)),
            ("9999-12-31T23:59:59.999Z", Ok(Timestamp::MAX)),
            ("9999-12-31T23:59:59.9999999+00:00", Ok(Timestamp::MAX)),
            ("9999-12-31T23:59:59.999-00:01", Err(InvalidTimestamp::Range)),
            ("0001-01-01T00:00:00Z", Ok(Timestamp::MIN)),
            ("0001-01-01T00:00:00+00:01", Err(InvalidTimestamp::Range)),
            ("10000-01-01T00:00:00Z", Err(InvalidTimestamp::Format)),
        ] {
            assert_eq!(text.parse(), expected, "{text}");
        }
        assert_eq!(
            InvalidTimestamp::Range.to_string(),
            "must be a time from 0001-01-01T00:00:00.000Z to 9999-12-31T23:59:59.999Z"
        );
    }

    #[test]
    fn the_ends_of_the_range_can_be_written() {
        for end in [Timestamp::MIN, Timestamp::MAX] {
            assert_eq!(end.to_string().parse(), Ok(end));
        }
        assert_eq!(Timestamp::from_millis(i64::MAX), Timestamp::MAX);
        assert_eq!(Timestamp::MAX.plus_seconds(i64::MAX), Timestamp::MAX);
        assert_eq!(Timestamp::MAX.day(), Day::from_number(i32::MAX));
        assert_eq!(Timestamp::MIN.day(), Day::from_number(i32::MIN));
        assert_eq!(ResponseId::from_uuid(v7(Timestamp::MAX, 0, 0)).made_at(), Timestamp::MAX);
    }

    #[test]
    fn a_day_begins_at_midnight_utc_and_is_written_as_a_date() {
        for (millis, text) in [
            (0, "1970-01-01"),
            (-1, "1969-12-31"),
            (1_763_172_000_000, "2025-11-15"),
            (1_763_164_799_999, "2025-11-14"),
            (1_709_164_800_000, "2024-02-29"),
        ] {
            let day = Timestamp::from_millis(millis).day();
            assert_eq!(day.to_string(), text);
            assert_eq!(text.parse(), Ok(day));
            assert_eq!(day.starts_at().day(), day);
        }
        for text in ["0001-01-01", "9999-12-31"] {
            assert_eq!(text.parse::<Day>().unwrap().to_string(), text);
        }
        for text in ["", "2025-02-29", "2025-1-1", "2025-11-15T00:00:00Z"] {
            assert_eq!(text.parse::<Day>(), Err(InvalidDay), "{text}");
        }
    }

    #[test]
    fn a_week_begins_on_monday() {
        let monday = |text: &str| text.parse::<Day>().unwrap().monday().to_string();
        assert_eq!(monday("2025-11-15"), "2025-11-10");
        assert_eq!(monday("2025-11-10"), "2025-11-10");
        assert_eq!(monday("2025-11-16"), "2025-11-10");
        assert_eq!(monday("1969-12-28"), "1969-12-22");
    }

    #[test]
    fn a_window_that_ends_before_it_starts_is_not_ordered() {
        let at = |ms| Some(Timestamp::from_millis(ms));
        assert!(Window::default().is_ordered());
        assert!(Window { starts_at: at(1), ends_at: at(2) }.is_ordered());
        assert!(!Window { starts_at: at(2), ends_at: at(2) }.is_ordered());
    }
}
