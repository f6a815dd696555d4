//! Test responses, passed through.

use async_trait::async_trait;
use sluice_flow::id::{AppId, FlowId};
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
}
