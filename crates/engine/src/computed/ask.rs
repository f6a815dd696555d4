//! Requests a result: starts its computation if necessary, and waits for a moment.

use std::sync::Arc;
use std::time::Duration;

use super::aggregate::Subject;
use super::cache::{Computed, Found, Results};
use super::run;
use crate::admin::AdminResult;
use crate::core::Core;

/// How long a request waits for the result before it gets the progress.
pub(crate) const WAIT_MAX: Duration = Duration::from_secs(1);

/// The result of a subject, or the progress of computing it.
pub(crate) async fn ask(core: &Arc<Core>, subject: Subject) -> AdminResult<Results<Arc<Computed>>> {
    ask_within(core, subject, WAIT_MAX).await
}

/// The same, waiting at most this long for the result.
pub(crate) async fn ask_within(
    core: &Arc<Core>,
    subject: Subject,
    wait: Duration,
) -> AdminResult<Results<Arc<Computed>>> {
    let Found { computation, must_start } =
        core.computations.find_or_add(subject, core.clock.monotonic())?;
    let mut ended = computation.ended.subscribe();
    if must_start {
        tokio::spawn(run::run(Arc::clone(core), Arc::clone(&computation)));
    }
    if computation.is_running() {
        // At the end of the time, the progress is the answer.
        let _waited = tokio::time::timeout(wait, ended.changed()).await;
    }
    computation.answer()
}
