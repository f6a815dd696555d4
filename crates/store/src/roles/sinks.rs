//! Positions in sinks, as a role of the store.

use async_trait::async_trait;

use crate::{SinkLease, SinkPositionRow, StoreResult};

/// How far the logs of all apps were published to sinks. No change to it moves a revision or the
/// feed.
#[async_trait]
pub trait SinkStore: Send + Sync + 'static {
    /// Takes the lease of a sink, or renews it. Of several workers, one has it until it ends.
    /// Returns false if another worker has it.
    async fn lease_sink(&self, lease: SinkLease) -> StoreResult<bool>;

    /// The names of the sinks that have positions, in order.
    async fn list_sinks(&self) -> StoreResult<Vec<String>>;

    /// The positions of a sink, ordered by app.
    async fn list_sink_positions(&self, sink: &str) -> StoreResult<Vec<SinkPositionRow>>;

    /// Writes positions durably and renews the lease. Returns false, and writes nothing, if another
    /// worker took the lease since.
    async fn save_sink_positions(
        &self,
        lease: SinkLease,
        rows: Vec<SinkPositionRow>,
    ) -> StoreResult<bool>;
}
