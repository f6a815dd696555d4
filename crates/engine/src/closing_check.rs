//! Compares the counters of limited flows with the stored responses, for [`crate::integrity`].
//!
//! A counter may be higher than the number of responses: those that were erased or have expired
//! stay counted. If it is lower, more responses could be accepted than the limit allows.

use std::collections::HashMap;

use sluice_flow::closing::{Closing, ClosingCounts, VersionLimits};
use sluice_flow::definition::Definition;
use sluice_flow::id::{FlowId, FlowVersionId};
use sluice_store::{ClosingCountsRow, FlowRow, Record, ResponseRow};

/// The limited flows, in the order of records: their settings, their responses, their counters.
#[derive(Debug, Default)]
pub(crate) struct ClosingCheck {
    flows: HashMap<FlowId, CheckedFlow>,
}

#[derive(Debug, Default)]
struct CheckedFlow {
    closing: Closing,
    limits: HashMap<FlowVersionId, VersionLimits>,
    counted: ClosingCounts,
    has_counts: bool,
}

impl ClosingCheck {
    pub(crate) fn note(&mut self, record: &Record) {
        match record {
            Record::Flow(row) if row.closing.is_some() => self.note_flow(row),
            Record::ClosingCounts(row) => {
                self.flows.entry(row.flow_id).or_default().has_counts = true;
            }
            _ => {}
        }
    }

    fn note_flow(&mut self, row: &FlowRow) {
        // Limits that cannot be read are reported where they are used.
        let closing = row.limits().unwrap_or_default();
        self.flows.insert(row.flow_id, CheckedFlow { closing, ..CheckedFlow::default() });
    }

    pub(crate) fn add(&mut self, row: &ResponseRow, definition: Option<&Definition>) {
        let Some(flow) = self.flows.get_mut(&row.flow_id) else { return };
        let CheckedFlow { closing, limits, counted, .. } = flow;
        let limits =
            limits.entry(row.flow_version_id).or_insert_with(|| closing.limits(definition));
        counted.add(&limits.for_stored_answers(&row.answers));
    }

    /// One line for each counter that is missing or too low.
    pub(crate) fn differences(&self, row: &ClosingCountsRow) -> Vec<String> {
        let Some(flow) = self.flows.get(&row.flow_id) else { return Vec::new() };
        let wrong = flow.closing.counters().filter_map(|counter| {
            let (is, stored) = (row.counts.get(counter), flow.counted.get(counter));
            let of = if counter.is_empty() { String::new() } else { format!("quota {counter}: ") };
            match row.counts.has(counter) {
                false => Some(format!("{of}its responses are not counted")),
                true if is < stored => {
                    Some(format!("{of}{is} responses are counted, {stored} stored"))
                }
                true => None,
            }
        });
        wrong.collect()
    }

    /// The limited flows without counters.
    pub(crate) fn without_counts(&self) -> Vec<FlowId> {
        let is_missing = |flow: &CheckedFlow| !flow.has_counts && !flow.closing.is_empty();
        self.flows.iter().filter(|(_, flow)| is_missing(flow)).map(|(id, _)| *id).collect()
    }
}
