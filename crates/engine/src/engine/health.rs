//! The health of the server: readiness, metrics, and why it must restart.

use std::sync::Arc;
use std::time::Duration;

use sluice_store::StoreResult;

use crate::core::Core;
use crate::identity_keys;
use crate::readiness;
use crate::unavailable::NotReady;
use crate::verify::NotOpened;

/// How long metrics wait for the check of readiness.
const NOTE_MAX: Duration = Duration::from_millis(500);

/// How the server is doing.
#[derive(Clone, Copy)]
pub struct Health<'e> {
    pub(super) core: &'e Arc<Core>,
}

impl std::fmt::Debug for Health<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Health").finish_non_exhaustive()
    }
}

impl<'e> Health<'e> {
    /// All metrics as OpenMetrics, with the current state of queue, store and disk.
    pub fn metrics_text(self) -> String {
        self.measure();
        self.core.metrics.render()
    }

    /// The same in the older text format of Prometheus.
    pub fn plain_metrics_text(self) -> String {
        self.measure();
        self.core.metrics.render_plain()
    }

    fn measure(self) {
        let Core { store, metrics, committer, .. } = &**self.core;
        metrics.set_store(&store.status(), store.disk_space());
        metrics.set_queue(committer.state());
        if let Some(offset) = self.clock_offset_millis() {
            metrics.set_clock_offset(offset);
        }
        metrics.set_damaged(store.damage().found().is_some());
    }

    /// Whether a submission could be stored now, as found within the last second.
    pub async fn ready(self) -> Result<(), NotReady> {
        readiness::check(self.core).await
    }

    /// Runs the check for the metrics. One slower than 500 ms continues, and a later scrape has its
    /// result.
    pub async fn note_readiness(self) {
        let _late = tokio::time::timeout(NOTE_MAX, self.ready()).await;
    }

    /// Returns once the store has answered a check, whatever the answer. If it never answers, a
    /// restart may help.
    pub async fn store_answered(self) {
        readiness::answered(self.core).await;
    }

    /// Whether submissions were refused in the last seconds because they could not be stored in
    /// time. Others are still stored.
    pub fn is_saturated(self) -> bool {
        self.core.committer.is_saturated()
    }

    /// Returns once the outcome of a write is unknown: the process must then exit and recover.
    pub async fn lost_track(self) {
        let mut lost = self.core.lost.subscribe();
        if lost.wait_for(|&lost| lost).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Why the outcome of a write is unknown, as far as the store knows.
    pub fn why_lost(self) -> Option<&'e str> {
        self.core.store.why_stopped()
    }

    /// The secrets that cannot be opened with the available master keys, each with the reason.
    pub async fn closed_secrets(self) -> StoreResult<Vec<(String, NotOpened)>> {
        identity_keys::closed_secrets(self.core).await
    }

    /// How far the clock in use, that of the database, is ahead of this machine's.
    pub fn clock_offset_millis(self) -> Option<i64> {
        self.core.clock.offset_millis()
    }
}
