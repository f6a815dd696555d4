//! The counts of responses, which pass through, and of visits, which can fail.

use async_trait::async_trait;
use sluice_flow::id::{AppId, FlowId, FlowVersionId};
use sluice_flow::time::Day;
use sluice_store::*;

use super::{FaultyStore, Mood};

#[async_trait]
impl CountStore for FaultyStore {
    async fn read_counts(
        &self,
        app: AppId,
        flow: FlowId,
        query: &CountsQuery,
    ) -> StoreResult<FlowCounts> {
        self.read().read_counts(app, flow, query).await
    }
    async fn count_by_day(&self, app: AppId, from: Option<Day>) -> StoreResult<Vec<DayTotal>> {
        self.read().count_by_day(app, from).await
    }
    async fn count_by_version(
        &self,
        app: AppId,
        flow: FlowId,
    ) -> StoreResult<Vec<(FlowVersionId, i64)>> {
        self.read().count_by_version(app, flow).await
    }
    async fn recount(&self, app: AppId, flow: FlowId) -> StoreResult<u64> {
        self.inner.recount(app, flow).await
    }
}

#[async_trait]
impl VisitStore for FaultyStore {
    async fn add_visit_counts(&self, counts: Vec<VisitCountRow>) -> StoreResult<()> {
        let mood = *self.mood.lock().unwrap();
        if mood == Mood::Failing {
            return Err(StoreError::Failed("away".into()));
        }
        self.inner.add_visit_counts(counts).await
    }
    async fn read_visit_counts(
        &self,
        app: AppId,
        flow: FlowId,
        query: &VisitCountsQuery,
    ) -> StoreResult<Vec<VisitCountRow>> {
        self.read().read_visit_counts(app, flow, query).await
    }
}
