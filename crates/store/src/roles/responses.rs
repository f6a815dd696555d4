//! Responses, as one role of the store.

use async_trait::async_trait;
use sluice_flow::id::{AppId, FlowId, RespondentId, ResponseId};

use crate::{Page, ResponseCount, ResponsePage, ResponseQuery, ResponseRow, StoreResult};

/// Reading responses.
#[async_trait]
pub trait ResponseStore: Send + Sync + 'static {
    /// The flow's responses that pass the filter, in the order asked for.
    ///
    /// - A call looks at no more rows than the query says, for a bounded time, and gives texts of a bounded
    ///   length: where few rows pass, a page may be short or even empty, and still go on.
    /// - A page says from where to go on, and only where nothing that passes follows that nothing does. The
    ///   pages together hold every row that passes once.
    async fn list_responses(&self, query: &ResponseQuery) -> StoreResult<ResponsePage>;

    /// How many of the flow's responses pass the filter, and how all their tags are called. The limit does not
    /// matter; a call looks no further than one that lists, and says from where to go on.
    async fn count_responses(&self, query: &ResponseQuery) -> StoreResult<ResponseCount>;

    async fn find_response(&self, response: ResponseId) -> StoreResult<Option<ResponseRow>>;

    /// The newest response of each of these flows of an app, in no order; flows without responses are absent.
    async fn newest_responses(
        &self,
        app: AppId,
        flows: &[FlowId],
    ) -> StoreResult<Vec<(FlowId, ResponseId)>>;

    /// The responses of a respondent over all flows, oldest first.
    async fn list_responses_of(
        &self,
        app: AppId,
        respondent: RespondentId,
        page: Page<ResponseId>,
    ) -> StoreResult<Vec<ResponseRow>>;
}
