//! Counts of what visitors did, as one role of the store.

use async_trait::async_trait;
use sluice_flow::id::{AppId, FlowId};

use crate::{StoreResult, VisitCountRow, VisitCountsQuery};

/// Counts of steps on the way to a response, from which funnels are computed.
#[async_trait]
pub trait VisitStore: Send + Sync + 'static {
    /// Adds to counts, in one transaction: all or none. The rows may be of several apps, and have
    /// different keys.
    ///
    /// - Concurrent calls lose nothing, and a call from another process does not block it for long.
    /// - No revision grows, and the change feed does not move.
    async fn add_visit_counts(&self, counts: Vec<VisitCountRow>) -> StoreResult<()>;

    /// The counts of a flow, added up over the days of the query, by version and counter; the day
    /// is the first that has any. Read at one instant.
    async fn read_visit_counts(
        &self,
        app: AppId,
        flow: FlowId,
        query: &VisitCountsQuery,
    ) -> StoreResult<Vec<VisitCountRow>>;
}
