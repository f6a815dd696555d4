//! The cached computations: their state, shared by the requests that ask and the tasks that run.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sluice_flow::id::{AuditId, ResponseId};
use sluice_flow::time::Timestamp;
use tokio::sync::{Semaphore, watch};

use super::aggregate::{Aggregate, Subject};
use crate::admin::{AdminError, AdminResult};

/// The most computations that are cached, and the most that run at the same time.
const CACHED_MAX: usize = 32;
const RUNNING_MAX: usize = 2;
/// The most numbers and texts in all cached aggregates together; one takes about a hundred bytes.
const CACHED_ENTRIES_MAX: usize = 1_000_000;
/// A result of this age is returned without another scan for new responses.
const FRESH: Duration = Duration::from_secs(1);
/// A computation stops if nobody has asked for this long.
pub(super) const IDLE_MAX: Duration = Duration::from_secs(30);
/// Older aggregates are computed again from the beginning, in case a clock was set back.
const AGE_MAX: Duration = Duration::from_secs(60 * 60);
/// How long before a computation a removal may have begun and still be in progress.
pub(super) const REMOVAL_SECONDS: i64 = 5 * 60;

/// The result of a computation, or its progress.
pub(crate) enum Asked {
    Ready(Arc<Computed>),
    Computing(ReadProgress),
}

/// A complete result.
#[derive(Debug)]
pub(crate) struct Computed {
    /// Of all responses but the newest.
    pub(crate) settled: Arc<Aggregate>,
    /// Of the newest responses.
    pub(crate) recent: Aggregate,
    /// The responses that were stored by then.
    pub(crate) as_of: Timestamp,
    pub(super) begun: Begun,
    pub(super) ended: Instant,
}

/// How many of the flow's responses a computation has read, approximately.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReadProgress {
    pub read: u64,
    pub of: u64,
}

impl ReadProgress {
    /// The progress of several computations together.
    pub fn and(self, other: Self) -> Self {
        Self { read: self.read + other.read, of: self.of + other.of }
    }
}

/// The computations of a process, most recently asked last.
#[derive(Debug)]
pub(crate) struct Computations {
    cached: Mutex<Vec<Arc<Computation>>>,
    pub(super) slots: Semaphore,
}

impl Default for Computations {
    fn default() -> Self {
        Self { cached: Mutex::default(), slots: Semaphore::new(RUNNING_MAX) }
    }
}

impl Computations {
    /// The computation of a subject, which becomes the most recently asked.
    pub(super) fn find_or_add(&self, subject: Subject) -> Arc<Computation> {
        let mut cached = self.lock();
        let found = match cached.iter().position(|it| it.subject == subject) {
            Some(at) => cached.remove(at),
            None => Arc::new(Computation::new(subject)),
        };
        cached.push(Arc::clone(&found));
        trim(&mut cached);
        found
    }

    /// Forgets computations until the rest is within its limits.
    pub(super) fn trim(&self) {
        trim(&mut self.lock());
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Computation>>> {
        self.cached.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn trim(cached: &mut Vec<Arc<Computation>>) {
    let mut entries: usize = cached.iter().map(|it| it.lock().entries).sum();
    while cached.len() > 1 && (cached.len() > CACHED_MAX || entries > CACHED_ENTRIES_MAX) {
        let forgotten = cached.remove(0);
        let mut state = forgotten.lock();
        entries -= state.entries;
        state.is_forgotten = true;
    }
}

/// One computation, shared by the requests that ask for it and the task that runs it.
#[derive(Debug)]
pub(super) struct Computation {
    pub(super) subject: Subject,
    state: Mutex<State>,
    /// The number of runs that have ended.
    pub(super) ended: watch::Sender<u64>,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) asked_at: Instant,
    pub(super) is_running: bool,
    /// Removed from the cache: the run stops.
    pub(super) is_forgotten: bool,
    /// Grows when everything that was read becomes invalid.
    pub(super) generation: u64,
    pub(super) begun: Option<Begun>,
    pub(super) resume: Option<Resume>,
    pub(super) computed: Option<Arc<Computed>>,
    pub(super) progress: ReadProgress,
    pub(super) failed: Option<AdminError>,
    /// The size of the aggregates.
    pub(super) entries: usize,
}

/// When the scan began at the first response.
#[derive(Debug, Clone)]
pub(super) struct Begun {
    pub(super) at: Timestamp,
    pub(super) instant: Instant,
    /// The removals shortly before: they may not have ended yet.
    pub(super) removals: BTreeSet<AuditId>,
}

/// Where a scan continues: at this time, after this response.
#[derive(Debug, Clone)]
pub(super) struct Resume {
    pub(super) settled: Arc<Aggregate>,
    pub(super) from: Option<Timestamp>,
    pub(super) after: Option<ResponseId>,
}

impl Computation {
    fn new(subject: Subject) -> Self {
        let state = State {
            asked_at: Instant::now(),
            is_running: false,
            is_forgotten: false,
            generation: 0,
            begun: None,
            resume: None,
            computed: None,
            progress: ReadProgress::default(),
            failed: None,
            entries: 0,
        };
        Self { subject, state: Mutex::new(state), ended: watch::Sender::new(0) }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a run must be started; it is then marked as running.
    pub(super) fn must_start(&self) -> bool {
        let mut state = self.lock();
        let is_fresh = state.computed.as_ref().is_some_and(|it| it.ended.elapsed() < FRESH);
        if state.is_running || is_fresh {
            return false;
        }
        if state.begun.as_ref().is_some_and(Begun::is_unreliable) {
            state.resume = None;
        }
        state.is_running = true;
        true
    }

    pub(super) fn is_running(&self) -> bool {
        self.lock().is_running
    }

    pub(super) fn answer(&self) -> AdminResult<Asked> {
        let mut state = self.lock();
        if let Some(failed) = state.failed.take() {
            return Err(failed);
        }
        Ok(match &state.computed {
            Some(computed) => Asked::Ready(Arc::clone(computed)),
            None => Asked::Computing(state.progress),
        })
    }
}

impl State {
    /// Forgets everything that was read.
    pub(super) fn discard(&mut self) {
        self.generation += 1;
        self.begun = None;
        self.resume = None;
        self.computed = None;
        self.entries = 0;
    }
}

impl Begun {
    fn is_unreliable(&self) -> bool {
        !self.removals.is_empty() || self.instant.elapsed() > AGE_MAX
    }
}

#[cfg(test)]
mod tests {
    use sluice_flow::id::{AppId, FlowId, v7};
    use sluice_store::ResponseQuery;

    use super::super::aggregate::Kind;
    use super::*;

    fn subject(number: usize) -> Subject {
        let id = v7(Timestamp::from_millis(1), 0, 0);
        let query = ResponseQuery::new(AppId::from_uuid(id), FlowId::from_uuid(id), number);
        Subject { query, kind: Kind::Results }
    }

    #[test]
    fn the_computation_that_was_asked_for_least_recently_is_forgotten() {
        let cache = Computations::default();
        let first = cache.find_or_add(subject(0));
        let second = cache.find_or_add(subject(1));
        for number in 2..CACHED_MAX {
            cache.find_or_add(subject(number));
        }
        assert!(Arc::ptr_eq(&cache.find_or_add(subject(0)), &first), "it is cached");
        cache.find_or_add(subject(CACHED_MAX));
        assert!(second.lock().is_forgotten && !first.lock().is_forgotten);
        assert!(!Arc::ptr_eq(&cache.find_or_add(subject(1)), &second), "it begins again");
    }

    #[test]
    fn large_aggregates_leave_room_for_few() {
        let cache = Computations::default();
        let all: Vec<_> = (0..4).map(|number| cache.find_or_add(subject(number))).collect();
        for computation in &all {
            computation.lock().entries = CACHED_ENTRIES_MAX / 2;
        }
        cache.trim();
        let forgotten: Vec<bool> = all.iter().map(|it| it.lock().is_forgotten).collect();
        assert_eq!(forgotten, [true, true, false, false]);
    }

    #[test]
    fn one_run_at_a_time_and_none_while_the_result_is_fresh() {
        let computation = Computation::new(subject(0));
        assert!(computation.must_start() && !computation.must_start());
        computation.lock().is_running = false;
        assert!(computation.must_start(), "it ended without a result");
    }

    #[test]
    fn a_scan_that_began_soon_after_a_removal_begins_again() {
        let computation = Computation::new(subject(0));
        let removal = AuditId::from_uuid(v7(Timestamp::from_millis(1), 0, 0));
        for (removals, continues) in [(vec![], true), (vec![removal], false)] {
            let mut state = computation.lock();
            let (at, instant) = (Timestamp::from_millis(2), Instant::now());
            state.begun = Some(Begun { at, instant, removals: removals.into_iter().collect() });
            let settled = Arc::new(Aggregate::default());
            state.resume = Some(Resume { settled, from: None, after: None });
            state.is_running = false;
            drop(state);
            assert!(computation.must_start());
            assert_eq!(computation.lock().resume.is_some(), continues);
        }
    }
}
