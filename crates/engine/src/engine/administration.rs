//! Administration: authentication, and the handles that prove what an actor may do.

use sluice_flow::id::{
    AppId, AssignmentId, AuditId, FlowId, FlowVersionId, RespondentId, ResponseId,
};
use sluice_store::{AuditRow, Page, Scope, StoreResult};

use super::Engine;
use crate::actor::Actor;
use crate::admin::AdminResult;
use crate::admin_requests::AdminRequests;
use crate::apps;
use crate::audit::{self, AuditEntry};
use crate::boxed;
use crate::handle::{AppHandle, FlowHandle};
use crate::instance::InstanceHandle;
use crate::invitations::InvitationHandle;
use crate::people::Accounts;
use crate::publish::VersionHandle;
use crate::respondents::RespondentHandle;
use crate::responses::ResponseHandle;

impl Engine {
    /// The actor of an admin token's secret, if the token is valid now.
    #[boxed]
    pub async fn authenticate(&self, secret: &str) -> StoreResult<Option<Actor>> {
        self.core.authenticate(secret).await
    }

    /// Admin requests that are safe to repeat.
    pub fn requests(&self) -> AdminRequests<'_> {
        AdminRequests { core: &self.core }
    }

    /// What users do with their own accounts, including signing in.
    pub fn accounts(&self) -> Accounts<'_> {
        Accounts::new(&self.core)
    }

    /// The whole instance, for an actor who administers it.
    pub fn instance(&self, actor: &Actor) -> AdminResult<InstanceHandle> {
        InstanceHandle::open(&self.core, actor)
    }

    /// An app, for an actor who has this scope in it.
    #[boxed]
    pub async fn app(&self, actor: &Actor, scope: Scope, id: AppId) -> AdminResult<AppHandle> {
        AppHandle::open(&self.core, actor, scope, id).await
    }

    /// The apps that the actor may read, each as a handle for reading.
    #[boxed]
    pub async fn list_apps(&self, actor: &Actor, page: Page<AppId>) -> AdminResult<Vec<AppHandle>> {
        apps::list(&self.core, actor, page).await
    }

    /// A flow, for an actor who has this scope in its app.
    #[boxed]
    pub async fn flow(&self, actor: &Actor, scope: Scope, id: FlowId) -> AdminResult<FlowHandle> {
        FlowHandle::open(&self.core, actor, scope, id).await
    }

    /// A version of a flow, drafts included, for an actor who has this scope in its app.
    #[boxed]
    pub async fn version(
        &self,
        actor: &Actor,
        scope: Scope,
        id: FlowVersionId,
    ) -> AdminResult<VersionHandle> {
        VersionHandle::open(&self.core, actor, scope, id).await
    }

    /// A response, for an actor who has this scope in its app.
    #[boxed]
    pub async fn response(
        &self,
        actor: &Actor,
        scope: Scope,
        id: ResponseId,
    ) -> AdminResult<ResponseHandle> {
        ResponseHandle::open(&self.core, actor, scope, id).await
    }

    /// A respondent, for an actor who has this scope in their app.
    #[boxed]
    pub async fn respondent(
        &self,
        actor: &Actor,
        scope: Scope,
        id: RespondentId,
    ) -> AdminResult<RespondentHandle> {
        RespondentHandle::open(&self.core, actor, scope, id).await
    }

    /// An invitation, for an actor who has this scope in its app.
    #[boxed]
    pub async fn invitation(
        &self,
        actor: &Actor,
        scope: Scope,
        id: AssignmentId,
    ) -> AdminResult<InvitationHandle> {
        InvitationHandle::open(&self.core, actor, scope, id).await
    }

    /// Audit log entries of one app, or of all, newest first. An actor bound to one app sees only
    /// the entries of that app; an actor bound to several must name the app.
    #[boxed]
    pub async fn list_audit(
        &self,
        actor: &Actor,
        app: Option<AppId>,
        after: Option<AuditId>,
        limit: usize,
    ) -> AdminResult<Vec<AuditRow>> {
        audit::list(&self.core, actor, app, after, limit).await
    }

    /// The same entries with the names of users and tokens.
    #[boxed]
    pub async fn list_audit_named(
        &self,
        actor: &Actor,
        app: Option<AppId>,
        after: Option<AuditId>,
        limit: usize,
    ) -> AdminResult<Vec<AuditEntry>> {
        audit::named(&self.core, self.list_audit(actor, app, after, limit).await?).await
    }
}
