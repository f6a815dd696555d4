//! A cache in which concurrent callers for one value share one load.
//!
//! All callers that wait for a load get its result, also if it fails. Otherwise they would retry in
//! turn, each until the deadline of a store that hangs, and the last would wait for the sum of all
//! deadlines. Later callers try again.
//!
//! Nothing searches the cache for entries that have changed: each has a mark that it shares with
//! others, and one that is marked as outdated is dropped by the first caller that finds it.

use std::fmt;
use std::hash::Hash;
use std::sync::Arc;
use std::time::Instant;

use quick_cache::Weighter;
use quick_cache::sync::Cache;
use sluice_store::{StoreError, StoreResult};

use crate::cache_marks::Mark;

/// The number of failures kept for waiting callers, by key; an evicted one costs one more try.
const FAILURES_MAX: usize = 1_000;

/// A value that may be missing.
#[derive(Debug)]
pub(crate) struct CacheEntry<V> {
    pub(crate) value: Option<Arc<V>>,
    pub(crate) mark: Mark,
}

impl<V> Clone for CacheEntry<V> {
    fn clone(&self) -> Self {
        Self { value: self.value.clone(), mark: self.mark.clone() }
    }
}

/// A bounded cache of values that may be missing.
pub(crate) struct SingleFlightCache<K, V, W> {
    values: Cache<K, CacheEntry<V>, W>,
    /// The last failure of a key, and its time.
    failures: Cache<K, (Instant, Arc<StoreError>)>,
}

impl<K, V, W> SingleFlightCache<K, V, W>
where
    K: Eq + Hash + Clone,
    W: Weighter<K, CacheEntry<V>> + Clone,
{
    pub(crate) fn new(values: Cache<K, CacheEntry<V>, W>) -> Self {
        Self { values, failures: Cache::new(FAILURES_MAX) }
    }

    pub(crate) fn get(&self, key: &K) -> Option<Option<Arc<V>>> {
        let entry = self.values.get(key)?;
        if entry.mark.is_outdated() {
            self.values.remove_if(key, |entry| entry.mark.is_outdated());
            return None;
        }
        Some(entry.value)
    }

    pub(crate) async fn get_or_load(
        &self,
        key: &K,
        load: impl Future<Output = StoreResult<CacheEntry<V>>>,
    ) -> StoreResult<Option<Arc<V>>> {
        let came = Instant::now();
        // The cache runs this for one waiting caller at a time.
        let once = async {
            if let Some((failed, failure)) = self.failures.get(key)
                && failed >= came
            {
                return Err(shared(&failure));
            }
            load.await.map_err(|error| {
                let failure = Arc::new(error);
                self.failures.insert(key.clone(), (Instant::now(), Arc::clone(&failure)));
                shared(&failure)
            })
        };
        Ok(self.values.get_or_insert_async(key, once).await?.value)
    }

    pub(crate) fn remove(&self, key: &K) {
        self.values.remove(key);
    }
}

/// The same failure for another waiting caller: of the same kind, with the same cause for the log.
fn shared(failure: &Arc<StoreError>) -> StoreError {
    let cause = || Box::new(Shared(Arc::clone(failure)));
    match &**failure {
        StoreError::Failed(_) => StoreError::Failed(cause()),
        StoreError::Unknown(_) => StoreError::Unknown(cause()),
        StoreError::InDoubt(_) => StoreError::InDoubt(cause()),
        StoreError::Conflict => StoreError::Conflict,
        StoreError::Corrupt(what) => StoreError::Corrupt(what.clone()),
        StoreError::Damaged(what) => StoreError::Damaged(what.clone()),
        StoreError::DiskReserve => StoreError::DiskReserve,
        StoreError::Closed => StoreError::Closed,
    }
}

/// Displays as the cause of the shared failure.
#[derive(Debug)]
struct Shared(Arc<StoreError>);

impl fmt::Display for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match std::error::Error::source(&*self.0) {
            Some(cause) => write!(f, "{cause}"),
            None => write!(f, "{}", self.0),
        }
    }
}

impl std::error::Error for Shared {}
