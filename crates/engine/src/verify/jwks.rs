//! Published key sets (JWKS), by URL: fetched when needed, and cached.
//!
//! A known, fresh key causes no wait: a set in use is refreshed in the background before it becomes
//! stale. A stale set is fetched while the caller waits, and used further only if that fails: from
//! then on no caller waits for an unavailable publisher, which is retried in the background. An
//! unknown `kid` causes one fetch for all waiting callers, and no other soon after. A fetch belongs
//! to no caller: it continues if its caller is gone.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use super::keys::{PublicKey, Verifier};

/// How long a set is fresh.
const FRESH: Duration = Duration::from_secs(600);
/// The age from which a set in use is refreshed in the background.
const REFRESH: Duration = Duration::from_secs(480);
/// How long a set is used if it cannot be fetched again.
const STALE: Duration = Duration::from_secs(24 * 3600);
/// The minimum time between two fetches of one set.
const BETWEEN_FETCHES: Duration = Duration::from_secs(30);
/// How long after a failed fetch the publisher is assumed to be unavailable.
const AWAY: Duration = Duration::from_secs(90);
/// The maximum number of keys that are read from one set.
const KEYS_MAX: usize = 100;
/// The maximum number of cached sets.
const SETS_MAX: usize = 1_000;

/// Fetches key sets. The engine itself makes no network requests.
pub trait KeySource: fmt::Debug + Send + Sync {
    /// Whether this URL may be fetched at all; the reason if not.
    fn permits(&self, url: &str) -> Result<(), String>;
    /// The bytes of the set.
    fn fetch(
        &self,
        url: String,
    ) -> std::pin::Pin<Box<dyn Future<Output = Result<Vec<u8>, String>> + Send + '_>>;
}

/// A parsed key of a set.
pub(crate) struct SetKey {
    kid: Option<String>,
    pub(crate) verifier: Verifier,
}

/// The result of looking up a `kid`.
pub(crate) enum Found {
    Keys(Vec<Arc<SetKey>>),
    Unknown,
    /// There is no set, and none can be fetched now.
    Unavailable,
}

/// All key sets. Clones share them.
#[derive(Clone)]
pub(crate) struct KeySets {
    source: Option<Arc<dyn KeySource>>,
    sets: Arc<Mutex<HashMap<String, Arc<Set>>>>,
}

#[derive(Default)]
struct Set {
    state: Mutex<KeySetState>,
    /// Held during a fetch.
    fetching: tokio::sync::Mutex<()>,
}

#[derive(Default, Clone)]
struct KeySetState {
    keys: Vec<Arc<SetKey>>,
    fetched: Option<Instant>,
    tried: Option<Instant>,
    /// Whether the last completed fetch failed.
    failed: bool,
}

impl KeySets {
    pub(crate) fn new(source: Option<Arc<dyn KeySource>>) -> Self {
        Self { source, sets: Arc::default() }
    }

    pub(crate) fn permits(&self, url: &str) -> Result<(), String> {
        match &self.source {
            Some(source) => source.permits(url),
            None => Err("key sets cannot be fetched here".to_owned()),
        }
    }

    /// The keys of the set that may have signed a token with this `kid`.
    pub(crate) async fn find(&self, url: &str, kid: Option<&str>) -> Found {
        let Some(set) = self.set(url) else { return Found::Unavailable };
        let state = set.state().clone();
        let age = state.fetched.map_or(Duration::MAX, |at| at.elapsed());
        let keys = state.named(kid);
        if !keys.is_empty() && (age < FRESH || state.is_away() && age < STALE) {
            if age >= REFRESH && set.may_fetch() {
                tokio::spawn(self.clone().fetch(set, url.to_owned()));
            }
            return Found::Keys(keys);
        }
        // Even if no other fetch is allowed now: this waits for one in progress.
        let fetch = self.clone().fetch(Arc::clone(&set), url.to_owned());
        if tokio::spawn(fetch).await.is_err() {
            return Found::Unavailable;
        }
        let state = set.state().clone();
        if state.fetched.is_none_or(|at| at.elapsed() >= STALE) {
            return Found::Unavailable;
        }
        let keys = state.named(kid);
        if keys.is_empty() { Found::Unknown } else { Found::Keys(keys) }
    }

    fn set(&self, url: &str) -> Option<Arc<Set>> {
        let mut sets = self.sets.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(set) = sets.get(url) {
            return Some(Arc::clone(set));
        }
        if sets.len() >= SETS_MAX {
            // An evicted set is fetched again when it is needed.
            let first = sets.keys().next().cloned()?;
            sets.remove(&first);
        }
        Some(Arc::clone(sets.entry(url.to_owned()).or_default()))
    }

    /// Fetches a set, once for all concurrent callers.
    async fn fetch(self, set: Arc<Set>, url: String) {
        let _under_way = set.fetching.lock().await;
        // The previous holder of the lock may have fetched the set already.
        if !set.may_fetch() {
            return;
        }
        set.state().tried = Some(Instant::now());
        let Some(source) = &self.source else { return };
        let host = host_of(&url).to_owned();
        match source.fetch(url).await.and_then(|bytes| keys_of(&bytes)) {
            Ok(keys) => {
                let now = Some(Instant::now());
                *set.state() = KeySetState { keys, fetched: now, tried: now, failed: false };
            }
            Err(reason) => {
                set.state().failed = true;
                tracing::warn!(host, reason, "a set of identity keys could not be fetched");
            }
        }
    }
}

/// For the log: the rest of the URL may contain secrets.
fn host_of(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    authority.rsplit('@').next().unwrap_or_default()
}

impl Set {
    fn state(&self) -> MutexGuard<'_, KeySetState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn may_fetch(&self) -> bool {
        self.state().tried.is_none_or(|at| at.elapsed() >= BETWEEN_FETCHES)
    }
}

impl KeySetState {
    /// Whether the last fetch failed a short while ago.
    fn is_away(&self) -> bool {
        self.failed && self.tried.is_some_and(|at| at.elapsed() < AWAY)
    }

    /// The keys with this `kid`. A token may omit it if the set has one key.
    fn named(&self, kid: Option<&str>) -> Vec<Arc<SetKey>> {
        match (kid, self.keys.as_slice()) {
            (None, [one]) => vec![Arc::clone(one)],
            (None, _) => Vec::new(),
            (Some(kid), keys) => {
                let named = |key: &&Arc<SetKey>| key.kid.as_deref() == Some(kid);
                keys.iter().filter(named).cloned().collect()
            }
        }
    }
}

/// The usable keys of a set. Keys of other types or for other purposes are skipped.
fn keys_of(bytes: &[u8]) -> Result<Vec<Arc<SetKey>>, String> {
    let set: Value = serde_json::from_slice(bytes).map_err(|_| "it is not JSON".to_owned())?;
    let keys = set.get("keys").and_then(Value::as_array);
    let keys = keys.ok_or_else(|| "it is no JWK set: it has no array \"keys\"".to_owned())?;
    let usable = keys.iter().take(KEYS_MAX).filter_map(|jwk| {
        let key = PublicKey::from_jwk(jwk).ok()?;
        Some(Arc::new(SetKey { verifier: key.verifier()?, kid: key.kid }))
    });
    Ok(usable.collect())
}

#[cfg(test)]
mod tests;
