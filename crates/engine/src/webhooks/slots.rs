//! The slots of endpoints that a node works on, so that a slow receiver slows nobody else.
//!
//! A worker has a slot before it takes a lease, and each slot may have a few requests at a time;
//! nothing waits for its turn while a lease runs. There are separate slots for endpoints that
//! answer slowly or not at all; one that fails quickly is not slow. An endpoint that turns out to
//! be slow leaves its slot to others while its requests are still running.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sluice_flow::id::EndpointId;
use sluice_store::EndpointLane;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

/// Slots of endpoints that answer promptly.
const PROMPT_MAX: usize = 32;
/// Slots of endpoints that are slow.
const SLOW_MAX: usize = 64;
/// Endpoints with requests at a time, including those that have left their slot.
const ALL_MAX: usize = 512;
/// A receiver that needs longer than this is slow.
pub(super) const SLOW_AFTER: Duration = Duration::from_secs(1);
/// How long a node remembers that a receiver was slow.
const REMEMBERED: Duration = Duration::from_secs(10 * 60);

#[derive(Debug)]
pub(super) struct EndpointSlots {
    prompt: Arc<Semaphore>,
    slow: Arc<Semaphore>,
    all: Arc<Semaphore>,
    /// Endpoints whose receivers were slow, and when.
    known_slow: Mutex<HashMap<EndpointId, Instant>>,
    running: Mutex<HashSet<EndpointId>>,
    /// An endpoint left its slot.
    left: Notify,
}

impl Default for EndpointSlots {
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

/// A slot that no endpoint has yet.
#[derive(Debug)]
pub(super) struct FreeSlot {
    lane: EndpointLane,
    held: OwnedSemaphorePermit,
    of_all: OwnedSemaphorePermit,
}

impl EndpointSlots {
    /// Free slots of a lane: half of them, so that an endpoint that changes its lane finds one
    /// too.
    pub(super) fn free(&self, lane: EndpointLane) -> Vec<FreeSlot> {
        let slots = self.semaphore(lane);
        let most = slots.available_permits().div_ceil(2);
        let next = || {
            let held = Arc::clone(slots).try_acquire_owned().ok()?;
            let of_all = Arc::clone(&self.all).try_acquire_owned().ok()?;
            Some(FreeSlot { lane, held, of_all })
        };
        std::iter::from_fn(next).take(most).collect()
    }

    fn semaphore(&self, lane: EndpointLane) -> &Arc<Semaphore> {
        match lane {
            EndpointLane::Prompt => &self.prompt,
            EndpointLane::Slow => &self.slow,
        }
    }

    /// The endpoints whose receivers were slow recently.
    pub(super) fn known_slow(&self) -> Vec<EndpointId> {
        let mut known = locked(&self.known_slow);
        known.retain(|_, at| at.elapsed() < REMEMBERED);
        known.keys().copied().collect()
    }

    pub(super) fn is_running(&self, endpoint: EndpointId) -> bool {
        locked(&self.running).contains(&endpoint)
    }

    /// Whether a lane has a free slot.
    pub(super) fn has_free(&self, lane: EndpointLane) -> bool {
        self.semaphore(lane).available_permits() > 0
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

/// The slot of an endpoint; dropping it frees the slot.
#[derive(Debug)]
pub(super) struct EndpointSlot {
    slots: Arc<EndpointSlots>,
    endpoint: EndpointId,
    pub(super) lane: EndpointLane,
    held: Option<OwnedSemaphorePermit>,
    _of_all: OwnedSemaphorePermit,
}

impl EndpointSlot {
    pub(super) fn new(slots: &Arc<EndpointSlots>, free: FreeSlot, endpoint: EndpointId) -> Self {
        locked(&slots.running).insert(endpoint);
        let FreeSlot { lane, held, of_all } = free;
        let slots = Arc::clone(slots);
        Self { slots, endpoint, lane, held: Some(held), _of_all: of_all }
    }

    /// Whether this endpoint may start another request.
    pub(super) fn may_start(&self) -> bool {
        self.held.is_some()
    }

    /// Records that the receiver is slow, and changes to a slot for slow ones. If none is free, the
    /// requests that are running end, and the endpoint starts no more.
    pub(super) fn turn_slow(&mut self) {
        locked(&self.slots.known_slow).insert(self.endpoint, Instant::now());
        if self.lane == EndpointLane::Prompt {
            self.lane = EndpointLane::Slow;
            self.held = Arc::clone(&self.slots.slow).try_acquire_owned().ok();
        }
    }

    /// Records that the receiver answered in time.
    pub(super) fn was_prompt(&self) {
        locked(&self.slots.known_slow).remove(&self.endpoint);
    }
}

impl Drop for EndpointSlot {
    fn drop(&mut self) {
        locked(&self.slots.running).remove(&self.endpoint);
        self.slots.left.notify_waiters();
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
    fn slow_receivers_leave_all_prompt_slots_to_others() {
        let slots = Arc::new(EndpointSlots::default());
        let (mut held, mut number) = (Vec::new(), 0);
        for round in 0..4 {
            let mut taken = Vec::new();
            while slots.has_free(EndpointLane::Prompt) {
                for free in slots.free(EndpointLane::Prompt) {
                    number += 1;
                    taken.push(EndpointSlot::new(&slots, free, endpoint(number)));
                }
            }
            assert_eq!(taken.len(), PROMPT_MAX, "round {round}");
            for mut slot in taken {
                slot.turn_slow();
                held.push(slot);
            }
        }
        let with_slot = held.iter().filter(|slot| slot.may_start()).count();
        assert_eq!(with_slot, SLOW_MAX, "the others start no more");
        assert!(slots.has_free(EndpointLane::Prompt) && !slots.has_free(EndpointLane::Slow));
        assert_eq!(slots.known_slow().len(), held.len());
        assert!(slots.is_running(endpoint(1)));
        held[0].was_prompt();
        assert!(!slots.known_slow().contains(&endpoint(1)));
        drop(held);
        assert!(!slots.is_running(endpoint(1)));
        assert_eq!(slots.slow.available_permits(), SLOW_MAX);
    }
}
