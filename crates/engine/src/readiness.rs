//! Whether a submission could be stored now, for load balancers.
//!
//! Anyone may ask, so the answer is shared: the store is checked at most once a second, and by one
//! caller at a time. The check runs in a separate task, so that a caller that goes away does not
//! end it for the others.

use std::sync::Arc;
use std::time::Duration;

use sluice_store::StoreError;
use tokio::time::{Instant, timeout};

use crate::core::Core;
use crate::unavailable::NotReady;

/// How long an answer is shared. A failure is checked again sooner, so that a server that has
/// recovered is used again.
const READY_FOR: Duration = Duration::from_secs(1);
const NOT_READY_FOR: Duration = Duration::from_millis(250);
/// A store that takes longer than this to answer is not ready.
const CHECK_MAX: Duration = Duration::from_secs(5);

pub(crate) async fn check(core: &Arc<Core>) -> Result<(), NotReady> {
    // Known without asking the store, and final.
    if *core.lost.borrow() || core.store.damage().found().is_some() {
        core.metrics.set_ready(false);
        return Err(NotReady::StoreFails);
    }
    let core = Arc::clone(core);
    let checked = tokio::spawn(async move { check_once(&core).await });
    checked.await.unwrap_or(Err(NotReady::StoreFails))
}

/// Waits for an answer of the store, without a deadline, and for the queue of submissions.
pub(crate) async fn answered(core: &Core) {
    let _either = core.watched(core.store.check().await);
    core.committer.is_saturated();
}

/// The shared answer, or a new one if it is too old. Concurrent callers wait for the first.
async fn check_once(core: &Core) -> Result<(), NotReady> {
    let mut last = core.last_check.lock().await;
    let is_fresh = |at: Instant, time| at.elapsed() < time;
    match *last {
        // Unless a write has failed since then.
        Some((at, Ok(()))) if is_fresh(at, READY_FOR) && !core.committer.take_failure() => {
            return Ok(());
        }
        Some((at, Err(why))) if is_fresh(at, NOT_READY_FOR) => return Err(why),
        _ => {}
    }
    let checked = timeout(CHECK_MAX, core.store.check()).await;
    let checked = checked.unwrap_or_else(|_| Err(StoreError::Failed("no answer in time".into())));
    let result = core.watched(checked).map_err(|error| match error {
        // The store logs when this starts and ends.
        StoreError::DiskReserve => NotReady::DiskReserve,
        error => {
            let source = std::error::Error::source(&error).map(ToString::to_string);
            tracing::warn!(%error, source, "not ready");
            NotReady::StoreFails
        }
    });
    *last = Some((Instant::now(), result));
    // Here, because the caller may have gone.
    core.metrics.set_ready(result.is_ok());
    result
}
