//! The counts of limited flows, passed through.

use async_trait::async_trait;
use sluice_flow::id::{AppId, FlowId};
use sluice_store::{ClosingCountsRow, ClosingStore, StoreResult};

use super::FaultyStore;

#[async_trait]
impl ClosingStore for FaultyStore {
    async fn read_closing_counts(
        &self,
        app: AppId,
        flows: &[FlowId],
    ) -> StoreResult<Vec<ClosingCountsRow>> {
        self.read().read_closing_counts(app, flows).await
    }
}
