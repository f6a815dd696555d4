//! Where submissions wait for their write, within limits.

use std::time::{Duration, Instant};

use sluice_flow::time::Timestamp;
use sluice_store::NewResponse;
use tokio::sync::oneshot;

use crate::batches::{Added, BATCH_MAX, Batches, Needs, Weighted};
use crate::commit_outcome::{CommitOutcome, QueueFull};
use crate::overload::{ROW_BYTES, retry_after_seconds};
use crate::spans::ActiveSpan;

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
    /// Whether it must be written by itself, because its app was busy in an earlier write
    /// ([`CommitOutcome::Busy`]).
    pub(crate) alone: bool,
}

/// A response in the queue, and how to answer its submission.
pub(crate) struct QueuedSubmission {
    pub(crate) pending: Pending,
    /// As [`server_of`](sluice_store::roles::IntakeStore::server_of).
    pub(crate) server: Option<u32>,
    pub(crate) weight: usize,
    pub(crate) reply: oneshot::Sender<CommitOutcome>,
    /// The span of its request, if that is traced.
    pub(crate) span: Option<ActiveSpan>,
}

impl QueuedSubmission {
    /// `server` is as [`server_of`](sluice_store::roles::IntakeStore::server_of) returns it.
    pub(crate) fn new(
        pending: Pending,
        server: Option<u32>,
        reply: oneshot::Sender<CommitOutcome>,
        span: Option<ActiveSpan>,
    ) -> Self {
        let NewResponse { row, contribution, .. } = &pending.response;
        let weight = size_of::<Self>() + row.texts_len() + contribution.as_bytes().len();
        Self { pending, server, weight, reply, span }
    }

    pub(crate) fn needs(&self) -> Needs {
        let Pending { response, alone, .. } = &self.pending;
        Needs {
            app: response.row.app_id,
            server: self.server,
            alone: *alone,
            linked: response.claim.is_some()
                || response.invitation.is_some()
                || !response.limits.is_empty(),
        }
    }
}

impl Weighted for QueuedSubmission {
    fn weight(&self) -> usize {
        self.weight
    }
}

/// The waiting submissions, within limits on their number and bytes.
pub(crate) struct Queue {
    pub(crate) batches: Batches<QueuedSubmission>,
    pub(crate) bytes: usize,
    pub(crate) is_closed: bool,
    /// When a submission was last refused.
    pub(crate) refused_at: Option<Instant>,
}

impl Queue {
    pub(crate) fn new(batches: Batches<QueuedSubmission>) -> Self {
        Self { batches, bytes: 0, is_closed: false, refused_at: None }
    }

    pub(crate) fn add(
        &mut self,
        waiting: QueuedSubmission,
        now: Instant,
    ) -> Added<QueuedSubmission> {
        let (needs, weight) = (waiting.needs(), waiting.weight);
        if !self.has_room(weight) {
            let wait = self.batches.expected_wait(needs, now);
            return Added::Refused(waiting, wait);
        }
        let added = self.batches.add(needs, now, waiting, self.room());
        match &added {
            Added::Queued => self.bytes += weight,
            Added::InPlaceOf(first) => {
                self.bytes += weight;
                self.bytes -= first.submission.weight;
            }
            Added::Refused(..) => {}
        }
        added
    }

    pub(crate) fn refuse(&mut self, expected_wait: Duration, now: Instant) -> QueueFull {
        self.refused_at = Some(now);
        QueueFull { retry_after_seconds: retry_after_seconds(expected_wait) }
    }

    fn has_room(&self, weight: usize) -> bool {
        !self.is_closed
            && self.batches.count() < QUEUE_MAX
            && self.bytes.saturating_add(weight) <= QUEUE_BYTES_MAX
    }

    /// How many more submissions of usual size it may hold.
    fn room(&self) -> usize {
        let rows = QUEUE_MAX.saturating_sub(self.batches.count());
        rows.min(QUEUE_BYTES_MAX.saturating_sub(self.bytes) / ROW_BYTES)
    }
}
