//! The counts of flows that limit their responses, as one role of the store.

use async_trait::async_trait;
use sluice_flow::id::{AppId, FlowId};

#[cfg(doc)]
use crate::{AdminStore, IntakeStore, Write};
use crate::{ClosingCountsRow, StoreResult};

/// How many responses each limit of a flow has counted. [`IntakeStore::commit`] adds to the counts,
/// and [`AdminStore::apply`] sets them ([`Write::Closing`]).
#[async_trait]
pub trait ClosingStore: Send + Sync + 'static {
    /// The counts of these flows of an app, in no order; flows that limit nothing are absent.
    ///
    /// - They are set together with the limits, and count the responses that were stored then and
    ///   are accepted from then on.
    /// - A response that is erased or expires stays counted.
    async fn read_closing_counts(
        &self,
        app: AppId,
        flows: &[FlowId],
    ) -> StoreResult<Vec<ClosingCountsRow>>;
}
