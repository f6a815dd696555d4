//! Times to finish, counted in fixed bins, and the median that they give.
//!
//! A bin is at most a fifth longer than it starts, so a median from bins is known to about 20 %,
//! however many times were counted, and no exact time is stored.

use std::collections::BTreeMap;

/// The last bin starts here and has no end: a day, in seconds.
const LAST_BIN_SECONDS: u32 = 24 * 60 * 60;

/// A range of times, by its first second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimeBin(u32);

impl TimeBin {
    /// The bin of a time.
    pub fn containing(seconds: u32) -> Self {
        let mut bin = Self(0);
        while let Some(next) = bin.to_seconds().filter(|next| *next <= seconds) {
            bin = Self(next);
        }
        bin
    }

    pub fn from_seconds(self) -> u32 {
        self.0
    }

    /// The first second of the next bin; none for the last one.
    pub fn to_seconds(self) -> Option<u32> {
        let next = (self.0 + 1).max(self.0 + self.0 / 5).min(LAST_BIN_SECONDS);
        (self.0 < LAST_BIN_SECONDS).then_some(next)
    }
}

/// How many visits took the time of each bin.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Times(BTreeMap<TimeBin, u64>);

/// The median of times that are known by their bins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MedianTime {
    /// The number of times.
    pub times: u64,
    /// An estimate: times are taken to be spread evenly over their bin.
    pub about_seconds: u32,
    /// The median is at least this.
    pub from_seconds: u32,
    /// The median is less than this; none means a day or more.
    pub to_seconds: Option<u32>,
}

impl Times {
    pub fn add(&mut self, bin: TimeBin, times: u64) {
        let sum = self.0.entry(bin).or_default();
        *sum = sum.saturating_add(times);
    }

    /// The median; with an even number of times, the lower of the two in the middle.
    pub fn median(&self) -> Option<MedianTime> {
        let times = self.0.values().fold(0_u64, |sum, times| sum.saturating_add(*times));
        let middle = times.checked_sub(1)? / 2;
        let mut before = 0_u64;
        for (bin, count) in &self.0 {
            if middle >= before.saturating_add(*count) {
                before = before.saturating_add(*count);
                continue;
            }
            let (from, to) = (bin.from_seconds(), bin.to_seconds());
            let width = f64::from(to.unwrap_or(from) - from);
            let part = ((middle - before) as f64 + 0.5) / *count as f64;
            let about_seconds = from + (width * part) as u32;
            return Some(MedianTime { times, about_seconds, from_seconds: from, to_seconds: to });
        }
        None
    }
}
