//! Time as a dependency: nodes follow the clock of the database that they share; tests set it to
//! the edge of a window, or let it pass at once.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use sluice_flow::time::Timestamp;
use sluice_store::{Store, StoreResult};

/// Returns the current time.
pub trait Clock: Send + Sync + 'static {
    /// Wall time, which windows follow. It may be set back; no duration is measured with it.
    fn now(&self) -> Timestamp;

    /// How far this clock is ahead of the system's, if it is another one.
    fn offset_millis(&self) -> Option<i64> {
        None
    }

    /// Time that never goes back, to measure how long something takes.
    fn monotonic(&self) -> Instant {
        Instant::now()
    }
}

/// How long a change waits for the clock's next millisecond, and how often it checks.
const TICK_WAIT: Duration = Duration::from_millis(3);
const TICK_POLL: Duration = Duration::from_micros(100);

/// An instant later than any that was read before this call, for a change that must be
/// distinguishable from what was stored just before it: waits until the clock's millisecond has
/// passed. Does not wait for a clock that is stopped or set back.
pub(crate) fn next_instant(clock: &dyn Clock) -> Timestamp {
    let before = clock.now();
    let started = Instant::now();
    loop {
        let now = clock.now();
        if now > before || started.elapsed() > TICK_WAIT {
            return now;
        }
        std::thread::sleep(TICK_POLL);
    }
}

/// The system clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_millis(i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX))
    }
}

/// The largest difference between the clocks of this machine and of the store. Beyond it one of
/// them is wrong: a server does not start, and retention deletes nothing.
pub const OFFSET_MAX: Duration = Duration::from_secs(10 * 60);
/// How often the store's clock is read again.
const FOLLOW_INTERVAL: Duration = Duration::from_secs(1);
/// How often it is read at the start; the quickest reading counts.
const FIRST_READINGS: usize = 3;
/// A difference between the two clocks that is worth a warning.
const OFFSET_WARNED: Duration = Duration::from_secs(1);

/// The clock of the store, if several processes share it: nodes whose clocks differ must agree on
/// what is open. Between two readings it advances by the timer of the machine, so a step of the
/// system's clock changes nothing.
#[derive(Debug)]
pub struct StoreClock {
    started: Instant,
    /// The store's time when this clock was started.
    time_at_start: AtomicI64,
}

impl StoreClock {
    /// The clock to use with this store. Needs a Tokio runtime: the clock is followed in the
    /// background until it is dropped.
    pub async fn for_store(store: &Arc<dyn Store>) -> StoreResult<Arc<dyn Clock>> {
        let mut readings = Vec::new();
        for _ in 0..FIRST_READINGS {
            readings.extend(Reading::take(store).await?);
        }
        let Some(best) = readings.into_iter().min_by_key(|it| it.took) else {
            return Ok(Arc::new(SystemClock));
        };
        let clock = Arc::new(Self {
            started: best.at,
            time_at_start: AtomicI64::new(best.time.as_millis()),
        });
        clock.warn();
        tokio::spawn(Self::follow(Arc::downgrade(&clock), Arc::clone(store)));
        Ok(clock)
    }

    async fn follow(clock: Weak<Self>, store: Arc<dyn Store>) {
        loop {
            tokio::time::sleep(FOLLOW_INTERVAL).await;
            let reading = Reading::take(&store).await;
            let Some(clock) = clock.upgrade() else { return };
            // A store that does not answer is reported elsewhere.
            if let Ok(Some(reading)) = reading {
                clock.adopt(&reading);
            }
        }
    }

    /// Follows a reading that differs by more than its own error.
    fn adopt(&self, reading: &Reading) {
        let since = millis(reading.at.saturating_duration_since(self.started));
        let difference =
            reading.time.as_millis() - since - self.time_at_start.load(Ordering::Relaxed);
        if difference.abs() > millis(reading.took) + 1 {
            self.time_at_start.fetch_add(difference, Ordering::Relaxed);
            self.warn();
        }
    }

    fn warn(&self) {
        let offset_ms = self.offset();
        if offset_ms.unsigned_abs() >= OFFSET_WARNED.as_millis() as u64 {
            tracing::warn!(
                offset_ms,
                "the clock of this machine differs from that of the database, which is used; synchronise it"
            );
        }
    }

    fn offset(&self) -> i64 {
        self.now().as_millis() - SystemClock.now().as_millis()
    }
}

impl Clock for StoreClock {
    fn now(&self) -> Timestamp {
        let since = millis(self.started.elapsed());
        Timestamp::from_millis(self.time_at_start.load(Ordering::Relaxed) + since)
    }

    fn offset_millis(&self) -> Option<i64> {
        Some(self.offset())
    }
}

/// A reading of the store's clock and when it was taken, accurate to half the round trip.
struct Reading {
    time: Timestamp,
    at: Instant,
    took: Duration,
}

impl Reading {
    async fn take(store: &Arc<dyn Store>) -> StoreResult<Option<Self>> {
        let asked = Instant::now();
        let Some(time) = store.time().await? else { return Ok(None) };
        let took = asked.elapsed();
        Ok(Some(Self { time, at: asked + took / 2, took }))
    }
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// A clock that changes only when it is set.
#[derive(Debug)]
pub struct ManualClock {
    now: AtomicI64,
    /// Milliseconds that passed at once.
    skipped: AtomicU64,
}

impl ManualClock {
    pub fn at(now: Timestamp) -> Self {
        Self { now: AtomicI64::new(now.as_millis()), skipped: AtomicU64::new(0) }
    }

    pub fn set(&self, now: Timestamp) {
        self.now.store(now.as_millis(), Ordering::SeqCst);
    }

    pub fn advance_millis(&self, millis: i64) {
        self.now.fetch_add(millis, Ordering::SeqCst);
    }

    /// Lets time pass at once: wall time, and the time that durations are measured with.
    pub fn skip_seconds(&self, seconds: u32) {
        self.advance_millis(i64::from(seconds) * 1000);
        self.skipped.fetch_add(u64::from(seconds) * 1000, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.now.load(Ordering::SeqCst))
    }

    fn monotonic(&self) -> Instant {
        Instant::now() + Duration::from_millis(self.skipped.load(Ordering::SeqCst))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(time: i64, at: Instant, took: u64) -> Reading {
        let took = Duration::from_millis(took);
        Reading { time: Timestamp::from_millis(time), at, took }
    }

    #[test]
    fn a_reading_is_adopted_if_it_differs_by_more_than_its_error() {
        let started = Instant::now();
        let clock = StoreClock { started, time_at_start: AtomicI64::new(1_000_000) };
        let later = started + Duration::from_secs(10);
        for (read, took, expected) in [
            (1_010_000, 5, 1_000_000),
            (1_010_006, 5, 1_000_000),
            (1_010_007, 5, 1_000_007),
            // The server's clock was set back, or another server took over.
            (710_000, 5, 700_000),
            (710_400, 500, 700_000),
            (1_310_000, 500, 1_300_000),
        ] {
            clock.adopt(&reading(read, later, took));
            assert_eq!(clock.time_at_start.load(Ordering::Relaxed), expected, "{read} {took}");
        }
    }
}
