//! Upkeep, as one role of the store.

use async_trait::async_trait;
use sluice_flow::id::AppId;
use sluice_flow::time::Timestamp;

use crate::{
    AuditRow, Compacted, CompactionCursor, Damage, Expired, ExpiredMonth, Expiry, Page,
    RespondentRow, RetainingApp, SkipIndexCursor, SkipIndexPart, StoreResult,
};
#[cfg(doc)]
use crate::{CountStore, IntakeStore, StoreError};

/// Background work in bounded batches, the readiness check, and shutdown.
#[async_trait]
pub trait UpkeepStore: Send + Sync + 'static {
    /// Up to `limit` respondents whose erasure has started and is not done, in the order of their
    /// apps and ids.
    async fn list_erasing(&self, limit: usize) -> StoreResult<Vec<RespondentRow>>;

    /// The current time of the store's own clock; absent if the store has none, because it is used
    /// by one machine only.
    async fn time(&self) -> StoreResult<Option<Timestamp>>;

    /// The apps that limit how long they keep data, in the order of their ids, and whether each may
    /// have anything that is too old at `now`. Other apps are not read.
    async fn list_retaining_apps(
        &self,
        now: Timestamp,
        page: Page<AppId>,
    ) -> StoreResult<Vec<RetainingApp>>;

    /// The months in which every response is too old for its app at `now`, oldest first, and those
    /// whose removal was interrupted. Empty if the backend does not store responses by month.
    async fn list_expired_months(&self, now: Timestamp) -> StoreResult<Vec<ExpiredMonth>>;

    /// Removes all responses of such a month at once, durably, with their idempotency keys, counts
    /// and blocks of the skip index; returns their number. The audit entries are written in the
    /// transaction that removes the responses.
    ///
    /// Removes no response and returns `None` if an app keeps some of them by now, if they are in
    /// use for too long, or if another process is doing this; a later call tries again.
    async fn drop_month(
        &self,
        month: ExpiredMonth,
        now: Timestamp,
        audit: Vec<AuditRow>,
    ) -> StoreResult<Option<u64>>;

    /// Removes a batch of the data that an app has kept since before a given time, durably. Call it
    /// with the cursor that it returns, until it returns none.
    ///
    /// - Removed in this order: responses received before that time, with their idempotency keys;
    ///   consents, with the respondents that have none left; the keys that stayed in use after
    ///   earlier removals; the invitees of invitations that ended before.
    /// - Consents are removed only when no response older than the time is left, even if several
    ///   processes run this concurrently.
    /// - The consents, and therefore the profile, of a person with an invitation that had not ended
    ///   by then are kept.
    /// - A call reads at most `limit` rows: skipping costs no more than removing, and nothing else
    ///   waits longer than that takes.
    /// - A call that removes anything writes the audit entry in the same transaction.
    /// - If the app has another retention by now than the one given, a call does nothing and
    ///   reports that.
    /// - If another process is working on the same app, a call may do nothing and report that. A
    ///   row that is being written may be left for the next run.
    async fn expire(&self, expiry: Expiry) -> StoreResult<Expired>;

    /// Builds the next part of the skip index, for the next flow after this cursor, durably:
    /// filters over blocks of responses that were received well before `now`. Call it with the
    /// cursor that it returns, until it returns none, and start again after a while.
    ///
    /// - Only flows with something to build are visited, however many flows there are. Responses
    ///   are considered when [`Self::compact_counts`] has folded or scanned them.
    /// - Lists return the same responses in the same order with and without the index, whatever is
    ///   stored, removed or imported meanwhile. With it, a list that filters by tags or answers
    ///   reads few rows that do not match.
    /// - The index contains nothing of a response that was removed, or of content that it lost.
    async fn build_skip_index(
        &self,
        after: SkipIndexCursor,
        now: Timestamp,
    ) -> StoreResult<SkipIndexPart>;

    /// Does a part of the background work on counts: folds the changes of commits into daily rows,
    /// and counts responses that were never counted. Call it with the cursor that it returns, until
    /// it returns none, and start again after a while.
    ///
    /// - A call visits a limited number of flows that have changes, in the order of their ids. It
    ///   folds a limited number of changes of each, and reads at most `limit` responses that were
    ///   never counted. When every flow was visited, the cursor returns to the first if anything
    ///   was left: no flow waits for another, however many there are, and nothing else waits longer
    ///   than one such batch takes.
    /// - What a call costs does not depend on the number of changes that are waiting.
    /// - Any number of processes may run this concurrently.
    /// - The result of [`CountStore::read_counts`] does not change, except that a scan advances.
    async fn compact_counts(
        &self,
        cursor: CompactionCursor,
        limit: usize,
    ) -> StoreResult<Compacted>;

    /// The damage that was found in this store, by the store itself or by a caller that reports it.
    ///
    /// Once there is any, [`IntakeStore::commit`] and [`Self::check`] fail with
    /// [`StoreError::Damaged`]; everything else still works. It is stored durably, so that the next
    /// process starts with it, until a check finds the store sound.
    fn damage(&self) -> &Damage;

    /// Whether a write would succeed now, for the readiness check. Leaves no trace.
    async fn check(&self) -> StoreResult<()>;

    /// Whether the files that this process writes to are still those that it opened. Cheap enough
    /// to be called every second. If not, nothing may be acknowledged any more:
    /// [`StoreError::Unknown`]. A backend whose database is on a server has none.
    async fn check_files(&self) -> StoreResult<()> {
        Ok(())
    }

    /// Why the store stopped writing after an unknown outcome, for the operator.
    fn why_stopped(&self) -> Option<&str> {
        None
    }

    /// Finishes the work in progress and releases the database. Later calls fail.
    async fn close(&self);
}
