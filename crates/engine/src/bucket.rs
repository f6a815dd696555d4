//! Token buckets: how often something may happen, with bursts.
//!
//! A bucket is one number, the time at which it will be full again (the generic cell rate
//! algorithm), so that taking from it is one atomic update. Time is an argument. Processes do not
//! share buckets.

use std::collections::HashMap;
use std::hash::Hash;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

const MINUTE: Duration = Duration::from_secs(60);

/// The capacity of a bucket, and how fast it refills.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quota {
    /// The time to refill one unit.
    period: Duration,
    burst: NonZeroU32,
}

impl Quota {
    /// Refills `count` per second, with the same capacity.
    pub fn per_second(count: NonZeroU32) -> Self {
        Self { period: period(Duration::from_secs(1), count), burst: count }
    }

    /// Refills `count` per minute, with the same capacity.
    pub fn per_minute(count: NonZeroU32) -> Self {
        Self { period: period(MINUTE, count), burst: count }
    }

    /// Holds one, refilled after `period`.
    pub fn with_period(period: Duration) -> Option<Self> {
        (!period.is_zero()).then_some(Self { period, burst: NonZeroU32::MIN })
    }

    /// Sets the capacity.
    #[must_use]
    pub fn allow_burst(self, burst: NonZeroU32) -> Self {
        Self { burst, ..self }
    }

    pub fn burst_size(&self) -> NonZeroU32 {
        self.burst
    }

    /// The time in which an empty bucket becomes full.
    pub(crate) fn burst_size_replenished_in(&self) -> Duration {
        self.period.saturating_mul(self.burst.get())
    }

    /// When the bucket is full again after taking `amount`, or how long to wait if it holds too
    /// few. Times are nanoseconds of one clock. An amount above the capacity never fits.
    fn take(&self, full_at: u64, amount: u32, now: u64) -> Result<u64, Duration> {
        let cost = nanos(self.period.saturating_mul(amount));
        let full_at = full_at.max(now).saturating_add(cost);
        let latest = now.saturating_add(nanos(self.burst_size_replenished_in()));
        if full_at <= latest { Ok(full_at) } else { Err(Duration::from_nanos(full_at - latest)) }
    }
}

fn period(all: Duration, count: NonZeroU32) -> Duration {
    (all / count.get()).max(Duration::from_nanos(1))
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// One bucket, initially full.
#[derive(Debug)]
pub struct Bucket {
    quota: Quota,
    started: Instant,
    /// Nanoseconds after `started`.
    full_at: AtomicU64,
}

impl Bucket {
    pub fn new(quota: Quota, now: Instant) -> Self {
        Self { quota, started: now, full_at: AtomicU64::new(0) }
    }

    pub fn quota(&self) -> Quota {
        self.quota
    }

    /// Takes `amount`, or nothing; returns how long to wait if there is too little.
    pub fn take(&self, amount: u32, now: Instant) -> Result<(), Duration> {
        let now = nanos(now.saturating_duration_since(self.started));
        let mut full_at = self.full_at.load(Ordering::Relaxed);
        loop {
            let next = self.quota.take(full_at, amount, now)?;
            let swap = self.full_at.compare_exchange_weak(
                full_at,
                next,
                Ordering::Relaxed,
                Ordering::Relaxed,
            );
            match swap {
                Ok(_) => return Ok(()),
                Err(changed) => full_at = changed,
            }
        }
    }
}

/// A bucket for each key, all with one quota. When there are many keys, full buckets are dropped,
/// at a limited rate, because that reads all of them.
#[derive(Debug)]
pub struct KeyedBuckets<K> {
    quota: Quota,
    started: Instant,
    state: Mutex<KeyedState<K>>,
}

#[derive(Debug)]
struct KeyedState<K> {
    /// When each bucket is full again, in nanoseconds after `started`.
    full_at: HashMap<K, u64>,
    swept_at: u64,
}

/// Full buckets are dropped only above this number of keys.
const KEYS_MAX: usize = 10_000;
/// The shortest time between two sweeps.
const SWEEP_PAUSE: Duration = Duration::from_secs(1);

impl<K: Hash + Eq + Clone> KeyedBuckets<K> {
    pub fn new(quota: Quota, now: Instant) -> Self {
        let state = KeyedState { full_at: HashMap::new(), swept_at: 0 };
        Self { quota, started: now, state: Mutex::new(state) }
    }

    pub fn quota(&self) -> Quota {
        self.quota
    }

    /// Takes `amount` from the bucket of a key, or nothing; returns how long to wait if there is
    /// too little.
    pub fn take(&self, key: &K, amount: u32, now: Instant) -> Result<(), Duration> {
        let now = nanos(now.saturating_duration_since(self.started));
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(full_at) = state.full_at.get_mut(key) {
            *full_at = self.quota.take(*full_at, amount, now)?;
            return Ok(());
        }
        let full_at = self.quota.take(0, amount, now)?;
        if state.full_at.len() >= KEYS_MAX && now >= state.swept_at + nanos(SWEEP_PAUSE) {
            state.full_at.retain(|_, full_at| *full_at > now);
            state.swept_at = now;
        }
        state.full_at.insert(key.clone(), full_at);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(number: u32) -> NonZeroU32 {
        NonZeroU32::new(number).unwrap()
    }

    #[test]
    fn a_bucket_holds_its_burst_and_refills_at_its_rate() {
        let start = Instant::now();
        let bucket = Bucket::new(Quota::per_second(count(10)).allow_burst(count(3)), start);
        let at = |millis: u64| start + Duration::from_millis(millis);
        assert_eq!(bucket.take(4, at(0)), Err(Duration::from_millis(100)));
        assert_eq!(bucket.take(2, at(0)), Ok(()));
        assert_eq!(bucket.take(2, at(0)), Err(Duration::from_millis(100)));
        assert_eq!(bucket.take(1, at(0)), Ok(()));
        assert_eq!(bucket.take(1, at(99)), Err(Duration::from_millis(1)));
        assert_eq!(bucket.take(1, at(100)), Ok(()));
        assert_eq!(bucket.take(3, at(10_000)), Ok(()));
        assert!(bucket.take(1, at(10_000)).is_err());
        // Another thread read the clock earlier.
        assert!(bucket.take(1, at(9_000)).is_err());
    }

    #[test]
    fn concurrent_threads_take_no_more_than_the_burst() {
        let start = Instant::now();
        let bucket = Bucket::new(Quota::per_minute(count(1_000)), start);
        let taken: u32 = std::thread::scope(|scope| {
            let take = || (0..500).map(|_| u32::from(bucket.take(1, start).is_ok())).sum::<u32>();
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(take)).collect();
            threads.into_iter().map(|it| it.join().unwrap()).sum()
        });
        assert_eq!(taken, 1_000);
    }

    #[test]
    fn every_key_has_its_own_bucket_and_full_ones_are_dropped() {
        let start = Instant::now();
        let buckets = KeyedBuckets::new(Quota::per_minute(count(60)), start);
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        for key in 0..KEYS_MAX {
            assert_eq!(buckets.take(&key, 1, at(0)), Ok(()));
        }
        assert_eq!(buckets.take(&0, 60, at(1)), Ok(()));
        assert_eq!(buckets.take(&0, 1, at(1)), Err(Duration::from_secs(1)));
        let keys = || buckets.state.lock().unwrap().full_at.len();
        assert_eq!(keys(), KEYS_MAX);
        assert_eq!(buckets.take(&KEYS_MAX, 1, at(1)), Ok(()));
        assert_eq!(keys(), 2);
        assert_eq!(buckets.take(&0, 1, at(1)), Err(Duration::from_secs(1)));
    }

    #[test]
    fn a_refill_period_is_never_zero() {
        assert_eq!(Quota::with_period(Duration::ZERO), None);
        let fastest = Quota::per_second(NonZeroU32::MAX);
        assert!(!fastest.burst_size_replenished_in().is_zero());
    }
}
