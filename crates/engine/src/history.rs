//! The versions of a flow, with the name of the publisher of each.
//!
//! Only the audit log records the publisher, and it has no index by flow. But the audit entry of a
//! publish is written together with the version, and its id contains its time: so it is among the
//! few entries before that time. If an app changes so fast that it is not, the publisher is
//! unknown.

use std::sync::Arc;

use serde::Deserialize;
use sluice_flow::definition::Definition;
use sluice_flow::id::{AuditId, FlowVersionId, v7};
use sluice_flow::lifecycle::{Accepting, accepting};
use sluice_flow::time::Timestamp;
use sluice_store::{AuditRow, Scope, VersionRow};

use crate::admin::AdminResult;
use crate::audit::actor_names;
use crate::audit_action::AuditAction;
use crate::boxed;
use crate::core::Core;
use crate::handle::FlowHandle;

/// The number of audit log entries that are searched for one version.
const ENTRIES_MAX: usize = 30;

/// A published version, its current status, and how it was published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryEntry {
    pub version: VersionRow,
    pub accepting: Accepting,
    /// The name of the user or token.
    pub published_by: Option<String>,
    /// The version that was republished as this one.
    pub republished_from: Option<FlowVersionId>,
}

/// The detail of a publish entry in the audit log.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Detail {
    flow_version_id: FlowVersionId,
    republished_from: Option<FlowVersionId>,
}

impl FlowHandle {
    /// The definition of a version of this flow, if it can be read.
    pub fn definition(&self, version: &VersionRow) -> Option<Arc<Definition>> {
        self.permit.core(Scope::Read).ok()?.definitions.readable(version)
    }

    /// The published versions of a flow, newest first; below a version number, if one is given.
    #[boxed]
    pub async fn history(
        &self,
        before: Option<u32>,
        limit: usize,
    ) -> AdminResult<Vec<HistoryEntry>> {
        let core = self.permit.core(Scope::Read)?;
        let versions =
            core.store.list_versions(self.app_id(), self.flow_id(), before, limit).await?;
        let (times, now) = (self.flow.times(), core.now());
        let published = self.publishes(core, &versions).await?;
        let names = actor_names(core, published.iter().map(|row| row.actor.as_str())).await?;
        let published: Vec<(AuditRow, String)> = published.into_iter().zip(names).collect();
        let entry = |version: VersionRow| {
            let found = published.iter().find_map(|(row, who)| {
                let detail = detail_of(row)?;
                (detail.flow_version_id == version.flow_version_id).then_some((who, detail))
            });
            HistoryEntry {
                accepting: accepting(&version.times, &times, now),
                published_by: found.as_ref().map(|(who, _)| (*who).clone()),
                republished_from: found.and_then(|(_, detail)| detail.republished_from),
                version,
            }
        };
        Ok(versions.into_iter().map(entry).collect())
    }

    /// The audit log entries in which these versions were published, all in one read.
    async fn publishes(&self, core: &Core, versions: &[VersionRow]) -> AdminResult<Vec<AuditRow>> {
        let just_after = |at: Timestamp| AuditId::from_uuid(v7(at.plus_seconds(1), 0, 0));
        let times = versions.iter().filter_map(|version| version.times.published_at);
        let ids: Vec<AuditId> = times.map(just_after).collect();
        let mut entries = core.store.list_audit_before(self.app_id(), &ids, ENTRIES_MAX).await?;
        let flow = self.flow_id().to_string();
        entries.retain(|entry| entry.subject == flow && detail_of(entry).is_some());
        Ok(entries)
    }
}

/// The detail of an entry, if it is a publish entry.
fn detail_of(entry: &AuditRow) -> Option<Detail> {
    let action = AuditAction::from_name(&entry.action);
    let is_publish =
        matches!(action, Some(AuditAction::FlowPublished | AuditAction::FlowRepublished));
    is_publish.then(|| serde_json::from_str(&entry.detail).ok()).flatten()
}
