//! The computations of a process: those that run or wait for their turn, and the results of
//! finished ones. Requests and the tasks that run share their state.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sluice_flow::time::Timestamp;
use tokio::sync::{Semaphore, watch};

use super::aggregate::{Aggregate, Kind, Subject};
use crate::admin::{AdminError, AdminResult};

/// How long a result is kept after its pass ended.
pub(crate) const RESULT_SECONDS_MAX: u64 = 60;
/// A computation without requests for this long stops.
const IDLE_SECONDS_MAX: u64 = 30;
/// The most computations that run at the same time; others wait for their turn.
const RUNNING_MAX: usize = 2;
/// The most that run or wait, of one app and of all apps.
const UNDER_WAY_OF_APP_MAX: usize = 4;
const UNDER_WAY_MAX: usize = 16;
/// Lists count their matches unasked, so those of one app never take all slots.
const COUNTS_OF_APP_MAX: usize = 1;
/// The most results that are kept.
const RESULTS_MAX: usize = 32;
/// The most numbers and texts in all results together; one takes about a hundred bytes.
const ENTRIES_MAX: usize = 1_000_000;

/// A result, or the progress of computing it from the responses.
#[derive(Debug, Clone, PartialEq)]
pub enum Results<T> {
    Ready(T),
    Computing(ReadProgress),
}

/// A complete result.
#[derive(Debug)]
pub(crate) struct Computed {
    pub(crate) aggregate: Aggregate,
    /// When the pass began: the result has all responses that were stored by then.
    pub(crate) as_of: Timestamp,
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

/// The computations of a process, most recently requested last.
#[derive(Debug)]
pub(crate) struct Computations {
    all: Mutex<Vec<Arc<Computation>>>,
    pub(super) slots: Semaphore,
}

impl Default for Computations {
    fn default() -> Self {
        Self { all: Mutex::default(), slots: Semaphore::new(RUNNING_MAX) }
    }
}

/// The computation of a subject. If it must be started, it is already marked as running.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) computation: Arc<Computation>,
    pub(super) must_start: bool,
}

impl Computations {
    /// The computation of a subject, which becomes the most recently requested. Refuses to start
    /// another one if too many are under way.
    pub(super) fn find_or_add(&self, subject: Subject, now: Instant) -> AdminResult<Found> {
        let mut all = self.lock();
        tidy(&mut all, now);
        if let Some(at) = all.iter().position(|it| it.subject == subject) {
            let computation = all.remove(at);
            computation.lock().requested_at = now;
            all.push(Arc::clone(&computation));
            return Ok(Found { computation, must_start: false });
        }
        refuse_too_many(&all, &subject)?;
        let computation = Arc::new(Computation::new(subject, now));
        all.push(Arc::clone(&computation));
        Ok(Found { computation, must_start: true })
    }

    /// Drops expired entries, then the oldest results until the rest is within the limits.
    pub(super) fn tidy(&self, now: Instant) {
        tidy(&mut self.lock(), now);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Computation>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn refuse_too_many(all: &[Arc<Computation>], subject: &Subject) -> AdminResult<()> {
    let under_way = || all.iter().filter(|it| it.is_running());
    let app = subject.query.app_id;
    let of_app = under_way().filter(|it| it.subject.query.app_id == app).count();
    let of_app_max = match subject.kind {
        Kind::Count => COUNTS_OF_APP_MAX,
        Kind::Results { .. } | Kind::Crosstab { .. } | Kind::Sorted { .. } => UNDER_WAY_OF_APP_MAX,
    };
    let detail = if of_app >= of_app_max {
        "several results of this app are being computed; ask for this one when one of them is ready"
    } else if under_way().count() >= UNDER_WAY_MAX {
        "many results are being computed; ask for this one when others are ready"
    } else {
        return Ok(());
    };
    Err(AdminError::conflict("too_many_computations", detail))
}

/// Drops only computations that have ended.
fn tidy(all: &mut Vec<Arc<Computation>>, now: Instant) {
    all.retain(|it| it.lock().is_kept(now));
    let ended = |it: &Arc<Computation>| it.lock().ended_with().map(|outcome| outcome.entries());
    let mut results = all.iter().filter_map(ended).count();
    let mut entries: usize = all.iter().filter_map(ended).sum();
    while results > 1 && (results > RESULTS_MAX || entries > ENTRIES_MAX) {
        let Some(at) = all.iter().position(|it| ended(it).is_some()) else { return };
        let forgotten = all.remove(at);
        results -= 1;
        entries -= ended(&forgotten).unwrap_or(0);
    }
}

/// One computation, shared by the requests for it and the task that runs it.
#[derive(Debug)]
pub(super) struct Computation {
    pub(super) subject: Subject,
    state: Mutex<ComputationState>,
    /// Whether it has ended.
    pub(super) ended: watch::Sender<bool>,
}

#[derive(Debug)]
pub(super) struct ComputationState {
    requested_at: Instant,
    pub(super) progress: ReadProgress,
    stage: Stage,
}

#[derive(Debug)]
enum Stage {
    /// It waits for its turn, or runs.
    UnderWay,
    Ended(Instant, Outcome),
}

/// How a computation ended.
#[derive(Debug)]
pub(super) enum Outcome {
    Computed(Arc<Computed>, usize),
    /// Another pass would end like this, too.
    Refused {
        code: &'static str,
        detail: String,
    },
    /// The store failed; the first request that finds it takes the error.
    Failed(Option<AdminError>),
    /// Nobody requested it any more, or the task ended early.
    Stopped,
}

impl Outcome {
    /// The numbers and texts of the result.
    fn entries(&self) -> usize {
        match self {
            Self::Computed(_, entries) => *entries,
            Self::Refused { .. } | Self::Failed(_) | Self::Stopped => 0,
        }
    }
}

impl Computation {
    fn new(subject: Subject, now: Instant) -> Self {
        let progress = ReadProgress::default();
        let state = ComputationState { requested_at: now, progress, stage: Stage::UnderWay };
        Self { subject, state: Mutex::new(state), ended: watch::Sender::new(false) }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, ComputationState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn is_running(&self) -> bool {
        matches!(self.lock().stage, Stage::UnderWay)
    }

    pub(super) fn end(&self, outcome: Outcome, now: Instant) {
        self.lock().stage = Stage::Ended(now, outcome);
        self.ended.send_replace(true);
    }

    pub(super) fn answer(&self) -> AdminResult<Results<Arc<Computed>>> {
        let mut state = self.lock();
        let progress = state.progress;
        match &mut state.stage {
            Stage::Ended(_, Outcome::Computed(computed, _)) => {
                Ok(Results::Ready(Arc::clone(computed)))
            }
            Stage::Ended(_, Outcome::Refused { code, detail }) => {
                Err(AdminError::conflict(code, detail.clone()))
            }
            Stage::Ended(_, Outcome::Failed(error)) => match error.take() {
                Some(error) => Err(error),
                None => Ok(Results::Computing(progress)),
            },
            Stage::UnderWay | Stage::Ended(_, Outcome::Stopped) => Ok(Results::Computing(progress)),
        }
    }
}

impl ComputationState {
    /// Whether a request was made in the last seconds.
    pub(super) fn is_wanted(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.requested_at) < Duration::from_secs(IDLE_SECONDS_MAX)
    }

    fn ended_with(&self) -> Option<&Outcome> {
        match &self.stage {
            Stage::UnderWay => None,
            Stage::Ended(_, outcome) => Some(outcome),
        }
    }

    /// What is under way is kept, and so are results and refusals for a while.
    fn is_kept(&self, now: Instant) -> bool {
        let age = |ended| now.saturating_duration_since(ended);
        match &self.stage {
            Stage::UnderWay => true,
            Stage::Ended(at, Outcome::Computed(..) | Outcome::Refused { .. }) => {
                age(*at) < Duration::from_secs(RESULT_SECONDS_MAX)
            }
            Stage::Ended(_, Outcome::Failed(_) | Outcome::Stopped) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use sluice_flow::id::{AppId, FlowId, v7};
    use sluice_store::{ResponseQuery, StoreError};

    use super::super::aggregate::Kind;
    use super::*;

    fn subject(app: i64, number: usize) -> Subject {
        let id = |number| v7(Timestamp::from_millis(number), 0, 0);
        let query = ResponseQuery::new(AppId::from_uuid(id(app)), FlowId::from_uuid(id(1)), number);
        Subject { query, kind: Kind::Results { by_tag: None } }
    }

    fn result(entries: usize) -> Outcome {
        let aggregate = Aggregate::new(&Kind::Results { by_tag: None });
        let computed = Computed { aggregate, as_of: Timestamp::from_millis(1) };
        Outcome::Computed(Arc::new(computed), entries)
    }

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    /// Finds one that is known.
    fn known(all: &Computations, number: usize, now: Instant) -> Option<Arc<Computation>> {
        let found = all.find_or_add(subject(1, number), now).unwrap();
        if found.must_start {
            found.computation.end(Outcome::Stopped, now);
            return None;
        }
        Some(found.computation)
    }

    #[test]
    fn a_result_is_kept_for_a_minute_after_its_pass_ended() {
        let (all, start) = (Computations::default(), Instant::now());
        let first = all.find_or_add(subject(1, 0), start).unwrap();
        assert!(first.must_start);
        let ended = start + seconds(300);
        assert!(!all.find_or_add(subject(1, 0), ended).unwrap().must_start, "it is under way");
        first.computation.end(result(1), ended);
        let last = ended + seconds(RESULT_SECONDS_MAX - 1);
        assert!(matches!(known(&all, 0, last).unwrap().answer(), Ok(Results::Ready(_))));
        // A request does not prolong it.
        assert!(known(&all, 0, last + seconds(1)).is_none());
    }

    #[test]
    fn a_refusal_is_remembered_and_a_failure_is_not() {
        let (all, now) = (Computations::default(), Instant::now());
        let refused = all.find_or_add(subject(1, 0), now).unwrap().computation;
        refused.end(Outcome::Refused { code: "too_many_answers", detail: String::new() }, now);
        for _ in 0..2 {
            let again = known(&all, 0, now).unwrap().answer().err();
            assert!(matches!(again, Some(AdminError::Conflict { code: "too_many_answers", .. })));
        }
        assert!(known(&all, 0, now + seconds(RESULT_SECONDS_MAX)).is_none());

        let failed = all.find_or_add(subject(1, 1), now).unwrap().computation;
        failed.end(Outcome::Failed(Some(StoreError::Closed.into())), now);
        assert!(failed.answer().is_err());
        let again = all.find_or_add(subject(1, 1), now).unwrap();
        assert!(again.must_start);
        again.computation.end(result(1), now);
        assert!(matches!(again.computation.answer(), Ok(Results::Ready(_))));
    }

    #[test]
    fn one_app_cannot_have_many_under_way() {
        let (all, now) = (Computations::default(), Instant::now());
        let own: Vec<_> = (0..UNDER_WAY_OF_APP_MAX)
            .map(|number| all.find_or_add(subject(1, number), now).unwrap().computation)
            .collect();
        let refused = all.find_or_add(subject(1, 99), now).err();
        let code = "too_many_computations";
        assert!(matches!(refused, Some(AdminError::Conflict { code: it, .. }) if it == code));
        assert!(all.find_or_add(subject(1, 0), now).is_ok(), "this one is already under way");
        assert!(all.find_or_add(subject(2, 0), now).is_ok(), "another app has its own");
        own[0].end(result(1), now);
        assert!(all.find_or_add(subject(1, 99), now).is_ok());
        for app in 3..3 + UNDER_WAY_MAX as i64 {
            let _some_are_refused = all.find_or_add(subject(app, 0), now);
        }
        assert_eq!(all.lock().iter().filter(|it| it.is_running()).count(), UNDER_WAY_MAX);
    }

    #[test]
    fn the_result_that_was_requested_least_recently_is_forgotten() {
        let (all, now) = (Computations::default(), Instant::now());
        let running = all.find_or_add(subject(2, 0), now).unwrap().computation;
        for number in 0..RESULTS_MAX {
            all.find_or_add(subject(1, number), now).unwrap().computation.end(result(1), now);
        }
        assert!(known(&all, 0, now).is_some());
        all.find_or_add(subject(1, RESULTS_MAX), now).unwrap().computation.end(result(1), now);
        assert!(known(&all, 0, now).is_some() && known(&all, 1, now).is_none());
        assert!(!all.find_or_add(subject(2, 0), now).unwrap().must_start && running.is_running());
    }

    #[test]
    fn large_results_leave_room_for_few() {
        let (all, now) = (Computations::default(), Instant::now());
        for number in 0..4 {
            let found = all.find_or_add(subject(1, number), now).unwrap();
            found.computation.end(result(ENTRIES_MAX / 2), now);
        }
        let kept: Vec<bool> = (0..4).map(|number| known(&all, number, now).is_some()).collect();
        assert_eq!(kept, [false, false, true, true]);
    }

    #[test]
    fn a_computation_without_requests_is_not_wanted() {
        let (all, now) = (Computations::default(), Instant::now());
        let computation = all.find_or_add(subject(1, 0), now).unwrap().computation;
        let later = now + seconds(IDLE_SECONDS_MAX);
        assert!(computation.lock().is_wanted(later - seconds(1)));
        assert!(!computation.lock().is_wanted(later));
        all.find_or_add(subject(1, 0), later).unwrap();
        assert!(computation.lock().is_wanted(later));
    }
}
