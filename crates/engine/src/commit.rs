//! Group commit: one durable write for all waiting submissions.
//!
//! There is no timer. While one write syncs, others queue; the next write takes everything that has
//! queued. So a single submission does not wait, and concurrent ones share one sync. The queue is
//! bounded in submissions and in bytes: when it is full, new submissions are refused at once, with
//! nothing stored. A store with several lanes has several writes in progress, each for one app
//! ([`crate::batches`]).
//!
//! The response's id, and with it the time at which it was received, is assigned here, just before
//! the write. So ids follow the order of writes, and a version that stopped accepting while the
//! submission queued does not get it: it returns as [`CommitOutcome::Stale`], to be checked again.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use sluice_flow::id::{RespondentId, ResponseId};
use sluice_flow::time::Timestamp;
use sluice_store::{NewResponse, Outcome, Store, StoreError};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::{JoinError, JoinSet};

use crate::batches::{BATCH_MAX, Batches, Lane};
use crate::clock::Clock;
use crate::ids::Ids;
use crate::metrics::Metrics;

/// The maximum number of submissions that wait at once: 16 full writes.
pub const QUEUE_MAX: usize = 8_192;
/// The maximum number of bytes that wait at once.
const QUEUE_BYTES_MAX: usize = 64 * 1024 * 1024;

const _: () = assert!(QUEUE_MAX >= BATCH_MAX);

/// A checked response that waits to be stored. It has no id yet.
#[derive(Debug)]
pub(crate) struct Pending {
    pub(crate) response: NewResponse,
    /// When its version stops accepting, if that is known.
    pub(crate) accepts_until: Option<Timestamp>,
}

/// What happened to a queued response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CommitOutcome {
    Stored(ResponseId),
    Replayed(ResponseId),
    KeyReused,
    Stale,
    /// Its invitation received another response, or ended, after the check.
    Uninvited,
    /// Not stored; a retry may succeed.
    Failed,
    /// Not stored; the disk has less free space than its reserve.
    DiskReserve,
    /// Whether it was stored is unknown.
    Unknown,
}

/// The queue is full or closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct QueueFull;

struct Waiting {
    pending: Pending,
    weight: usize,
    reply: oneshot::Sender<CommitOutcome>,
}

/// The sending side of the queue.
pub(crate) struct Committer {
    queue: mpsc::Sender<Waiting>,
    queued_bytes: Arc<AtomicUsize>,
    closing: watch::Sender<bool>,
    task: Mutex<Option<tokio::task::JoinHandle<()>>>,
    metrics: Arc<Metrics>,
}

impl Committer {
    /// Starts the task that writes. It sets `lost` when the outcome of a write is unknown, and
    /// `stored` with every write.
    pub(crate) fn start(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        metrics: Arc<Metrics>,
        lost: watch::Sender<bool>,
        stored: Arc<AtomicBool>,
    ) -> Self {
        let (queue, waiting) = mpsc::channel(QUEUE_MAX);
        let (closing, closed) = watch::channel(false);
        let queued_bytes = Arc::new(AtomicUsize::new(0));
        let writer = Writer {
            store,
            clock,
            ids: Ids::default(),
            lost,
            queued_bytes: Arc::clone(&queued_bytes),
            metrics: Arc::clone(&metrics),
            stored,
        };
        let task = Mutex::new(Some(tokio::spawn(Arc::new(writer).run(waiting, closed))));
        Self { queue, queued_bytes, closing, task, metrics }
    }

    /// Queues a response and waits for its outcome. Returns [`QueueFull`] at once if it does not
    /// fit.
    pub(crate) async fn store(&self, pending: Pending) -> Result<CommitOutcome, QueueFull> {
        let weight = weight_of(&pending.response);
        let queued = self.queued_bytes.fetch_add(weight, Ordering::Relaxed);
        if queued.saturating_add(weight) > QUEUE_BYTES_MAX {
            self.queued_bytes.fetch_sub(weight, Ordering::Relaxed);
            return Err(QueueFull);
        }
        let (reply, settled) = oneshot::channel();
        if self.queue.try_send(Waiting { pending, weight, reply }).is_err() {
            self.queued_bytes.fetch_sub(weight, Ordering::Relaxed);
            return Err(QueueFull);
        }
        self.metrics.queued.inc();
        // The writer answers everything that it took; a dropped sender means that it died.
        Ok(settled.await.unwrap_or(CommitOutcome::Unknown))
    }

    /// Accepts no more, and returns when everything queued has an outcome.
    pub(crate) async fn close(&self) {
        self.closing.send_replace(true);
        let task = self.task.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
        if let Some(task) = task
            && let Err(error) = task.await
        {
            tracing::error!(%error, "the committer did not end cleanly");
        }
    }
}

struct Writer {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    /// Separate, so that ids from other callers do not interleave.
    ids: Ids,
    lost: watch::Sender<bool>,
    queued_bytes: Arc<AtomicUsize>,
    metrics: Arc<Metrics>,
    /// Notifies the task that compacts counts.
    stored: Arc<AtomicBool>,
}

impl Writer {
    /// Takes from the queue only while a lane is free: waiting in the queue costs nothing, and the
    /// next batch takes everything that has gathered.
    async fn run(
        self: Arc<Self>,
        mut queue: mpsc::Receiver<Waiting>,
        mut closing: watch::Receiver<bool>,
    ) {
        let lanes = self.store.lanes().max(1);
        let mut batches = Batches::new(lanes);
        let mut under_way = JoinSet::new();
        let mut taken = Vec::with_capacity(BATCH_MAX);
        loop {
            while under_way.len() < lanes
                && let Some((lane, batch)) = batches.next()
            {
                let writer = Arc::clone(&self);
                under_way.spawn(async move {
                    writer.write(batch).await;
                    lane
                });
            }
            tokio::select! {
                Some(done) = under_way.join_next() => self.ended(&mut batches, done),
                count = queue.recv_many(&mut taken, BATCH_MAX),
                    if under_way.len() < lanes && batches.has_room() =>
                {
                    let app_of = |it: &Waiting| it.pending.response.row.app_id;
                    batches.add(taken.drain(..).map(|it| (app_of(&it), it)));
                    // The queue is closed and empty: everything left is being written or waits for
                    // a lane.
                    if count == 0 {
                        match under_way.join_next().await {
                            Some(done) => self.ended(&mut batches, done),
                            None => return,
                        }
                    }
                }
                () = told_to_close(&mut closing), if !queue.is_closed() => queue.close(),
            }
        }
    }

    /// A write that panicked has left its submissions without an outcome, so the process must not
    /// continue.
    fn ended(&self, batches: &mut Batches<Waiting>, done: Result<Lane, JoinError>) {
        match done {
            Ok(lane) => batches.ended(lane),
            Err(error) => {
                tracing::error!(%error, "a write ended without an outcome");
                self.lost.send_replace(true);
            }
        }
    }

    async fn write(&self, batch: Vec<Waiting>) {
        let now = self.ids.steady(self.clock.now());
        let mut rows = Vec::with_capacity(batch.len());
        let mut replies = Vec::with_capacity(batch.len());
        let ids = self.ids.many(now, batch.len());
        for (waiting, id) in batch.into_iter().zip(ids) {
            self.queued_bytes.fetch_sub(waiting.weight, Ordering::Relaxed);
            self.metrics.queued.dec();
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
            replies.push((response.row.response_id, waiting.reply));
            rows.push(response);
        }
        if rows.is_empty() {
            return;
        }
        let count = rows.len();
        let started = Instant::now();
        let outcomes = if *self.lost.borrow() {
            Err(StoreError::Closed)
        } else {
            self.store.commit(rows).await
        };
        self.stored.store(true, Ordering::Relaxed);
        self.metrics.batch_rows.observe(count as f64);
        self.metrics.commit_seconds.observe(started.elapsed().as_secs_f64());
        self.answer(replies, outcomes);
    }

    /// A client that disconnected does not matter: its row is stored anyway.
    fn answer(
        &self,
        replies: Vec<(ResponseId, oneshot::Sender<CommitOutcome>)>,
        outcomes: Result<Vec<Outcome>, StoreError>,
    ) {
        let outcomes = match outcomes {
            Ok(outcomes) => outcomes,
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
                Outcome::Uninvited => CommitOutcome::Uninvited,
            });
        }
    }

    fn failed(&self, error: &StoreError) -> CommitOutcome {
        // The store logs the beginning and the end of this state.
        if !matches!(error, StoreError::DiskReserve) {
            let source = std::error::Error::source(error).map(ToString::to_string);
            tracing::error!(%error, source, "responses could not be stored");
        }
        match error {
            // An unreadable row is found before anything is committed.
            StoreError::Failed(_) | StoreError::Corrupt(_) => CommitOutcome::Failed,
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

async fn told_to_close(closing: &mut watch::Receiver<bool>) {
    // An error means that the sender is gone, which also closes the queue.
    let _told = closing.wait_for(|&closing| closing).await.is_ok();
}

fn weight_of(response: &NewResponse) -> usize {
    size_of::<Waiting>() + response.row.texts_len() + response.contribution.as_bytes().len()
}
