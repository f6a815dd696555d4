//! Intake, as one role of the store.

use async_trait::async_trait;
use sluice_flow::id::{ApiKey, AppId, FlowId, FlowVersionId, ResponseId};
use sluice_flow::invitation::Invitee;
use sluice_flow::time::Timestamp;

use tokio::sync::oneshot;

#[cfg(doc)]
use crate::{AdminStore, UpkeepStore};
use crate::{
    App, Changes, Digest, DiskSpace, FeedPosition, IdempotencyKey, IfBusy, NewResponse, Outcome,
    StoreError, StoreResult, VersionState,
};

/// Called once with the outcome of a commit. It runs on the thread that wrote, so it must not
/// block.
pub type AfterCommit = Box<dyn FnOnce(StoreResult<Vec<Outcome>>) -> Resume + Send>;

/// What the caller of a commit does when the backend can take the next one; it happens when this is
/// dropped. A backend that has housekeeping to do after a commit drops it afterwards, so that the
/// next commit is composed when it can be written.
pub struct Resume(Option<Box<dyn FnOnce() + Send>>);

impl Resume {
    pub fn new(next: impl FnOnce() + Send + 'static) -> Self {
        Self(Some(Box::new(next)))
    }

    /// The caller has nothing else to do.
    pub fn nothing() -> Self {
        Self(None)
    }
}

impl std::fmt::Debug for Resume {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Resume").finish_non_exhaustive()
    }
}

impl Drop for Resume {
    fn drop(&mut self) {
        if let Some(next) = self.0.take() {
            next();
        }
    }
}

/// How commits run concurrently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lanes {
    /// The number of commits that may run concurrently; 1 if the backend has a single writer.
    pub count: usize,
    /// Whether a commit should contain responses of one app only, or of apps of one server
    /// ([`IntakeStore::server_of`]).
    pub by_app: bool,
}

/// What a submission needs: the commit, the lookups before it, and the change feed, by which a
/// node notices that its cache of published flows is out of date.
#[async_trait]
pub trait IntakeStore: Send + Sync + 'static {
    /// Stores responses in one durable transaction, and calls `then` with the outcome of each, in
    /// order. Does not wait for it. If `then` is dropped without a call, the outcome is unknown.
    ///
    /// - `Ok` means that every `Stored` row is on stable storage.
    /// - A row whose idempotency key is in use is not stored: `Replayed` if the digest is the same,
    ///   `KeyReused` if it differs. This also holds between two rows of one call, and for a row
    ///   judged at an older public revision: a retry gets its answer after a publish as well.
    /// - Any other row whose `public_revision` is not the newest of its app is not stored: `Stale`.
    /// - The key of a response that was deleted or erased stays in use: a row with it is
    ///   `Replayed`, and nothing of it is stored.
    /// - A stored row with a claim is linked to a respondent in the same transaction, as
    ///   [`sluice_flow::respondent::link`] decides, row by row: its `respondent_id` is set, new
    ///   identities are added to the profile, and the consent is recorded. If several concurrent
    ///   commits claim the same new identity, one of them creates the profile.
    /// - A row with an invitation completes it in the same transaction: with the id and time of the
    ///   response if it is `linked`, and with the day only if it is not. If the invitation is not
    ///   open at that time, belongs to another flow or does not exist, the row is not stored:
    ///   `Uninvited`. Of several rows with the same invitation, in one call or in concurrent calls,
    ///   one is stored. A row that follows another one of the same call, which was then not stored,
    ///   may be `Stale`.
    /// - A row with limits adds one to the counters of its flow in the same transaction. If a
    ///   counter has reached its limit, or the flow has no counts, the row is not stored: `Full`.
    ///   However many calls and processes store concurrently, no counter exceeds its limit, and
    ///   none is refused while there is room. Rows without limits read and write nothing for this.
    /// - With [`IfBusy::Skip`], rows of an app that is being changed may be `Busy`: nothing is
    ///   known about them, and nothing of them is stored. So may all rows of a commit that failed
    ///   because of some of them. A backend that never waits ignores it.
    /// - Refusing one row does not affect the others.
    /// - [`StoreError::Failed`]: no row is stored. [`StoreError::Unknown`] and
    ///   [`StoreError::InDoubt`]: the outcome is unknown; after `Unknown`, nothing more may be
    ///   acknowledged.
    fn commit_then(&self, responses: Vec<NewResponse>, if_busy: IfBusy, then: AfterCommit);

    /// The same as a future. It waits for apps that are being changed.
    async fn commit(&self, responses: Vec<NewResponse>) -> StoreResult<Vec<Outcome>> {
        let (reply, outcomes) = oneshot::channel();
        // The caller may have gone away.
        let then = |outcomes| {
            drop(reply.send(outcomes));
            Resume::nothing()
        };
        self.commit_then(responses, IfBusy::Wait, Box::new(then));
        outcomes.await.unwrap_or_else(|_| {
            Err(StoreError::Unknown("the commit ended without an outcome".into()))
        })
    }

    fn lanes(&self) -> Lanes;

    /// The server that has an app, by a number, if there are several and it is known. The app may
    /// be on another server by the time of the commit: a commit for apps of several servers only
    /// takes longer.
    fn server_of(&self, _app: AppId) -> Option<u32> {
        None
    }

    /// Free space on the disk that this process writes to; `None` if another server does the
    /// writing.
    ///
    /// Below the reserve, [`Self::commit`] and [`UpkeepStore::check`] fail with
    /// [`StoreError::DiskReserve`]; everything else still works. Commits succeed again as soon as
    /// there is space, without a restart.
    fn disk_space(&self) -> Option<DiskSpace>;

    /// The response that was stored with this idempotency key, and its digest. There is no digest
    /// if the response was deleted or erased: only the use of the key is remembered.
    async fn find_by_idempotency_key(
        &self,
        app: AppId,
        key: &IdempotencyKey,
    ) -> StoreResult<Option<(ResponseId, Option<Digest>)>>;

    /// The app of an active (not revoked) key.
    async fn find_app_by_key(&self, key: &ApiKey) -> StoreResult<Option<App>>;

    /// A version (also a draft) with everything about its flow that decides whether it accepts
    /// responses, read at one instant. The flow's design is without pictures.
    async fn find_version(&self, version: FlowVersionId) -> StoreResult<Option<VersionState>>;

    /// For each invitee in order: whether the flow has an invitation with this user id or this
    /// address that is open at `now`.
    async fn are_invited(
        &self,
        app: AppId,
        flow: FlowId,
        now: Timestamp,
        invitees: Vec<Invitee>,
    ) -> StoreResult<Vec<bool>>;

    /// The position of the change feed, and the apps whose public state changed after `after`;
    /// none after [`FeedPosition::END`].
    ///
    /// The feed contains changes by every process on the same database, as soon as
    /// [`AdminStore::apply`] has returned. Responses are never in it. A read of an app, flow or
    /// version by its id that starts after this call returns nothing older than the position: what
    /// is cached after a change was seen is not the state before it.
    async fn changes(&self, after: FeedPosition) -> StoreResult<Changes>;

    /// Waits until [`Self::changes`] may have something new: a change by another process was
    /// announced.
    ///
    /// This is only a hint. A backend without announcements never returns, and one that has them
    /// may miss some, so callers must also poll.
    async fn changed(&self);
}
