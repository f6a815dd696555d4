//! Selects the waiting submissions for the next write.
//!
//! A store with one writer gets everything that waits in one write. A store with several lanes gets
//! concurrent writes. Submissions that link respondents or invitations need more exchanges with the
//! database, so they have a separate lane and do not delay the others. Both lanes take the
//! submissions of all apps, with two exceptions. On a database that is sharded by app, a write
//! holds the apps of one machine, so an unavailable machine delays only its own apps; a write that
//! links holds a single app, and so does every write if the machines of apps are unknown. And a
//! submission whose app is being changed is written only with others of its app, since it has to
//! wait for the change. Lanes take turns. If there are several places, writes of single apps leave
//! one to those of many apps.
//!
//! Each lane has its own line and its own bound ([`crate::overload`]).

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use sluice_flow::id::AppId;
use sluice_store::{IfBusy, Lanes};

use crate::metrics::QueueState;
use crate::overload::{self, DEADLINE, WriteTime};

/// The maximum number of responses in one write; more would only delay the first.
pub(crate) const BATCH_MAX: usize = 512;
/// The number of a lane's responses that must wait before a second concurrent write starts.
const FURTHER_ROWS_MIN: usize = 128;
/// A write that takes longer than this does not delay the next one of its lane.
pub(crate) const SLOW_WRITE: Duration = Duration::from_millis(100);

/// The initial capacity of a line of waiting submissions.
const LINE_ROWS: usize = 32;

const _: () = assert!(FURTHER_ROWS_MIN <= BATCH_MAX);

/// Which submissions a write takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum WriteLane {
    /// Of all apps.
    All,
    /// Of all apps, linked to respondents or invitations.
    Linked,
    /// Of the apps that one server has.
    Server(u32),
    /// Of one app.
    App(AppId),
}

impl WriteLane {
    pub(crate) fn if_busy(self) -> IfBusy {
        match self {
            Self::All | Self::Linked | Self::Server(_) => IfBusy::Skip,
            Self::App(_) => IfBusy::Wait,
        }
    }
}

/// What determines the lane of a submission.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Needs {
    pub(crate) app: AppId,
    /// The server that has its app, if there are several and it is known.
    pub(crate) server: Option<u32>,
    /// Its app was being changed when it was written the first time.
    pub(crate) alone: bool,
    pub(crate) linked: bool,
}

/// A submission in its line.
#[derive(Debug)]
pub(crate) struct Queued<T> {
    pub(crate) since: Instant,
    pub(crate) submission: T,
}

/// The outcome of adding a submission.
#[derive(Debug)]
pub(crate) enum Added<T> {
    Queued,
    /// It took the place of this one, which has waited for too long.
    InPlaceOf(Queued<T>),
    /// It would take this long until it is stored.
    Refused(T, Duration),
}

/// A submission with its size.
pub(crate) trait Weighted {
    /// In bytes.
    fn weight(&self) -> usize;
}

/// The submissions of a lane that wait.
struct Line<T> {
    queued: VecDeque<Queued<T>>,
    bytes: usize,
}

impl<T: Weighted> Line<T> {
    fn new() -> Self {
        Self { queued: VecDeque::with_capacity(LINE_ROWS), bytes: 0 }
    }

    fn push(&mut self, queued: Queued<T>) {
        self.bytes += queued.submission.weight();
        self.queued.push_back(queued);
    }

    fn take(&mut self, rows: usize) -> Vec<Queued<T>> {
        let taken: Vec<Queued<T>> = match self.queued.len() > rows {
            true => self.queued.drain(..rows).collect(),
            false => std::mem::take(&mut self.queued).into(),
        };
        self.bytes -= taken.iter().map(|it| it.submission.weight()).sum::<usize>();
        taken
    }
}

/// The submissions of one write.
#[derive(Debug)]
pub(crate) struct Batch<T> {
    pub(crate) lane: WriteLane,
    pub(crate) started: Instant,
    /// How many of the first ones have waited for too long: they are refused, not written.
    pub(crate) overdue: usize,
    pub(crate) queued: Vec<Queued<T>>,
}

/// The writes of a lane that are in progress.
struct UnderWay {
    count: usize,
    last_started: Instant,
    /// Known while the lane stays busy.
    write_time: WriteTime,
}

/// The waiting submissions by lane, and the lanes with writes in progress.
pub(crate) struct Batches<T> {
    lanes: Lanes,
    count: usize,
    /// Lanes with waiting submissions, in the order in which they are served.
    turns: VecDeque<WriteLane>,
    waiting: BTreeMap<WriteLane, Line<T>>,
    under_way: BTreeMap<WriteLane, UnderWay>,
}

impl<T: Weighted> Batches<T> {
    pub(crate) fn new(lanes: Lanes) -> Self {
        Self {
            lanes,
            count: 0,
            turns: VecDeque::new(),
            waiting: BTreeMap::new(),
            under_way: BTreeMap::new(),
        }
    }

    /// The number of submissions that wait.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Whether something waits only because the writes in progress are not slow yet.
    pub(crate) fn may_start_later(&self) -> bool {
        let busy: usize = self.under_way.values().map(|it| it.count).sum();
        self.count > 0 && self.lanes.count > 1 && busy < self.lanes.count
    }

    /// Whether nothing waits and nothing is being written.
    pub(crate) fn is_idle(&self) -> bool {
        self.count == 0 && self.under_way.values().all(|it| it.count == 0)
    }

    pub(crate) fn state(&self, now: Instant) -> QueueState {
        // Each line is in the order of arrival.
        let first = |line: &Line<T>| line.queued.front().map(|it| it.since);
        let oldest = self.waiting.values().filter_map(first).min();
        QueueState {
            oldest: oldest.map_or(Duration::ZERO, |since| now.saturating_duration_since(since)),
            in_progress: self.under_way.values().map(|it| it.count).sum(),
        }
    }

    /// Adds a submission to its line. If it would not be stored within the deadline, it takes the
    /// place of the first one in line, provided that this is overdue; otherwise it is refused. It
    /// is also refused if its line may not grow while the queue has room for `room` submissions of
    /// usual size; lines that the apps of all servers share always may.
    pub(crate) fn add(
        &mut self,
        needs: Needs,
        since: Instant,
        submission: T,
        room: usize,
    ) -> Added<T> {
        let lane = self.lane_of(needs);
        let places = self.places();
        let line = self.waiting.entry(lane).or_insert_with(Line::new);
        let rows = line.queued.len();
        let wait = || expected_wait(rows / (BATCH_MAX * places), self.under_way.get(&lane), since);
        if rows >= BATCH_MAX {
            let wait = wait();
            if wait > DEADLINE {
                let is_first_overdue = line.queued.front().is_some_and(|it| is_overdue(it, since));
                let Some(first) = is_first_overdue.then(|| line.take(1).pop()).flatten() else {
                    return Added::Refused(submission, wait);
                };
                line.push(Queued { since, submission });
                return Added::InPlaceOf(first);
            }
        }
        if let WriteLane::App(_) | WriteLane::Server(_) = lane
            && !overload::may_grow(rows, line.bytes, room)
        {
            return Added::Refused(submission, wait());
        }
        if rows == 0 {
            self.turns.push_back(lane);
        }
        line.push(Queued { since, submission });
        self.count += 1;
        Added::Queued
    }

    /// How long a submission to this lane would take until it is stored.
    pub(crate) fn expected_wait(&self, needs: Needs, now: Instant) -> Duration {
        let lane = self.lane_of(needs);
        let rows = self.waiting.get(&lane).map_or(0, |line| line.queued.len());
        expected_wait(rows / (BATCH_MAX * self.places()), self.under_way.get(&lane), now)
    }

    /// How many writes of one lane may run concurrently.
    fn places(&self) -> usize {
        self.lanes.count.saturating_sub(1).max(1)
    }

    fn lane_of(&self, Needs { app, server, alone, linked }: Needs) -> WriteLane {
        if self.lanes.count == 1 && !self.lanes.by_app && !alone {
            return WriteLane::All;
        }
        match (self.lanes.by_app, server) {
            _ if alone => WriteLane::App(app),
            (true, Some(server)) if !linked => WriteLane::Server(server),
            (true, _) => WriteLane::App(app),
            (false, _) if linked => WriteLane::Linked,
            (false, _) => WriteLane::All,
        }
    }

    /// The next write, from the first lane (round robin) that can start one. Call [`Self::ended`]
    /// when it ends.
    pub(crate) fn next(&mut self, now: impl Fn() -> Instant) -> Option<Batch<T>> {
        let busy: usize = self.under_way.values().map(|it| it.count).sum();
        if busy >= self.lanes.count {
            return None;
        }
        let turn = self.turns.iter().position(|lane| self.may_write(lane, &now))?;
        let lane = self.turns.remove(turn)?;
        let line = self.waiting.get_mut(&lane)?;
        let started = now();
        let overdue = overdue(&line.queued, started);
        let queued = line.take(overdue + BATCH_MAX);
        if line.queued.is_empty() {
            self.waiting.remove(&lane);
        } else {
            self.turns.push_back(lane);
        }
        self.count -= queued.len();
        let under_way = self.under_way.entry(lane).or_insert(UnderWay {
            count: 0,
            last_started: started,
            write_time: WriteTime::default(),
        });
        under_way.count += 1;
        under_way.last_started = started;
        Some(Batch { lane, started, overdue, queued })
    }

    /// Whether there is a place for this lane, and it is worth using. A second concurrent write
    /// costs the database as much as a large one, so it waits until enough responses have gathered,
    /// or the first is slow.
    fn may_write(&self, lane: &WriteLane, now: impl Fn() -> Instant) -> bool {
        let places = self.places();
        if let WriteLane::App(_) = lane
            && self.has_shared_lanes()
        {
            let of_apps = |(lane, it): (&WriteLane, &UnderWay)| match lane {
                WriteLane::App(_) => it.count,
                WriteLane::All | WriteLane::Linked | WriteLane::Server(_) => 0,
            };
            if self.under_way.iter().map(of_apps).sum::<usize>() >= places {
                return false;
            }
        }
        let Some(under_way) = self.under_way.get(lane).filter(|it| it.count > 0) else {
            return true;
        };
        let waiting = self.waiting.get(lane).map_or(0, |line| line.queued.len());
        let is_slow = || now().duration_since(under_way.last_started) >= SLOW_WRITE;
        let is_worth = || waiting >= FURTHER_ROWS_MIN || is_slow();
        under_way.count < places && is_worth()
    }

    /// Whether there are lanes of many apps.
    fn has_shared_lanes(&self) -> bool {
        let is_shared = |lane: &WriteLane| !matches!(lane, WriteLane::App(_));
        // They are the first in order.
        let (waiting, under_way) = (self.waiting.keys().next(), self.under_way.keys().next());
        !self.lanes.by_app || [waiting, under_way].into_iter().flatten().any(is_shared)
    }

    /// Records the end of a write and how long it took; without a time, nothing was written.
    pub(crate) fn ended(&mut self, lane: WriteLane, took: Option<Duration>) {
        if let Some(under_way) = self.under_way.get_mut(&lane) {
            under_way.count -= 1;
            if let Some(took) = took {
                under_way.write_time.note(took);
            }
            if under_way.count == 0 && !self.waiting.contains_key(&lane) {
                self.under_way.remove(&lane);
            }
        }
    }
}

/// The number of submissions at the front of a line that have waited for too long, of those that
/// one write does not hold.
fn overdue<T>(line: &VecDeque<Queued<T>>, now: Instant) -> usize {
    let excess = line.len().saturating_sub(BATCH_MAX);
    line.iter().take(excess).take_while(|it| is_overdue(it, now)).count()
}

fn is_overdue<T>(queued: &Queued<T>, now: Instant) -> bool {
    now.saturating_duration_since(queued.since) > DEADLINE
}

fn expected_wait(writes_ahead: usize, under_way: Option<&UnderWay>, now: Instant) -> Duration {
    let Some(UnderWay { count, last_started, write_time }) = under_way else {
        return Duration::ZERO;
    };
    let elapsed = match count {
        0 => Duration::ZERO,
        _ => now.saturating_duration_since(*last_started),
    };
    write_time.expected_wait(writes_ahead, elapsed)
}

#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;
