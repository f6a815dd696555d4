//! Asks for a result: starts or continues its computation, and waits for a moment.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::aggregate::Subject;
use super::cache::{Asked, REMOVAL_SECONDS};
use super::{removals, run};
use crate::admin::AdminResult;
use crate::core::Core;

/// How long a request waits for the result before it gets the progress.
const WAIT_MAX: Duration = Duration::from_secs(1);

/// The result of a subject, or the progress of computing it.
pub(crate) async fn ask(core: &Arc<Core>, subject: Subject) -> AdminResult<Asked> {
    let app = subject.query.app_id;
    let computation = core.computations.find_or_add(subject);
    let begun = {
        let mut state = computation.lock();
        state.asked_at = Instant::now();
        // The older one, if a scan has begun again since.
        state.computed.as_ref().map(|it| it.begun.clone()).or_else(|| state.begun.clone())
    };
    if let Some(begun) = begun {
        let since = begun.at.plus_seconds(-REMOVAL_SECONDS);
        let is_valid = match removals::since(&*core.store, app, since).await? {
            Some(removals) => removals.is_subset(&begun.removals),
            None => false,
        };
        if !is_valid {
            computation.lock().discard();
        }
    }
    let mut ended = computation.ended.subscribe();
    if computation.must_start() {
        tokio::spawn(run::run(Arc::clone(core), Arc::clone(&computation)));
    }
    if computation.is_running() {
        // At the end of the time, the progress is the answer.
        let _waited = tokio::time::timeout(WAIT_MAX, ended.changed()).await;
    }
    computation.answer()
}
