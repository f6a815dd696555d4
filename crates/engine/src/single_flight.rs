//! One value of a cache: found, or loaded once for all who wait for it.
//!
//! A load that succeeds is everybody's at once. One that fails is everybody's, too: every caller
//! that came while it was under way gets the same failure. Otherwise they would try in turn, each
//! for a whole deadline of a store that hangs, and the last would wait for the sum of them. A later
//! caller tries again.

use std::fmt;
use std::hash::Hash;
use std::sync::Arc;
use std::time::Instant;

use quick_cache::Weighter;
use quick_cache::sync::Cache;
use sluice_store::{StoreError, StoreResult};

/// Failures kept for those who wait, by key; any that is pushed out costs one more try.
const FAILURES_MAX: usize = 1_000;

/// A bounded cache of what may or may not be there.
pub(crate) struct SingleFlightCache<K, V, W> {
    values: Cache<K, Option<Arc<V>>, W>,
    /// The last failure of a key, and when it came.
    failures: Cache<K, (Instant, Arc<StoreError>)>,
}

impl<K, V, W> SingleFlightCache<K, V, W>
where
    K: Eq + Hash + Clone,
    W: Weighter<K, Option<Arc<V>>> + Clone,
{
    pub(crate) fn new(values: Cache<K, Option<Arc<V>>, W>) -> Self {
        Self { values, failures: Cache::new(FAILURES_MAX) }
    }

    pub(crate) fn get(&self, key: &K) -> Option<Option<Arc<V>>> {
        self.values.get(key)
    }

    pub(crate) async fn get_or_load(
        &self,
        key: &K,
        load: impl Future<Output = StoreResult<Option<Arc<V>>>>,
    ) -> StoreResult<Option<Arc<V>>> {
        let came = Instant::now();
        // The cache lets one of those who wait run this at a time.
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
        self.values.get_or_insert_async(key, once).await
    }

    pub(crate) fn remove(&self, key: &K) {
        self.values.remove(key);
    }

    pub(crate) fn retain(&self, stays: impl Fn(Option<&V>) -> bool) {
        self.values.retain(|_, value| stays(value.as_deref()));
    }

    pub(crate) fn clear(&self) {
        self.values.clear();
    }
}

/// The same failure for another one who waited: of the same kind, with the same cause for the log.
fn shared(failure: &Arc<StoreError>) -> StoreError {
    let cause = || Box::new(Shared(Arc::clone(failure)));
    match &**failure {
        StoreError::Failed(_) => StoreError::Failed(cause()),
        StoreError::Unknown(_) => StoreError::Unknown(cause()),
        StoreError::InDoubt(_) => StoreError::InDoubt(cause()),
        StoreError::Conflict => StoreError::Conflict,
        StoreError::Corrupt(what) => StoreError::Corrupt(what.clone()),
        StoreError::DiskReserve => StoreError::DiskReserve,
        StoreError::Closed => StoreError::Closed,
    }
}

/// Reads as the cause of the failure that is shared.
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
