//! The versions of a flow with who published them, for those who look back.
//!
//! Who it was is in the audit log alone, which has no index by flow. But the entry of a publish is made in the
//! same breath as the version, and its id tells its time: so a look at the few entries before that instant finds
//! it. Where an app is changed so quickly that it does not, nobody is named.

use serde::Deserialize;
use sluice_flow::id::{AuditId, FlowId, FlowVersionId, v7};
use sluice_flow::lifecycle::{Accepting, accepting};
use sluice_store::{AuditQuery, AuditRow, Scope, VersionRow};

use crate::actor::Actor;
use crate::admin::AdminResult;
use crate::engine::Engine;

/// Entries of the audit log that are looked at for one version.
const ENTRIES_MAX: usize = 30;

/// A published version, what it is now, and how it came about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryEntry {
    pub version: VersionRow,
    pub accepting: Accepting,
    /// The actor, as the audit log names it.
    pub published_by: Option<String>,
    /// The version that it is a copy of.
    pub republished_from: Option<FlowVersionId>,
}

/// The particulars of a publish in the audit log.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Detail {
    flow_version_id: FlowVersionId,
    republished_from: Option<FlowVersionId>,
}

impl Engine {
    /// The published versions of a flow, newest first, from below a number where one is given.
    pub async fn history(
        &self,
        actor: &Actor,
        flow: FlowId,
        before: Option<u32>,
        limit: usize,
    ) -> AdminResult<Vec<HistoryEntry>> {
        let state = self.flow_for(actor, Scope::Read, flow).await?;
        let app = state.flow.app_id;
        let versions = self.store.list_versions(app, flow, before, limit).await?;
        let (times, now) = (state.flow.times(), self.now());
        let mut entries = Vec::with_capacity(versions.len());
        for version in versions {
            let (published_by, republished_from) = self.publisher_of(&version).await?;
            let accepting = accepting(&version.times, &times, now);
            entries.push(HistoryEntry { version, accepting, published_by, republished_from });
        }
        Ok(entries)
    }

    async fn publisher_of(
        &self,
        version: &VersionRow,
    ) -> AdminResult<(Option<String>, Option<FlowVersionId>)> {
        let Some(at) = version.times.published_at else { return Ok((None, None)) };
        let after = AuditId::from_uuid(v7(at.plus_seconds(1), 0, 0));
        let query =
            AuditQuery { app_id: Some(version.app_id), after: Some(after), limit: ENTRIES_MAX };
        let entries = self.store.list_audit(&query).await?;
        let of_version = |entry: &AuditRow| -> Option<(String, Option<FlowVersionId>)> {
            if !matches!(entry.action.as_str(), "flow.published" | "flow.republished") {
                return None;
            }
            let detail: Detail = serde_json::from_str(&entry.detail).ok()?;
            let is_it = detail.flow_version_id == version.flow_version_id;
            is_it.then(|| (entry.actor.clone(), detail.republished_from))
        };
        let found = entries.iter().find_map(of_version);
        Ok(found.map_or((None, None), |(actor, from)| (Some(actor), from)))
    }
}
