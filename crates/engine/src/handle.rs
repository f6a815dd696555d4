//! Handles: a row that was read once, with proof of permission.
//!
//! A handle is opened for one scope and is the only way to the use cases of an app or a flow: they
//! are its methods, each in the file named after it. None of them can skip the permission check.
//! What they need is behind [`Permit::core`], which compares the scope that the use case needs with
//! the scope that was proved; every write to an app goes through [`Permit::change`], which does the
//! same. So a handle that was opened for `read` cannot write. Neither check reads the store.
//!
//! A handle keeps the row as it was when it was opened. A change is computed from that row; if the
//! app has changed since, the store refuses the write because of its revision, and the change is
//! computed again from the current row.

use std::ops::Deref;
use std::sync::Arc;

use serde_json::json;
use sluice_flow::definition::Definition;
use sluice_flow::id::{AppId, FlowId};
use sluice_store::{App, At, AuditRow, Change, FlowRow, FlowState, Scope, Write};

use crate::actor::{Actor, includes};
use crate::admin::{AdminError, AdminResult, Missing};
use crate::audit_action::AuditAction;
use crate::boxed;
use crate::conflict::retry_on_conflict;
use crate::core::Core;
use crate::fault::faultless;
use crate::shown_images::missing_images;

/// The error code for changes to an archived flow.
pub(crate) const FLOW_ARCHIVED: &str = "flow_archived";

/// Proof that an actor has a scope in an app.
#[derive(Clone)]
pub(crate) struct Permit {
    core: Arc<Core>,
    actor: Arc<Actor>,
    app_id: AppId,
    /// The scope that was proved.
    scope: Scope,
}

impl Permit {
    /// The only constructor. Refuses as [`Actor::need_in`] does.
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

    /// The shared state for a use case, if the scope that it needs was proved.
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

    /// The current revision of the app.
    pub(crate) async fn current_revision(&self) -> AdminResult<u64> {
        let app = self.core.store.find_app(self.app_id).await?;
        Ok(app.ok_or(AdminError::NotFound(Missing::App))?.revision)
    }

    /// Writes a change to the app that the public API can see. Conflicts if the app is no longer at
    /// this revision ([`crate::conflict`]).
    pub(crate) async fn change(
        &self,
        needed: Scope,
        expected: u64,
        change: impl Into<Change>,
    ) -> AdminResult<()> {
        self.change_quietly(needed, expected, change).await?;
        self.core.registry.forget(&[self.app_id]);
        Ok(())
    }

    /// The same for a change that only administrators can see: a deleted response, an invitation.
    pub(crate) async fn change_quietly(
        &self,
        needed: Scope,
        expected: u64,
        change: impl Into<Change>,
    ) -> AdminResult<()> {
        // Every write needs more than the `read` scope.
        if needed == Scope::Read {
            return Err(AdminError::Forbidden { scope: Scope::Write });
        }
        let core = self.core(needed)?;
        core.apply(At::App { app: self.app_id, expected }, change).await?;
        core.deliveries.wakes.mark(self.app_id);
        Ok(())
    }

    /// Records that something was exported.
    pub(crate) async fn record_export(
        &self,
        action: AuditAction,
        subject: impl ToString,
    ) -> AdminResult<()> {
        let core = self.core(Scope::Export)?;
        let audit = self.audit(action, subject, &json!({}));
        Ok(core.apply(At::Instance, vec![Write::Audit(audit)]).await?)
    }

    /// An audit log entry of this actor in this app.
    pub(crate) fn audit(
        &self,
        action: AuditAction,
        subject: impl ToString,
        detail: &serde_json::Value,
    ) -> AuditRow {
        self.core.audit(&self.actor, Some(self.app_id), action, subject, detail)
    }
}

/// An app, with proof of permission.
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

    /// A handle on an app from a list.
    pub(crate) fn listed(core: &Arc<Core>, actor: &Actor, app: App) -> AdminResult<Self> {
        let permit = Permit::new(core, actor, Scope::Read, app.row.app_id, Missing::App)?;
        Ok(Self { permit, app })
    }

    async fn read(permit: Permit) -> AdminResult<Self> {
        let found = permit.core.store.find_app(permit.app_id).await?;
        let app = found.ok_or(AdminError::NotFound(Missing::App))?;
        Ok(Self { permit, app })
    }

    /// Reads the app again and returns a handle on its current state.
    pub(crate) async fn read_again(&self) -> AdminResult<Self> {
        Self::read(self.permit.clone()).await
    }

    pub fn app_id(&self) -> AppId {
        self.permit.app_id
    }

    /// Whether the holder also has this scope; for deciding what to show.
    pub fn may(&self, scope: Scope) -> bool {
        self.permit.actor.may(scope, self.permit.app_id)
    }
}

/// A flow with its current version and its draft, with proof of permission.
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

    /// Reads the flow again and returns a handle on its current state.
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

    /// Whether the holder also has this scope; for deciding what to show.
    pub fn may(&self, scope: Scope) -> bool {
        self.permit.actor.may(scope, self.permit.app_id)
    }

    /// The flow's app, for the same scope.
    #[boxed]
    pub async fn app(&self) -> AdminResult<AppHandle> {
        AppHandle::read(self.permit.clone()).await
    }

    pub fn into_state(self) -> FlowState {
        self.state
    }

    /// Computes a change to the flow and writes it; repeats with the current state if the app was
    /// changed concurrently.
    pub(crate) async fn change<T>(
        &self,
        needed: Scope,
        decide: impl Fn(&Core, &FlowState) -> AdminResult<(Change, T)>,
    ) -> AdminResult<T> {
        let decide = |core: &Core, state: &FlowState| {
            decide(core, state).map(|(change, result)| (change, None, result))
        };
        self.change_showing(needed, decide).await
    }

    /// The same for a change that publishes a definition. Each attempt checks that the app has its
    /// images: deleting one is a change of the app, too, so none can be deleted in between.
    pub(crate) async fn change_showing<T>(
        &self,
        needed: Scope,
        decide: impl Fn(&Core, &FlowState) -> AdminResult<(Change, Option<Arc<Definition>>, T)>,
    ) -> AdminResult<T> {
        let (core, decide) = (self.permit.core(needed)?, &decide);
        retry_on_conflict(|is_retry| async move {
            let newest = if is_retry { Some(read_flow(core, self.flow_id()).await?) } else { None };
            let state = newest.as_ref().unwrap_or(&self.state);
            must_be_in_use(&state.flow)?;
            let (change, shown, result) = decide(core, state)?;
            if let Some(definition) = shown {
                faultless(missing_images(&*core.store, self.app_id(), &definition).await?)?;
            }
            self.permit.change(needed, state.revision, change).await?;
            Ok(result)
        })
        .await
    }
}

/// Refuses to change an archived flow.
pub(crate) fn must_be_in_use(flow: &FlowRow) -> AdminResult<()> {
    match flow.archived_at {
        Some(_) => Err(AdminError::conflict(FLOW_ARCHIVED, "this flow is archived")),
        None => Ok(()),
    }
}

async fn read_flow(core: &Core, id: FlowId) -> AdminResult<FlowState> {
    core.store.find_flow(id).await?.ok_or(AdminError::NotFound(Missing::Flow))
}
