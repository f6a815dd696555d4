//! Administration, as one role of the store.

use async_trait::async_trait;
use sluice_flow::id::{AppId, FlowId};

#[cfg(doc)]
use crate::StoreError;
use crate::{
    App, At, AuditQuery, AuditRow, Change, FlowQuery, FlowState, IdentityKeyRow, KeyRow, Page,
    StoreResult, TokenHash, TokenRow, VersionRow,
};

/// Administration: apps, keys, flows, versions, admin tokens and the audit log, and the one method that writes
/// all of them.
#[async_trait]
pub trait AdminStore: Send + Sync + 'static {
    /// Writes the rows of one change, all or none, and durably.
    ///
    /// `change` is called once, when nothing else can be written to the app any more: a time that it
    /// reads is not before that of any response already stored for the app. It may return no rows;
    /// then nothing changes, the revision included. The rows may come in any order; where one names
    /// an app or a flow that is not there when all are written, the change fails.
    /// Where `at` names an app whose revision is no longer `expected`, `change` is not called and the
    /// answer is [`StoreError::Conflict`]; an app that does not exist is a conflict as well.
    /// [`At::Instance`] is for what belongs to no existing app: making one, admin tokens, and sessions.
    /// [`At::People`] is for what is decided on users, grants and links: a conflict where their revision is
    /// no longer `expected`, and otherwise the revision grows.
    /// A second user with an address or a subject that is taken fails the change, and so does a grant in an
    /// app that is not there.
    /// [`At::FirstApp`] and [`At::FirstToken`] are conflicts where there is an app, or a token; of several
    /// such changes at once, by any number of processes, one is written.
    async fn apply(&self, at: At, change: Change) -> StoreResult<()>;

    async fn find_app(&self, app: AppId) -> StoreResult<Option<App>>;

    /// Apps in the order they were made.
    async fn list_apps(&self, page: Page<AppId>) -> StoreResult<Vec<App>>;

    /// The existing ones of these apps, each once, ordered by id.
    async fn find_apps(&self, apps: &[AppId]) -> StoreResult<Vec<App>>;

    /// The keys of these apps, revoked ones included; those of each app in the order of their creation.
    async fn list_keys(&self, apps: &[AppId]) -> StoreResult<Vec<KeyRow>>;

    /// The app's keys for identity tokens, revoked ones included, in the order they were made.
    async fn list_identity_keys(&self, app: AppId) -> StoreResult<Vec<IdentityKeyRow>>;

    /// A flow with its app's revisions, its current version and its draft, read at one instant.
    async fn find_flow(&self, flow: FlowId) -> StoreResult<Option<FlowState>>;

    /// The app's flows that pass the filter, in the order they were made or the other way round.
    async fn list_flows(&self, query: &FlowQuery) -> StoreResult<Vec<FlowState>>;

    /// The flow's published versions by falling number, from below `before` where it is given.
    async fn list_versions(
        &self,
        app: AppId,
        flow: FlowId,
        before: Option<u32>,
        limit: usize,
    ) -> StoreResult<Vec<VersionRow>>;

    /// The token with this SHA-256, revoked or not.
    async fn find_token(&self, hash: &TokenHash) -> StoreResult<Option<TokenRow>>;

    /// All tokens, revoked ones included, in the order they were made.
    async fn list_tokens(&self) -> StoreResult<Vec<TokenRow>>;

    /// The audit log, newest first: of one app, or of everything.
    async fn list_audit(&self, query: &AuditQuery) -> StoreResult<Vec<AuditRow>>;
}
