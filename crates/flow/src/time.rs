//! Instants to the millisecond, and half-open windows of them.
//!
//! Times are plain data here: nothing in this crate can ask what time it is.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Milliseconds since the Unix epoch, written as RFC 3339 in UTC with milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

/// The text is not an RFC 3339 instant in the years 1 to 9999.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be an RFC 3339 time such as 2026-11-15T02:00:00.000Z")]
pub struct InvalidTimestamp;

impl Timestamp {
    /// 0001-01-01T00:00:00.000Z, the first instant that has an RFC 3339 form.
    pub const MIN: Self = Self(-62_135_596_800_000);
    /// 9999-12-30T22:00:00.000Z, the last instant that every time zone can still write.
    pub const MAX: Self = Self(253_402_207_200_000);

    /// The instant this many milliseconds after the epoch, held within [`Self::MIN`] and [`Self::MAX`].
    pub fn from_millis(millis: i64) -> Self {
        Self(millis.clamp(Self::MIN.0, Self::MAX.0))
    }

    pub fn as_millis(self) -> i64 {
        self.0
    }

    /// This instant moved by whole seconds, held at the ends of the range.
    #[must_use]
    pub fn plus_seconds(self, seconds: i64) -> Self {
        Self::from_millis(self.0.saturating_add(seconds.saturating_mul(1000)))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let instant = jiff::Timestamp::from_millisecond(self.0).map_err(|_| fmt::Error)?;
        write!(f, "{instant:.3}")
    }
}

impl FromStr for Timestamp {
    type Err = InvalidTimestamp;

    fn from_str(text: &str) -> Result<Self, InvalidTimestamp> {
        let instant: jiff::Timestamp = text.parse().map_err(|_| InvalidTimestamp)?;
        let millis = instant.as_millisecond();
        if (Self::MIN.0..=Self::MAX.0).contains(&millis) {
            Ok(Self(millis))
        } else {
            Err(InvalidTimestamp)
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
    /// Whether the window can ever be open: its end, if any, comes after its start, if any.
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
    fn a_text_that_is_no_instant_is_refused() {
        for text in ["", "now", "2025-11-15", "2025-13-01T00:00:00Z", "2025-11-15T02:00:00"] {
            assert_eq!(text.parse::<Timestamp>(), Err(InvalidTimestamp), "{text}");
        }
    }

    #[test]
    fn the_ends_of_the_range_have_a_text() {
        for end in [Timestamp::MIN, Timestamp::MAX] {
            assert_eq!(end.to_string().parse(), Ok(end));
        }
        assert_eq!(Timestamp::from_millis(i64::MAX), Timestamp::MAX);
        assert_eq!(Timestamp::MAX.plus_seconds(i64::MAX), Timestamp::MAX);
    }

    #[test]
    fn a_window_that_ends_before_it_starts_is_not_ordered() {
        let at = |ms| Some(Timestamp::from_millis(ms));
        assert!(Window::default().is_ordered());
        assert!(Window { starts_at: at(1), ends_at: at(2) }.is_ordered());
        assert!(!Window { starts_at: at(2), ends_at: at(2) }.is_ordered());
    }
}
