//! Generates identifiers: time and order from the caller's clock, the rest from the system's random
//! source.

use std::sync::{Mutex, MutexGuard, PoisonError};

use sluice_flow::id::v7;
use sluice_flow::invitation::day_of;
use sluice_flow::time::Timestamp;
use uuid::Uuid;

/// A clock that was set back by less than this is ignored until it catches up; otherwise it is
/// used.
const STEADY_MILLIS_MAX: i64 = 1_000;

/// Generates version 7 UUIDs that sort in the order of the calls, unless the clock is set back by
/// more than a second: then newer ids have the newer time, which windows follow.
#[derive(Debug, Default)]
pub(crate) struct Ids {
    /// The last millisecond, and the number of ids generated in it.
    last: Mutex<(i64, u32)>,
}

impl Ids {
    /// This time, or that of the last id if the clock was set back a little since.
    pub(crate) fn steady(&self, at: Timestamp) -> Timestamp {
        not_before(self.last().0, at)
    }

    pub(crate) fn next(&self, at: Timestamp) -> Uuid {
        let (at, sequence) = self.take(at, 1);
        v7(at, sequence, random_bits() as u64)
    }

    /// An id that reveals only the day, without an order within it.
    pub(crate) fn of_day(at: Timestamp) -> Uuid {
        let bits = random_bits();
        v7(day_of(at), (bits >> 64) as u32, bits as u64)
    }

    /// Generates `count` ids with one call to the system's random source.
    pub(crate) fn many(&self, at: Timestamp, count: usize) -> Vec<Uuid> {
        let mut random = vec![0; count * size_of::<u64>()];
        fill_random(&mut random);
        let (random, _) = random.as_chunks();
        let (at, first) = self.take(at, count);
        let id = |(sequence, bytes): (u32, &[u8; 8])| v7(at, sequence, u64::from_le_bytes(*bytes));
        (first..).zip(random).map(id).collect()
    }

    /// Reserves sequence numbers within a millisecond; returns the millisecond and the first
    /// number.
    fn take(&self, at: Timestamp, count: usize) -> (Timestamp, u32) {
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        // One lock for both: otherwise the clock of another call could come in between.
        let mut last = self.last();
        let at = not_before(last.0, at);
        let first = if last.0 == at.as_millis() { last.1 } else { 0 };
        *last = (at.as_millis(), first.saturating_add(count));
        (at, first)
    }

    fn last(&self) -> MutexGuard<'_, (i64, u32)> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// This time, or the last millisecond if the time is a little before it.
fn not_before(last: i64, at: Timestamp) -> Timestamp {
    let behind = last - at.as_millis();
    if (1..STEADY_MILLIS_MAX).contains(&behind) { Timestamp::from_millis(last) } else { at }
}

/// 128 unguessable bits.
pub(crate) fn random_bits() -> u128 {
    let mut bytes = [0_u8; 16];
    fill_random(&mut bytes);
    u128::from_le_bytes(bytes)
}

/// Generates `count` unguessable ids in ascending order, so that rows created together are listed
/// in the order in which they were given.
pub(crate) fn random_ids(count: usize) -> Vec<u128> {
    let mut random = vec![0; count * size_of::<u128>()];
    fill_random(&mut random);
    let (random, _) = random.as_chunks();
    let mut ids: Vec<u128> = random.iter().map(|bytes| u128::from_le_bytes(*bytes)).collect();
    ids.sort_unstable();
    ids
}

pub(crate) fn fill_random(bytes: &mut [u8]) {
    // The system's random source fails only if there is none; then this process must not continue.
    #[expect(clippy::panic, reason = "secrets cannot be generated without randomness")]
    if let Err(error) = getrandom::fill(bytes) {
        panic!("the operating system's random source failed: {error}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_within_one_millisecond_sort_in_creation_order() {
        let ids = Ids::default();
        let at = Timestamp::from_millis(1_763_172_000_000);
        let mut made: Vec<Uuid> = (0..10_000).map(|_| ids.next(at)).collect();
        made.extend(ids.many(at, 500));
        made.push(ids.next(at));
        assert_eq!(made.len(), 10_501);
        assert!(made.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn an_id_of_a_day_reveals_only_the_day() {
        let at = |millis: i64| Timestamp::from_millis(1_763_172_000_000 + millis);
        let ids = [Ids::of_day(at(0)), Ids::of_day(at(1)), Ids::of_day(at(1))];
        let reported = ids.map(|id| sluice_flow::id::RespondentId::from_uuid(id).made_at());
        assert_eq!(reported, [day_of(at(0)); 3]);
        assert_eq!(day_of(at(0)).as_millis() % 86_400_000, 0);
        assert!(ids[0] != ids[1] && ids[1] != ids[2]);
    }

    #[test]
    fn ids_are_unique_and_in_order_when_threads_disagree_about_the_time() {
        let ids = Ids::default();
        let at = |ms: i64| Timestamp::from_millis(1_763_172_000_000 + ms);
        let of_thread = |thread: i64| {
            let ids = &ids;
            move || (0..20_000).map(|n| ids.take(at((n + thread * 7) % 50), 1)).collect::<Vec<_>>()
        };
        let taken = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|n| scope.spawn(of_thread(n))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
        });
        for of_one in &taken {
            assert!(of_one.windows(2).all(|pair| pair[0] < pair[1]), "a number went back");
        }
        let mut all = taken.concat();
        all.sort_unstable();
        assert!(all.windows(2).all(|pair| pair[0] != pair[1]), "a number was taken twice");
    }

    #[test]
    fn ids_ignore_a_clock_set_back_a_little_and_follow_one_set_back_far() {
        let ids = Ids::default();
        let at = |ms: i64| Timestamp::from_millis(1_763_172_000_000 + ms);
        let first = ids.next(at(0));
        let back_a_little = ids.next(at(-999));
        assert!(first < back_a_little);
        assert_eq!(ids.steady(at(-999)), at(0));
        assert!(ids.next(at(-1_000)) < first);
    }
}
