//! Upkeep, as one role of the store.

use async_trait::async_trait;
use sluice_flow::time::Timestamp;

#[cfg(doc)]
use crate::CountStore;
use crate::{
    Compacted, Expired, Expiry, RespondentRow, SkipIndexCursor, SkipIndexPart, StoreResult,
};

/// Background work, in bounded parts; readiness; the end.
#[async_trait]
pub trait UpkeepStore: Send + Sync + 'static {
    /// Up to `limit` respondents whose erasure has begun and is not done, in the order of their apps and ids.
    async fn list_erasing(&self, limit: usize) -> StoreResult<Vec<RespondentRow>>;

    /// Removes a part of what an app has kept since before a time, durably; call it with the place that
    /// it gave, until it gives none.
    ///
    /// - First go the responses that were received before, with their idempotency keys; then consents, with
    ///   the respondents that have none left; then the marks of keys of responses that went earlier; then
    ///   whom the invitations were for that were over before.
    /// - Consents go only when no response older than the time is left, though several processes be at it.
    /// - The consents, and so the profile, of somebody with an invitation that was not over before that time
    ///   stay.
    /// - A call looks at no more than `limit` rows, wherever it stands: what is kept costs no more than what
    ///   goes, and nothing else waits for it longer than that takes.
    /// - A call that removes anything writes the audit entry, in the same transaction.
    /// - Where another process is at the same app, a call may do nothing and say so. A row that is being
    ///   written to at the moment may be left for the next expiry.
    async fn expire(&self, expiry: Expiry) -> StoreResult<Expired>;

    /// Looks at the flow after this place and makes what lists of its responses can pass over: durably, so much
    /// at a time, of responses that were received long before `now`. Call it with the place that it gave, until it
    /// gives none, and again from the beginning after a while.
    ///
    /// - Lists give the same responses in the same order with it and without, whatever is stored, removed or
    ///   put in meanwhile. With it, one that filters by tags or answers looks at few rows that do not pass.
    /// - Of a response that was removed, or of what it lost, nothing is kept in it.
    async fn build_skip_index(
        &self,
        place: SkipIndexCursor,
        now: Timestamp,
    ) -> StoreResult<SkipIndexPart>;

    /// Does a part of the work that counts need in the background; call it until it says that it is done, and again after a
    /// while.
    ///
    /// A call takes a bounded amount of what commits have added to each flow, and looks at no more than `limit` responses
    /// that were never counted: no flow waits for another, however much comes in, and nothing else waits for it longer than
    /// one of these parts takes. It is done where nothing was left over, whatever has come since. Any number of processes may be
    /// at it. It changes nothing that [`CountStore::read_counts`] tells, but for a walk that goes on.
    async fn compact_counts(&self, limit: usize) -> StoreResult<Compacted>;

    /// Whether a write could be made now (used by readiness); leaves no trace.
    async fn check(&self) -> StoreResult<()>;

    /// Finishes what is under way and releases the database. Later calls fail.
    async fn close(&self);
}
