//! How many responses each limit of a flow has counted: rows, and their changes.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use sluice_flow::closing::{ClosingCounts, VersionLimits};
use sluice_flow::id::{AppId, FlowId, FlowVersionId, ResponseId};

/// The counts of a flow that limits its responses. Any other flow has no row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClosingCountsRow {
    pub app_id: AppId,
    pub flow_id: FlowId,
    pub counts: ClosingCounts,
}

/// A change to the counts of a flow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClosingWrite {
    /// The flow has other limits, or is counted again.
    Set(SetClosing),
    /// A counted response is deleted: there is room for another one.
    Release { app_id: AppId, flow_id: FlowId, counters: Vec<String> },
}

/// Sets the counters of a flow, and removes all others.
///
/// Responses after `counted_to` are counted by the store, when no response can be written any more;
/// a caller that has counted the earlier ones makes that short.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetClosing {
    pub app_id: AppId,
    pub flow_id: FlowId,
    /// The counters that stay as they are.
    pub kept: Vec<String>,
    /// The other counters, up to the response `counted_to`.
    pub counted: ClosingCounts,
    pub counted_to: Option<ResponseId>,
    /// What the other counters count, by version.
    pub limits: Vec<(FlowVersionId, VersionLimits)>,
}

impl ClosingWrite {
    pub fn app_id(&self) -> AppId {
        match self {
            Self::Set(SetClosing { app_id, .. }) | Self::Release { app_id, .. } => *app_id,
        }
    }
}

impl SetClosing {
    /// The new counts, given the stored ones; `rest` are the versions and answers of the responses
    /// after `counted_to`.
    pub(crate) fn counts(
        &self,
        stored: Option<ClosingCounts>,
        rest: impl Iterator<Item = (FlowVersionId, String)>,
    ) -> ClosingCounts {
        let mut counts = stored.unwrap_or_default();
        counts.keep(&self.kept);
        for (counter, count) in self.counted.iter() {
            counts.set(counter, count);
        }
        let limits: HashMap<_, _> = self.limits.iter().map(|(id, limits)| (*id, limits)).collect();
        for (version, answers) in rest {
            if let Some(limits) = limits.get(&version) {
                counts.add(&limits.for_stored_answers(&answers));
            }
        }
        counts
    }
}
