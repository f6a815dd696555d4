//! Counts, as one role of the store.

use async_trait::async_trait;
use sluice_flow::id::{AppId, FlowId, FlowVersionId};
use sluice_flow::time::Day;

use crate::{CountsQuery, DayTotal, FlowCounts, StoreResult};
#[cfg(doc)]
use crate::{MovingStore, UpkeepStore};

/// Counts of responses, from which results are computed.
#[async_trait]
pub trait CountStore: Send + Sync + 'static {
    /// The counts of a flow for the days of the query, read at one instant; also those of one
    /// segment if the query names it.
    ///
    /// - They cover exactly the responses that are stored at that instant. A commit counts what it
    ///   stores in its own transaction, and a response that is deleted, erased or expired is
    ///   subtracted with its removal. If an erasure keeps the answers, the tags that it removes are
    ///   subtracted.
    /// - Responses that are not stored (replayed, stale, …) are not counted.
    /// - Responses written by [`MovingStore::import_records`] are counted in the background
    ///   ([`UpkeepStore::compact_counts`]). Until then `scan` is the scan's cursor; exactly the
    ///   responses up to there are counted.
    /// - The counts contain no text of a tag that no response has.
    /// - If the counts of a day cannot be read, the first reader that notices rebuilds them from
    ///   the responses. Neither this call, nor a removal, nor the work on other flows fails because
    ///   of it.
    async fn read_counts(
        &self,
        app: AppId,
        flow: FlowId,
        query: &CountsQuery,
    ) -> StoreResult<FlowCounts>;

    /// The number of responses of each flow of an app on each day, from `from` on if it is given,
    /// by flow and then by day; taken from the same counts.
    async fn count_by_day(&self, app: AppId, from: Option<Day>) -> StoreResult<Vec<DayTotal>>;

    /// The number of responses of each version of a flow, in no order and without versions that
    /// have none; taken from the same counts.
    async fn count_by_version(
        &self,
        app: AppId,
        flow: FlowId,
    ) -> StoreResult<Vec<(FlowVersionId, i64)>>;

    /// Rebuilds the counts of a flow from its responses, day by day, and returns the number of
    /// responses. Each day is exact before and after, while others store and remove. A scan in
    /// progress keeps its cursor.
    async fn recount(&self, app: AppId, flow: FlowId) -> StoreResult<u64>;
}
