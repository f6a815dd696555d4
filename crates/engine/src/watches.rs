//! Limits the concurrent watches over responses ([`crate::live`]), per process and per actor.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::admin::{AdminError, AdminResult};

/// The maximum number of concurrent watches in one process.
const WATCHES_MAX: usize = 200;
/// The maximum number of concurrent watches of one user or token, so that none takes all slots.
const WATCHES_OF_ONE_MAX: usize = 5;
/// The error code if an actor has too many watches.
pub const TOO_MANY_OF_ONE: &str = "too_many_own_watches";

/// The slots for all watches of a process.
#[derive(Debug)]
pub(crate) struct Watches {
    slots: Arc<Semaphore>,
    /// The number of slots that each actor holds.
    held: Arc<Mutex<HashMap<String, usize>>>,
}

impl Default for Watches {
    fn default() -> Self {
        Self { slots: Arc::new(Semaphore::new(WATCHES_MAX)), held: Arc::default() }
    }
}

impl Watches {
    pub(crate) fn take(&self, who: &str) -> AdminResult<WatchSlot> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if held.get(who).is_some_and(|count| *count >= WATCHES_OF_ONE_MAX) {
            let detail = format!(
                "{WATCHES_OF_ONE_MAX} pages of yours watch for responses already; close one of them"
            );
            return Err(AdminError::conflict(TOO_MANY_OF_ONE, detail));
        }
        let permit = Arc::clone(&self.slots).try_acquire_owned().map_err(|_| {
            AdminError::conflict("too_many_watches", "too many pages watch for responses at once")
        })?;
        *held.entry(who.to_owned()).or_default() += 1;
        Ok(WatchSlot { who: who.to_owned(), held: Arc::clone(&self.held), _permit: permit })
    }
}

/// One slot; dropping it frees the slot.
pub(crate) struct WatchSlot {
    who: String,
    held: Arc<Mutex<HashMap<String, usize>>>,
    _permit: OwnedSemaphorePermit,
}

impl Drop for WatchSlot {
    fn drop(&mut self) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = held.get_mut(&self.who) {
            *count -= 1;
            if *count == 0 {
                held.remove(&self.who);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_actor_cannot_take_all_slots() {
        let watches = Watches::default();
        let mut own: Vec<_> =
            (0..WATCHES_OF_ONE_MAX).map(|_| watches.take("us_1").unwrap()).collect();
        let refused = watches.take("us_1").err();
        assert!(matches!(refused, Some(AdminError::Conflict { code: TOO_MANY_OF_ONE, .. })));
        let other = watches.take("us_2").unwrap();
        own.pop();
        own.push(watches.take("us_1").unwrap());
        assert!(watches.take("us_1").is_err());
        drop((own, other));
        assert!(watches.held.lock().unwrap().is_empty(), "no actor is remembered");
        assert_eq!(watches.slots.available_permits(), WATCHES_MAX);
    }
}
