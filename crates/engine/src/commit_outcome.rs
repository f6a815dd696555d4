//! The outcomes that the queue of submissions returns.

use sluice_flow::id::ResponseId;
use sluice_flow::issue::Full;

/// What happened to a queued response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CommitOutcome {
    Stored(ResponseId),
    Replayed(ResponseId),
    KeyReused,
    Stale,
    /// Not stored: its app is being changed. A write of this app alone waits for that.
    Busy,
    /// Its invitation received another response, or ended, after the check.
    Uninvited,
    /// Its flow has no room for it.
    Full(Full),
    /// Not stored; a retry may succeed.
    Failed,
    /// Not stored; the disk has less free space than its reserve.
    DiskReserve,
    /// Not stored; it waited for too long.
    Overdue(QueueFull),
    /// Whether it was stored is unknown.
    Unknown,
}

/// The queue is too long, full or closed; a retry may succeed after this time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct QueueFull {
    pub(crate) retry_after_seconds: u32,
}
