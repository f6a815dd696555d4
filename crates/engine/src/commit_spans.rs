//! What the queue of submissions adds to traces: how long a request waited, and the write that it
//! shared.

use std::time::Instant;

use crate::spans::{ActiveSpan, Part, Value};

/// Records the wait of a submission, if its request is traced.
pub(crate) fn note_wait(span: Option<&ActiveSpan>, since: Instant, until: Instant) {
    if let Some(span) = span {
        span.child("queue wait", since, until, Part::default());
    }
}

/// A write, as a part of each traced request that waited for it.
pub(crate) struct Commit {
    pub(crate) started: Instant,
    pub(crate) ended: Instant,
    pub(crate) rows: usize,
    pub(crate) has_failed: bool,
}

pub(crate) fn note_commit(traced: &[ActiveSpan], commit: impl FnOnce() -> Commit) {
    if traced.is_empty() {
        return;
    }
    let Commit { started, ended, rows, has_failed } = commit();
    let rows = i64::try_from(rows).unwrap_or(i64::MAX);
    for span in traced {
        let attributes = vec![("sluice.batch.size", Value::Number(rows))];
        span.child("commit", started, ended, Part { attributes, has_failed });
    }
}
