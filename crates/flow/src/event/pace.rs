//! How fast a server sends events while it stores many responses: deliveries give way to
//! submissions.
//!
//! Both need the same processors and the same disk. While submissions wait for one another, so that
//! several share a write, events are sent at a part of the rate at which responses are stored. The
//! part grows with the time for which an event has waited, up to no limit, so that receivers fall
//! behind by minutes and not by hours; and some events are always sent. When the load ends, there
//! is no limit.

/// What a server stores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Load {
    pub responses_per_second: u64,
    /// Each may contain several responses.
    pub writes_per_second: u64,
}

/// With this many responses in a write, submissions wait for one another.
const BUSY_RESPONSES_PER_WRITE: u64 = 3;
/// From which time of waiting on, in seconds, one event is sent for how many stored responses; and
/// how many are sent in any case, per second.
const SHARES: [(i64, u64, u64); 3] = [(5 * 60, 1, 1_000), (60, 4, 500), (0, 20, 200)];
/// From this time of waiting on, in seconds, there is no limit: with many receivers, the last share
/// may be less than what is new.
const UNLIMITED_AFTER: i64 = 15 * 60;
/// Events of one request that cost as much as a request with one event.
const EVENTS_PER_COST: usize = 10;

/// The most events per second that a server sends to all its receivers together, if the next one
/// has waited for this long. `None` means that there is no limit.
pub fn events_per_second(load: Load, waited_millis: i64) -> Option<u64> {
    let Load { responses_per_second, writes_per_second } = load;
    let is_busy = responses_per_second > 0
        && responses_per_second >= writes_per_second.saturating_mul(BUSY_RESPONSES_PER_WRITE);
    let waited = waited_millis.max(0) / 1_000;
    if !is_busy || waited >= UNLIMITED_AFTER {
        return None;
    }
    let (_, each, least) = SHARES.iter().find(|(seconds, ..)| waited >= *seconds)?;
    Some((responses_per_second / each).max(*least))
}

/// How many single events a request with this many events counts as.
pub fn cost(events: usize) -> u32 {
    u32::try_from(events.div_ceil(EVENTS_PER_COST)).unwrap_or(u32::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_give_way_while_submissions_wait_for_one_another() {
        const MINUTE: i64 = 60_000;
        for (responses, writes, waited, expected) in [
            // Nothing to do, and submissions that do not wait for one another.
            (0, 0, 0, None),
            (500, 400, 0, None),
            (1_499, 500, 0, None),
            (1_499, 500, 60 * MINUTE, None),
            // Several share a write: one event for 20 responses, 4, and 1.
            (12_000, 600, 0, Some(600)),
            (12_000, 600, MINUTE - 1, Some(600)),
            (12_000, 600, MINUTE, Some(3_000)),
            (12_000, 600, 5 * MINUTE - 1, Some(3_000)),
            (12_000, 600, 5 * MINUTE, Some(12_000)),
            (12_000, 600, 15 * MINUTE - 1, Some(12_000)),
            (12_000, 600, 15 * MINUTE, None),
            // Some are always sent.
            (1_500, 500, 0, Some(200)),
            (40, 5, 0, Some(200)),
            (40, 5, MINUTE, Some(500)),
            (40, 5, 5 * MINUTE, Some(1_000)),
            // The clock was set back.
            (12_000, 600, -MINUTE, Some(600)),
        ] {
            let load = Load { responses_per_second: responses, writes_per_second: writes };
            let found = events_per_second(load, waited);
            assert_eq!(found, expected, "{load:?} {waited}");
        }
    }

    #[test]
    fn an_event_in_a_batch_costs_less_than_a_request() {
        for (events, expected) in [(0, 1), (1, 1), (10, 1), (11, 2), (100, 10)] {
            assert_eq!(cost(events), expected, "{events}");
        }
    }
}
