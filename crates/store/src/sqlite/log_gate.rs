//! How far readers of the log may read: not beyond a write in progress.
//!
//! Ids are assigned before the writer gets to a write, so one with a later id may become visible
//! first. A write therefore enters the gate when it is queued, with its first id, and readers stop
//! before that. A write that comes with an id which readers have already passed is late: its
//! responses are announced again ([`crate::LATE`]). The gate knows the writes of this process only.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sluice_flow::id::EventId;
use sluice_flow::time::Timestamp;

use crate::event::before;

/// A write enters the gate within this time after its ids were assigned, usually; otherwise its
/// responses are announced again.
pub(super) const SETTLES_MILLIS: i64 = 200;

#[derive(Debug, Default)]
pub(super) struct LogGate(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// The last position that a reader received.
    read_up_to: u128,
    /// The first ids of the writes in progress.
    writes: Vec<u128>,
}

/// A write in progress; it ends when this is dropped.
#[derive(Debug)]
pub(super) struct Entered {
    gate: Arc<LogGate>,
    first: u128,
    /// Ids up to here are late.
    pub(super) floor: u128,
}

impl LogGate {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a write whose first id is this one; 0 if it is not known yet.
    pub(super) fn enter(self: &Arc<Self>, first: u128) -> Entered {
        let mut state = self.state();
        state.writes.push(first);
        Entered { gate: Arc::clone(self), first, floor: state.read_up_to }
    }

    /// The last position that a reader may return. Its transaction must begin afterwards.
    pub(super) fn horizon(&self, now: Timestamp) -> EventId {
        let settled = Timestamp::from_millis(now.as_millis().saturating_sub(SETTLES_MILLIS));
        let mut state = self.state();
        let first = state.writes.iter().min().map_or(u128::MAX, |first| first.saturating_sub(1));
        let horizon = before(settled).min(first.max(state.read_up_to));
        state.read_up_to = state.read_up_to.max(horizon);
        EventId::from_uuid(uuid::Uuid::from_u128(horizon))
    }
}

impl Entered {
    /// This time, or one after the floor if it is later.
    pub(super) fn current(&self, at: Timestamp) -> Timestamp {
        let floor = (self.floor >> 80) as i64;
        Timestamp::from_millis(at.as_millis().max(floor + 1))
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        let mut state = self.gate.state();
        if let Some(at) = state.writes.iter().position(|first| *first == self.first) {
            state.writes.swap_remove(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use sluice_flow::id::v7;

    use super::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(1_763_172_000_000 + millis)
    }

    fn id(millis: i64) -> u128 {
        v7(at(millis), 0, 0).as_u128()
    }

    fn horizon(gate: &LogGate, now: i64) -> u128 {
        gate.horizon(at(now + SETTLES_MILLIS)).uuid().as_u128()
    }

    #[test]
    fn readers_stop_before_a_write_in_progress() {
        let gate = Arc::new(LogGate::default());
        assert_eq!(horizon(&gate, 10), before(at(10)));
        let write = gate.enter(id(20));
        assert_eq!(write.floor, before(at(10)));
        assert_eq!(horizon(&gate, 30), id(20) - 1);
        drop(write);
        assert_eq!(horizon(&gate, 30), before(at(30)));
    }

    #[test]
    fn a_write_behind_readers_is_late_and_holds_them() {
        let gate = Arc::new(LogGate::default());
        let passed = horizon(&gate, 30);
        let write = gate.enter(id(20));
        assert!(id(20) <= write.floor);
        assert_eq!(horizon(&gate, 60), passed);
        assert!(v7(write.current(at(20)), 0, 0).as_u128() > passed);
        assert_eq!(write.current(at(90)), at(90));
    }

    #[test]
    fn a_write_without_ids_holds_readers_where_they_are() {
        let gate = Arc::new(LogGate::default());
        let passed = horizon(&gate, 30);
        let write = gate.enter(0);
        assert_eq!(horizon(&gate, 60), passed);
        drop(write);
        assert!(horizon(&gate, 60) > passed);
    }

    #[test]
    fn a_clock_that_was_set_back_returns_an_earlier_horizon() {
        let gate = Arc::new(LogGate::default());
        horizon(&gate, 60_000);
        assert_eq!(horizon(&gate, 0), before(at(0)));
        assert!(gate.enter(id(0)).floor > id(0));
    }
}
