//! Accepted only while the settings allowed it, and refused only while they did not.

use super::index::{Index, State};
use super::limits::Limits;
use super::{Fault, Rule};
use crate::model::history::{Action, Entry, Outcome, Sent};
use crate::model::model::Verdict;

const KEY_REUSED: &str = "idempotency_key_reused";
/// The answers of an invalid submission are refused with this.
const INVALID: &str = "out_of_range";

pub(super) fn check(index: &Index<'_>, faults: &mut Vec<Fault>) {
    let limits = Limits::new(index);
    for (at, entry, sent) in index.attempts() {
        match &entry.outcome {
            Outcome::Accepted { id, replayed: false } => {
                let time = id.made_at().as_millis();
                let from = (entry.invoked.number, entry.invoked.millis);
                let to = (entry.returned.number, entry.returned.millis);
                accepted(index, &limits, at, sent, time, (from, to), faults);
            }
            Outcome::Refused(code) if code != KEY_REUSED => {
                refused(index, &limits, (at, entry), sent, code, faults);
            }
            _ => {}
        }
    }
    unknown(index, &limits, faults);
    counters(index, &limits, faults);
}

/// Responses that are known only from a read are legal, too.
fn unknown(index: &Index<'_>, limits: &Limits, faults: &mut Vec<Fault>) {
    for row in index.rows.values() {
        let first = index.entry(row.entry);
        if matches!(first.outcome, Outcome::Accepted { replayed: false, .. }) {
            continue;
        }
        let from = (row.from.number, row.from.millis);
        let to = (row.known, i64::MAX);
        accepted(index, limits, row.entry, row.sent, row.time(), (from, to), faults);
    }
}

type Span = ((u64, i64), (u64, i64));

fn accepted(
    index: &Index<'_>,
    limits: &Limits,
    at: usize,
    sent: &Sent,
    time: i64,
    (from, to): Span,
    faults: &mut Vec<Fault>,
) {
    let mut illegal = |detail: String, about: Vec<usize>| {
        let about = about.into_iter().chain([at]).collect();
        faults.push(Fault { rule: Rule::IllegallyAccepted, detail, about });
    };
    if sent.invalid {
        return illegal(format!("{} has an invalid answer", sent.content), Vec::new());
    }
    if time < from.1 || time > to.1 {
        let detail = format!("{} was received at {time}, outside of its call", sent.content);
        return illegal(detail, Vec::new());
    }
    let (least, _) = limits.counter(sent.flow, from.0, to.0, from.0);
    let has_room = |state: &State<'_>| {
        state.config.limit.zip(least).is_none_or(|(limit, least)| least < u64::from(limit))
    };
    let states = &index.states[sent.flow];
    let mut considered = Vec::new();
    for (number, state) in states.iter().enumerate() {
        let next = states.get(number + 1);
        let is_over = next.and_then(|it| it.change).is_some_and(|it| it.1.returned.number < from.0);
        if state.begin() > to.0 || is_over {
            continue;
        }
        considered.extend(state.change.map(|(at, ..)| at));
        // The settings carry the time at which they changed; every response from before is older.
        let is_before = state.time.is_some_and(|changed| time < changed);
        let is_after = next.and_then(|it| it.time).is_some_and(|changed| time >= changed);
        let is_open = state.config.verdict(sent.version, time) == Verdict::Open;
        if is_open && !is_before && !is_after && has_room(state) {
            return;
        }
    }
    let detail = format!(
        "{} was accepted at {time} although no settings in that span allowed it; the counter \
         was at least {least:?}",
        sent.content
    );
    illegal(detail, considered);
}

fn refused(
    index: &Index<'_>,
    limits: &Limits,
    (at, entry): (usize, &Entry),
    sent: &Sent,
    code: &str,
    faults: &mut Vec<Fault>,
) {
    let (invoked, returned) = (entry.invoked, entry.returned);
    let floor = index.floor(entry.engine, invoked.number);
    let (_, most) = limits.counter(sent.flow, invoked.number, returned.number, floor);
    let may_be_full = |state: &State<'_>| {
        state.config.limit.is_some_and(|limit| most.is_none_or(|most| most >= u64::from(limit)))
    };
    let states = &index.states[sent.flow];
    let mut considered = Vec::new();
    for (number, state) in states.iter().enumerate() {
        let is_over = states.get(number + 1).is_some_and(|next| {
            let is_own =
                next.is_certain && next.change.is_some_and(|it| it.1.engine == entry.engine);
            let known = if is_own { invoked.number } else { floor };
            next.change.is_some_and(|(_, change, _)| change.returned.number < known)
        });
        if state.begin() > returned.number || is_over {
            continue;
        }
        considered.extend(state.change.map(|(at, ..)| at));
        let edges = state.config.edges(sent.version).flat_map(|edge| [edge - 1, edge]);
        let within = edges.filter(|time| (invoked.millis..=returned.millis).contains(time));
        let explains = [invoked.millis, returned.millis].into_iter().chain(within).any(|time| {
            let verdict = state.config.verdict(sent.version, time);
            let is_full = verdict == Verdict::Open && may_be_full(state);
            let is_invalid = verdict == Verdict::Open && sent.invalid && code == INVALID;
            verdict.code() == Some(code)
                || is_invalid
                || (is_full && Some(code) == Verdict::NoLonger.code())
        });
        if explains {
            return;
        }
    }
    let detail = format!(
        "{} was refused as {code} although all settings in that span allowed it; the counter \
         was at most {most:?}",
        sent.content
    );
    let about = considered.into_iter().chain([at]).collect();
    faults.push(Fault { rule: Rule::IllegallyRefused, detail, about });
}

/// The counters of limits at quiet points.
fn counters(index: &Index<'_>, limits: &Limits, faults: &mut Vec<Fault>) {
    for (at, entry) in index.entries() {
        let (Action::Audit, Outcome::Audited(audit)) = (&entry.action, &entry.outcome) else {
            continue;
        };
        for (flow, audited) in audit.flows.iter().enumerate() {
            if audited.config.limit.is_none() {
                continue;
            }
            let (least, most) = limits.at(flow, entry.invoked, entry.returned);
            let is_right = audited.counter.is_some_and(|counter| {
                least.is_none_or(|least| least <= counter)
                    && most.is_none_or(|most| counter <= most)
            });
            if !is_right {
                let counter = audited.counter;
                let detail =
                    format!("flow {flow}: {counter:?}, not between {least:?} and {most:?}");
                faults.push(Fault { rule: Rule::WrongCounter, detail, about: vec![at] });
            }
        }
    }
}
