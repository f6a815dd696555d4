//! Counts, as one role of the store.

use async_trait::async_trait;
use sluice_flow::id::{AppId, FlowId, FlowVersionId};
use sluice_flow::time::Day;

use crate::{CountsQuery, DayTotal, FlowCounts, StoreResult};
#[cfg(doc)]
use crate::{MovingStore, UpkeepStore};

/// Counts of responses, which results are made of.
#[async_trait]
pub trait CountStore: Send + Sync + 'static {
    /// The counts of a flow on the days of the query, read at one instant; with those of one segment where it is given.
    ///
    /// - They are of exactly the responses that are stored at that instant: what a commit stores is counted from the
    ///   moment it can be read, once, and what is deleted, erased or expired is taken away with it. Where an erasure
    ///   keeps the answers, the tags that it cut are taken away.
    /// - What is not stored (replayed, stale, …) is not counted.
    /// - Responses that were put in by [`MovingStore::import_records`], or are older than the counts, are counted in the background
    ///   ([`UpkeepStore::compact_counts`]); until then `walk` says how far that is, and exactly those up to there are counted.
    /// - No text of a tag is left in the counts once no response bears it.
    /// - Where the counts of a day cannot be read, they are made anew from its responses, whoever comes upon it: neither
    ///   this nor a removal nor the work on other flows fails for it.
    async fn read_counts(
        &self,
        app: AppId,
        flow: FlowId,
        query: &CountsQuery,
    ) -> StoreResult<FlowCounts>;

    /// How many responses each flow of an app has on each day, from a day on where one is given, by the same counts: by flow, and
    /// then by day.
    async fn count_by_day(&self, app: AppId, from: Option<Day>) -> StoreResult<Vec<DayTotal>>;

    /// How many responses each version of a flow has, by the same counts; in no order, and without those that have none.
    async fn count_by_version(
        &self,
        app: AppId,
        flow: FlowId,
    ) -> StoreResult<Vec<(FlowVersionId, i64)>>;

    /// Counts the responses of a flow anew, day by day, and says how many it were. Each day is exact before and after, while
    /// others store and remove; a walk that is under way stays where it is.
    async fn recount(&self, app: AppId, flow: FlowId) -> StoreResult<u64>;
}
