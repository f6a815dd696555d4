//! Makes identifiers: time and order from the caller's clock, the rest from the system's randomness.

use std::sync::{Mutex, MutexGuard, PoisonError};

use sluice_flow::id::v7;
use sluice_flow::time::Timestamp;
use uuid::Uuid;

/// A clock that is set back by less than this is waited out; by more, it is believed.
const STEADY_MILLIS_MAX: i64 = 1_000;

/// Hands out version 7 UUIDs that sort in the order they were asked for, unless the clock is set back
/// by more than a second: then the newer ids tell the newer time, which windows follow.
#[derive(Debug, Default)]
pub(crate) struct Ids {
    /// The last millisecond, and how many ids it has had.
    last: Mutex<(i64, u32)>,
}

impl Ids {
    /// This time, or that of the last id where the clock was set back a little since.
    pub(crate) fn steady(&self, at: Timestamp) -> Timestamp {
        let last = self.last().0;
        let behind = last - at.as_millis();
        if (1..STEADY_MILLIS_MAX).contains(&behind) { Timestamp::from_millis(last) } else { at }
    }

    pub(crate) fn next(&self, at: Timestamp) -> Uuid {
        let at = self.steady(at);
        let sequence = {
            let mut last = self.last();
            *last =
                if last.0 == at.as_millis() { (last.0, last.1 + 1) } else { (at.as_millis(), 0) };
            last.1
        };
        v7(at, sequence, random_bits() as u64)
    }

    fn last(&self) -> MutexGuard<'_, (i64, u32)> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// 128 bits that nobody can guess.
pub(crate) fn random_bits() -> u128 {
    let mut bytes = [0_u8; 16];
    // The system's source only fails where there is none at all; then nothing here may go on.
    #[expect(clippy::panic, reason = "without randomness there are no secrets to hand out")]
    if let Err(error) = getrandom::fill(&mut bytes) {
        panic!("the operating system gives no randomness: {error}");
    }
    u128::from_le_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_one_millisecond_sort_in_the_order_they_were_made() {
        let ids = Ids::default();
        let at = Timestamp::from_millis(1_763_172_000_000);
        let made: Vec<Uuid> = (0..10_000).map(|_| ids.next(at)).collect();
        assert!(made.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn a_clock_set_back_a_little_is_waited_out_and_by_much_is_believed() {
        let ids = Ids::default();
        let at = |ms: i64| Timestamp::from_millis(1_763_172_000_000 + ms);
        let first = ids.next(at(0));
        let back_a_little = ids.next(at(-999));
        assert!(first < back_a_little);
        assert_eq!(ids.steady(at(-999)), at(0));
        assert!(ids.next(at(-1_000)) < first);
    }
}
