//! Key sets that others publish, by their address: fetched when needed, kept for a while.
//!
//! A key that is known and fresh is never waited for: a set in use is fetched again in the
//! background before it goes stale. A set past its time is fetched on the way, and used further
//! only where that fails: from then on nobody waits for a publisher that is away, which is tried
//! again in the background. An unknown `kid` makes one fetch for all who wait, and not another one
//! soon after. A fetch is nobody's own: it continues when its caller is gone.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use super::keys::{PublicKey, Verifier};

/// How long a set is good.
const FRESH: Duration = Duration::from_secs(600);
/// From when on a set that is in use is fetched anew behind the scenes.
const REFRESH: Duration = Duration::from_secs(480);
/// How long a set is used where no new one can be had.
const STALE: Duration = Duration::from_secs(24 * 3600);
/// The least time between two fetches of one set.
const BETWEEN_FETCHES: Duration = Duration::from_secs(30);
/// How long the word of a fetch that failed is taken for the next one's.
const AWAY: Duration = Duration::from_secs(90);
/// Keys that are read of one set.
const KEYS_MAX: usize = 100;
/// Sets kept.
const SETS_MAX: usize = 1_000;

/// Fetches key sets. The way out to other machines is not the engine's.
pub trait KeySource: fmt::Debug + Send + Sync {
    /// Whether this address may be asked at all; the reason where not.
    fn permits(&self, url: &str) -> Result<(), String>;
    /// The bytes of the set.
    fn fetch(
        &self,
        url: String,
    ) -> std::pin::Pin<Box<dyn Future<Output = Result<Vec<u8>, String>> + Send + '_>>;
}

/// A key of a set, ready for use.
pub(crate) struct SetKey {
    kid: Option<String>,
    pub(crate) verifier: Verifier,
}

/// What was found under a `kid`.
pub(crate) enum Found {
    Keys(Vec<Arc<SetKey>>),
    Unknown,
    /// There is no set, and none can be had now.
    Unavailable,
}

/// All sets. Cloning gives another handle on the same ones.
#[derive(Clone)]
pub(crate) struct KeySets {
    source: Option<Arc<dyn KeySource>>,
    sets: Arc<Mutex<HashMap<String, Arc<Set>>>>,
}

#[derive(Default)]
struct Set {
    known: Mutex<Known>,
    /// Held while a fetch is under way.
    fetching: tokio::sync::Mutex<()>,
}

#[derive(Default, Clone)]
struct Known {
    keys: Vec<Arc<SetKey>>,
    fetched: Option<Instant>,
    tried: Option<Instant>,
    /// The last fetch that ended was in vain.
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

    /// The keys of the set that a token with this `kid` may be signed with.
    pub(crate) async fn find(&self, url: &str, kid: Option<&str>) -> Found {
        let Some(set) = self.set(url) else { return Found::Unavailable };
        let known = set.known().clone();
        let age = known.fetched.map_or(Duration::MAX, |at| at.elapsed());
        let keys = known.named(kid);
        if !keys.is_empty() && (age < FRESH || known.is_away() && age < STALE) {
            if age >= REFRESH && set.may_fetch() {
                tokio::spawn(self.clone().fetch(set, url.to_owned()));
            }
            return Found::Keys(keys);
        }
        // Also where there may be no other fetch now: one that is under way is waited for.
        let fetch = self.clone().fetch(Arc::clone(&set), url.to_owned());
        if tokio::spawn(fetch).await.is_err() {
            return Found::Unavailable;
        }
        let known = set.known().clone();
        if known.fetched.is_none_or(|at| at.elapsed() >= STALE) {
            return Found::Unavailable;
        }
        let keys = known.named(kid);
        if keys.is_empty() { Found::Unknown } else { Found::Keys(keys) }
    }

    fn set(&self, url: &str) -> Option<Arc<Set>> {
        let mut sets = self.sets.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(set) = sets.get(url) {
            return Some(Arc::clone(set));
        }
        if sets.len() >= SETS_MAX {
            // Whoever is pushed out is fetched again when it is asked for.
            let first = sets.keys().next().cloned()?;
            sets.remove(&first);
        }
        Some(Arc::clone(sets.entry(url.to_owned()).or_default()))
    }

    /// Fetches a set, once for all who ask meanwhile.
    async fn fetch(self, set: Arc<Set>, url: String) {
        let _under_way = set.fetching.lock().await;
        // Whoever held the lock before may have fetched what this one came for.
        if !set.may_fetch() {
            return;
        }
        set.known().tried = Some(Instant::now());
        let Some(source) = &self.source else { return };
        let host = host_of(&url).to_owned();
        match source.fetch(url).await.and_then(|bytes| keys_of(&bytes)) {
            Ok(keys) => {
                let now = Some(Instant::now());
                *set.known() = Known { keys, fetched: now, tried: now, failed: false };
            }
            Err(reason) => {
                set.known().failed = true;
                tracing::warn!(host, reason, "a set of identity keys could not be fetched");
            }
        }
    }
}

/// For the log: a path may hold what is not for it.
fn host_of(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    authority.rsplit('@').next().unwrap_or_default()
}

impl Set {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn may_fetch(&self) -> bool {
        self.known().tried.is_none_or(|at| at.elapsed() >= BETWEEN_FETCHES)
    }
}

impl Known {
    /// Whether the publisher was away a moment ago.
    fn is_away(&self) -> bool {
        self.failed && self.tried.is_some_and(|at| at.elapsed() < AWAY)
    }

    /// The keys of this name. A token may leave it out where the set has one key.
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

/// The usable keys of a set. Those of other kinds or for other ends are passed over.
fn keys_of(bytes: &[u8]) -> Result<Vec<Arc<SetKey>>, String> {
    let set: Value = serde_json::from_slice(bytes).map_err(|_| "it is not JSON".to_owned())?;
    let keys = set.get("keys").and_then(Value::as_array);
    let keys = keys.ok_or_else(|| "it is no JWK set: it has no array \"keys\"".to_owned())?;
    let usable = keys.iter().take(KEYS_MAX).filter_map(|jwk| {
        let key = PublicKey::of_jwk(jwk).ok()?;
        Some(Arc::new(SetKey { verifier: key.verifier()?, kid: key.kid }))
    });
    Ok(usable.collect())
}

#[cfg(test)]
mod tests;
