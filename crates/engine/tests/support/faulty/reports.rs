//! Reports, passed through.

use async_trait::async_trait;
use sluice_flow::id::{AppId, FlowId};
use sluice_store::{MovingStore as _, Record, ReportHash, ReportRow, ReportStore, StoreResult};

use super::FaultyStore;

#[async_trait]
impl ReportStore for FaultyStore {
    async fn find_report(&self, hash: &ReportHash) -> StoreResult<Option<ReportRow>> {
        self.read().find_report(hash).await
    }
    async fn list_reports(&self, app: AppId, flow: FlowId) -> StoreResult<Vec<ReportRow>> {
        self.read().list_reports(app, flow).await
    }
}

impl FaultyStore {
    /// Everything that is stored.
    pub async fn export_all(&self) -> Vec<Record> {
        self.export_records(None, 1_000_000).await.unwrap()
    }
}
