//! The maintenance that the server runs in the background, which can also be started on demand.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use sluice_store::{StoreError, StoreResult};
use tokio::task::JoinHandle;

use crate::boxed;
use crate::core::Core;
use crate::count_compaction::CountCompaction;
use crate::erasure::Erasures;
use crate::ids::Ids;
use crate::mail::Delivered;
use crate::retention::{Expired, Retention};
use crate::scrub::{Scrub, Scrubbed};
use crate::sink::{SinkOptions, SinkWorker};
use crate::skip_index::SkipIndexBuilder;
use crate::visit_counts::VisitCounts;
use crate::webhooks::DeliveryWorker;

pub struct Upkeep {
    core: Arc<Core>,
    pub(crate) retention: Arc<Retention>,
    pub(crate) skip_index: Arc<SkipIndexBuilder>,
    pub(crate) count_compaction: Arc<CountCompaction>,
    pub(crate) erasures: Arc<Erasures>,
    pub(crate) scrub: Arc<Scrub>,
    pub(crate) visits: Arc<VisitCounts>,
    pub(crate) deliveries: Arc<DeliveryWorker>,
    pub(crate) sink: Arc<SinkWorker>,
}

impl std::fmt::Debug for Upkeep {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Upkeep").finish_non_exhaustive()
    }
}

impl Upkeep {
    pub(crate) fn new(
        core: &Arc<Core>,
        stored: Arc<AtomicBool>,
        scrub_interval: Option<Duration>,
        sink: Option<SinkOptions>,
    ) -> Self {
        Self {
            core: Arc::clone(core),
            retention: Arc::new(Retention {
                store: Arc::clone(&core.store),
                clock: Arc::clone(&core.clock),
                ids: Ids::default(),
                metrics: Arc::clone(&core.metrics),
                lost: core.lost.clone(),
            }),
            skip_index: Arc::new(SkipIndexBuilder {
                store: Arc::clone(&core.store),
                clock: Arc::clone(&core.clock),
                lost: core.lost.clone(),
            }),
            count_compaction: Arc::new(CountCompaction {
                store: Arc::clone(&core.store),
                lost: core.lost.clone(),
                stored,
            }),
            erasures: Arc::clone(&core.erasures),
            scrub: Arc::new(Scrub {
                store: Arc::clone(&core.store),
                metrics: Arc::clone(&core.metrics),
                lost: core.lost.clone(),
                interval: scrub_interval,
            }),
            visits: Arc::clone(&core.visits),
            deliveries: Arc::new(DeliveryWorker::new(core)),
            sink: Arc::new(SinkWorker::new(core, sink)),
        }
    }

    pub(crate) fn start(&self) -> Vec<JoinHandle<()>> {
        vec![
            tokio::spawn(Arc::clone(&self.retention).run()),
            tokio::spawn(Arc::clone(&self.skip_index).run()),
            tokio::spawn(Arc::clone(&self.count_compaction).run()),
            tokio::spawn(Arc::clone(&self.erasures).run()),
            tokio::spawn(Arc::clone(&self.scrub).run()),
            tokio::spawn(Arc::clone(&self.visits).run()),
            tokio::spawn(Arc::clone(&self.deliveries).run()),
            tokio::spawn(Arc::clone(&self.sink).run()),
        ]
    }

    /// Deletes data that is older than the retention period of its app; the server does this every
    /// hour.
    #[boxed]
    pub async fn enforce_retention(&self) -> Result<Expired, StoreError> {
        self.retention.enforce().await
    }

    /// Builds the next chunks of the skip index; the server does this every minute. Returns how
    /// many were built.
    #[boxed]
    pub async fn build_skip_index(&self) -> StoreResult<u64> {
        self.skip_index.build().await
    }

    /// Folds small count rows into daily ones; the server also does this in the background.
    #[boxed]
    pub async fn compact_counts(&self) -> Result<(), StoreError> {
        self.count_compaction.compact().await
    }

    /// Sends the e-mails that are due now; the server does this every second.
    #[boxed]
    pub async fn deliver_mails(&self) -> StoreResult<Delivered> {
        self.core.deliver_mails().await
    }

    /// Reads everything once and records damage; the server does this every week.
    #[boxed]
    pub async fn scrub(&self) -> StoreResult<Scrubbed> {
        self.scrub.pass().await
    }

    /// Sends the webhooks that are due now, and returns when that is done; the server does this
    /// continuously.
    #[boxed]
    pub async fn deliver_webhooks(&self) -> Result<(), StoreError> {
        self.deliveries.deliver_due().await
    }

    /// Publishes to the sink everything that can be read now; the server does this continuously.
    /// Returns false if another node publishes, or the sink takes nothing.
    #[boxed]
    pub async fn publish_events(&self) -> StoreResult<bool> {
        self.sink.publish_all().await
    }

    /// Finishes interrupted erasures now.
    #[boxed]
    pub async fn finish_erasures(&self) -> Result<(), StoreError> {
        self.erasures.finish().await
    }
}
