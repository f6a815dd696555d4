//! Intake, as one role of the store.

use async_trait::async_trait;
use sluice_flow::id::{ApiKey, AppId, FlowId, FlowVersionId, ResponseId};
use sluice_flow::invitation::Invitee;
use sluice_flow::time::Timestamp;

#[cfg(doc)]
use crate::{AdminStore, StoreError, UpkeepStore};
use crate::{
    App, Changes, Digest, DiskSpace, FeedPosition, IdempotencyKey, NewResponse, Outcome,
    StoreResult, VersionState,
};

/// What a submission needs: the commit, the lookups before it, and the change feed that tells a node when
/// its memory of published flows is out of date.
#[async_trait]
pub trait IntakeStore: Send + Sync + 'static {
    /// Stores many responses in one durable transaction and says, for each in order, what became of it.
    ///
    /// - `Ok` means that every `Stored` row is on stable storage; not before.
    /// - A row whose idempotency key is taken is not stored: `Replayed` where the digest is the same,
    ///   `KeyReused` where it is not. This holds between two rows of one call, too, and at whatever
    ///   public revision the row was judged: a retry gets its answer after a publish as well.
    /// - Any other row whose `public_revision` is not its app's newest is not stored: `Stale`.
    /// - A key of a response that was deleted or erased since stays taken: whatever comes under it is
    ///   `Replayed`, and nothing of it is stored.
    /// - A stored row with a claim is linked to a respondent in the same transaction, as
    ///   [`sluice_flow::respondent::link`] decides, row by row: its `respondent_id` is set, what is new of
    ///   the respondent is kept, and so is a record of the consent. Of any number of commits at once that
    ///   claim the same new identity, one makes the profile.
    /// - A row with an invitation completes it, in the same transaction: with its id and the time of that id
    ///   where it is `linked`, and with the day of that time alone where it is not. Where the invitation is no
    ///   longer open at that time, is of another flow, or is not there, the row is not stored: `Uninvited`.
    ///   Of rows that share an invitation, in one call or in many at once, one is stored. A row that came after
    ///   another of the same call, which was then not stored, may be `Stale`.
    /// - A row's refusal does not touch the other rows.
    /// - [`StoreError::Failed`]: none is stored. [`StoreError::Unknown`] and [`StoreError::InDoubt`]:
    ///   nothing can be said; after the first, nothing more may be acknowledged either.
    async fn commit(&self, responses: Vec<NewResponse>) -> StoreResult<Vec<Outcome>>;

    /// How many commits may be under way at once; one where the backend has a single writer.
    ///
    /// Where it is more than one, a commit should hold the responses of one app only, so that what is
    /// slow or away for one app does not hold up another.
    fn lanes(&self) -> usize;

    /// Free space on the disk that this process writes to; absent if another server does the writing.
    ///
    /// Below the reserve [`Self::commit`] and [`UpkeepStore::check`] fail with [`StoreError::DiskReserve`], and
    /// everything else still works. Commits succeed again once there is room, without a restart.
    fn disk_space(&self) -> Option<DiskSpace>;

    /// What was stored under this idempotency key: the response and its digest; no digest where the
    /// response was deleted or erased since, and only the use of its key is remembered.
    async fn find_by_idempotency_key(
        &self,
        app: AppId,
        key: &IdempotencyKey,
    ) -> StoreResult<Option<(ResponseId, Option<Digest>)>>;

    /// The app that an active (not revoked) key belongs to.
    async fn find_app_by_key(&self, key: &ApiKey) -> StoreResult<Option<App>>;

    /// A version, drafts included, with all that its flow decides about it, read at one instant.
    async fn find_version(&self, version: FlowVersionId) -> StoreResult<Option<VersionState>>;

    /// For each invitee in order, whether the flow has an invitation with this user id or this address that
    /// is open at `now`.
    async fn are_invited(
        &self,
        app: AppId,
        flow: FlowId,
        now: Timestamp,
        invitees: Vec<Invitee>,
    ) -> StoreResult<Vec<bool>>;

    /// Where the change feed stands, and the apps whose public state changed after `after`.
    ///
    /// Changes by any process on the same database are seen; a change is in the feed as soon as
    /// [`AdminStore::apply`] returned to whoever made it. Responses are never in it.
    async fn changes(&self, after: FeedPosition) -> StoreResult<Changes>;

    /// Returns when [`Self::changes`] is worth another look, at the latest when a change by another
    /// process was announced. A hint only: a backend without announcements never returns, and one that
    /// has them may miss some; whoever waits looks from time to time all the same.
    async fn changed(&self);
}
