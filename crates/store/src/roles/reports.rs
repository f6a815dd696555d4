//! Reports, as one role of the store. [`crate::AdminStore::apply`] writes them.

use async_trait::async_trait;
use sluice_flow::id::{AppId, FlowId};

use crate::{ReportHash, ReportRow, StoreResult};

/// Reports: results of a flow that anyone with the link can read.
#[async_trait]
pub trait ReportStore: Send + Sync + 'static {
    /// The report whose link has this SHA-256, revoked and expired ones included.
    async fn find_report(&self, hash: &ReportHash) -> StoreResult<Option<ReportRow>>;

    /// The reports of a flow, revoked and expired ones included, newest first.
    async fn list_reports(&self, app: AppId, flow: FlowId) -> StoreResult<Vec<ReportRow>>;
}
