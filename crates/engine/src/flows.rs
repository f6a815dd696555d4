//! Flows and their drafts.
//!
//! A draft may break every rule while it is being written: it is kept as sent, and its faults are
//! told with it. Only a publish insists.

use serde_json::{Value, json};
use sluice_flow::definition::{self, Fault, Kind};
use sluice_flow::id::{AppId, FlowId, FlowVersionId};
use sluice_flow::lifecycle::VersionTimes;
use sluice_flow::time::Window;
use sluice_store::{Change, FlowRow, FlowState, Page, Scope, StoreError, VersionRow, Write};

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

/// A draft, and what still keeps it from being published.
#[derive(Debug, Clone, PartialEq)]
pub struct Draft {
    pub flow_version_id: FlowVersionId,
    pub definition: Value,
    pub faults: Vec<Fault>,
}

impl Engine {
    pub async fn create_flow(
        &self,
        actor: &Actor,
        app: AppId,
        new: &NewFlow,
    ) -> AdminResult<FlowState> {
        self.app_for(actor, Scope::Write, app).await?;
        let definition =
            new.definition.clone().unwrap_or_else(|| json!({"title": new.name, "questions": []}));
        let faults = name_faults("/name", &new.name).into_iter();
        faultless(faults.chain(object_fault("/definition", &definition)))?;
        let flow_id = FlowId::from_uuid(self.new_id());
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
            let detail = json!({"name": new.name, "kind": new.kind});
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
        Ok(self.store.list_flows(app, page).await?)
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

    pub async fn get_draft(&self, actor: &Actor, flow: FlowId) -> AdminResult<Draft> {
        let state = self.flow_for(actor, Scope::Read, flow).await?;
        let draft = state.draft.ok_or(AdminError::NotFound(Missing::Draft))?;
        let definition = serde_json::from_str(&draft.definition).map_err(|error| {
            StoreError::Corrupt(format!("draft {}: {error}", draft.flow_version_id))
        })?;
        Ok(draft_of(draft.flow_version_id, definition))
    }

    /// Replaces the draft, or opens a new one where the last was published.
    pub async fn put_draft(
        &self,
        actor: &Actor,
        flow: FlowId,
        definition: Value,
    ) -> AdminResult<Draft> {
        faultless(object_fault("", &definition))?;
        let text = definition.to_string();
        let id = self
            .change_flow(actor, Scope::Write, flow, |engine, state| {
                let draft = match &state.draft {
                    Some(draft) => VersionRow {
                        definition: text.clone(),
                        updated_at: engine.now(),
                        ..draft.clone()
                    },
                    None => engine.new_draft(&state.flow, text.clone()),
                };
                let id = draft.flow_version_id;
                let app = Some(state.flow.app_id);
                let audit = engine.audit(actor, app, "draft.saved", id, &json!({"flowId": flow}));
                let rows = vec![Write::Version(draft), Write::Audit(audit)];
                Ok((Change::new(move || rows), id))
            })
            .await?;
        Ok(draft_of(id, definition))
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

    fn new_draft(&self, flow: &FlowRow, definition: String) -> VersionRow {
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

fn draft_of(flow_version_id: FlowVersionId, definition: Value) -> Draft {
    let faults = definition::check(&definition).err().unwrap_or_default();
    Draft { flow_version_id, definition, faults }
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

fn object_fault(pointer: &str, definition: &Value) -> Option<Fault> {
    (!definition.is_object()).then(|| fault(pointer, "must be a JSON object"))
}
