//! Responses, as one role of the store.

use async_trait::async_trait;
use sluice_flow::id::{AppId, FlowId, RespondentId, ResponseId};

use crate::{Page, ResponseCount, ResponsePage, ResponseQuery, ResponseRow, StoreResult};

/// Reading responses.
#[async_trait]
pub trait ResponseStore: Send + Sync + 'static {
    /// The flow's responses that match the query, in the requested order.
    ///
    /// - A call reads at most the number of rows in the query, for a limited time, and returns a
    ///   limited length of text. If few rows match, a page may be short or even empty although more
    ///   pages follow.
    /// - `next` is where the next page starts. It is `None` only if no matching row follows. All
    ///   pages together contain every matching row once.
    async fn list_responses(&self, query: &ResponseQuery) -> StoreResult<ResponsePage>;

    /// The number of the flow's responses that match the query, and the names of all their tags.
    /// The limit is ignored. A call reads no more rows than [`Self::list_responses`], and returns
    /// where the next call continues.
    async fn count_responses(&self, query: &ResponseQuery) -> StoreResult<ResponseCount>;

    async fn find_response(&self, response: ResponseId) -> StoreResult<Option<ResponseRow>>;

    /// The app's existing ones of these responses, each once, oldest first.
    async fn find_responses(
        &self,
        app: AppId,
        responses: &[ResponseId],
    ) -> StoreResult<Vec<ResponseRow>>;

    /// The newest response of each of these flows of an app, in no order; flows without responses
    /// are absent.
    async fn newest_responses(
        &self,
        app: AppId,
        flows: &[FlowId],
    ) -> StoreResult<Vec<(FlowId, ResponseId)>>;

    /// The responses of a respondent in all flows, oldest first.
    async fn list_responses_of(
        &self,
        app: AppId,
        respondent: RespondentId,
        page: Page<ResponseId>,
    ) -> StoreResult<Vec<ResponseRow>>;
}
