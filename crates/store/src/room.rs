//! The room that limited flows have left for the responses of one commit, as both backends use it.

use std::collections::HashMap;

use sluice_flow::closing::ClosingCounts;
use sluice_flow::id::{AppId, FlowId};
use sluice_flow::issue::Full;

use crate::{ClosingCountsRow, NewResponse};

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

    /// Records the counts of a flow. Without counts there is no room: nothing may be stored that
    /// cannot be counted.
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
