//! What a receiver's reply means, when an event is sent again, and when an endpoint is given up.

use crate::time::{self, DAY_SECONDS, Timestamp};

/// The pause before each attempt after the first, in seconds.
pub const RETRY_SECONDS: [u32; 9] = [
    5,
    5 * 60,
    30 * 60,
    2 * HOUR_SECONDS,
    5 * HOUR_SECONDS,
    10 * HOUR_SECONDS,
    14 * HOUR_SECONDS,
    20 * HOUR_SECONDS,
    24 * HOUR_SECONDS,
];
/// How often an event is sent to an endpoint at most.
pub const ATTEMPTS_MAX: u32 = RETRY_SECONDS.len() as u32 + 1;
/// The longest pause that a receiver can ask for, in seconds.
pub const RETRY_AFTER_SECONDS_MAX: u32 = 24 * HOUR_SECONDS;
/// An endpoint to which nothing could be delivered for this long is disabled, in seconds.
pub const DISABLED_AFTER_SECONDS: i64 = 5 * DAY_SECONDS;
/// After this many failures in a row only failed events are sent again, until one succeeds: new
/// ones stay in the log.
pub const FAILURES_IN_A_ROW_MAX: u32 = 20;
/// With this many failed events that wait, no new ones are sent.
pub const WAITING_MAX: usize = 1_000;

const HOUR_SECONDS: u32 = time::HOUR_SECONDS as u32;
/// Jitter adds up to this part of a pause, so that receivers are not called by all at once.
const JITTER_PART: u64 = 10;

/// What a reply means for a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Delivered,
    /// The receiver no longer accepts events: the endpoint is disabled.
    Gone,
    /// Not delivered. The receiver may have asked for a pause.
    Failed {
        retry_after_seconds: Option<u32>,
    },
}

impl Verdict {
    /// Nothing was received: no connection, a broken one, or no reply in time.
    pub const NO_REPLY: Self = Self::Failed { retry_after_seconds: None };

    /// The meaning of a status. Redirects are not followed, so they are failures.
    pub fn from_reply(status: u16, retry_after: Option<&str>, now: Timestamp) -> Self {
        match status {
            200..=299 => Self::Delivered,
            410 => Self::Gone,
            429 | 503 => Self::Failed {
                retry_after_seconds: retry_after.and_then(|text| read_retry_after(text, now)),
            },
            _ => Self::NO_REPLY,
        }
    }
}

/// Reads a `Retry-After`: seconds or a date.
fn read_retry_after(text: &str, now: Timestamp) -> Option<u32> {
    let text = text.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(text.parse().unwrap_or(u32::MAX).min(RETRY_AFTER_SECONDS_MAX));
    }
    let date = chrono::DateTime::parse_from_rfc2822(text).ok()?;
    let seconds = date.timestamp() - now.as_millis().div_euclid(1_000);
    Some(u32::try_from(seconds.max(0)).unwrap_or(u32::MAX).min(RETRY_AFTER_SECONDS_MAX))
}

/// When to send an event again after `attempts` attempts, the last of which failed at `now`; `None`
/// if it has failed for good. `random` is any number.
pub fn next_attempt(
    attempts: u32,
    retry_after_seconds: Option<u32>,
    now: Timestamp,
    random: u32,
) -> Option<Timestamp> {
    let index = usize::try_from(attempts.checked_sub(1)?).ok()?;
    let pause = *RETRY_SECONDS.get(index)?;
    let pause = u64::from(pause.max(retry_after_seconds.unwrap_or(0))) * 1_000;
    let jitter = pause / JITTER_PART * u64::from(random) / u64::from(u32::MAX);
    let millis = i64::try_from(pause + jitter).unwrap_or(i64::MAX);
    Some(Timestamp::from_millis(now.as_millis().saturating_add(millis)))
}

/// Whether an endpoint that has failed since then is given up.
pub fn is_given_up(failing_since: Timestamp, now: Timestamp) -> bool {
    now >= failing_since.plus_seconds(DISABLED_AFTER_SECONDS)
}

/// Whether new events are sent to an endpoint, or stay in the log for now. If nothing waits, one is
/// sent however often it has failed: otherwise nobody would notice that it works again.
pub fn takes_new(failures_in_a_row: u32, waiting: usize) -> bool {
    waiting == 0 || failures_in_a_row < FAILURES_IN_A_ROW_MAX && waiting < WAITING_MAX
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn start() -> Timestamp {
        Timestamp::from_millis(0)
    }

    #[test]
    fn a_reply_means_what_its_status_says() {
        let after = |seconds| Verdict::Failed { retry_after_seconds: seconds };
        let now = Timestamp::from_millis(1_763_172_000_000);
        for (status, header, expected) in [
            (200, None, Verdict::Delivered),
            (204, None, Verdict::Delivered),
            (299, Some("5"), Verdict::Delivered),
            (301, None, after(None)),
            (302, Some("5"), after(None)),
            (308, None, after(None)),
            (400, None, after(None)),
            (404, None, after(None)),
            (410, None, Verdict::Gone),
            (429, None, after(None)),
            (429, Some("120"), after(Some(120))),
            (429, Some(" 7 "), after(Some(7))),
            (429, Some("-1"), after(None)),
            (429, Some("soon"), after(None)),
            (429, Some("99999999999999"), after(Some(86_400))),
            (503, Some("Sat, 15 Nov 2025 02:01:00 GMT"), after(Some(60))),
            (503, Some("Sat, 15 Nov 2025 01:00:00 GMT"), after(Some(0))),
            (500, Some("120"), after(None)),
            (199, None, after(None)),
        ] {
            let found = Verdict::from_reply(status, header, now);
            assert_eq!(found, expected, "{status} {header:?}");
        }
    }

    #[test]
    fn events_are_sent_again_by_the_table() {
        let hours = |hours: i64| hours * 3_600;
        let expected =
            [5, 300, 1_800, hours(2), hours(5), hours(10), hours(14), hours(20), hours(24)];
        for (attempts, pause) in (1..).zip(expected) {
            let next = next_attempt(attempts, None, start(), 0);
            assert_eq!(next, Some(start().plus_seconds(pause)), "after {attempts}");
        }
        assert_eq!(next_attempt(ATTEMPTS_MAX, None, start(), 0), None);
        assert_eq!(next_attempt(0, None, start(), 0), None);
        assert_eq!(next_attempt(1, Some(60), start(), 0), Some(start().plus_seconds(60)));
        assert_eq!(next_attempt(2, Some(60), start(), 0), Some(start().plus_seconds(300)));
    }

    #[test]
    fn an_endpoint_is_given_up_after_days() {
        let day = 24 * 3_600;
        assert!(!is_given_up(start(), start().plus_seconds(5 * day - 1)));
        assert!(is_given_up(start(), start().plus_seconds(5 * day)));
    }

    #[test]
    fn a_failing_endpoint_gets_no_new_events() {
        assert!(takes_new(0, 0) && takes_new(FAILURES_IN_A_ROW_MAX - 1, WAITING_MAX - 1));
        assert!(!takes_new(FAILURES_IN_A_ROW_MAX, 1) && !takes_new(0, WAITING_MAX));
        assert!(takes_new(u32::MAX, 0), "nothing waits to be tried again");
    }

    proptest! {
        #[test]
        fn jitter_adds_at_most_a_tenth(
            attempts in 1..ATTEMPTS_MAX,
            asked in proptest::option::of(0..RETRY_AFTER_SECONDS_MAX),
            random: u32,
        ) {
            let least = next_attempt(attempts, asked, start(), 0).unwrap().as_millis();
            let next = next_attempt(attempts, asked, start(), random).unwrap().as_millis();
            prop_assert!((least..=least + least / 10).contains(&next));
        }

        #[test]
        fn no_header_fails(status: u16, header in ".*", now in 0..4_000_000_000_000_i64) {
            let verdict = Verdict::from_reply(status, Some(&header), Timestamp::from_millis(now));
            if let Verdict::Failed { retry_after_seconds: Some(seconds) } = verdict {
                prop_assert!(seconds <= RETRY_AFTER_SECONDS_MAX);
            }
        }
    }
}
