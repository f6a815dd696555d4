//! How long the syncs of the log took, for the metrics of operators.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const MILLISECOND: u64 = 1_000_000;

/// The upper bounds of the intervals in which syncs are counted, in nanoseconds.
pub const BOUNDS_NANOS: [u64; 10] = [
    MILLISECOND / 4,
    MILLISECOND,
    2 * MILLISECOND,
    5 * MILLISECOND,
    10 * MILLISECOND,
    25 * MILLISECOND,
    100 * MILLISECOND,
    250 * MILLISECOND,
    1_000 * MILLISECOND,
    5_000 * MILLISECOND,
];

const INTERVALS: usize = BOUNDS_NANOS.len() + 1;

static COUNTS: [AtomicU64; INTERVALS] = [const { AtomicU64::new(0) }; INTERVALS];
static SUM_NANOS: AtomicU64 = AtomicU64::new(0);

/// Counts a sync.
pub(crate) fn note(took: Duration) {
    let nanos = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
    let interval = BOUNDS_NANOS.iter().position(|bound| nanos <= *bound);
    COUNTS[interval.unwrap_or(BOUNDS_NANOS.len())].fetch_add(1, Ordering::Relaxed);
    SUM_NANOS.fetch_add(nanos, Ordering::Relaxed);
}

/// The number of syncs of this process in each interval, the last without an upper bound; and how
/// long all of them took, in nanoseconds.
pub fn sync_times() -> ([u64; INTERVALS], u64) {
    let counts = std::array::from_fn(|index| COUNTS[index].load(Ordering::Relaxed));
    (counts, SUM_NANOS.load(Ordering::Relaxed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sync_is_counted_in_the_interval_whose_upper_bound_it_does_not_exceed() {
        for (took, interval) in [
            (Duration::from_micros(1), 0),
            (Duration::from_micros(250), 0),
            (Duration::from_nanos(250_001), 1),
            (Duration::from_millis(100), 6),
            (Duration::from_secs(5), 9),
            (Duration::from_secs(6), 10),
        ] {
            let (before, sum_before) = sync_times();
            note(took);
            let (after, sum) = sync_times();
            // Other tests of this process sync their own files.
            assert!(after[interval] > before[interval], "{took:?}");
            assert!(sum - sum_before >= u64::try_from(took.as_nanos()).unwrap(), "{took:?}");
        }
    }
}
