//! Limits per app: calls by a token bucket, stored bytes per UTC day.
//!
//! Both are counted in memory, per process: a restart resets them, and several nodes each allow the
//! full amount. An app's usage outlives its entry in the registry, so that changing the app does
//! not reset it. Only existing apps are counted; unknown keys are not.

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use quick_cache::sync::Cache;
use sluice_flow::id::AppId;
use sluice_flow::time::{DAY_MILLIS, DAY_SECONDS, Timestamp};
use sluice_store::AppLimits;

use crate::bucket::{Bucket, Quota};

/// The calls per second that one app may make, unless the operator sets another number.
pub const APP_CALLS_PER_SECOND: u32 = 20_000;
/// The highest rate that can be set, in calls per second.
pub const CALLS_PER_SECOND_MAX: u32 = 100_000_000;
/// The bytes of responses that are stored for one app per day, unless the operator sets another
/// number: 20 GiB.
pub const APP_BYTES_PER_DAY: u64 = 20 * 1024 * 1024 * 1024;
/// The highest daily quota that can be set, in bytes: 1 PiB.
pub const BYTES_PER_DAY_MAX: u64 = 1 << 50;
/// What a stored response counts in addition to its JSON, in bytes: its row, keys and index
/// entries. An empty response takes about 317 bytes on disk.
const RESPONSE_OVERHEAD_BYTES: u64 = 512;
/// An app's bucket holds this many seconds of its rate.
const APP_BURST_SECONDS: u32 = 2;
/// The minimum capacity of a bucket of calls, so that the largest batch fits.
pub const BURST_CALLS_MIN: u32 = 100;
/// The number of apps with remembered usage; beyond it, the least used start again.
const APPS_MAX: usize = 10_000;

/// The limits of an app that has none configured. `None` means no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rates {
    pub calls: Option<Quota>,
    pub bytes_per_day: Option<u64>,
}

impl Default for Rates {
    fn default() -> Self {
        Self { calls: per_second(APP_CALLS_PER_SECOND), bytes_per_day: Some(APP_BYTES_PER_DAY) }
    }
}

/// The bucket of an app for a rate; 0 means no limit.
pub fn per_second(calls: u32) -> Option<Quota> {
    bucket(calls, APP_BURST_SECONDS, BURST_CALLS_MIN)
}

/// A bucket with a capacity of `burst_seconds` of its rate, and at least `burst_min`; a rate of 0
/// means no limit.
pub fn bucket(rate: u32, burst_seconds: u32, burst_min: u32) -> Option<Quota> {
    let burst = rate.saturating_mul(burst_seconds).max(burst_min);
    Some(Quota::per_second(NonZeroU32::new(rate)?).allow_burst(NonZeroU32::new(burst)?))
}

/// Which limit was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitedBy {
    /// The calls of the API key's app.
    App,
    /// The calls of the sender's address.
    Address,
    /// The bytes that the sender's address sends.
    AddressBytes,
    /// The bytes stored for the app per day.
    Bytes,
}

impl LimitedBy {
    /// The name of the policy, in the headers of a reply and in metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::App => "app",
            Self::Address => "address",
            Self::AddressBytes => "address-bytes",
            Self::Bytes => "bytes",
        }
    }
}

/// A limit that was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limited {
    pub by: LimitedBy,
    /// What the limit allows in a window, in calls or bytes.
    pub quota: u64,
    pub window_seconds: u64,
    /// When the client may try again.
    pub retry_after_seconds: u64,
}

impl Limited {
    /// A bucket that will have enough again after `wait`.
    pub fn by_bucket(by: LimitedBy, quota: Quota, wait: Duration) -> Self {
        Self {
            by,
            quota: u64::from(quota.burst_size().get()),
            window_seconds: whole_seconds(quota.burst_size_replenished_in()),
            retry_after_seconds: whole_seconds(wait),
        }
    }
}

/// Seconds rounded up, at least one.
fn whole_seconds(duration: Duration) -> u64 {
    let rounded = duration.as_secs() + u64::from(duration.subsec_nanos() > 0);
    rounded.max(1)
}

/// Takes `calls`, or none. A request with more calls than the bucket can hold takes a full bucket.
fn take_calls(bucket: &Bucket, calls: u32, now: Instant) -> Result<(), Limited> {
    let quota = bucket.quota();
    let taken = bucket.take(calls.min(quota.burst_size().get()), now);
    taken.map_err(|wait| Limited::by_bucket(LimitedBy::App, quota, wait))
}

/// Bytes stored on one UTC day: the day in the high bits and its bytes in the low ones, so that
/// both change at once. Only the low bits of the day fit, which repeat after 22 years.
#[derive(Debug, Default)]
struct DailyBytes(AtomicU64);

/// Bits for the bytes of a day: enough for twice [`BYTES_PER_DAY_MAX`].
const DAILY_BITS: u32 = 51;
const DAILY_MASK: u64 = (1 << DAILY_BITS) - 1;
const _: () = assert!(BYTES_PER_DAY_MAX < DAILY_MASK);

impl DailyBytes {
    fn used(&self, now: Timestamp) -> u64 {
        let counted = self.0.load(Ordering::Relaxed);
        if counted & !DAILY_MASK == day_bits(day_of(now)) { counted & DAILY_MASK } else { 0 }
    }

    fn add(&self, now: Timestamp, bytes: u64) {
        let (today, tomorrow) = (day_bits(day_of(now)), day_bits(day_of(now) + 1));
        let added = |counted: u64| {
            let day = counted & !DAILY_MASK;
            // Another thread may have seen midnight first.
            let is_current = day == today || day == tomorrow;
            let (day, used) = if is_current { (day, counted & DAILY_MASK) } else { (today, 0) };
            Some(day | used.saturating_add(bytes).min(DAILY_MASK))
        };
        // The closure always has a value, so this cannot fail.
        let _ = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, added);
    }
}

fn day_bits(day: i64) -> u64 {
    day.cast_unsigned() << DAILY_BITS
}

fn day_of(now: Timestamp) -> i64 {
    now.as_millis().div_euclid(DAY_MILLIS)
}

/// Whole seconds until the next UTC midnight.
fn seconds_to_midnight(now: Timestamp) -> u64 {
    let left = DAY_MILLIS - now.as_millis().rem_euclid(DAY_MILLIS);
    whole_seconds(Duration::from_millis(left.unsigned_abs()))
}

/// The usage of one app, and its limits.
pub(crate) struct Usage {
    limits: AppLimits,
    bucket: Option<Bucket>,
    bytes_per_day: Option<u64>,
    bytes: Arc<DailyBytes>,
}

impl std::fmt::Debug for Usage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Usage").field("limits", &self.limits).finish_non_exhaustive()
    }
}

impl Usage {
    /// Whether another response may be stored today. Responses that are being processed when the
    /// limit is reached are still stored.
    pub(crate) fn bytes_left(&self, now: Timestamp) -> Result<(), Limited> {
        let Some(quota) = self.bytes_per_day.filter(|&quota| self.bytes.used(now) >= quota) else {
            return Ok(());
        };
        let retry_after_seconds = seconds_to_midnight(now);
        let window_seconds = DAY_SECONDS.unsigned_abs();
        Err(Limited { by: LimitedBy::Bytes, quota, window_seconds, retry_after_seconds })
    }

    /// Counts a stored response with this many bytes of JSON.
    pub(crate) fn stored(&self, now: Timestamp, json_bytes: u64) {
        if self.bytes_per_day.is_some() {
            self.bytes.add(now, json_bytes.saturating_add(RESPONSE_OVERHEAD_BYTES));
        }
    }
}

/// The usage of all apps.
pub(crate) struct Usages {
    rates: Rates,
    apps: Cache<AppId, Arc<Usage>>,
    /// Held while an app is looked up or added, so that two loads of one app share one bucket.
    adding: Mutex<()>,
}

impl Usages {
    pub(crate) fn new(rates: Rates) -> Self {
        Self { rates, apps: Cache::new(APPS_MAX), adding: Mutex::new(()) }
    }

    /// The usage of an app under its current limits. New limits start with a full bucket; the bytes
    /// of the day stay.
    pub(crate) fn for_app(&self, app: AppId, limits: AppLimits) -> Arc<Usage> {
        let _adding = self.adding.lock().unwrap_or_else(PoisonError::into_inner);
        let known = self.apps.get(&app);
        if let Some(known) = known.as_ref().filter(|known| known.limits == limits) {
            return Arc::clone(known);
        }
        let quota = limits.calls_per_second.map_or(self.rates.calls, per_second);
        let usage = Arc::new(Usage {
            limits,
            bucket: quota.map(|quota| Bucket::new(quota, Instant::now())),
            bytes_per_day: limits.bytes_per_day.or(self.rates.bytes_per_day),
            bytes: known.map(|known| Arc::clone(&known.bytes)).unwrap_or_default(),
        });
        self.apps.insert(app, Arc::clone(&usage));
        usage
    }
}

impl Usage {
    /// Takes these calls from the app's bucket: all of them, or none.
    pub(crate) fn take_calls(&self, calls: u32) -> Result<(), Limited> {
        let Some(bucket) = &self.bucket else { return Ok(()) };
        take_calls(bucket, calls, Instant::now())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_holds_two_seconds_of_its_rate_and_at_least_the_largest_batch() {
        for (rate, burst) in [(1, 100), (50, 100), (51, 102), (20_000, 40_000)] {
            let quota = per_second(rate).unwrap();
            assert_eq!(quota.burst_size().get(), burst, "{rate}");
        }
        assert_eq!(per_second(0), None);
    }

    #[test]
    fn a_bucket_takes_all_calls_or_none_and_refills_at_its_rate() {
        let start = Instant::now();
        let bucket = Bucket::new(per_second(50).unwrap(), start);
        let take = |calls: u32, millis: u64| {
            take_calls(&bucket, calls, start + Duration::from_millis(millis))
        };
        assert_eq!(take(60, 0), Ok(()));
        let limited = take(90, 0).unwrap_err();
        assert_eq!((limited.by, limited.quota, limited.window_seconds), (LimitedBy::App, 100, 2));
        assert_eq!(limited.retry_after_seconds, 1);
        // The refusal took nothing.
        assert_eq!(take(40, 0), Ok(()));
        assert_eq!(take(100, 0).unwrap_err().retry_after_seconds, 2);
        assert_eq!(take(1, 20), Ok(()));
        assert!(take(1, 20).is_err());
        assert_eq!(take(1_000, 2_020), Ok(()));
        assert!(take(1, 2_020).is_err());
    }

    fn usage_of(bytes_per_day: u64) -> (Usages, Arc<Usage>) {
        let usages =
            Usages::new(Rates { calls: per_second(1), bytes_per_day: Some(bytes_per_day) });
        let usage = usages.for_app(app(), AppLimits::default());
        (usages, usage)
    }

    fn app() -> AppId {
        AppId::from_uuid(uuid::Uuid::from_u128(1))
    }

    fn at_day(day: i64) -> Timestamp {
        Timestamp::from_millis(day * DAY_MILLIS)
    }

    #[test]
    fn daily_bytes_reset_at_utc_midnight_and_survive_new_limits() {
        let (usages, usage) = usage_of(1_000);
        let noon = Timestamp::from_millis(20_000 * DAY_MILLIS + DAY_MILLIS / 2);
        usage.stored(noon, 487);
        assert_eq!(usage.bytes_left(noon), Ok(()));
        usage.stored(noon, 0);
        let limited = usage.bytes_left(noon).unwrap_err();
        assert_eq!((limited.by, limited.quota), (LimitedBy::Bytes, 1_000));
        assert_eq!((limited.window_seconds, limited.retry_after_seconds), (86_400, 43_200));

        let more = AppLimits { bytes_per_day: Some(2_000), ..AppLimits::default() };
        let usage = usages.for_app(app(), more);
        assert_eq!(usage.bytes_left(noon), Ok(()));
        usage.stored(noon, 0);
        assert!(usage.bytes_left(noon).is_err());
        let midnight = at_day(20_001);
        assert_eq!(usage.bytes_left(midnight), Ok(()));
        usage.stored(midnight, 7);
        assert_eq!(usage.bytes.used(midnight), 519);
    }

    #[test]
    fn an_empty_response_counts_its_size_on_disk() {
        let (_, usage) = usage_of(10 * RESPONSE_OVERHEAD_BYTES);
        for _ in 0..10 {
            assert_eq!(usage.bytes_left(at_day(1)), Ok(()));
            usage.stored(at_day(1), 2);
        }
        assert!(usage.bytes_left(at_day(1)).is_err());
    }

    #[test]
    fn bytes_counted_while_the_day_changes_are_not_lost() {
        let bytes = DailyBytes::default();
        bytes.add(at_day(20_000), 1);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..1_000).for_each(|_| bytes.add(at_day(20_001), 1)));
            }
        });
        assert_eq!(bytes.used(at_day(20_001)), 4_000);
        // A caller that still has the previous day.
        bytes.add(at_day(20_000), 5);
        assert_eq!((bytes.used(at_day(20_000)), bytes.used(at_day(20_001))), (0, 4_005));
        bytes.add(at_day(20_001), u64::MAX);
        assert_eq!(bytes.used(at_day(20_001)), DAILY_MASK);
        assert_eq!(bytes.used(at_day(20_002)), 0);
    }

    #[test]
    fn concurrent_loads_of_one_app_share_one_bucket() {
        let usages = Usages::new(Rates::default());
        let all: Vec<Arc<Usage>> = std::thread::scope(|scope| {
            let load = || usages.for_app(app(), AppLimits::default());
            let loads: Vec<_> = (0..8).map(|_| scope.spawn(load)).collect();
            loads.into_iter().map(|it| it.join().unwrap()).collect()
        });
        assert!(all.iter().all(|usage| Arc::ptr_eq(usage, &all[0])));
    }
}
