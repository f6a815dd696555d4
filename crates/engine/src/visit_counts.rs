//! The counts of visits that this process has not written yet.
//!
//! Steps are added up in memory and written together every few seconds, when there are many, before
//! a funnel is read, and when the server stops. The intake has no part in it: submissions neither
//! wait for these counts nor fail because of them. A crash loses the counts of the last seconds.
//! Deliberately absent: anything about the visitor. What is here is a number for each version, day
//! and step.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sluice_flow::id::{AppId, FlowId, FlowVersionId};
use sluice_flow::time::{Day, Timestamp};
use sluice_flow::visit::{VisitCounter, VisitStep};
use sluice_store::{Store, StoreError, StoreResult, VisitCountRow};
use tokio::sync::{Notify, watch};

use crate::background::keep_running_after;
use crate::metrics::Metrics;
use crate::registry::VersionView;

/// How often counts are written.
const INTERVAL: Duration = Duration::from_secs(5);
/// The most different counts in memory; steps that would need another one are dropped.
const COUNTS_MAX: usize = 20_000;
/// From this many on, counts are written at once.
const COUNTS_MANY: usize = COUNTS_MAX / 2;
/// The most rows of one transaction.
const WRITE_ROWS_MAX: usize = 2_000;

/// The log message if counts could not be written.
const UNWRITTEN: &str = "counts of visits were not written yet";

/// What one count is about; in the order of the rows.
type CountKey = (AppId, FlowId, Day, FlowVersionId, VisitCounter);

/// Counts that were not written yet.
pub(crate) struct VisitCounts {
    store: Arc<dyn Store>,
    metrics: Arc<Metrics>,
    lost: watch::Sender<bool>,
    pending: Mutex<BTreeMap<CountKey, u64>>,
    /// Held while counts are written, so that a reader who writes first sees all of them.
    writing: tokio::sync::Mutex<()>,
    many: Notify,
}

impl VisitCounts {
    pub(crate) fn new(
        store: Arc<dyn Store>,
        metrics: Arc<Metrics>,
        lost: watch::Sender<bool>,
    ) -> Self {
        let (pending, writing, many) = Default::default();
        Self { store, metrics, lost, pending, writing, many }
    }

    /// Adds the steps of a visit to a version.
    pub(crate) fn add(&self, version: &VersionView, now: Timestamp, steps: &[VisitStep]) {
        let (app, flow, id) = (version.app_id, version.flow_id, version.flow_version_id);
        let counters = steps.iter().flat_map(VisitStep::counters);
        self.add_all(counters.map(|counter| ((app, flow, now.day(), id, counter), 1)));
    }

    fn add_all(&self, counts: impl Iterator<Item = (CountKey, u64)>) {
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        let mut dropped = 0;
        for (key, visits) in counts {
            let is_full = pending.len() >= COUNTS_MAX;
            match pending.entry(key) {
                Entry::Occupied(mut count) => *count.get_mut() += visits,
                Entry::Vacant(_) if is_full => dropped += visits,
                Entry::Vacant(count) => _ = count.insert(visits),
            }
        }
        if pending.len() >= COUNTS_MANY {
            self.many.notify_one();
        }
        drop(pending);
        self.metrics.dropped_visit_steps.inc_by(dropped);
    }

    fn take(&self) -> BTreeMap<CountKey, u64> {
        std::mem::take(&mut *self.pending.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Writes counts as they accumulate, until the store is closed.
    pub(crate) async fn run(self: Arc<Self>) {
        loop {
            tokio::select! {
                () = self.many.notified() => {}
                () = tokio::time::sleep(INTERVAL) => {}
            }
            if let Err(error) = self.write().await {
                if !keep_running_after(&error, UNWRITTEN, &self.lost) {
                    return;
                }
                // Pauses even if there are many new counts already.
                tokio::time::sleep(INTERVAL).await;
            }
        }
    }

    /// Writes what was counted so far, also if the caller stops waiting.
    pub(crate) async fn write(self: &Arc<Self>) -> StoreResult<()> {
        let own = Arc::clone(self);
        let written = tokio::spawn(async move { own.write_all().await }).await;
        written.unwrap_or_else(|error| Err(StoreError::Failed(error.into())))
    }

    /// Writes the last counts. What cannot be written is dropped.
    pub(crate) async fn close(self: &Arc<Self>) -> StoreResult<()> {
        let written = self.write().await;
        let dropped = self.take().into_values().sum();
        if dropped > 0 {
            tracing::warn!(dropped, "the last visits were not counted");
            self.metrics.dropped_visit_steps.inc_by(dropped);
        }
        written
    }

    /// What could not be written stays, unless the outcome is unknown: then it may have been
    /// written.
    async fn write_all(&self) -> StoreResult<()> {
        let _writing = self.writing.lock().await;
        // Below the reserve, the rest of the disk is for administration.
        if self.store.disk_space().is_some_and(|it| it.free_bytes < it.reserve_bytes) {
            return Ok(());
        }
        let mut counts = self.take().into_iter();
        loop {
            let part: Vec<_> = counts.by_ref().take(WRITE_ROWS_MAX).collect();
            if part.is_empty() {
                return Ok(());
            }
            let written = self.store.add_visit_counts(part.iter().map(row).collect()).await;
            if let Err(error) = written {
                let is_refused = !matches!(error, StoreError::Unknown(_) | StoreError::InDoubt(_));
                let again = part.into_iter().filter(|_| is_refused);
                self.add_all(again.chain(counts));
                return Err(error);
            }
        }
    }
}

fn row((key, visits): &(CountKey, u64)) -> VisitCountRow {
    let (app_id, flow_id, day, flow_version_id, counter) = key;
    VisitCountRow {
        app_id: *app_id,
        flow_id: *flow_id,
        day: *day,
        flow_version_id: *flow_version_id,
        counter: counter.to_string(),
        visits: *visits,
    }
}
