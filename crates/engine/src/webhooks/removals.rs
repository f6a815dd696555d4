//! How many times replies about responses of an app were removed, as an endpoint knew it.
//!
//! A worker may store a reply only if no erasure has happened since it read what it sent
//! ([`sluice_store::Saved`]). What it sends may be from a page that another endpoint read a moment
//! before, so it needs the number from before that.

use tokio::time::Instant;

/// The numbers when the row of the endpoint was read, the last two times.
#[derive(Debug, Clone, Copy)]
pub(super) struct Removals {
    now: (Instant, u32),
    before: (Instant, u32),
}

impl Removals {
    /// The row has just been read for the first time.
    pub(super) fn new(count: u32) -> Self {
        let now = (Instant::now(), count);
        Self { now, before: now }
    }

    /// The row has just been read again.
    pub(super) fn next(self, count: u32) -> Self {
        Self { now: (Instant::now(), count), before: self.now }
    }

    /// The last number that was known at a time.
    pub(super) fn at(&self, time: Instant) -> Option<u32> {
        let known = [self.now, self.before].into_iter().find(|(read, _)| *read <= time);
        known.map(|(_, count)| count)
    }

    pub(super) fn now(&self) -> u32 {
        self.now.1
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_number_is_from_before_the_time() {
        let begun = Instant::now();
        let at = |seconds: u64| begun + Duration::from_secs(seconds);
        let removals = Removals { now: (at(20), 7), before: (at(10), 5) };
        for (time, expected) in
            [(9, None), (10, Some(5)), (19, Some(5)), (20, Some(7)), (30, Some(7))]
        {
            assert_eq!(removals.at(at(time)), expected, "{time}");
        }
        assert_eq!(removals.now(), 7);
    }
}
