//! Overload: how long a submission may wait for its write, and when a refused client should retry.
//!
//! A queue that is bounded in rows is not bounded in time. On a slow disk it holds submissions for
//! longer than clients wait: they give up, the disk writes what nobody reads, and the retries keep
//! the queue full after the load has fallen. So the bound is a time:
//!
//! - **At the door**, a submission is refused if, judging by the time of the last writes, it would
//!   not be stored within [`DEADLINE`]. A write that hangs counts with the time that it has taken
//!   so far. If the first in line has waited longer than [`DEADLINE`] by then, the first one is
//!   refused instead, and the new one is queued: its client is more likely to be still waiting.
//! - **Before a write**, submissions whose client has gone are dropped. If more wait than one write
//!   holds, those that have waited longer than [`DEADLINE`] are refused, oldest first.
//! - **What the next write holds is not refused otherwise**, however slow the disk is: refusing it
//!   would store less, and make nothing faster. It also keeps the measurement going.
//!
//! Within the deadline the order is first come, first served; newest first would be no faster,
//! since the queue holds hardly more than can be stored in time. A queue for each app would cost
//! every submission a count, while [`crate::rate`] limits apps already. Only an app with a separate
//! line, because its rows are locked or on another machine, leaves some of the queue to others
//! ([`may_grow`]).

use std::time::Duration;

use crate::ids::random_bits;

/// The time within which a submission should be stored. Accepted ones take at most twice this, as
/// long as a single write takes less; that is less than clients usually wait.
pub(crate) const DEADLINE: Duration = Duration::from_secs(2);
/// How long the service counts as saturated after it refused a submission.
pub(crate) const SATURATED_FOR: Duration = Duration::from_secs(5);
/// The share of the queue that a submission of usual size takes up.
pub(crate) const ROW_BYTES: usize = 8 * 1024;
/// The room in the queue that no app fills alone: two writes.
const FOR_OTHERS: usize = 1_024;
/// The longest time that a client is asked to wait, before jitter.
const RETRY_AFTER_SECONDS_MAX: u64 = 30;

/// How long the recent writes of a lane took. New values count for half, so that a change of the
/// disk shows after one or two writes.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct WriteTime(Option<Duration>);

impl WriteTime {
    pub(crate) fn note(&mut self, took: Duration) {
        self.0 = Some(self.0.map_or(took, |before| (before + took) / 2));
    }

    /// How long a submission takes until it is stored, with this many full writes before its own,
    /// if the write in progress has taken `elapsed` so far.
    pub(crate) fn expected_wait(self, writes_ahead: usize, elapsed: Duration) -> Duration {
        let one = self.0.unwrap_or_default();
        let rest = one.saturating_sub(elapsed);
        let writes = u32::try_from(writes_ahead + 1).unwrap_or(u32::MAX);
        one.max(elapsed).saturating_mul(writes).saturating_add(rest)
    }
}

/// Whether the line of a single app may grow, if it holds this many submissions and bytes, and the
/// queue has room for `room` submissions of [`ROW_BYTES`]. Of the last [`FOR_OTHERS`], a line takes
/// at most half of what others leave, so however many apps hang, the next one finds room.
pub(crate) fn may_grow(rows: usize, bytes: usize, room: usize) -> bool {
    let line = rows.max(bytes / ROW_BYTES);
    room > FOR_OTHERS || line == 0 || line < room
}

/// When a refused client should retry: once what waits is stored, and up to twice as late, so that
/// refused clients do not return all at once.
pub(crate) fn retry_after_seconds(expected_wait: Duration) -> u32 {
    spread(expected_wait, random_bits() as u32)
}

fn spread(expected_wait: Duration, random: u32) -> u32 {
    let whole = expected_wait.as_secs() + u64::from(expected_wait.subsec_nanos() > 0);
    let least = u32::try_from(whole.clamp(1, RETRY_AFTER_SECONDS_MAX)).unwrap_or(1);
    least + random % (least + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn the_expected_wait_follows_the_writes_and_a_write_that_hangs() {
        let mut time = WriteTime::default();
        assert_eq!(time.expected_wait(3, Duration::ZERO), Duration::ZERO, "nothing is known yet");
        assert_eq!(time.expected_wait(1, 3 * SECOND), 6 * SECOND, "except that this one hangs");
        time.note(SECOND);
        assert_eq!(time.expected_wait(0, SECOND), SECOND);
        assert_eq!(time.expected_wait(2, SECOND / 4), 3 * SECOND + SECOND * 3 / 4);
        assert_eq!(time.expected_wait(0, 5 * SECOND), 5 * SECOND);
        time.note(Duration::ZERO);
        time.note(Duration::ZERO);
        assert_eq!(
            time.expected_wait(0, SECOND / 4),
            SECOND / 4,
            "it follows a disk that recovers"
        );
    }

    #[test]
    fn a_line_leaves_some_of_the_queue_to_others() {
        const QUEUE: usize = 8_192;
        let sixteen: [usize; 16] = std::array::from_fn(|app| if app < 15 { 512 } else { 256 });
        // How many submissions the apps that hang one after the other get into the queue.
        for (offered, held) in [
            (&[100][..], &[100][..]),
            (&[100_000], &[7_168]),
            (&[100_000, 100_000, 100_000], &[7_168, 512, 256]),
            (&[512; 16], &sixteen),
        ] {
            let mut room = QUEUE;
            for (offered, held) in offered.iter().zip(held) {
                let mut line = 0;
                while line < *offered && may_grow(line, 0, room) {
                    line += 1;
                    room -= 1;
                }
                assert_eq!(line, *held, "{offered}");
            }
            assert!(may_grow(0, 0, room), "the next app finds room");
        }
    }

    #[test]
    fn retry_after_grows_with_the_wait_and_spreads_the_retries() {
        for (millis, least, most) in
            [(0, 1, 2), (900, 1, 2), (1_001, 2, 4), (4_000, 4, 8), (600_000, 30, 60)]
        {
            let wait = Duration::from_millis(millis);
            let all: Vec<u32> = (0..200).map(|random| spread(wait, random)).collect();
            assert_eq!(all.iter().min(), Some(&least), "{millis}");
            assert_eq!(all.iter().max(), Some(&most), "{millis}");
        }
    }
}
