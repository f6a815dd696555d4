//! Makes identifiers: time and order from the caller's clock, the rest from the system's
//! randomness.

use std::sync::{Mutex, MutexGuard, PoisonError};

use sluice_flow::id::v7;
use sluice_flow::invitation::day_of;
use sluice_flow::time::Timestamp;
use uuid::Uuid;

/// A clock that is set back by less than this is waited out; by more, it is believed.
const STEADY_MILLIS_MAX: i64 = 1_000;

/// Hands out version 7 UUIDs that sort in the order they were asked for, unless the clock is set
/// back by more than a second: then the newer ids tell the newer time, which windows follow.
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
        let (at, sequence) = self.take(at, 1);
        v7(at, sequence, random_bits() as u64)
    }

    /// An id that tells the day alone, and no order within it.
    pub(crate) fn of_day(at: Timestamp) -> Uuid {
        let bits = random_bits();
        v7(day_of(at), (bits >> 64) as u32, bits as u64)
    }

    /// As many ids as asked for, for one call to the system's source of randomness.
    pub(crate) fn many(&self, at: Timestamp, count: usize) -> Vec<Uuid> {
        let mut random = vec![0; count * size_of::<u64>()];
        fill_random(&mut random);
        let (random, _) = random.as_chunks();
        let (at, first) = self.take(at, count);
        let id = |(sequence, bytes): (u32, &[u8; 8])| v7(at, sequence, u64::from_le_bytes(*bytes));
        (first..).zip(random).map(id).collect()
    }

    /// Takes the next places of a millisecond: which it is, and the first place.
    fn take(&self, at: Timestamp, count: usize) -> (Timestamp, u32) {
        let at = self.steady(at);
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        let mut last = self.last();
        let first = if last.0 == at.as_millis() { last.1 } else { 0 };
        *last = (at.as_millis(), first.saturating_add(count));
        (at, first)
    }

    fn last(&self) -> MutexGuard<'_, (i64, u32)> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// 128 bits that nobody can guess.
pub(crate) fn random_bits() -> u128 {
    let mut bytes = [0_u8; 16];
    fill_random(&mut bytes);
    u128::from_le_bytes(bytes)
}

/// So many ids that nobody can guess, in their own order: what is made at once is listed in the
/// order in which it was given.
pub(crate) fn random_ids(count: usize) -> Vec<u128> {
    let mut random = vec![0; count * size_of::<u128>()];
    fill_random(&mut random);
    let (random, _) = random.as_chunks();
    let mut ids: Vec<u128> = random.iter().map(|bytes| u128::from_le_bytes(*bytes)).collect();
    ids.sort_unstable();
    ids
}

pub(crate) fn fill_random(bytes: &mut [u8]) {
    // The system's source only fails where there is none at all; then nothing here may go on.
    #[expect(clippy::panic, reason = "without randomness there are no secrets to hand out")]
    if let Err(error) = getrandom::fill(bytes) {
        panic!("the operating system gives no randomness: {error}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_one_millisecond_sort_in_the_order_they_were_made() {
        let ids = Ids::default();
        let at = Timestamp::from_millis(1_763_172_000_000);
        let mut made: Vec<Uuid> = (0..10_000).map(|_| ids.next(at)).collect();
        made.extend(ids.many(at, 500));
        made.push(ids.next(at));
        assert_eq!(made.len(), 10_501);
        assert!(made.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn an_id_of_a_day_tells_no_more_than_the_day() {
        let at = |millis: i64| Timestamp::from_millis(1_763_172_000_000 + millis);
        let ids = [Ids::of_day(at(0)), Ids::of_day(at(1)), Ids::of_day(at(1))];
        let told = ids.map(|id| sluice_flow::id::RespondentId::from_uuid(id).made_at());
        assert_eq!(told, [day_of(at(0)); 3]);
        assert_eq!(day_of(at(0)).as_millis() % 86_400_000, 0);
        assert!(ids[0] != ids[1] && ids[1] != ids[2]);
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
