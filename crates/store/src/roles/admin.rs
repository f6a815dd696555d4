//! Administration, as one role of the store.

use async_trait::async_trait;
use sluice_flow::id::{AppId, AuditId, FlowId};

#[cfg(doc)]
use crate::StoreError;
use crate::{
    ActorId, App, At, AuditQuery, AuditRow, Change, FlowQuery, FlowState, IdentityKeyRow, KeyRow,
    Page, StoreResult, TokenHash, TokenRow, VersionRow,
};

/// Administration: apps, keys, flows, versions, admin tokens and the audit log, and the one method
/// that writes all of them.
#[async_trait]
pub trait AdminStore: Send + Sync + 'static {
    /// Writes the rows of one change durably: all of them or none.
    ///
    /// `change` is called once, when nothing else can be written to the app any more: the time that
    /// it reads is not before that of any response stored for the app. It may return no rows; then
    /// nothing changes, including the revision. Rows may be in any order. The change fails if a row
    /// names an app or a flow that does not exist once all rows are written.
    ///
    /// - [`At::App`]: if the app's revision is not `expected`, or the app does not exist, `change`
    ///   is not called and the result is [`StoreError::Conflict`].
    /// - [`At::Instance`] is for rows that belong to no existing app: a new app, admin tokens,
    ///   sessions.
    /// - [`At::People`] is for decisions about users, grants and links: a conflict if their
    ///   revision is not `expected`; otherwise the revision grows.
    /// - [`At::FirstApp`] and [`At::FirstToken`] are conflicts if there is an app, or a token. Of
    ///   several such changes by any number of processes, one is written.
    /// - A user whose address or subject is already in use fails the change, and so does a grant
    ///   for an app that does not exist.
    async fn apply(&self, at: At, change: Change) -> StoreResult<()>;

    async fn find_app(&self, app: AppId) -> StoreResult<Option<App>>;

    /// Apps in order of creation. No list of apps reads the pictures of designs.
    async fn list_apps(&self, page: Page<AppId>) -> StoreResult<Vec<App>>;

    /// The existing ones of these apps, each once, ordered by id; without pictures.
    async fn find_apps(&self, apps: &[AppId]) -> StoreResult<Vec<App>>;

    /// The keys of these apps, including revoked ones, by app in order of creation.
    async fn list_keys(&self, apps: &[AppId]) -> StoreResult<Vec<KeyRow>>;

    /// The app's keys for identity tokens, including revoked ones, in order of creation.
    async fn list_identity_keys(&self, app: AppId) -> StoreResult<Vec<IdentityKeyRow>>;

    /// A flow with its app's revisions, its current version and its draft, read at one instant.
    async fn find_flow(&self, flow: FlowId) -> StoreResult<Option<FlowState>>;

    /// The app's flows that match the query, in order of creation or in reverse order. Their
    /// designs are without pictures, which are not read. No two flows of an app have the same key:
    /// a change that would make it so fails.
    async fn list_flows(&self, query: &FlowQuery) -> StoreResult<Vec<FlowState>>;

    /// The flow's published versions by descending number, starting below `before` if it is given.
    async fn list_versions(
        &self,
        app: AppId,
        flow: FlowId,
        before: Option<u32>,
        limit: usize,
    ) -> StoreResult<Vec<VersionRow>>;

    /// The token with this SHA-256, revoked or not.
    async fn find_token(&self, hash: &TokenHash) -> StoreResult<Option<TokenRow>>;

    /// All tokens, including revoked ones, in order of creation.
    async fn list_tokens(&self) -> StoreResult<Vec<TokenRow>>;

    /// The audit log, newest first: of one app, or all entries.
    async fn list_audit(&self, query: &AuditQuery) -> StoreResult<Vec<AuditRow>>;

    /// For each of these ids, the app's entries that are older than it: the newest `limit` of them.
    /// Each entry once, newest first.
    async fn list_audit_before(
        &self,
        app: AppId,
        ids: &[AuditId],
        limit: usize,
    ) -> StoreResult<Vec<AuditRow>>;

    /// The names of these users and admin tokens, disabled and revoked ones included: each once, in
    /// no order; those that do not exist are absent.
    async fn find_actor_names(&self, actors: &[ActorId]) -> StoreResult<Vec<(ActorId, String)>>;

    /// The names of these flows, archived ones included: each once, in no order; those that do not
    /// exist in their app are absent.
    async fn find_flow_names(
        &self,
        flows: &[(AppId, FlowId)],
    ) -> StoreResult<Vec<(FlowId, String)>>;
}
