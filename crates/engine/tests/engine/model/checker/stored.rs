//! What reads and audits show: everything acknowledged, once, as sent, and nothing that is gone.

use std::collections::{HashMap, HashSet};

use super::index::{Index, Row, is_open};
use super::{Fault, Rule};
use crate::model::history::{Action, Audit, Entry, Outcome, Seen};

pub(super) fn check(index: &Index<'_>, faults: &mut Vec<Fault>) {
    for (at, entry) in index.entries() {
        match (&entry.action, &entry.outcome) {
            (_, Outcome::Present(seen)) => shown(index, at, entry, seen, faults),
            (Action::Read { id }, Outcome::Absent) => {
                let Some(row) = index.rows.get(id) else { continue };
                let is_stored = row.known < entry.invoked.number;
                if is_stored && !index.may_be_gone(row, entry.returned) {
                    let detail = format!("{id} ({}) is not there", row.sent.content);
                    faults.push(Fault { rule: Rule::Lost, detail, about: vec![row.entry, at] });
                }
            }
            (Action::Count { flow }, Outcome::Counted(counted)) => {
                count(index, at, entry, *flow, *counted, faults);
            }
            (Action::Count { flow }, Outcome::CountedSoFar(counted)) => {
                count_so_far(index, at, entry, *flow, *counted, faults);
            }
            (_, Outcome::Audited(audit)) => audited(index, at, entry, audit, faults),
            _ => {}
        }
    }
}

/// A response that was seen is one that may be there, and is as it was sent.
fn shown(index: &Index<'_>, at: usize, entry: &Entry, seen: &Seen, faults: &mut Vec<Fault>) {
    // Others were reported when the index was made.
    let Some(row) = index.rows.get(&seen.id) else { return };
    let mut fault = |rule, detail: String, other: Option<usize>| {
        let about = other.into_iter().chain([row.entry, at]).collect();
        faults.push(Fault { rule, detail, about });
    };
    let id = seen.id;
    let sent = row.sent;
    let is_as_sent = seen.intact
        && seen.content == sent.content
        && seen.version == sent.version
        && seen.flow == sent.flow;
    if !is_as_sent && !is_other_attempt(index, row, seen) {
        fault(Rule::Altered, format!("{id}: {seen:?} was sent as {sent:?}"), None);
    }
    if let Some(gone) = index.must_be_gone(row, entry.invoked.number) {
        let detail = format!("{id} ({}) is there again, or still", sent.content);
        fault(Rule::Resurrected, detail, Some(gone));
        return;
    }
    let erased = index.must_be_erased(row, entry.invoked.number, false);
    if seen.linked && (sent.person.is_none() || erased.is_some()) {
        fault(Rule::StillLinked, format!("{id} is linked to a person"), erased);
    }
    let may_be_unlinked = index.may_be_erased(row, entry.returned);
    if !seen.linked && sent.person.is_some() && !may_be_unlinked {
        fault(Rule::Altered, format!("{id} is no longer linked to its person"), None);
    }
}

/// If nobody knows which attempt with the key was stored, it may be any whose outcome is unknown.
fn is_other_attempt(index: &Index<'_>, row: &Row<'_>, seen: &Seen) -> bool {
    let first = &index.entry(row.entry).outcome;
    let is_certain = matches!(first, Outcome::Accepted { replayed: false, .. });
    let attempts = index.by_content.get(seen.content.as_str()).into_iter().flatten();
    let mut unknown = attempts.map(|at| index.entry(*at)).filter(|it| is_open(&it.outcome));
    let may_be = unknown.any(|entry| match &entry.action {
        Action::Submit(sent) => sent.key == row.sent.key && sent.version == seen.version,
        _ => false,
    });
    seen.intact && !is_certain && may_be
}

/// A count while others write: between what is surely there and what may be.
fn count(
    index: &Index<'_>,
    at: usize,
    entry: &Entry,
    flow: usize,
    counted: u64,
    faults: &mut Vec<Fault>,
) {
    let (least, most) = bounds(index, entry, flow);
    if !(least..=most).contains(&counted) {
        let detail = format!("flow {flow}: {counted} are counted, not {least} to {most}");
        faults.push(Fault { rule: Rule::WrongCount, detail, about: vec![at] });
    }
}

/// While responses are still being counted, no more than there may be.
fn count_so_far(
    index: &Index<'_>,
    at: usize,
    entry: &Entry,
    flow: usize,
    counted: u64,
    faults: &mut Vec<Fault>,
) {
    let (_, most) = bounds(index, entry, flow);
    if counted > most {
        let detail = format!("flow {flow}: {counted} are counted so far, at most {most} are there");
        faults.push(Fault { rule: Rule::WrongCount, detail, about: vec![at] });
    }
}

/// How many responses of a flow are surely there, and how many may be.
fn bounds(index: &Index<'_>, entry: &Entry, flow: usize) -> (u64, u64) {
    let (mut least, mut most) = (0, 0);
    for row in index.rows.values().filter(|row| row.sent.flow == flow) {
        let is_stored = row.known < entry.invoked.number;
        least += u64::from(is_stored && !index.may_be_gone(row, entry.returned));
        let may_be_stored = row.from < entry.returned;
        let is_gone = || index.must_be_gone(row, entry.invoked.number).is_some();
        most += u64::from(may_be_stored && !is_gone());
    }
    most += index.unseen(flow, entry.returned.number).len() as u64;
    (least, most)
}

fn audited(index: &Index<'_>, at: usize, entry: &Entry, audit: &Audit, faults: &mut Vec<Fault>) {
    for damaged in &audit.damaged {
        let detail = damaged.clone();
        faults.push(Fault { rule: Rule::Damaged, detail, about: vec![at] });
    }
    let mut there = HashSet::new();
    for (flow, audited) in audit.flows.iter().enumerate() {
        let mut contents: HashMap<&str, &Seen> = HashMap::new();
        for seen in &audited.rows {
            there.insert(seen.id);
            shown(index, at, entry, seen, faults);
            if let Some(other) = contents.insert(&seen.content, seen) {
                let detail = format!("{} is {} and {}", seen.content, other.id, seen.id);
                let attempts = index.by_content.get(seen.content.as_str());
                let about = attempts.into_iter().flatten().copied().chain([at]).collect();
                faults.push(Fault { rule: Rule::Doubled, detail, about });
            }
        }
        let stored = audited.rows.len() as u64;
        let counts = [audited.counted, audited.recounted, audited.counted_again];
        if counts.iter().any(|count| *count != stored) {
            let detail = format!("flow {flow}: {stored} are stored, {counts:?} are counted");
            faults.push(Fault { rule: Rule::WrongCount, detail, about: vec![at] });
        }
    }
    for row in index.rows.values() {
        let is_stored = row.known < entry.invoked.number;
        if is_stored && !there.contains(&row.id) && !index.may_be_gone(row, entry.returned) {
            let detail = format!("{} ({}) is not there", row.id, row.sent.content);
            faults.push(Fault { rule: Rule::Lost, detail, about: vec![row.entry, at] });
        }
    }
}
