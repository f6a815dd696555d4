//! How far the blocks of the skip index may reach.
//!
//! A response that is stored with an id within a block clears its filter, otherwise a list would
//! skip it. That takes a statement, so it is sent only for ids that may be in a block. Blocks have
//! ids that were old when they were added, by the clock of the server. That clock may have been set
//! back since: then they reach beyond its time. So what counts is the latest time that the server
//! had, as this process has seen it, and the newest block that it has read.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use sluice_flow::id::v7;
use sluice_flow::time::Timestamp;

/// Far below the age at which responses are put in blocks, so that the clocks of nodes may differ.
const OLD_MILLIS: i64 = 60_000;

#[derive(Debug, Default)]
pub(super) struct BlockHorizon {
    /// The last id of any block as it was read, at least once a minute; absent before.
    newest: Mutex<Option<u128>>,
    /// The latest time of the server, in milliseconds.
    latest: AtomicI64,
}

impl BlockHorizon {
    /// Records the server's current time.
    pub(super) fn note(&self, now: Timestamp) {
        self.latest.fetch_max(now.as_millis(), Ordering::Relaxed);
    }

    /// A response with an id after this one falls into no block, if the server has this time now.
    pub(super) fn at(&self, now: Timestamp) -> u128 {
        self.note(now);
        let Some(newest) = *self.newest() else { return u128::MAX };
        let latest = self.latest.load(Ordering::Relaxed);
        let old = Timestamp::from_millis(latest.saturating_sub(OLD_MILLIS).max(0));
        v7(old, 0, 0).as_u128().max(newest)
    }

    pub(super) fn is_known(&self) -> bool {
        self.newest().is_some()
    }

    /// Records the last id of the newest block.
    pub(super) fn reaches(&self, last: u128) {
        let mut newest = self.newest();
        *newest = (*newest).max(Some(last));
    }

    fn newest(&self) -> MutexGuard<'_, Option<u128>> {
        self.newest.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_763_172_000_000;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(NOW + millis)
    }

    fn id(millis: i64) -> u128 {
        v7(at(millis), 0, 0).as_u128()
    }

    #[test]
    fn any_id_may_be_in_a_block_until_the_newest_block_is_known() {
        let horizon = BlockHorizon::default();
        assert_eq!(horizon.at(at(0)), u128::MAX);
        horizon.reaches(0);
        assert_eq!(horizon.at(at(0)), id(-OLD_MILLIS));
    }

    #[test]
    fn a_clock_that_is_set_back_moves_no_block() {
        let horizon = BlockHorizon::default();
        horizon.note(at(0));
        horizon.reaches(id(-1_000_000));
        for millis in [-1, -3_600_000, 0] {
            assert_eq!(horizon.at(at(millis)), id(-OLD_MILLIS), "{millis}");
        }
        assert_eq!(horizon.at(at(10)), id(10 - OLD_MILLIS));
        // It was set back before this process began.
        let horizon = BlockHorizon::default();
        horizon.reaches(id(5_000));
        horizon.reaches(id(4_000));
        assert_eq!(horizon.at(at(0)), id(5_000));
        assert_eq!(horizon.at(at(5_001 + OLD_MILLIS)), id(5_001));
    }
}
