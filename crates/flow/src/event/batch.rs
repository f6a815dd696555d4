//! Batches of events: how many share a request, how long they wait for one another, and the id of
//! the message.

use crate::id::EventId;
use crate::time::Timestamp;

/// The type of a message with several events.
pub const BATCH_TYPE: &str = "event.batch";
/// The most events of one message.
pub const BATCH_MAX: usize = 100;
/// How long an event waits for others, in milliseconds.
pub const BATCH_WAIT_MILLIS: i64 = 1_000;

/// When to send events, given the time from which the first could be read: `None` means now.
pub fn wait_until(first: Timestamp, events: usize, now: Timestamp) -> Option<Timestamp> {
    let until = Timestamp::from_millis(first.as_millis().saturating_add(BATCH_WAIT_MILLIS));
    (events < BATCH_MAX && now < until && first <= now).then_some(until)
}

/// The id of a message: the same for the same events in the same order.
pub fn batch_id(events: impl Iterator<Item = EventId>) -> String {
    // FNV-1a: not a secret, only different for different events.
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013B;
    let mut hash: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    for event in events {
        for byte in event.uuid().as_bytes() {
            hash = (hash ^ u128::from(*byte)).wrapping_mul(PRIME);
        }
    }
    format!("batch_{hash:032x}")
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_batch_waits_for_a_second_or_for_100_events() {
        let at = Timestamp::from_millis;
        for (first, events, now, expected) in [
            (1_000, 1, 1_000, Some(2_000)),
            (1_000, 99, 1_999, Some(2_000)),
            (1_000, 1, 2_000, None),
            (1_000, 100, 1_000, None),
            // The clock was set back.
            (9_000, 1, 1_000, None),
        ] {
            let found = wait_until(at(first), events, at(now));
            assert_eq!(found, expected.map(at), "{first} {events} {now}");
        }
    }

    #[test]
    fn a_batch_has_the_same_id_for_the_same_events_only() {
        let id = |bits: &[u128]| {
            batch_id(bits.iter().map(|it| EventId::from_uuid(Uuid::from_u128(*it))))
        };
        assert_eq!(id(&[1, 2]), id(&[1, 2]));
        for other in [&[1_u128][..], &[2, 1], &[1, 2, 3], &[1, 3]] {
            assert_ne!(id(&[1, 2]), id(other), "{other:?}");
        }
    }
}
