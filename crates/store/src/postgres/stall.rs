//! While commits are not confirmed, new ones fail immediately, storing nothing.
//!
//! A COMMIT that passed its deadline, usually because the synchronous standby is down, cannot be
//! cancelled: its session waits on the server until it is confirmed. More commits would only wait
//! beside it, each with a server session and an outcome in doubt. So they are refused before they
//! begin, the readiness check fails, and one is let through from time to time, in case another
//! server has taken over. The stall ends when any COMMIT is confirmed, or when the one that hung
//! has ended.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Time between two commits that are let through.
const PROBE_INTERVAL: Duration = Duration::from_secs(20);

#[derive(Debug, Default)]
pub(super) struct Stall {
    /// When a commit was last tried without success; absent unless stalled.
    tried: Mutex<Option<Instant>>,
}

impl Stall {
    pub(super) fn begin(&self) {
        *self.lock() = Some(Instant::now());
    }

    pub(super) fn end(&self) {
        *self.lock() = None;
    }

    pub(super) fn lasts(&self) -> bool {
        self.lock().is_some()
    }

    /// Whether a commit may be tried now.
    pub(super) fn lets_through(&self) -> bool {
        let mut tried = self.lock();
        match *tried {
            Some(at) if at.elapsed() < PROBE_INTERVAL => false,
            Some(_) => {
                *tried = Some(Instant::now());
                true
            }
            None => true,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Instant>> {
        self.tried.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
