//! Test responses, passed through.

use async_trait::async_trait;
use sluice_flow::id::{AppId, FlowId, FormKey};
use sluice_flow::time::Timestamp;
use sluice_store::{StoreResult, TestCursor, TestResponseRow, TestResponseStore};

use super::FaultyStore;

#[async_trait]
impl TestResponseStore for FaultyStore {
    async fn list_test_responses(
        &self,
        app: AppId,
        flow: FlowId,
        after: Option<TestCursor>,
        limit: usize,
    ) -> StoreResult<Vec<TestResponseRow>> {
        self.read().list_test_responses(app, flow, after, limit).await
    }

    async fn list_old_tests(
        &self,
        app: Option<AppId>,
        before: Timestamp,
        limit: usize,
    ) -> StoreResult<Vec<(AppId, FlowId, FormKey)>> {
        self.inner.list_old_tests(app, before, limit).await
    }
}
