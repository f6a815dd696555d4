//! The counters of limits: between which numbers they were.

use std::collections::HashMap;

use super::index::{Index, is_open};
use crate::model::history::{Action, Did, Entry, Moment, Outcome};
use crate::model::model::Change;

/// What changes the counter of one flow.
#[derive(Default)]
struct OfFlow {
    /// Counters as they were read: from, to, value.
    read: Vec<(u64, u64, u64)>,
    /// When changes began that count again.
    resets: Vec<u64>,
    stored: Spans,
    may_be_stored: Spans,
    deleted: Spans,
    may_be_deleted: Spans,
}

/// Begins and ends, each in order.
#[derive(Default)]
struct Spans {
    begins: Vec<u64>,
    ends: Vec<u64>,
}

impl Spans {
    fn add(&mut self, entry: &Entry, end: u64) {
        self.begins.push(entry.invoked.number);
        self.ends.push(end);
    }

    fn begun(&self, before: u64) -> u64 {
        self.begins.partition_point(|it| *it < before) as u64
    }

    fn ended(&self, before: u64) -> u64 {
        self.ends.partition_point(|it| *it < before) as u64
    }
}

pub(super) struct Limits {
    flows: HashMap<usize, OfFlow>,
}

/// The least and the most that a counter may have been; `None` if that is not known.
pub(super) type Bounds = (Option<u64>, Option<u64>);

impl Limits {
    pub(super) fn new(index: &Index<'_>) -> Self {
        let mut limits = Self { flows: HashMap::new() };
        let mut audits: Vec<u64> = Vec::new();
        for (_, entry) in index.entries() {
            if entry.action == Action::Audit {
                audits.push(entry.invoked.number);
            }
        }
        audits.sort_unstable();
        for (_, entry) in index.entries() {
            limits.add(index, entry, &audits);
        }
        for flow in limits.flows.values_mut() {
            flow.read.sort_unstable();
            flow.resets.sort_unstable();
            let OfFlow { stored, may_be_stored, deleted, may_be_deleted, .. } = flow;
            for spans in [stored, may_be_stored, deleted, may_be_deleted] {
                spans.begins.sort_unstable();
                spans.ends.sort_unstable();
            }
        }
        limits
    }

    fn flow_mut(&mut self, flow: usize) -> &mut OfFlow {
        self.flows.entry(flow).or_default()
    }

    fn add(&mut self, index: &Index<'_>, entry: &Entry, audits: &[u64]) {
        let end = entry.returned.number;
        match (&entry.action, &entry.outcome) {
            (Action::Submit(sent), Outcome::Accepted { replayed: false, .. }) => {
                self.flow_mut(sent.flow).stored.add(entry, end);
                self.flow_mut(sent.flow).may_be_stored.add(entry, end);
            }
            (Action::Submit(sent), outcome) if is_open(outcome) => {
                // An audit follows when everything has ended.
                let audit = audits.iter().find(|it| **it > entry.invoked.number);
                let is_abandoned = *outcome == Outcome::Abandoned;
                let end = if is_abandoned { audit.copied().unwrap_or(u64::MAX) } else { end };
                self.flow_mut(sent.flow).may_be_stored.add(entry, end);
            }
            (Action::Delete { id }, outcome) if *outcome != Outcome::Deleted(Did::Refused) => {
                let Some(row) = index.rows.get(id) else { return };
                let flow = self.flow_mut(row.sent.flow);
                flow.may_be_deleted.add(entry, end);
                if *outcome == Outcome::Deleted(Did::Done) {
                    flow.deleted.add(entry, end);
                }
            }
            (Action::Change { flow, change }, Outcome::Changed { did, counter, .. }) => {
                if matches!(change, Change::Limit(_)) && *did != Did::Refused {
                    self.flow_mut(*flow).resets.push(entry.invoked.number);
                }
                let read = counter.map(|it| (it.from, it.to, it.value));
                self.flow_mut(*flow).read.extend(read);
            }
            (Action::Recount { flow }, outcome) => {
                self.flow_mut(*flow).resets.push(entry.invoked.number);
                if let Outcome::Changed { counter: Some(it), .. } = outcome {
                    self.flow_mut(*flow).read.push((it.from, it.to, it.value));
                }
            }
            (Action::Audit, Outcome::Audited(audit)) => {
                for (flow, audited) in audit.flows.iter().enumerate() {
                    let (from, to) = (entry.invoked.number, entry.returned.number);
                    let read = audited.counter.map(|value| (from, to, value));
                    self.flow_mut(flow).read.extend(read);
                }
            }
            _ => {}
        }
    }

    /// The counter in this span, by the last reading before it. `floor` is what the node surely
    /// knew of other nodes.
    pub(super) fn counter(&self, flow: usize, from: u64, to: u64, floor: u64) -> Bounds {
        let Some(flow) = self.flows.get(&flow) else { return (None, None) };
        let last = |before: u64| {
            let read = flow.read[..flow.read.partition_point(|it| it.0 < before)].iter();
            let found = read.rev().find(|(_, end, _)| *end < before).copied()?;
            let later = flow.resets.partition_point(|reset| *reset < found.1);
            let is_reset = flow.resets.get(later).is_some_and(|reset| *reset < to);
            (!is_reset).then_some(found)
        };
        let least = last(from).map(|(begin, end, value)| {
            let added = flow.stored.ended(from).saturating_sub(flow.stored.begun(end + 1));
            let deleted = flow.may_be_deleted.begun(to) - flow.may_be_deleted.ended(begin);
            (value + added).saturating_sub(deleted)
        });
        let most = last(floor.min(from)).map(|(begin, end, value)| {
            let added = flow.may_be_stored.begun(to) - flow.may_be_stored.ended(begin);
            let known = flow.deleted.ended(floor.min(from));
            let deleted = known.saturating_sub(flow.deleted.begun(end + 1));
            (value + added).saturating_sub(deleted)
        });
        (least, most)
    }

    /// The counter at an audit.
    pub(super) fn at(&self, flow: usize, invoked: Moment, returned: Moment) -> Bounds {
        self.counter(flow, invoked.number, returned.number, invoked.number)
    }
}
