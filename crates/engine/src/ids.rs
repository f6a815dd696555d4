//! Makes identifiers: time and order from the caller's clock, the rest from the system's randomness.

use std::sync::Mutex;

use sluice_flow::id::v7;
use sluice_flow::time::Timestamp;
use uuid::Uuid;

/// Hands out version 7 UUIDs that sort in the order they were asked for, as long as time does not
/// run backwards.
#[derive(Debug, Default)]
pub(crate) struct Ids {
    last: Mutex<(i64, u32)>,
}

impl Ids {
    pub(crate) fn next(&self, at: Timestamp) -> Uuid {
        let sequence = {
            let mut last = self.last.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            *last =
                if last.0 == at.as_millis() { (last.0, last.1 + 1) } else { (at.as_millis(), 0) };
            last.1
        };
        v7(at, sequence, random_bits() as u64)
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
}
