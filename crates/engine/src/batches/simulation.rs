//! Overload on a slow disk, simulated: the queue itself, with a clock that the test moves.
//!
//! One writer whose sync takes a fixed time, clients that arrive evenly and give up after five
//! seconds. As in [`crate::commit`], submissions whose client has gone are not written.

use std::time::{Duration, Instant};

use sluice_flow::id::AppId;
use sluice_store::Lanes;
use uuid::Uuid;

use super::{Added, BATCH_MAX, Batch, Batches, Needs, Weighted};
use crate::overload::DEADLINE;

const PATIENCE: Duration = Duration::from_secs(5);
const STEP: Duration = Duration::from_millis(1);

/// The outcomes of the submissions, by their time of arrival.
#[derive(Default)]
struct Results {
    /// Arrival and latency of those that were acknowledged to a client that still waited.
    good: Vec<(Duration, Duration)>,
    refused: Vec<Duration>,
    gave_up: Vec<Duration>,
}

impl Results {
    fn goodput(&self, from: Duration, to: Duration) -> f64 {
        let done = self.good.iter().map(|(at, took)| *at + *took);
        done.filter(|done| (from..to).contains(done)).count() as f64 / (to - from).as_secs_f64()
    }

    /// Of those that arrived later than this.
    fn p99(&self, from: Duration) -> Duration {
        let late = self.good.iter().filter(|(at, _)| *at >= from);
        let mut all: Vec<Duration> = late.map(|(_, took)| *took).collect();
        all.sort_unstable();
        all[all.len() * 99 / 100]
    }
}

impl Weighted for Duration {
    fn weight(&self) -> usize {
        0
    }
}

/// Offers `rate(t)` submissions a second until `end` to a disk whose sync takes `sync(t)`.
fn simulate(
    end: Duration,
    sync: impl Fn(Duration) -> Duration,
    rate: impl Fn(Duration) -> f64,
) -> Results {
    simulate_writes(end, |_, now| (sync(now), Duration::ZERO), rate)
}

/// The same for a store whose write with this number takes `write(number, t)`, and a checkpoint
/// after it, before the next write is composed.
fn simulate_writes(
    end: Duration,
    write: impl Fn(u64, Duration) -> (Duration, Duration),
    rate: impl Fn(Duration) -> f64,
) -> Results {
    let start = Instant::now();
    let mut queue: Batches<Duration> = Batches::new(Lanes { count: 1, by_app: false });
    let app = AppId::from_uuid(Uuid::nil());
    let needs = Needs { app, server: None, alone: false, linked: false };
    let mut results = Results::default();
    let mut writing: Option<(Batch<Duration>, Duration, Duration)> = None;
    let mut checkpoint: Option<(Batch<Duration>, Duration)> = None;
    let (mut now, mut due, mut writes) = (Duration::ZERO, 0.0, 0);
    while now < end {
        due += rate(now) * STEP.as_secs_f64();
        while due >= 1.0 {
            due -= 1.0;
            match queue.add(needs, start + now, now, usize::MAX) {
                Added::Queued => {}
                Added::InPlaceOf(first) => results.refused.push(first.submission),
                Added::Refused(arrived, _) => results.refused.push(arrived),
            }
        }
        if let Some((batch, _, pause)) = writing.take_if(|(_, done, _)| *done <= now) {
            for arrived in batch.queued.iter().skip(batch.overdue).map(|it| it.submission) {
                match now - arrived <= PATIENCE {
                    true => results.good.push((arrived, now - arrived)),
                    false => results.gave_up.push(arrived),
                }
            }
            checkpoint = Some((batch, now + pause));
        }
        if let Some((batch, _)) = checkpoint.take_if(|(_, done)| *done <= now) {
            queue.ended(batch.lane, Some((start + now) - batch.started));
        }
        while writing.is_none()
            && checkpoint.is_none()
            && let Some(mut batch) = queue.next(|| start + now)
        {
            let overdue = batch.queued.drain(..std::mem::take(&mut batch.overdue));
            results.refused.extend(overdue.map(|it| it.submission));
            batch.queued.retain(|it| now - it.submission <= PATIENCE);
            match batch.queued.is_empty() {
                true => queue.ended(batch.lane, None),
                false => {
                    let (takes, pause) = write(writes, now);
                    writing = Some((batch, now + takes, pause));
                    writes += 1;
                }
            }
        }
        now += STEP;
    }
    results
}

fn seconds(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds)
}

#[test]
fn three_times_what_a_slow_disk_allows_keeps_the_goodput_and_the_deadline() {
    for sync in [0.05, 0.4, 0.7, 1.0, 1.9] {
        let allowed = BATCH_MAX as f64 / sync;
        let results = simulate(seconds(60.0), |_| seconds(sync), |_| 3.0 * allowed);
        // The first writes show how slow the disk is.
        let known = seconds(10.0);
        let goodput = results.goodput(known, seconds(60.0));
        assert!(goodput >= 0.9 * allowed, "sync {sync} s: {goodput} of {allowed} a second");
        let p99 = results.p99(known);
        assert!(p99 <= 2 * DEADLINE, "sync {sync} s: {p99:?}");
        let gave_up = results.gave_up.iter().filter(|at| **at >= known).count();
        assert_eq!(gave_up, 0, "sync {sync} s");
        assert!(!results.refused.is_empty(), "sync {sync} s");
    }
}

#[test]
fn after_an_overload_has_ended_everything_is_stored_again_within_five_seconds() {
    for sync in [0.4, 1.0, 1.9] {
        let allowed = BATCH_MAX as f64 / sync;
        let falls = seconds(30.0);
        let rate = |now| if now < falls { 3.0 * allowed } else { allowed / 5.0 };
        let results = simulate(seconds(60.0), |_| seconds(sync), rate);
        let is_late = |at: &&Duration| **at > falls + seconds(5.0);
        assert_eq!(results.refused.iter().filter(is_late).count(), 0, "sync {sync} s");
        assert_eq!(results.gave_up.iter().filter(is_late).count(), 0, "sync {sync} s");
        let goodput = results.goodput(falls + seconds(5.0), seconds(58.0));
        assert!(goodput >= 0.9 * allowed / 5.0, "sync {sync} s: {goodput} a second");
    }
}

/// On a disk that needs a second for a sync, a checkpoint takes one, and the write after it two,
/// because it restarts the log. A submission that arrives as the last write before the checkpoint
/// begins waits for all three. That is no overload: nothing is refused, and no client gives up.
#[test]
fn a_checkpoint_under_low_load_refuses_nothing() {
    const EVERY: u64 = 20;
    let write = |number: u64, _| {
        let is_first_of_log = number.is_multiple_of(EVERY);
        let is_last_of_log = (number + 1).is_multiple_of(EVERY);
        let takes = seconds(if is_first_of_log { 2.0 } else { 1.0 });
        (takes, seconds(if is_last_of_log { 1.0 } else { 0.0 }))
    };
    let rate = BATCH_MAX as f64 / 5.0;
    let results = simulate_writes(seconds(120.0), write, |_| rate);
    assert!(results.refused.is_empty(), "{} were refused", results.refused.len());
    let longest = results.good.iter().map(|(_, took)| *took).max().unwrap();
    assert!(longest > seconds(3.9), "{longest:?}: a checkpoint was waited for");
    assert!(longest < seconds(4.1), "{longest:?}");
    assert!(results.gave_up.is_empty(), "{} gave up", results.gave_up.len());
}

#[test]
fn a_disk_that_hangs_refuses_at_the_door_and_recovers_at_once() {
    let (hangs, recovers) = (seconds(10.0), seconds(30.0));
    let sync = |now| if now < hangs || now >= recovers { seconds(0.01) } else { recovers - now };
    let results = simulate(seconds(40.0), sync, |_| 2_000.0);
    let early = |at: &&Duration| (hangs + seconds(2.0)..recovers).contains(*at);
    let refused = results.refused.iter().filter(early).count();
    assert!(refused > 30_000, "{refused} were refused while the disk hung");
    let late = |at: &&Duration| **at > recovers + seconds(1.0);
    assert_eq!(results.refused.iter().filter(late).count(), 0);
    let goodput = results.goodput(recovers + seconds(1.0), seconds(40.0));
    assert!(goodput >= 1_900.0, "{goodput} a second");
}

/// Refusing what the next write holds would only store less.
#[test]
fn a_disk_slower_than_the_deadline_still_stores_what_a_write_holds() {
    let allowed = BATCH_MAX as f64 / 3.0;
    let results = simulate(seconds(60.0), |_| seconds(3.0), |_| 0.5 * allowed);
    assert!(results.refused.is_empty(), "{}", results.refused.len());
    let results = simulate(seconds(60.0), |_| seconds(2.4), |_| 3.0 * BATCH_MAX as f64 / 2.4);
    let goodput = results.goodput(seconds(10.0), seconds(60.0));
    assert!(goodput >= 0.9 * BATCH_MAX as f64 / 2.4, "{goodput} a second");
}

#[test]
fn a_fast_disk_refuses_nothing() {
    let results = simulate(seconds(10.0), |_| seconds(0.01), |_| 30_000.0);
    assert!(results.refused.is_empty(), "{}", results.refused.len());
}
