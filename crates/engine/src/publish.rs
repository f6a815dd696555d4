//! Publish, republish (rollback) and retire.
//!
//! The time of a publish is read while nothing else can be written to the app, and is later than
//! that of every response stored before it. So stored responses can be checked again, offline, by
//! their times. The same time decides when older versions stop accepting responses; see
//! [`sluice_flow::lifecycle::VersionTimes::superseded`].

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use serde_json::{Value, json};
use sluice_flow::definition::{self, Definition, Fault};
use sluice_flow::event::EventType;
use sluice_flow::id::FlowVersionId;
use sluice_flow::lifecycle::VersionTimes;
use sluice_flow::payload::Generation;
use sluice_flow::snapshot::{Snapshot, VersionMeta};
use sluice_flow::submission_schema;
use sluice_flow::time::Timestamp;
use sluice_store::{Change, FlowState, GraceCap, Scope, VersionRow, VersionState, Write};

use crate::actor::Actor;
use crate::admin::{AdminError, AdminResult, Missing};
use crate::audit_action::AuditAction;
use crate::boxed;
use crate::clock::next_instant;
use crate::closing::must_fit;
use crate::conflict::retry_on_conflict;
use crate::core::Core;
use crate::definitions::stored_json;
use crate::drafts::{DRAFT_CHANGED, tag_of};
use crate::handle::{FlowHandle, Permit, must_be_in_use};
use crate::mail_queue::reopened;
use crate::registry::grace_seconds;

/// A version that has just been published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Published {
    pub flow_version_id: FlowVersionId,
    pub number: u32,
    pub published_at: Timestamp,
    /// Warnings for the author.
    pub warnings: Vec<Fault>,
}

impl FlowHandle {
    /// Checks the draft and freezes it as the flow's next version.
    #[boxed]
    pub async fn publish(&self) -> AdminResult<Published> {
        self.publish_draft(None).await
    }

    /// The same, but only if the current state has this tag, which the author has seen.
    #[boxed]
    pub async fn publish_seen(&self, tag: &str) -> AdminResult<Published> {
        self.publish_draft(Some(tag)).await
    }

    async fn publish_draft(&self, seen: Option<&str>) -> AdminResult<Published> {
        let stamp = Stamp::default();
        let (flow_version_id, number, warnings) = self
            .change_showing(Scope::Write, |core, state| {
                let Some(draft) = &state.draft else {
                    return Err(AdminError::conflict(
                        "nothing_to_publish",
                        "there is no draft: save one first (PUT the flow's draft)",
                    ));
                };
                if seen.is_some_and(|seen| seen != tag_of(state)) {
                    let detail = "the draft was changed meanwhile: review it, then publish";
                    return Err(AdminError::conflict(DRAFT_CHANGED, detail));
                }
                let definition = checked(draft)?;
                must_fit(state, &definition)?;
                let warnings = warnings(core, &definition);
                let version =
                    VersionRow { definition: definition.to_json().to_string(), ..draft.clone() };
                let action = AuditAction::FlowPublished;
                let change = self.publication(core, state, version, action, json!({}), &stamp);
                let published = (draft.flow_version_id, state.last_number + 1, warnings);
                Ok((change, Some(Arc::new(definition)), published))
            })
            .await?;
        let published_at = stamp.get(self.permit.core(Scope::Write)?);
        Ok(Published { flow_version_id, number, published_at, warnings })
    }

    /// Publishes an older version's definition again, as a new version. A draft stays unchanged.
    async fn republish(&self, old: &VersionRow) -> AdminResult<Published> {
        let core = self.permit.core(Scope::Write)?;
        // A definition that an older server published may break a current rule; it is published
        // anyway.
        let definition = checked(old).ok().map(Arc::new);
        let warnings = definition.as_ref().map(|it| warnings(core, it)).unwrap_or_default();
        let stamp = Stamp::default();
        let (flow_version_id, number) = self
            .change_showing(Scope::Write, |core, state| {
                if let Some(definition) = core.definitions.readable(old) {
                    must_fit(state, &definition)?;
                }
                let id = FlowVersionId::from_uuid(core.new_id());
                let copy = VersionRow {
                    flow_version_id: id,
                    times: VersionTimes::default(),
                    created_at: core.now(),
                    ..old.clone()
                };
                let detail = json!({"republishedFrom": old.flow_version_id});
                let action = AuditAction::FlowRepublished;
                let change = self.publication(core, state, copy, action, detail, &stamp);
                Ok((change, definition.clone(), (id, state.last_number + 1)))
            })
            .await?;
        Ok(Published { flow_version_id, number, published_at: stamp.get(core), warnings })
    }

    /// The flow's published versions, newest first; below a version number, if one is given.
    #[boxed]
    pub async fn list_versions(
        &self,
        before: Option<u32>,
        limit: usize,
    ) -> AdminResult<Vec<VersionRow>> {
        let core = self.permit.core(Scope::Read)?;
        Ok(core.store.list_versions(self.app_id(), self.flow_id(), before, limit).await?)
    }

    /// Warnings for the author of this draft; none while it has faults.
    pub fn draft_warnings(&self, draft: &Value) -> AdminResult<Vec<Fault>> {
        let core = self.permit.core(Scope::Read)?;
        Ok(definition::check(draft).map(|it| warnings(core, &it)).unwrap_or_default())
    }

    /// The rows of a publish: the new version, the end of all older ones, and the audit entry.
    fn publication(
        &self,
        core: &Core,
        state: &FlowState,
        version: VersionRow,
        action: AuditAction,
        mut detail: Value,
        stamp: &Stamp,
    ) -> Change {
        let number = state.last_number + 1;
        let grace = grace_seconds(state);
        let before = state.current.clone();
        // It was not served, because its last version was retired.
        let opens = (before.is_none() && state.last_number > 0)
            .then(|| reopened(&state.flow, Some(core.now())));
        let (app_id, flow_id) = (state.flow.app_id, state.flow.flow_id);
        detail["number"] = json!(number);
        detail["flowVersionId"] = json!(version.flow_version_id);
        let audit = self.permit.audit(action, flow_id, &detail);
        let data = json!({"flowVersionId": version.flow_version_id, "number": number});
        let event = core.event(app_id, Some(flow_id), EventType::FlowPublished, data);
        let clock = Arc::clone(&core.clock);
        let stamp = stamp.clone();
        Change::new(move || {
            let now = next_instant(&*clock);
            stamp.set(now);
            let times = VersionTimes { published_at: Some(now), ..VersionTimes::default() };
            let mut rows =
                vec![Write::Version(VersionRow { number, times, updated_at: now, ..version })];
            let ends_at = now.plus_seconds(i64::from(grace));
            if let Some(mut before) = before {
                before.times = before.times.superseded(now, ends_at);
                rows.push(Write::Version(before));
            }
            rows.push(Write::CapGrace(GraceCap { app_id, flow_id, ends_at }));
            rows.extend(opens);
            rows.extend([event, Write::Audit(audit)]);
            rows
        })
    }
}

/// A version, including drafts, with proof of permission.
#[derive(Clone)]
pub struct VersionHandle {
    permit: Permit,
    state: VersionState,
}

impl Deref for VersionHandle {
    type Target = VersionState;

    fn deref(&self) -> &VersionState {
        &self.state
    }
}

impl std::fmt::Debug for VersionHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("VersionHandle").field(&self.state).finish()
    }
}

impl VersionHandle {
    pub(crate) async fn open(
        core: &Arc<Core>,
        actor: &Actor,
        scope: Scope,
        id: FlowVersionId,
    ) -> AdminResult<Self> {
        let state = read_version(core, id).await?;
        let app = state.flow.app_id;
        let permit = Permit::new(core, actor, scope, app, Missing::FlowVersion)?;
        Ok(Self { permit, state })
    }

    /// The JSON Schema of a submission to this version, whether it accepts any now or not.
    pub fn submission_schema(&self, generation: Generation) -> AdminResult<Vec<u8>> {
        let core = self.permit.core(Scope::Read)?;
        let Some(published_at) = self.version.times.published_at else {
            return Err(not_published());
        };
        let meta = VersionMeta {
            flow_version_id: self.version.flow_version_id,
            flow_id: self.version.flow_id,
            kind: self.flow.kind,
            number: self.version.number,
            published_at,
        };
        let snapshot = Snapshot::new(meta, core.definitions.read(&self.version)?);
        Ok(submission_schema::render(&snapshot, generation))
    }

    /// Publishes this version's definition again, as a new version. A draft stays unchanged.
    #[boxed]
    pub async fn republish(&self) -> AdminResult<Published> {
        let core = self.permit.core(Scope::Write)?;
        must_be_published(self)?;
        let (actor, flow) = (self.permit.actor(), self.flow.flow_id);
        let flow = FlowHandle::open(core, actor, Scope::Write, flow).await?;
        flow.republish(&self.version).await
    }

    /// Retires a published version at once, without grace; idempotent.
    #[boxed]
    pub async fn retire(&self) -> AdminResult<VersionRow> {
        let core = self.permit.core(Scope::Write)?;
        let id = self.version.flow_version_id;
        retry_on_conflict(|is_retry| async move {
            let found = if is_retry { read_version(core, id).await? } else { self.state.clone() };
            must_be_published(&found)?;
            if found.version.times.retired_at.is_some() {
                return Ok(found.version);
            }
            let detail = json!({"flowId": found.flow.flow_id, "number": found.version.number});
            let audit = self.permit.audit(AuditAction::FlowVersionRetired, id, &detail);
            let data = json!({"flowVersionId": id, "number": found.version.number});
            let (app, flow) = (found.flow.app_id, found.flow.flow_id);
            let event = core.event(app, Some(flow), EventType::FlowVersionRetired, data);
            let clock = Arc::clone(&core.clock);
            let change = Change::new(move || {
                let mut row = found.version;
                row.times.retired_at = Some(next_instant(&*clock));
                vec![Write::Version(row), event, Write::Audit(audit)]
            });
            self.permit.change(Scope::Write, found.revision, change).await?;
            Ok(read_version(core, id).await?.version)
        })
        .await
    }
}

async fn read_version(core: &Core, id: FlowVersionId) -> AdminResult<VersionState> {
    let found = core.store.find_version(id).await?;
    found.ok_or(AdminError::NotFound(Missing::FlowVersion))
}

fn must_be_published(found: &VersionState) -> AdminResult<()> {
    if found.version.times.published_at.is_none() {
        return Err(not_published());
    }
    must_be_in_use(&found.flow)
}

fn not_published() -> AdminError {
    let detail = "this is a draft: it was never published";
    AdminError::conflict("flow_version_not_published", detail)
}

/// Warnings for the author of this definition, based on the limits of this server.
fn warnings(core: &Core, definition: &Definition) -> Vec<Fault> {
    definition::warnings(definition, core.body_bytes_max)
}

/// The draft's definition, or every fault that prevents it from being published.
fn checked(draft: &VersionRow) -> AdminResult<Definition> {
    definition::check_new(&stored_json(draft)?).map_err(AdminError::Invalid)
}

/// Carries the time of a publish out of the write. A retry after a conflict reuses the stamp, but
/// the refused change never ran.
#[derive(Clone, Default)]
struct Stamp(Arc<OnceLock<Timestamp>>);

impl Stamp {
    fn set(&self, now: Timestamp) {
        let _ = self.0.set(now);
    }

    fn get(&self, core: &Core) -> Timestamp {
        self.0.get().copied().unwrap_or_else(|| core.now())
    }
}
