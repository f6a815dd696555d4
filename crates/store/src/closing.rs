//! How many responses each limit of a flow has counted: rows, their changes, and the room that is
//! left for the responses of one commit.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use sluice_flow::closing::{ClosingCounts, VersionLimits};
use sluice_flow::id::{AppId, FlowId, FlowVersionId, ResponseId};
use sluice_flow::issue::Full;

use crate::NewResponse;

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
                counts.add(&limits.of_stored(&answers));
            }
        }
        counts
    }
}

/// The room in the flows of one commit.
#[derive(Debug, Default)]
pub(crate) struct Room {
    flows: HashMap<(AppId, FlowId), FlowRoom>,
}

#[derive(Debug, Default)]
struct FlowRoom {
    counts: ClosingCounts,
    is_changed: bool,
}

impl Room {
    pub(crate) fn knows(&self, response: &NewResponse) -> bool {
        self.flows.contains_key(&flow_of(response))
    }

    /// Takes note of the counts of a flow. Without counts there is no room: nothing may be stored
    /// that cannot be counted.
    pub(crate) fn note(&mut self, app: AppId, flow: FlowId, counts: Option<ClosingCounts>) {
        if counts.is_none() {
            tracing::error!(%flow, "the responses of a limited flow are not counted: `sluice recount` counts them");
        }
        let counts = counts.unwrap_or_default();
        self.flows.insert((app, flow), FlowRoom { counts, is_changed: false });
    }

    /// Which limit has no room for the response; `None` if it can be stored.
    pub(crate) fn full(&self, response: &NewResponse) -> Option<Full> {
        if response.limits.is_empty() {
            return None;
        }
        match self.flows.get(&flow_of(response)) {
            Some(flow) => flow.counts.full(&response.limits),
            None => Some(Full::Flow),
        }
    }

    /// Counts a response that is stored.
    pub(crate) fn take(&mut self, response: &NewResponse) {
        if response.limits.is_empty() {
            return;
        }
        let flow = self.flows.entry(flow_of(response)).or_default();
        flow.counts.add(&response.limits);
        flow.is_changed = true;
    }

    /// The counts to write, in no order.
    pub(crate) fn changed(self) -> impl Iterator<Item = ClosingCountsRow> {
        self.flows.into_iter().filter(|(_, flow)| flow.is_changed).map(
            |((app_id, flow_id), flow)| ClosingCountsRow { app_id, flow_id, counts: flow.counts },
        )
    }
}

fn flow_of(response: &NewResponse) -> (AppId, FlowId) {
    (response.row.app_id, response.row.flow_id)
}
