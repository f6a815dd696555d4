//! Publish, republish (rollback) and retire.
//!
//! The instant of a publish is read once nothing else can be written to the app, and is later than
//! that of every response stored before it: what is stored can be judged again, offline, by its times. The
//! same instant decides until when all older versions accept responses; see
//! [`sluice_flow::lifecycle::VersionTimes::superseded`].

use std::sync::{Arc, OnceLock};

use serde_json::{Value, json};
use sluice_flow::definition::{self, Definition, Fault};
use sluice_flow::id::{FlowId, FlowVersionId};
use sluice_flow::lifecycle::VersionTimes;
use sluice_flow::time::Timestamp;
use sluice_store::{
    Change, FlowState, GraceCap, Scope, StoreError, VersionRow, VersionState, Write,
};

use crate::actor::Actor;
use crate::admin::{AdminError, AdminResult, Missing};
use crate::clock::next_instant;
use crate::drafts::tag_of;
use crate::engine::Engine;
use crate::flows::FLOW_ARCHIVED;
use crate::registry::grace_seconds;

/// The code of a publish of what somebody has changed since it was looked at.
const DRAFT_CHANGED: &str = "draft_changed";

/// A version that has just been published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Published {
    pub flow_version_id: FlowVersionId,
    pub number: u32,
    pub published_at: Timestamp,
    /// What its author should know.
    pub warnings: Vec<Fault>,
}

impl Engine {
    /// Checks the draft and freezes it as the flow's next version.
    pub async fn publish(&self, actor: &Actor, flow: FlowId) -> AdminResult<Published> {
        self.publish_draft(actor, flow, None).await
    }

    /// The same for somebody who has looked at the state with this tag, and means no other.
    pub async fn publish_seen(
        &self,
        actor: &Actor,
        flow: FlowId,
        tag: &str,
    ) -> AdminResult<Published> {
        self.publish_draft(actor, flow, Some(tag)).await
    }

    async fn publish_draft(
        &self,
        actor: &Actor,
        flow: FlowId,
        seen: Option<&str>,
    ) -> AdminResult<Published> {
        let stamp = Stamp::default();
        let (flow_version_id, number, warnings) = self
            .change_flow(actor, Scope::Write, flow, |engine, state| {
                let Some(draft) = &state.draft else {
                    return Err(AdminError::conflict(
                        "nothing_to_publish",
                        "there is no draft: save one first (PUT the flow's draft)",
                    ));
                };
                if seen.is_some_and(|seen| seen != tag_of(state)) {
                    return Err(AdminError::conflict(
                        DRAFT_CHANGED,
                        "the draft was changed meanwhile: look at it again, then publish",
                    ));
                }
                let definition = checked(draft)?;
                let warnings = engine.warnings(&definition);
                let definition = definition.to_json().to_string();
                let version = VersionRow { definition, ..draft.clone() };
                let change =
                    engine.publication(actor, state, version, "flow.published", json!({}), &stamp);
                Ok((change, (draft.flow_version_id, state.last_number + 1, warnings)))
            })
            .await?;
        Ok(Published { flow_version_id, number, published_at: stamp.get(self), warnings })
    }

    /// Publishes an older version's definition again, as a new version. A draft stays as it is.
    pub async fn republish(&self, actor: &Actor, version: FlowVersionId) -> AdminResult<Published> {
        let old = self.published_for(actor, version).await?;
        // A definition that an older server published may break a rule of today; it is published all the same.
        let warnings = checked(&old.version).map(|it| self.warnings(&it)).unwrap_or_default();
        let stamp = Stamp::default();
        let (flow_version_id, number) = self
            .change_flow(actor, Scope::Write, old.flow.flow_id, |engine, state| {
                let id = FlowVersionId::from_uuid(engine.new_id());
                let copy = VersionRow {
                    flow_version_id: id,
                    times: VersionTimes::default(),
                    created_at: engine.now(),
                    ..old.version.clone()
                };
                let detail = json!({"republishedFrom": version});
                let change =
                    engine.publication(actor, state, copy, "flow.republished", detail, &stamp);
                Ok((change, (id, state.last_number + 1)))
            })
            .await?;
        Ok(Published { flow_version_id, number, published_at: stamp.get(self), warnings })
    }

    /// Withdraws a published version at once, without grace. Doing so twice is the same as once.
    pub async fn retire(&self, actor: &Actor, version: FlowVersionId) -> AdminResult<VersionRow> {
        for _ in 0..crate::apps::CONFLICT_RETRIES {
            let found = self.published_for(actor, version).await?;
            if found.version.times.retired_at.is_some() {
                return Ok(found.version);
            }
            let app = found.flow.app_id;
            let detail = json!({"flowId": found.flow.flow_id, "number": found.version.number});
            let audit = self.audit(actor, Some(app), "flow_version.retired", version, &detail);
            let clock = Arc::clone(&self.clock);
            let change = Change::new(move || {
                let mut row = found.version;
                row.times.retired_at = Some(next_instant(&*clock));
                vec![Write::Version(row), Write::Audit(audit)]
            });
            match self.change_app(app, found.revision, change).await {
                Err(AdminError::Store(StoreError::Conflict)) => {}
                done => {
                    done?;
                    return Ok(self.published_for(actor, version).await?.version);
                }
            }
        }
        Err(StoreError::Conflict.into())
    }

    /// The flow's published versions, newest first, from below a number where one is given.
    pub async fn list_versions(
        &self,
        actor: &Actor,
        flow: FlowId,
        before: Option<u32>,
        limit: usize,
    ) -> AdminResult<Vec<VersionRow>> {
        let state = self.flow_for(actor, Scope::Read, flow).await?;
        Ok(self.store.list_versions(state.flow.app_id, flow, before, limit).await?)
    }

    /// One version whole, drafts included.
    pub async fn get_version(
        &self,
        actor: &Actor,
        version: FlowVersionId,
    ) -> AdminResult<VersionState> {
        self.version_for(actor, Scope::Read, version).await
    }

    /// What the author of this draft should know; nothing while it has faults.
    pub fn draft_warnings(&self, draft: &Value) -> Vec<Fault> {
        definition::check(draft).map(|it| self.warnings(&it)).unwrap_or_default()
    }

    /// What the author of this definition should know, by the limits of this server.
    fn warnings(&self, definition: &Definition) -> Vec<Fault> {
        definition::warnings(definition, self.body_bytes_max)
    }

    /// The rows of a publish: the new version, the end of all older ones, and the audit entry.
    fn publication(
        &self,
        actor: &Actor,
        state: &FlowState,
        version: VersionRow,
        action: &str,
        mut detail: Value,
        stamp: &Stamp,
    ) -> Change {
        let number = state.last_number + 1;
        let grace = grace_seconds(state);
        let before = state.current.clone();
        let (app_id, flow_id) = (state.flow.app_id, state.flow.flow_id);
        detail["number"] = json!(number);
        detail["flowVersionId"] = json!(version.flow_version_id);
        let audit = self.audit(actor, Some(app_id), action, flow_id, &detail);
        let clock = Arc::clone(&self.clock);
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
            rows.push(Write::Audit(audit));
            rows
        })
    }

    async fn published_for(
        &self,
        actor: &Actor,
        version: FlowVersionId,
    ) -> AdminResult<VersionState> {
        let found = self.version_for(actor, Scope::Write, version).await?;
        if found.version.times.published_at.is_none() {
            return Err(AdminError::conflict(
                "flow_version_not_published",
                "this is a draft: it was never published",
            ));
        }
        if found.flow.archived_at.is_some() {
            return Err(AdminError::conflict(FLOW_ARCHIVED, "this flow is archived"));
        }
        Ok(found)
    }

    async fn version_for(
        &self,
        actor: &Actor,
        scope: Scope,
        version: FlowVersionId,
    ) -> AdminResult<VersionState> {
        let found = self.store.find_version(version).await?;
        let found = found.ok_or(AdminError::NotFound(Missing::FlowVersion))?;
        actor.need_in(scope, found.flow.app_id, Missing::FlowVersion)?;
        Ok(found)
    }
}

/// The draft's definition, or every fault that prevents it from being published.
fn checked(draft: &VersionRow) -> AdminResult<Definition> {
    let value: Value = serde_json::from_str(&draft.definition).map_err(|error| {
        StoreError::Corrupt(format!("draft {}: {error}", draft.flow_version_id))
    })?;
    definition::check_new(&value).map_err(AdminError::Invalid)
}

/// Carries the instant of a publish out of the write. A conflict is decided anew with the same
/// stamp, but then the change before was never run.
#[derive(Clone, Default)]
struct Stamp(Arc<OnceLock<Timestamp>>);

impl Stamp {
    fn set(&self, now: Timestamp) {
        let _ = self.0.set(now);
    }

    fn get(&self, engine: &Engine) -> Timestamp {
        self.0.get().copied().unwrap_or_else(|| engine.now())
    }
}
