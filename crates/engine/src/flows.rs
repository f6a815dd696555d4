//! Flows: making, listing, changing and archiving them. What they ask is in [`crate::drafts`].

use serde_json::{Value, json};
use sluice_flow::definition::{Fault, Kind};
use sluice_flow::id::{AppId, FlowId, FlowVersionId};
use sluice_flow::lifecycle::VersionTimes;
use sluice_flow::time::Window;
use sluice_store::{
    Change, FlowQuery, FlowRow, FlowState, Order, Page, Scope, StoreError, VersionRow, Write,
};

use crate::actor::Actor;
use crate::admin::{AdminError, AdminResult, Missing};
use crate::apps::{CONFLICT_RETRIES, fault, faultless, grace_faults, name_faults};
use crate::clock::next_instant;
use crate::engine::Engine;

/// The code of what an archived flow refuses.
pub(crate) const FLOW_ARCHIVED: &str = "flow_archived";

/// A flow to be made. Without a definition it starts as an empty draft.
#[derive(Debug, Clone, PartialEq)]
pub struct NewFlow {
    pub name: String,
    pub kind: Kind,
    pub definition: Option<Value>,
}

/// What to change of a flow; what is absent stays. No publish is needed for any of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FlowPatch {
    pub name: Option<String>,
    pub live_window: Option<Window>,
    /// `Some(None)` goes back to the app's.
    pub grace_window_seconds: Option<Option<u32>>,
}

impl Engine {
    pub async fn create_flow(
        &self,
        actor: &Actor,
        app: AppId,
        new: &NewFlow,
    ) -> AdminResult<FlowState> {
        self.make_flow(actor, app, new, json!({})).await
    }

    /// Makes another flow of the same app that starts with what is being edited of this one: its draft, or
    /// what is published. Its times and its responses are its own.
    pub async fn duplicate_flow(
        &self,
        actor: &Actor,
        flow: FlowId,
        name: &str,
    ) -> AdminResult<FlowState> {
        let editing = self.editing(actor, flow).await?;
        let FlowRow { app_id, kind, .. } = editing.state.flow;
        let definition = Some(editing.definition);
        let new = NewFlow { name: name.to_owned(), kind, definition };
        self.make_flow(actor, app_id, &new, json!({"duplicateOf": flow})).await
    }

    async fn make_flow(
        &self,
        actor: &Actor,
        app: AppId,
        new: &NewFlow,
        mut detail: Value,
    ) -> AdminResult<FlowState> {
        self.app_for(actor, Scope::Write, app).await?;
        let definition =
            new.definition.clone().unwrap_or_else(|| json!({"title": new.name, "questions": []}));
        let faults = name_faults("/name", &new.name).into_iter();
        faultless(faults.chain(object_fault("/definition", &definition)))?;
        let flow_id = FlowId::from_uuid(self.new_id());
        detail["name"] = json!(new.name);
        detail["kind"] = json!(new.kind);
        for _ in 0..CONFLICT_RETRIES {
            let revision = self.app_for(actor, Scope::Write, app).await?.revision;
            let now = self.now();
            let flow = FlowRow {
                app_id: app,
                flow_id,
                kind: new.kind,
                name: new.name.clone(),
                live: Window::default(),
                grace_window_seconds: None,
                created_at: now,
                archived_at: None,
            };
            let draft = self.new_draft(&flow, definition.to_string());
            let audit = self.audit(actor, Some(app), "flow.created", flow_id, &detail);
            let rows = vec![Write::Flow(flow), Write::Version(draft), Write::Audit(audit)];
            match self.change_app(app, revision, Change::new(move || rows)).await {
                Err(AdminError::Store(StoreError::Conflict)) => {}
                done => {
                    done?;
                    return self.get_flow(actor, flow_id).await;
                }
            }
        }
        Err(StoreError::Conflict.into())
    }

    pub async fn list_flows(
        &self,
        actor: &Actor,
        app: AppId,
        page: Page<FlowId>,
    ) -> AdminResult<Vec<FlowState>> {
        self.app_for(actor, Scope::Read, app).await?;
        Ok(self.store.list_flows(&FlowQuery::all(app, page)).await?)
    }

    /// The flows that are in use, or those that are archived, newest first.
    pub async fn newest_flows(
        &self,
        actor: &Actor,
        app: AppId,
        archived: bool,
        page: Page<FlowId>,
    ) -> AdminResult<Vec<FlowState>> {
        self.app_for(actor, Scope::Read, app).await?;
        let Page { after, limit } = page;
        let archived = Some(archived);
        let query = FlowQuery { app_id: app, archived, after, order: Order::Desc, limit };
        Ok(self.store.list_flows(&query).await?)
    }

    pub async fn get_flow(&self, actor: &Actor, flow: FlowId) -> AdminResult<FlowState> {
        self.flow_for(actor, Scope::Read, flow).await
    }

    pub async fn update_flow(
        &self,
        actor: &Actor,
        flow: FlowId,
        patch: &FlowPatch,
    ) -> AdminResult<FlowState> {
        faultless(patch_faults(patch))?;
        self.change_flow(actor, Scope::Write, flow, |engine, state| {
            let mut row = state.flow.clone();
            let changed = patched(&mut row, patch);
            if row == state.flow {
                return Ok((Change::new(Vec::new), ()));
            }
            let audit = engine.audit(actor, Some(row.app_id), "flow.updated", flow, &changed);
            let rows = vec![Write::Flow(row), Write::Audit(audit)];
            Ok((Change::new(move || rows), ()))
        })
        .await?;
        self.get_flow(actor, flow).await
    }

    /// Archives a flow: its versions are gone for the public, its responses stay.
    pub async fn archive_flow(&self, actor: &Actor, flow: FlowId) -> AdminResult<()> {
        let archived = self.change_flow(actor, Scope::Write, flow, |engine, state| {
            let clock = std::sync::Arc::clone(&engine.clock);
            let row = state.flow.clone();
            let audit = engine.audit(actor, Some(row.app_id), "flow.archived", flow, &json!({}));
            let change = Change::new(move || {
                let archived_at = Some(next_instant(&*clock));
                vec![Write::Flow(FlowRow { archived_at, ..row }), Write::Audit(audit)]
            });
            Ok((change, ()))
        });
        match archived.await {
            // Somebody else was quicker, or it was archived before: it is archived.
            Err(AdminError::Conflict { code: FLOW_ARCHIVED, .. }) => Ok(()),
            done => done,
        }
    }

    /// Decides a change on the flow's newest state and writes it, anew if others were quicker.
    pub(crate) async fn change_flow<T>(
        &self,
        actor: &Actor,
        scope: Scope,
        flow: FlowId,
        decide: impl Fn(&Self, &FlowState) -> AdminResult<(Change, T)>,
    ) -> AdminResult<T> {
        for _ in 0..CONFLICT_RETRIES {
            let state = self.flow_for(actor, scope, flow).await?;
            if state.flow.archived_at.is_some() {
                return Err(AdminError::conflict(FLOW_ARCHIVED, "this flow is archived"));
            }
            let (change, result) = decide(self, &state)?;
            match self.change_app(state.flow.app_id, state.revision, change).await {
                Err(AdminError::Store(StoreError::Conflict)) => {}
                done => return done.map(|()| result),
            }
        }
        Err(StoreError::Conflict.into())
    }

    pub(crate) async fn flow_for(
        &self,
        actor: &Actor,
        scope: Scope,
        flow: FlowId,
    ) -> AdminResult<FlowState> {
        let found = self.store.find_flow(flow).await?;
        let state = found.ok_or(AdminError::NotFound(Missing::Flow))?;
        actor.need_in(scope, state.flow.app_id, Missing::Flow)?;
        Ok(state)
    }

    pub(crate) fn new_draft(&self, flow: &FlowRow, definition: String) -> VersionRow {
        let now = self.now();
        VersionRow {
            app_id: flow.app_id,
            flow_id: flow.flow_id,
            flow_version_id: FlowVersionId::from_uuid(self.new_id()),
            number: 0,
            times: VersionTimes::default(),
            definition,
            created_at: now,
            updated_at: now,
        }
    }
}

fn patched(row: &mut FlowRow, patch: &FlowPatch) -> Value {
    let mut changed = serde_json::Map::new();
    if let Some(name) = &patch.name {
        row.name.clone_from(name);
        changed.insert("name".into(), json!(name));
    }
    if let Some(live) = patch.live_window {
        row.live = live;
        changed.insert("liveWindow".into(), json!(live));
    }
    if let Some(grace) = patch.grace_window_seconds {
        row.grace_window_seconds = grace;
        changed.insert("graceWindowSeconds".into(), json!(grace));
    }
    changed.into()
}

fn patch_faults(patch: &FlowPatch) -> Vec<Fault> {
    let mut faults = Vec::new();
    if let Some(name) = &patch.name {
        faults.extend(name_faults("/name", name));
    }
    if patch.live_window.is_some_and(|window| !window.is_ordered()) {
        faults.push(fault("/liveWindow/endsAt", "must be after startsAt"));
    }
    faults.extend(grace_faults("/graceWindowSeconds", patch.grace_window_seconds.flatten()));
    faults
}

pub(crate) fn object_fault(pointer: &str, definition: &Value) -> Option<Fault> {
    (!definition.is_object()).then(|| fault(pointer, "must be a JSON object"))
}
