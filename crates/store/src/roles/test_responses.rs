//! Test responses, as one role of the store. [`crate::AdminStore::apply`] writes them.

use async_trait::async_trait;
use sluice_flow::id::{AppId, FlowId, FormKey};
use sluice_flow::time::Timestamp;

use crate::{StoreResult, TestCursor, TestResponseRow};

/// Test responses: answers from the test link of a flow. They are stored once per form, with what
/// was sent last; only the newest of a flow are kept, and no change to them moves a revision, a
/// count or the feed.
#[async_trait]
pub trait TestResponseStore: Send + Sync + 'static {
    /// Up to `limit` test responses of a flow, newest first; those after the cursor, if there is
    /// one.
    async fn list_test_responses(
        &self,
        app: AppId,
        flow: FlowId,
        after: Option<TestCursor>,
        limit: usize,
    ) -> StoreResult<Vec<TestResponseRow>>;

    /// The keys of up to `limit` test responses that were received before a time, in one app or in
    /// all, oldest first.
    async fn list_old_tests(
        &self,
        app: Option<AppId>,
        before: Timestamp,
        limit: usize,
    ) -> StoreResult<Vec<(AppId, FlowId, FormKey)>>;
}
