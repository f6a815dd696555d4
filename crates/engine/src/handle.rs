//! Handles: a row that was read once, with the proof that the caller may do something with it.
//!
//! A handle is opened for one scope and is the only way to the use cases of an app or a flow: they
//! are its methods, each in the file named after it. None of them can forget the permission. What
//! they need lies behind [`Permit::core`], which asks for the scope that the use case needs and
//! compares it with the one that was proved; every write to an app goes through [`Permit::change`],
//! which does the same. So a handle that was opened for `read` cannot write. Neither comparison
//! reads anything.
//!
//! A handle keeps the row as it was when it was opened. A change is decided on that row; if the app
//! was changed since, the store refuses the write by its revision, and the change is decided again
//! on the row as it is then.

use std::ops::Deref;
use std::sync::Arc;

use serde_json::json;
use sluice_flow::id::{AppId, FlowId};
use sluice_store::{App, At, AuditRow, Change, FlowRow, FlowState, Scope, StoreError, Write};

use crate::actor::{Actor, includes};
use crate::admin::{AdminError, AdminResult, Missing};
use crate::audit_action::AuditAction;
use crate::core::{CONFLICT_RETRIES, Core};

/// The code of what an archived flow refuses.
pub(crate) const FLOW_ARCHIVED: &str = "flow_archived";

/// Proof that an actor has a scope in an app.
#[derive(Clone)]
pub(crate) struct Permit {
    core: Arc<Core>,
    actor: Arc<Actor>,
    app_id: AppId,
    /// What was proved.
    scope: Scope,
}

impl Permit {
    /// The only way to a permit. Refuses as [`Actor::need_in`] does.
    pub(crate) fn new(
        core: &Arc<Core>,
        actor: &Actor,
        scope: Scope,
        app_id: AppId,
        what: Missing,
    ) -> AdminResult<Self> {
        actor.need_in(scope, app_id, what)?;
        Ok(Self { core: Arc::clone(core), actor: Arc::new(actor.clone()), app_id, scope })
    }

    /// What a use case works with, if the scope that it needs was proved.
    pub(crate) fn core(&self, needed: Scope) -> AdminResult<&Arc<Core>> {
        match includes(self.scope, needed) {
            true => Ok(&self.core),
            false => Err(AdminError::Forbidden { scope: needed }),
        }
    }

    pub(crate) fn actor(&self) -> &Actor {
        &self.actor
    }

    pub(crate) fn app_id(&self) -> AppId {
        self.app_id
    }

    /// Writes a change of the app that the public API can see. Reports no if the app is not at this
    /// revision any more.
    pub(crate) async fn change(
        &self,
        needed: Scope,
        expected: u64,
        change: Change,
    ) -> AdminResult<bool> {
        let done = self.change_quietly(needed, expected, change).await?;
        if done {
            self.core.registry.forget(&[self.app_id]);
        }
        Ok(done)
    }

    /// The same for a change that only administrators can see: a deleted response, an invitation.
    pub(crate) async fn change_quietly(
        &self,
        needed: Scope,
        expected: u64,
        change: Change,
    ) -> AdminResult<bool> {
        // Nothing that is written needs no more than reading.
        if needed == Scope::Read {
            return Err(AdminError::Forbidden { scope: Scope::Write });
        }
        match self.core(needed)?.apply(At::App { app: self.app_id, expected }, change).await {
            Ok(()) => Ok(true),
            Err(StoreError::Conflict) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Records that something was exported.
    pub(crate) async fn record_export(
        &self,
        action: AuditAction,
        subject: impl ToString,
    ) -> AdminResult<()> {
        let core = self.core(Scope::Export)?;
        let audit = self.audit(action, subject, &json!({}));
        Ok(core.apply(At::Instance, Change::new(move || vec![Write::Audit(audit)])).await?)
    }

    /// An entry of the audit log: this actor, in this app.
    pub(crate) fn audit(
        &self,
        action: AuditAction,
        subject: impl ToString,
        detail: &serde_json::Value,
    ) -> AuditRow {
        self.core.audit(&self.actor, Some(self.app_id), action, subject, detail)
    }
}

/// An app, and the proof that its holder may do something in it.
#[derive(Clone)]
pub struct AppHandle {
    pub(crate) permit: Permit,
    app: App,
}

impl Deref for AppHandle {
    type Target = App;

    fn deref(&self) -> &App {
        &self.app
    }
}

impl std::fmt::Debug for AppHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("AppHandle").field(&self.permit.scope).field(&self.app).finish()
    }
}

impl AppHandle {
    pub(crate) async fn open(
        core: &Arc<Core>,
        actor: &Actor,
        scope: Scope,
        id: AppId,
    ) -> AdminResult<Self> {
        let permit = Permit::new(core, actor, scope, id, Missing::App)?;
        Self::read(permit).await
    }

    /// A handle on an app that was read in a list.
    pub(crate) fn listed(core: &Arc<Core>, actor: &Actor, app: App) -> AdminResult<Self> {
        let permit = Permit::new(core, actor, Scope::Read, app.row.app_id, Missing::App)?;
        Ok(Self { permit, app })
    }

    async fn read(permit: Permit) -> AdminResult<Self> {
        let found = permit.core.store.find_app(permit.app_id).await?;
        let app = found.ok_or(AdminError::NotFound(Missing::App))?;
        Ok(Self { permit, app })
    }

    /// The same with the app as it is now.
    pub(crate) async fn read_again(&self) -> AdminResult<Self> {
        Self::read(self.permit.clone()).await
    }

    pub fn app_id(&self) -> AppId {
        self.permit.app_id
    }

    /// Whether the holder may do this as well: for showing what can be done.
    pub fn may(&self, scope: Scope) -> bool {
        self.permit.actor.may(scope, self.permit.app_id)
    }
}

/// A flow with its current version and its draft, and the proof that its holder may do something
/// with it.
#[derive(Clone)]
pub struct FlowHandle {
    pub(crate) permit: Permit,
    state: FlowState,
}

impl Deref for FlowHandle {
    type Target = FlowState;

    fn deref(&self) -> &FlowState {
        &self.state
    }
}

impl std::fmt::Debug for FlowHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("FlowHandle").field(&self.permit.scope).field(&self.state).finish()
    }
}

impl FlowHandle {
    pub(crate) async fn open(
        core: &Arc<Core>,
        actor: &Actor,
        scope: Scope,
        id: FlowId,
    ) -> AdminResult<Self> {
        let state = read_flow(core, id).await?;
        let permit = Permit::new(core, actor, scope, state.flow.app_id, Missing::Flow)?;
        Ok(Self { permit, state })
    }

    /// The same with the flow as it is now.
    pub(crate) async fn read_again(&self) -> AdminResult<Self> {
        let state = read_flow(&self.permit.core, self.flow_id()).await?;
        Ok(Self { permit: self.permit.clone(), state })
    }

    pub fn app_id(&self) -> AppId {
        self.permit.app_id
    }

    pub fn flow_id(&self) -> FlowId {
        self.state.flow.flow_id
    }

    /// Whether the holder may do this as well: for showing what can be done.
    pub fn may(&self, scope: Scope) -> bool {
        self.permit.actor.may(scope, self.permit.app_id)
    }

    /// The flow's app, for the same scope.
    pub async fn app(&self) -> AdminResult<AppHandle> {
        AppHandle::read(self.permit.clone()).await
    }

    pub fn into_state(self) -> FlowState {
        self.state
    }

    /// Decides a change on the flow and writes it; again on its newest state if the app was changed
    /// meanwhile.
    pub(crate) async fn change<T>(
        &self,
        needed: Scope,
        decide: impl Fn(&Core, &FlowState) -> AdminResult<(Change, T)>,
    ) -> AdminResult<T> {
        let core = self.permit.core(needed)?;
        let mut newest = None;
        for _ in 0..CONFLICT_RETRIES {
            let state = newest.as_ref().unwrap_or(&self.state);
            must_be_in_use(&state.flow)?;
            let (change, result) = decide(core, state)?;
            if self.permit.change(needed, state.revision, change).await? {
                return Ok(result);
            }
            newest = Some(read_flow(core, self.flow_id()).await?);
        }
        Err(StoreError::Conflict.into())
    }
}

/// Refuses to change a flow that is archived.
pub(crate) fn must_be_in_use(flow: &FlowRow) -> AdminResult<()> {
    match flow.archived_at {
        Some(_) => Err(AdminError::conflict(FLOW_ARCHIVED, "this flow is archived")),
        None => Ok(()),
    }
}

async fn read_flow(core: &Core, id: FlowId) -> AdminResult<FlowState> {
    core.store.find_flow(id).await?.ok_or(AdminError::NotFound(Missing::Flow))
}
