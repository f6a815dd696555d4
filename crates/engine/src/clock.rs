//! Time as a dependency, so that tests can set it to the edge of a window, or let it pass at once.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use sluice_flow::time::Timestamp;

/// Returns the current time.
pub trait Clock: Send + Sync + 'static {
    /// Wall time, which windows follow. It may be set back; no duration is measured with it.
    fn now(&self) -> Timestamp;

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

/// A clock that changes only when it is set.
#[derive(Debug)]
pub struct ManualClock(AtomicI64);

impl ManualClock {
    pub fn at(now: Timestamp) -> Self {
        Self(AtomicI64::new(now.as_millis()))
    }

    pub fn set(&self, now: Timestamp) {
        self.0.store(now.as_millis(), Ordering::SeqCst);
    }

    pub fn advance_millis(&self, millis: i64) {
        self.0.fetch_add(millis, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Ordering::SeqCst))
    }
}
