//! The places of endpoints that a node works on, so that a slow receiver slows nobody else.
//!
//! A worker has a place before it takes a lease, and each place may have a few requests at a time;
//! nothing waits for its turn while a lease runs. There are separate places for endpoints that
//! answer slowly or not at all; one that fails quickly is not slow. An endpoint that turns out to
//! be slow leaves its place to others while its requests are still running.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sluice_flow::id::EndpointId;
use sluice_store::Lane;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

/// Places of endpoints that answer promptly.
const PROMPT_MAX: usize = 32;
/// Places of endpoints that are slow.
const SLOW_MAX: usize = 64;
/// Endpoints with requests at a time, with those that have left their place.
const ALL_MAX: usize = 512;
/// A receiver that needs longer than this is slow.
pub(super) const SLOW_AFTER: Duration = Duration::from_secs(1);
/// How long a node remembers that a receiver was slow.
const REMEMBERED: Duration = Duration::from_secs(10 * 60);

#[derive(Debug)]
pub(super) struct Places {
    prompt: Arc<Semaphore>,
    slow: Arc<Semaphore>,
    all: Arc<Semaphore>,
    /// Endpoints whose receivers were slow, and when.
    known_slow: Mutex<HashMap<EndpointId, Instant>>,
    running: Mutex<HashSet<EndpointId>>,
    /// An endpoint left its place.
    left: Notify,
}

impl Default for Places {
    fn default() -> Self {
        Self {
            prompt: Arc::new(Semaphore::new(PROMPT_MAX)),
            slow: Arc::new(Semaphore::new(SLOW_MAX)),
            all: Arc::new(Semaphore::new(ALL_MAX)),
            known_slow: Mutex::default(),
            running: Mutex::default(),
            left: Notify::new(),
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A place that no endpoint has yet.
#[derive(Debug)]
pub(super) struct FreePlace {
    lane: Lane,
    held: OwnedSemaphorePermit,
    of_all: OwnedSemaphorePermit,
}

impl Places {
    /// Free places of a lane: half of them, so that an endpoint that changes its lane finds one
    /// too.
    pub(super) fn free(&self, lane: Lane) -> Vec<FreePlace> {
        let places = self.of(lane);
        let most = places.available_permits().div_ceil(2);
        let next = || {
            let held = Arc::clone(places).try_acquire_owned().ok()?;
            let of_all = Arc::clone(&self.all).try_acquire_owned().ok()?;
            Some(FreePlace { lane, held, of_all })
        };
        std::iter::from_fn(next).take(most).collect()
    }

    fn of(&self, lane: Lane) -> &Arc<Semaphore> {
        match lane {
            Lane::Prompt => &self.prompt,
            Lane::Slow => &self.slow,
        }
    }

    /// The endpoints whose receivers were slow lately.
    pub(super) fn known_slow(&self) -> Vec<EndpointId> {
        let mut known = locked(&self.known_slow);
        known.retain(|_, at| at.elapsed() < REMEMBERED);
        known.keys().copied().collect()
    }

    pub(super) fn is_running(&self, endpoint: EndpointId) -> bool {
        locked(&self.running).contains(&endpoint)
    }

    /// Whether a lane has a free place.
    pub(super) fn has_free(&self, lane: Lane) -> bool {
        self.of(lane).available_permits() > 0
    }

    /// Waits until no endpoint is worked on.
    pub(super) async fn all_free(&self) {
        loop {
            let left = self.left.notified();
            if locked(&self.running).is_empty() {
                return;
            }
            left.await;
        }
    }
}

/// The place of an endpoint; dropping it frees the place.
#[derive(Debug)]
pub(super) struct Place {
    places: Arc<Places>,
    endpoint: EndpointId,
    pub(super) lane: Lane,
    held: Option<OwnedSemaphorePermit>,
    _of_all: OwnedSemaphorePermit,
}

impl Place {
    pub(super) fn new(places: &Arc<Places>, free: FreePlace, endpoint: EndpointId) -> Self {
        locked(&places.running).insert(endpoint);
        let FreePlace { lane, held, of_all } = free;
        let places = Arc::clone(places);
        Self { places, endpoint, lane, held: Some(held), _of_all: of_all }
    }

    /// Whether this endpoint may start another request.
    pub(super) fn may_start(&self) -> bool {
        self.held.is_some()
    }

    /// Notes that the receiver is slow, and changes to a place for slow ones. If none is free, the
    /// requests that are running end, and the endpoint starts no more.
    pub(super) fn turn_slow(&mut self) {
        locked(&self.places.known_slow).insert(self.endpoint, Instant::now());
        if self.lane == Lane::Prompt {
            self.lane = Lane::Slow;
            self.held = Arc::clone(&self.places.slow).try_acquire_owned().ok();
        }
    }

    /// Notes that the receiver answered in time.
    pub(super) fn was_prompt(&self) {
        locked(&self.places.known_slow).remove(&self.endpoint);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        locked(&self.places.running).remove(&self.endpoint);
        self.places.left.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn endpoint(bits: u128) -> EndpointId {
        EndpointId::from_uuid(Uuid::from_u128(bits))
    }

    #[test]
    fn slow_receivers_leave_all_prompt_places_to_others() {
        let places = Arc::new(Places::default());
        let (mut held, mut number) = (Vec::new(), 0);
        for round in 0..4 {
            let mut taken = Vec::new();
            while places.has_free(Lane::Prompt) {
                for free in places.free(Lane::Prompt) {
                    number += 1;
                    taken.push(Place::new(&places, free, endpoint(number)));
                }
            }
            assert_eq!(taken.len(), PROMPT_MAX, "round {round}");
            for mut place in taken {
                place.turn_slow();
                held.push(place);
            }
        }
        let with_place = held.iter().filter(|place| place.may_start()).count();
        assert_eq!(with_place, SLOW_MAX, "the others start no more");
        assert!(places.has_free(Lane::Prompt) && !places.has_free(Lane::Slow));
        assert_eq!(places.known_slow().len(), held.len());
        assert!(places.is_running(endpoint(1)));
        held[0].was_prompt();
        assert!(!places.known_slow().contains(&endpoint(1)));
        drop(held);
        assert!(!places.is_running(endpoint(1)));
        assert_eq!(places.slow.available_permits(), SLOW_MAX);
    }
}
