//! When a request may start: deliveries give way to submissions ([`sluice_flow::event::pace`]).
//!
//! The load is read from counters that submissions maintain anyway. Requests of all endpoints share
//! one rate and are spread evenly over time: a burst would delay the submissions of that moment.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sluice_flow::event::pace::{Load, events_per_second};
use tokio::time::Instant;

use crate::metrics::Metrics;

/// How often the load is computed.
const WINDOW: Duration = Duration::from_millis(200);

#[derive(Debug)]
pub(super) struct Pacing {
    metrics: Arc<Metrics>,
    state: Mutex<PacingState>,
}

impl Pacing {
    pub(super) fn new(metrics: &Arc<Metrics>) -> Self {
        let seen =
            Seen { at: Instant::now(), responses: metrics.stored(), writes: metrics.writes() };
        let state = PacingState { seen, load: Load::default(), next: seen.at };
        Self { metrics: Arc::clone(metrics), state: Mutex::new(state) }
    }

    /// When a request of this cost may start, whose first event has waited for this long.
    pub(super) fn turn(&self, cost: u32, waited_millis: i64) -> Instant {
        let (responses, writes) = (self.metrics.stored(), self.metrics.writes());
        let seen = Seen { at: Instant::now(), responses, writes };
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.turn(seen, cost, waited_millis)
    }
}

/// The counters at a time.
#[derive(Debug, Clone, Copy)]
struct Seen {
    at: Instant,
    responses: u64,
    writes: u64,
}

#[derive(Debug)]
struct PacingState {
    seen: Seen,
    load: Load,
    /// When the next request may start.
    next: Instant,
}

impl PacingState {
    fn turn(&mut self, now: Seen, cost: u32, waited_millis: i64) -> Instant {
        let passed = now.at.saturating_duration_since(self.seen.at);
        if passed >= WINDOW {
            let rate = |count: u64| (count as f64 / passed.as_secs_f64()).round() as u64;
            self.load = Load {
                responses_per_second: rate(now.responses.saturating_sub(self.seen.responses)),
                writes_per_second: rate(now.writes.saturating_sub(self.seen.writes)),
            };
            self.seen = now;
        }
        let Some(rate) = events_per_second(self.load, waited_millis) else { return now.at };
        let turn = self.next.max(now.at);
        self.next = turn + Duration::from_secs_f64(f64::from(cost) / rate as f64);
        turn
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(at: Instant) -> PacingState {
        let seen = Seen { at, responses: 0, writes: 0 };
        PacingState { seen, load: Load::default(), next: at }
    }

    #[test]
    fn requests_are_spread_evenly_while_submissions_share_writes() {
        let begun = Instant::now();
        let mut state = state(begun);
        // 10,000 responses in 400 writes within a second: one event for 20 of them.
        let now = Seen { at: begun + Duration::from_secs(1), responses: 10_000, writes: 400 };
        let turns: Vec<Instant> = (0..5).map(|_| state.turn(now, 1, 0)).collect();
        let after = |millis: u64| now.at + Duration::from_millis(millis);
        assert_eq!(turns, [0, 2, 4, 6, 8].map(after));
        assert_eq!(state.turn(now, 10, 0), after(10), "a batch");
        assert_eq!(state.turn(now, 5, 60_000), after(30), "it costs more");
        assert_eq!(state.turn(now, 1, 0), after(32), "one that has waited costs less");
        // Unused capacity does not accumulate.
        let later = Seen { at: after(900), responses: 19_000, writes: 760 };
        assert_eq!(state.turn(later, 1, 0), later.at);
    }

    #[test]
    fn without_load_requests_start_at_once() {
        let begun = Instant::now();
        let mut state = state(begun);
        let now = Seen { at: begun + Duration::from_secs(1), responses: 300, writes: 200 };
        assert!((0..100).all(|_| state.turn(now, 10, 0) == now.at));
        // The load begins, and ends.
        let busy = Seen { at: now.at + WINDOW, responses: 2_300, writes: 300 };
        assert_eq!(state.turn(busy, 1, 0), busy.at);
        assert!(state.turn(busy, 1, 0) > busy.at);
        let idle = Seen { at: busy.at + WINDOW, ..busy };
        assert!((0..100).all(|_| state.turn(idle, 10, 0) == idle.at));
    }
}
