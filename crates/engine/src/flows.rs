//! Flows: creating, listing, changing and archiving them. Their content is in [`crate::drafts`].

use std::sync::Arc;

use serde_json::{Value, json};
use sluice_flow::closing::QuotaChange;
use sluice_flow::definition::{Fault, Kind};
use sluice_flow::design::Design;
use sluice_flow::event::EventType;
use sluice_flow::flow_key;
use sluice_flow::id::{AppId, FlowId, FlowVersionId};
use sluice_flow::labels;
use sluice_flow::lifecycle::VersionTimes;
use sluice_flow::time::{Timestamp, Window};
use sluice_store::{Change, FlowQuery, FlowRow, FlowState, Order, Page, Scope, VersionRow, Write};

use crate::admin::{AdminError, AdminResult, Missing};
use crate::audit_action::AuditAction;
use crate::boxed;
use crate::branding::design_of;
use crate::clock::next_instant;
use crate::closing;
use crate::conflict::retry_on_conflict;
use crate::core::Core;
use crate::design::DesignPatch;
use crate::fault::{faultless, grace_faults, name_faults, object_fault};
use crate::handle::{AppHandle, FLOW_ARCHIVED, FlowHandle, Permit, must_be_in_use};
use crate::mail_queue::{queued_at_opening, queued_at_start, reopened};

/// A flow to create. Without a definition it starts as an empty draft.
#[derive(Debug, Clone, PartialEq)]
pub struct NewFlow {
    pub name: String,
    pub kind: Kind,
    pub definition: Option<Value>,
}

/// The error code for a key that another flow of the app has.
const KEY_TAKEN: &str = "key_taken";

/// Changes to a flow; absent fields stay unchanged. They take effect without publishing.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FlowPatch {
    pub name: Option<String>,
    /// `Some(None)` removes the key.
    pub key: Option<Option<String>>,
    /// Both ends; one that it does not have is open.
    pub live_window: Option<Window>,
    /// One end; the other stays. `Some(None)` opens it.
    pub starts_at: Option<Option<Timestamp>>,
    pub ends_at: Option<Option<Timestamp>>,
    /// `Some(None)` restores the app's setting.
    pub grace_window_seconds: Option<Option<u32>>,
    /// `Some(None)` accepts any number of responses.
    pub close_after: Option<Option<u32>>,
    /// The quotas as JSON; they replace all existing ones.
    pub quotas: Option<Value>,
    /// They replace all existing ones.
    pub labels: Option<Vec<String>>,
    /// Changes to single quotas; the others stay.
    pub quota_changes: Vec<QuotaChange>,
    /// `Some(None)` restores the app's design.
    pub design: Option<Option<DesignPatch>>,
}

impl FlowPatch {
    fn changes_window(&self) -> bool {
        self.live_window.is_some() || self.starts_at.is_some() || self.ends_at.is_some()
    }

    /// The live window after the change.
    fn window(&self, before: Window) -> Window {
        let Window { starts_at, ends_at } = self.live_window.unwrap_or(before);
        Window {
            starts_at: self.starts_at.unwrap_or(starts_at),
            ends_at: self.ends_at.unwrap_or(ends_at),
        }
    }
}

impl AppHandle {
    #[boxed]
    pub async fn create_flow(&self, new: &NewFlow) -> AdminResult<FlowState> {
        make_flow(&self.permit, self.revision, new, (None, None), json!({})).await
    }

    /// The same with a key, if no flow of the app has it.
    #[boxed]
    pub async fn create_keyed_flow(&self, new: &NewFlow, key: &str) -> AdminResult<FlowState> {
        let detail = json!({"key": key});
        make_flow(&self.permit, self.revision, new, (None, Some(key)), detail).await
    }

    /// The flow with this key.
    #[boxed]
    pub async fn flow_by_key(&self, key: &str) -> AdminResult<Option<FlowState>> {
        keyed(self.permit.core(Scope::Read)?, self.app_id(), key).await
    }

    /// The flows, oldest first; with a label, only those that have it.
    #[boxed]
    pub async fn list_flows(
        &self,
        label: Option<String>,
        page: Page<FlowId>,
    ) -> AdminResult<Vec<FlowState>> {
        let core = self.permit.core(Scope::Read)?;
        if label.as_ref().is_some_and(|label| !labels::is_sound(label)) {
            return Ok(Vec::new());
        }
        let query = FlowQuery { label, ..FlowQuery::all(self.app_id(), page) };
        Ok(core.store.list_flows(&query).await?)
    }

    /// The active flows, or the archived ones, newest first.
    #[boxed]
    pub async fn newest_flows(
        &self,
        archived: bool,
        page: Page<FlowId>,
    ) -> AdminResult<Vec<FlowState>> {
        self.newest_flows_labelled(None, archived, page).await
    }

    /// The same for those with this label, if there is one.
    #[boxed]
    pub async fn newest_flows_labelled(
        &self,
        label: Option<String>,
        archived: bool,
        page: Page<FlowId>,
    ) -> AdminResult<Vec<FlowState>> {
        let core = self.permit.core(Scope::Read)?;
        if label.as_ref().is_some_and(|label| !labels::is_sound(label)) {
            return Ok(Vec::new());
        }
        let (app_id, archived) = (self.app_id(), Some(archived));
        let query =
            FlowQuery { archived, label, order: Order::Desc, ..FlowQuery::all(app_id, page) };
        Ok(core.store.list_flows(&query).await?)
    }
}

impl FlowHandle {
    /// Creates another flow in the same app, with this flow's draft, or its published definition if
    /// it has no draft, as its draft, and with its labels and design. Times and responses are not
    /// copied.
    #[boxed]
    pub async fn duplicate(&self, name: &str) -> AdminResult<FlowState> {
        let definition = Some(self.editing().await?.definition);
        let new = NewFlow { name: name.to_owned(), kind: self.flow.kind, definition };
        let detail = json!({"duplicateOf": self.flow_id()});
        make_flow(&self.permit, self.revision, &new, (Some(&self.flow), None), detail).await
    }

    #[boxed]
    pub async fn update(&self, patch: &FlowPatch) -> AdminResult<FlowState> {
        let core = self.permit.core(Scope::Write)?;
        let updated = retry_on_conflict(|is_retry| async move {
            let newest = if is_retry { Some(self.read_again().await?) } else { None };
            let state: &FlowState = newest.as_ref().unwrap_or(self);
            must_be_in_use(&state.flow)?;
            let mut row = state.flow.clone();
            let changed = patched(&mut row, patch);
            let mut faults = patch_faults(patch, row.live);
            key_must_be_free(core, &row, &state.flow).await?;
            let limits = closing::changed(
                core,
                state,
                patch.close_after,
                patch.quotas.as_ref(),
                &patch.quota_changes,
            )?;
            faults.extend(limits.as_ref().err().into_iter().flatten().cloned());
            if let Some(Some(design)) = &patch.design {
                let app = state.flow.app_id;
                faults.extend(design.image_faults(&*core.store, app, "/design").await?);
            }
            faultless(faults)?;
            let limits = limits.unwrap_or_default();
            let mut rows = Vec::new();
            if limits != state.flow.limits()? {
                rows.push(closing::set(&*core.store, &|| core.now(), &row, &limits).await?);
                row.closing = limits.to_stored();
                // Invitations that waited because the flow was full are checked again.
                rows.push(reopened(&row, Some(core.now())));
            }
            if row == state.flow {
                return Ok(());
            }
            let audit = self.permit.audit(AuditAction::FlowUpdated, row.flow_id, &changed);
            rows.extend(window_event(core, &state.flow, row.live));
            rows.extend(queued_at_start(&state.flow, row.live, core.now()));
            rows.extend(queued_at_opening(&state.flow, row.live, core.now()));
            rows.extend([Write::Flow(row), Write::Audit(audit)]);
            self.permit.change(Scope::Write, state.revision, rows).await
        });
        updated.await?;
        Ok(self.read_again().await?.into_state())
    }

    /// Archives a flow: the public can no longer reach its versions; its responses stay.
    #[boxed]
    pub async fn archive(&self) -> AdminResult<()> {
        let archived = self.change(Scope::Write, |core, state| {
            let clock = Arc::clone(&core.clock);
            let row = state.flow.clone();
            let audit = self.permit.audit(AuditAction::FlowArchived, row.flow_id, &json!({}));
            let (app, flow) = (row.app_id, Some(row.flow_id));
            let event = core.event(app, flow, EventType::FlowArchived, json!({}));
            let change = Change::new(move || {
                let archived_at = Some(next_instant(&*clock));
                let mails = reopened(&row, None);
                vec![Write::Flow(FlowRow { archived_at, ..row }), event, mails, Write::Audit(audit)]
            });
            Ok((change, ()))
        });
        match archived.await {
            // Already archived, by an earlier or a concurrent call.
            Err(AdminError::Conflict { code: FLOW_ARCHIVED, .. }) => Ok(()),
            done => done,
        }
    }
}

impl FlowHandle {
    /// Ends the live window now; a closed flow is left unchanged. Returns the end that it had, for
    /// [`Self::reopen`].
    #[boxed]
    pub async fn close(&self) -> AdminResult<Option<Timestamp>> {
        let before = self.change(Scope::Write, |core, state| {
            let live = state.flow.live;
            let now = core.now();
            if live.ends_at.is_some_and(|end| end <= now) {
                return Ok((Vec::new().into(), None));
            }
            if live.starts_at.is_some_and(|start| start > now) {
                return Err(AdminError::conflict("flow_not_open", "the flow is not open yet"));
            }
            let clock = Arc::clone(&core.clock);
            let row = state.flow.clone();
            let closed = Window { ends_at: Some(now), ..live };
            let detail = json!({"liveWindow": closed});
            let audit = self.permit.audit(AuditAction::FlowUpdated, row.flow_id, &detail);
            let event = window_event(core, &row, closed);
            let change = Change::new(move || {
                let live = Window { ends_at: Some(next_instant(&*clock)), ..live };
                let rows = [Write::Flow(FlowRow { live, ..row }), Write::Audit(audit)];
                rows.into_iter().chain(event).collect()
            });
            Ok((change, live.ends_at))
        });
        before.await
    }

    /// Opens a closed flow again, until `ends_at` if that is in the future. An open flow is left
    /// unchanged.
    #[boxed]
    pub async fn reopen(&self, ends_at: Option<Timestamp>) -> AdminResult<()> {
        self.change(Scope::Write, |core, state| {
            let now = core.now();
            if state.flow.live.ends_at.is_none_or(|end| end > now) {
                return Ok((Vec::new().into(), ()));
            }
            let ends_at = ends_at.filter(|end| *end > now);
            let live = Window { ends_at, ..state.flow.live };
            let row = FlowRow { live, ..state.flow.clone() };
            let detail = json!({"liveWindow": live});
            let audit = self.permit.audit(AuditAction::FlowUpdated, row.flow_id, &detail);
            let event = window_event(core, &state.flow, live);
            let mails = queued_at_opening(&state.flow, live, now);
            let rows = [Write::Flow(row), Write::Audit(audit)];
            let rows: Vec<Write> = rows.into_iter().chain(event).chain(mails).collect();
            Ok((rows.into(), ()))
        })
        .await
    }

    /// Undoes [`Self::archive`]: the flow is as it was before. A flow in use is left unchanged.
    #[boxed]
    pub async fn restore(&self) -> AdminResult<()> {
        retry_on_conflict(|is_retry| async move {
            let newest = if is_retry { Some(self.read_again().await?) } else { None };
            let state: &FlowState = newest.as_ref().unwrap_or(self);
            if state.flow.archived_at.is_none() {
                return Ok(());
            }
            let row = FlowRow { archived_at: None, ..state.flow.clone() };
            let audit = self.permit.audit(AuditAction::FlowRestored, row.flow_id, &json!({}));
            let rows = vec![Write::Flow(row), Write::Audit(audit)];
            self.permit.change(Scope::Write, state.revision, rows).await
        })
        .await
    }
}

/// The event of a change that closes a flow or opens it again.
fn window_event(core: &Core, flow: &FlowRow, live: Window) -> Option<Write> {
    let now = core.now();
    let is_closed = |window: Window| window.ends_at.is_some_and(|end| end <= now);
    let kind = match (is_closed(flow.live), is_closed(live)) {
        (false, true) => EventType::FlowClosed,
        (true, false) => EventType::FlowReopened,
        _ => return None,
    };
    let data = json!({"endsAt": live.ends_at});
    Some(core.event(flow.app_id, Some(flow.flow_id), kind, data))
}

/// Creates a flow in the permit's app if the app is still at this revision.
async fn make_flow(
    permit: &Permit,
    revision: u64,
    new: &NewFlow,
    (like, key): (Option<&FlowRow>, Option<&str>),
    mut detail: Value,
) -> AdminResult<FlowState> {
    let core = permit.core(Scope::Write)?;
    let definition =
        new.definition.clone().unwrap_or_else(|| json!({"title": new.name, "questions": []}));
    let faults = name_faults("/name", &new.name).into_iter().chain(key_faults(key));
    faultless(faults.chain(object_fault("/definition", &definition)))?;
    let flow_id = FlowId::from_uuid(core.new_id());
    detail["name"] = json!(new.name);
    detail["kind"] = json!(new.kind);
    let (definition, detail) = (&definition, &detail);
    let created = retry_on_conflict(|is_retry| async move {
        let expected = if is_retry { permit.current_revision().await? } else { revision };
        let flow = FlowRow {
            app_id: permit.app_id(),
            flow_id,
            kind: new.kind,
            name: new.name.clone(),
            live: Window::default(),
            grace_window_seconds: None,
            closing: None,
            invitation_email: None,
            key: key.map(str::to_owned),
            labels: like.map(|flow| flow.labels.clone()).unwrap_or_default(),
            design: like.and_then(|flow| flow.design.clone()),
            test_links: 0,
            created_at: core.now(),
            archived_at: None,
        };
        if key.is_some() {
            must_be_free(core, &flow).await?;
        }
        let draft = new_draft(core, &flow, definition.to_string());
        let audit = permit.audit(AuditAction::FlowCreated, flow_id, detail);
        let rows = vec![Write::Flow(flow), Write::Version(draft), Write::Audit(audit)];
        permit.change(Scope::Write, expected, rows).await
    });
    created.await?;
    core.store.find_flow(flow_id).await?.ok_or(AdminError::NotFound(Missing::Flow))
}

async fn keyed(core: &Core, app: AppId, key: &str) -> AdminResult<Option<FlowState>> {
    if flow_key::fault(key).is_some() {
        return Ok(None);
    }
    let key = Some(key.to_owned());
    let query = FlowQuery { key, ..FlowQuery::all(app, Page { after: None, limit: 1 }) };
    Ok(core.store.list_flows(&query).await?.into_iter().next())
}

fn key_faults(key: Option<&str>) -> Option<Fault> {
    key.and_then(flow_key::fault).map(|why| Fault::new("/key", why))
}

/// Refuses a change to a key that another flow has. The revision of the app, which every change
/// compares, prevents another flow from taking it in between.
async fn key_must_be_free(core: &Core, row: &FlowRow, before: &FlowRow) -> AdminResult<()> {
    if row.key == before.key { Ok(()) } else { must_be_free(core, row).await }
}

async fn must_be_free(core: &Core, row: &FlowRow) -> AdminResult<()> {
    let Some(key) = &row.key else { return Ok(()) };
    let holder = keyed(core, row.app_id, key).await?;
    match holder.filter(|it| it.flow.flow_id != row.flow_id) {
        None => Ok(()),
        Some(holder) => {
            let detail = format!("the key {key} belongs to the flow {}", holder.flow.flow_id);
            Err(AdminError::conflict(KEY_TAKEN, detail))
        }
    }
}

pub(crate) fn new_draft(core: &Core, flow: &FlowRow, definition: String) -> VersionRow {
    let now = core.now();
    VersionRow {
        app_id: flow.app_id,
        flow_id: flow.flow_id,
        flow_version_id: FlowVersionId::from_uuid(core.new_id()),
        number: 0,
        times: VersionTimes::default(),
        definition,
        created_at: now,
        updated_at: now,
    }
}

fn patched(row: &mut FlowRow, patch: &FlowPatch) -> Value {
    let mut changed = serde_json::Map::new();
    if let Some(name) = &patch.name {
        row.name.clone_from(name);
        changed.insert("name".into(), json!(name));
    }
    if let Some(key) = &patch.key {
        row.key.clone_from(key);
        changed.insert("key".into(), json!(key));
    }
    if patch.changes_window() {
        row.live = patch.window(row.live);
        changed.insert("liveWindow".into(), json!(row.live));
    }
    if let Some(grace) = patch.grace_window_seconds {
        row.grace_window_seconds = grace;
        changed.insert("graceWindowSeconds".into(), json!(grace));
    }
    if let Some(close_after) = patch.close_after {
        changed.insert("closeAfter".into(), json!(close_after));
    }
    if let Some(labels) = &patch.labels {
        row.labels = labels::cleaned(labels);
        changed.insert("labels".into(), json!(row.labels));
    }
    if let Some(quotas) = &patch.quotas {
        changed.insert("quotas".into(), quotas.clone());
    }
    if !patch.quota_changes.is_empty() {
        let limits = patch.quota_changes.iter().map(|change| match change {
            QuotaChange::Add { when, limit } => json!({"when": when, "limit": limit}),
            QuotaChange::Limit { id, limit } => json!({"id": id, "limit": limit}),
            QuotaChange::Remove { id } => json!({"id": id, "limit": null}),
        });
        changed.insert("quotaChanges".into(), limits.collect());
    }
    if let Some(design) = &patch.design {
        let mut own = design_of(row);
        match design {
            Some(patch) => patch.apply(&mut own),
            None => own = Design::default(),
        }
        row.design = own.to_stored();
        changed.insert("design".into(), json!(design.as_ref().map(DesignPatch::to_json)));
    }
    changed.into()
}

/// The faults of a change that leads to this live window.
fn patch_faults(patch: &FlowPatch, live: Window) -> Vec<Fault> {
    let mut faults = Vec::new();
    if let Some(name) = &patch.name {
        faults.extend(name_faults("/name", name));
    }
    faults.extend(key_faults(patch.key.iter().flatten().map(String::as_str).next()));
    if patch.changes_window() && !live.is_ordered() {
        let is_start = patch.live_window.is_none() && patch.ends_at.is_none();
        faults.push(if is_start {
            Fault::new("/liveWindow/startsAt", "must be before endsAt")
        } else {
            Fault::new("/liveWindow/endsAt", "must be after startsAt")
        });
    }
    let label_faults = patch.labels.iter().flat_map(|labels| labels::faults(labels));
    faults.extend(label_faults.map(|(at, why)| Fault::new(at, why)));
    faults.extend(grace_faults("/graceWindowSeconds", patch.grace_window_seconds.flatten()));
    let design = patch.design.iter().flatten();
    faults.extend(design.flat_map(|patch| patch.faults("/design")));
    faults
}
