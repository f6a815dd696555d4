//! Group commit: one durable write for all waiting submissions.
//!
//! A submission that finds the store idle starts a write; those that arrive meanwhile queue, and
//! the thread that ends a write answers its submissions and starts the next write, with everything
//! that has queued. So a single submission does not wait, and concurrent ones share one sync. The
//! queue is bounded in time ([`crate::overload`]), in submissions and in bytes: beyond that, new
//! submissions are refused at once, with nothing stored. A store with several lanes has several
//! writes in progress ([`crate::batches`]); a slow one does not delay the next. The calls of one
//! request enter the queue at once, so that they share a write ([`Committer::together`]).
//!
//! The response's id, and with it the time at which it was received, is assigned here, just before
//! the write. So ids follow the order of writes, and a version that stopped accepting while the
//! submission queued does not get it: it returns as [`CommitOutcome::Stale`], to be checked again.

use std::cell::Cell;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Context;
use std::time::{Duration, Instant};

use sluice_flow::id::{RespondentId, ResponseId};
use sluice_store::{NewResponse, Outcome, Resume, Store, StoreError};
use tokio::runtime::Handle;
use tokio::sync::{Notify, oneshot, watch};

use crate::batches::{Added, Batch, Batches, Queued, SLOW_WRITE, WriteLane};
use crate::clock::Clock;
use crate::commit_outcome::{CommitOutcome, QueueFull};
use crate::commit_queue::{Pending, Queue, QueuedSubmission};
use crate::commit_spans::{Commit, note_commit, note_wait};
use crate::ids::Ids;
use crate::metrics::{Metrics, QueueState, SubmissionOutcome};
use crate::overload::SATURATED_FOR;
use crate::spans::{self, ActiveSpan};

thread_local! {
    /// The submissions of the future that this thread is polling in [`Committer::together`].
    static TOGETHER: Cell<Option<Vec<QueuedSubmission>>> = const { Cell::new(None) };
}

/// Ends [`TOGETHER`] when it is dropped.
struct EndTogether;

impl Drop for EndTogether {
    fn drop(&mut self) {
        TOGETHER.set(None);
    }
}

/// Where submissions wait for their write.
pub(crate) struct Committer(Arc<Writer>);

impl Committer {
    /// It sets `lost` when the outcome of a write is unknown, and `stored` with every write.
    pub(crate) fn new(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        metrics: Arc<Metrics>,
        lost: watch::Sender<bool>,
        stored: Arc<AtomicBool>,
    ) -> Self {
        let batches = Batches::new(store.lanes());
        let queue = Mutex::new(Queue::new(batches));
        let (ids, ended) = (Ids::default(), Notify::new());
        Self(Arc::new(Writer {
            store,
            clock,
            ids,
            lost,
            metrics,
            stored,
            queue,
            ended,
            has_failed: AtomicBool::new(false),
            is_start_scheduled: AtomicBool::new(false),
        }))
    }

    /// Queues a response and waits for its outcome. Returns [`QueueFull`] at once if it does not
    /// fit, or could not be stored in time. If the caller stops waiting, the response is not
    /// stored, unless its write has begun.
    pub(crate) async fn store(&self, pending: Pending) -> Result<CommitOutcome, QueueFull> {
        let (reply, settled) = oneshot::channel();
        let server = self.0.store.server_of(pending.response.row.app_id);
        let waiting = QueuedSubmission::new(pending, server, reply, spans::current());
        match TOGETHER.take() {
            Some(mut others) => {
                others.push(waiting);
                TOGETHER.set(Some(others));
            }
            None => self.enqueue([waiting]),
        }
        // The writer answers everything that it took; a dropped sender means that it died.
        match settled.await.unwrap_or(CommitOutcome::Unknown) {
            CommitOutcome::Overdue(refused) => Err(refused),
            settled => Ok(settled),
        }
    }

    /// Runs a future that stores several responses. Those of one poll enter the queue at once.
    pub(crate) async fn together<T>(&self, calls: impl Future<Output = T>) -> T {
        let mut calls = pin!(calls);
        let poll = |context: &mut Context<'_>| {
            TOGETHER.set(Some(Vec::new()));
            let _after_a_panic = EndTogether;
            let polled = calls.as_mut().poll(context);
            if let Some(waiting) = TOGETHER.take().filter(|waiting| !waiting.is_empty()) {
                self.enqueue(waiting);
            }
            polled
        };
        poll_fn(poll).await
    }

    /// Queues responses, and starts the writes that may start. Those that do not fit are refused.
    fn enqueue(&self, submissions: impl IntoIterator<Item = QueuedSubmission>) {
        let now = self.0.clock.monotonic();
        let mut overdue = Vec::new();
        let mut added: i64 = 0;
        let mut queue = self.0.queue();
        for waiting in submissions {
            match queue.add(waiting, now) {
                Added::Queued => added += 1,
                Added::InPlaceOf(first) => overdue.push(first),
                Added::Refused(waiting, wait) => {
                    let refused = queue.refuse(wait, now);
                    // The client may have gone just now.
                    let _ = waiting.reply.send(CommitOutcome::Overdue(refused));
                }
            }
        }
        drop(queue);
        self.0.metrics.queued.inc_by(added);
        self.0.refuse(overdue, now);
        self.0.start_writes();
    }

    /// Whether submissions were refused recently because they could not be stored in time.
    pub(crate) fn is_saturated(&self) -> bool {
        let now = self.0.clock.monotonic();
        let refused_at = self.0.queue().refused_at;
        refused_at.is_some_and(|at| now.saturating_duration_since(at) < SATURATED_FOR)
    }

    pub(crate) fn state(&self) -> QueueState {
        let now = self.0.clock.monotonic();
        self.0.queue().batches.state(now)
    }

    /// Whether a write has failed since the last call.
    pub(crate) fn take_failure(&self) -> bool {
        self.0.has_failed.swap(false, Ordering::Relaxed)
    }

    /// Accepts no more, and returns when everything queued has an outcome.
    pub(crate) async fn close(&self) {
        self.0.queue().is_closed = true;
        loop {
            let mut ended = pin!(self.0.ended.notified());
            ended.as_mut().enable();
            if self.0.queue().batches.is_idle() {
                return;
            }
            ended.await;
        }
    }
}

struct Writer {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    /// Separate, so that no ids of other callers come in between.
    ids: Ids,
    lost: watch::Sender<bool>,
    metrics: Arc<Metrics>,
    /// Notifies the task that compacts counts.
    stored: Arc<AtomicBool>,
    queue: Mutex<Queue>,
    /// Notifies [`Committer::close`] that a write ended.
    ended: Notify,
    /// A write failed; see [`Committer::take_failure`].
    has_failed: AtomicBool,
    /// A task of [`Writer::start_writes_later`] is waiting.
    is_start_scheduled: AtomicBool,
}

impl Writer {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the writes that may start.
    fn start_writes(self: &Arc<Self>) {
        loop {
            let mut queue = self.queue();
            let next = queue.batches.next(|| self.clock.monotonic());
            let may_start_later = next.is_none() && queue.batches.may_start_later();
            drop(queue);
            match next {
                Some(batch) => self.write(batch),
                None if may_start_later => return self.start_writes_later(),
                None => return,
            }
        }
    }

    /// Starts further writes once those in progress count as slow.
    fn start_writes_later(self: &Arc<Self>) {
        // Only stores with several lanes come here, and they call back on the runtime; it is
        // absent only while the process ends.
        let Ok(runtime) = Handle::try_current() else { return };
        if self.is_start_scheduled.swap(true, Ordering::Relaxed) {
            return;
        }
        let writer = Arc::clone(self);
        runtime.spawn(async move {
            tokio::time::sleep(SLOW_WRITE).await;
            writer.is_start_scheduled.store(false, Ordering::Relaxed);
            writer.start_writes();
        });
    }

    /// Starts the write of a batch. If nothing of it can be written, continues with the next one.
    fn write(self: &Arc<Self>, mut batch: Batch<QueuedSubmission>) {
        loop {
            let lane = batch.lane;
            let mut in_progress = InProgress::new(Arc::clone(self), lane, batch.started);
            let rows = self.rows_of(batch, &mut in_progress);
            if !rows.is_empty() && !*self.lost.borrow() {
                let then = Box::new(|outcomes| in_progress.settle(outcomes));
                return self.store.commit_then(rows, lane.if_busy(), then);
            }
            match in_progress.end() {
                Some(next) => batch = next,
                None => return,
            }
        }
    }

    /// Records that a write of this lane ended, and takes the next batch.
    fn next_after(
        self: &Arc<Self>,
        lane: WriteLane,
        took: Option<Duration>,
    ) -> Option<Batch<QueuedSubmission>> {
        let mut queue = self.queue();
        queue.batches.ended(lane, took);
        let next = queue.batches.next(|| self.clock.monotonic());
        let may_start_later = queue.batches.may_start_later();
        let is_last = next.is_none() && queue.is_closed;
        drop(queue);
        if may_start_later {
            self.start_writes_later();
        }
        if is_last {
            self.ended.notify_waiters();
        }
        next
    }

    /// Gives the responses of a batch their ids. Those that waited for too long, or whose version
    /// stopped accepting while they queued, are answered now. Those whose client has gone are
    /// dropped: none was acknowledged or refused, and a retry stores them.
    fn rows_of(
        &self,
        mut batch: Batch<QueuedSubmission>,
        into: &mut InProgress,
    ) -> Vec<NewResponse> {
        self.note_taken(&batch);
        if batch.overdue > 0 {
            let in_time = batch.queued.split_off(batch.overdue);
            self.refuse(std::mem::replace(&mut batch.queued, in_time), batch.started);
        }
        let queued = batch.queued;
        let now = self.ids.steady(self.clock.now());
        let mut rows = Vec::with_capacity(queued.len());
        into.replies.reserve(queued.len());
        let ids = self.ids.many(now, queued.len());
        for (Queued { submission: waiting, since }, id) in queued.into_iter().zip(ids) {
            if waiting.reply.is_closed() {
                self.metrics.count(SubmissionOutcome::Abandoned);
                continue;
            }
            note_wait(waiting.span.as_ref(), since, batch.started);
            if waiting.pending.accepts_until.is_some_and(|until| now >= until) {
                let _ = waiting.reply.send(CommitOutcome::Stale);
                continue;
            }
            let mut response = waiting.pending.response;
            response.row.response_id = ResponseId::from_uuid(id);
            if let Some(claim) = &mut response.claim {
                // An id that revealed the time would lead from the profile to this response, even
                // after the link between them is erased.
                claim.new_id = RespondentId::from_uuid(Ids::of_day(now));
            }
            into.replies.push((response.row.response_id, waiting.reply));
            into.traced.extend(waiting.span);
            rows.push(response);
        }
        rows
    }

    /// Updates the size of the queue, and the metrics about it.
    fn note_taken(&self, batch: &Batch<QueuedSubmission>) {
        let weight = batch.queued.iter().map(|it| it.submission.weight).sum::<usize>();
        self.queue().bytes -= weight;
        self.metrics.queued.dec_by(i64::try_from(batch.queued.len()).unwrap_or(i64::MAX));
        if let Some(oldest) = batch.queued.get(batch.overdue) {
            let waited = batch.started.saturating_duration_since(oldest.since);
            self.metrics.note_wait(waited);
        }
    }

    /// Answers submissions that waited for too long.
    fn refuse(&self, overdue: Vec<Queued<QueuedSubmission>>, now: Instant) {
        for Queued { submission: waiting, since } in overdue {
            if waiting.reply.is_closed() {
                self.metrics.count(SubmissionOutcome::Abandoned);
                continue;
            }
            note_wait(waiting.span.as_ref(), since, now);
            let mut queue = self.queue();
            let wait = queue.batches.expected_wait(waiting.needs(), now);
            let refused = queue.refuse(wait, now);
            drop(queue);
            // The client may have gone just now.
            let _ = waiting.reply.send(CommitOutcome::Overdue(refused));
        }
    }

    /// A client that disconnected during the write does not matter: its row is stored anyway.
    fn answer(&self, replies: Replies, outcomes: Result<Vec<Outcome>, StoreError>) {
        let outcomes = match outcomes {
            Ok(outcomes) => outcomes,
            Err(_) if replies.is_empty() => return,
            Err(error) => {
                let settled = self.failed(&error);
                for (_, reply) in replies {
                    let _ = reply.send(settled);
                }
                return;
            }
        };
        for ((id, reply), outcome) in replies.into_iter().zip(outcomes) {
            let _ = reply.send(match outcome {
                Outcome::Stored => CommitOutcome::Stored(id),
                Outcome::Replayed(first) => CommitOutcome::Replayed(first),
                Outcome::KeyReused => CommitOutcome::KeyReused,
                Outcome::Stale => CommitOutcome::Stale,
                Outcome::Busy => CommitOutcome::Busy,
                Outcome::Uninvited => CommitOutcome::Uninvited,
                Outcome::Full(full) => CommitOutcome::Full(full),
            });
        }
    }

    fn failed(&self, error: &StoreError) -> CommitOutcome {
        self.has_failed.store(true, Ordering::Relaxed);
        // The store logs the beginning of these states.
        let is_known =
            matches!(error, StoreError::DiskReserve) || self.store.damage().found().is_some();
        if !is_known {
            let source = std::error::Error::source(error).map(ToString::to_string);
            tracing::error!(%error, source, "responses could not be stored");
        }
        match error {
            // An unreadable row is found before anything is committed.
            StoreError::Failed(_) | StoreError::Corrupt(_) | StoreError::Damaged(_) => {
                CommitOutcome::Failed
            }
            // Only these responses are in doubt; the store is not.
            StoreError::InDoubt(_) => CommitOutcome::Unknown,
            StoreError::DiskReserve => CommitOutcome::DiskReserve,
            StoreError::Unknown(_) | StoreError::Conflict | StoreError::Closed => {
                self.lost.send_replace(true);
                CommitOutcome::Unknown
            }
        }
    }
}

type Replies = Vec<(ResponseId, oneshot::Sender<CommitOutcome>)>;

/// A write in progress, and who waits for it.
struct InProgress {
    writer: Arc<Writer>,
    lane: WriteLane,
    replies: Replies,
    /// The spans of those that are traced.
    traced: Vec<ActiveSpan>,
    started: Instant,
    has_ended: bool,
}

impl InProgress {
    fn new(writer: Arc<Writer>, lane: WriteLane, started: Instant) -> Self {
        let (replies, traced) = (Vec::new(), Vec::new());
        Self { writer, lane, replies, traced, started, has_ended: false }
    }

    /// Answers the submissions of this write. The next one starts when the store can take it.
    fn settle(mut self, outcomes: Result<Vec<Outcome>, StoreError>) -> Resume {
        let Writer { metrics, stored, .. } = &*self.writer;
        stored.store(true, Ordering::Relaxed);
        metrics.count_write(self.replies.len(), self.took());
        let (rows, has_failed) = (self.replies.len(), outcomes.is_err());
        self.answer(outcomes);
        let (started, ended) = (self.started, || self.started + self.took());
        note_commit(&self.traced, || Commit { started, ended: ended(), rows, has_failed });
        Resume::new(move || {
            if let Some(batch) = self.writer.next_after(self.lane, Some(self.took())) {
                self.writer.write(batch);
            }
        })
    }

    fn took(&self) -> Duration {
        self.writer.clock.monotonic().saturating_duration_since(self.started)
    }

    fn answer(&mut self, outcomes: Result<Vec<Outcome>, StoreError>) {
        self.writer.answer(std::mem::take(&mut self.replies), outcomes);
        self.has_ended = true;
    }

    /// Answers the submissions of a write that did not take place; returns the next batch.
    fn end(&mut self) -> Option<Batch<QueuedSubmission>> {
        self.answer(Err(StoreError::Closed));
        self.writer.next_after(self.lane, None)
    }
}

impl Drop for InProgress {
    /// A write that ended without an outcome, by a panic, leaves its submissions in doubt, so the
    /// process must not continue.
    fn drop(&mut self) {
        if !self.has_ended {
            tracing::error!("a write ended without an outcome");
            self.writer.lost.send_replace(true);
            if let Some(batch) = self.end() {
                self.writer.write(batch);
            }
        }
    }
}
