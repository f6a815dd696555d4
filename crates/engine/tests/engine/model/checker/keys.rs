//! One key, one response; and a retry gets the first answer.

use super::index::{Index, is_open};
use super::{Fault, Rule};
use crate::model::history::{Action, Entry, Outcome, Sent};

const KEY_REUSED: &str = "idempotency_key_reused";

pub(super) fn check(index: &Index<'_>, faults: &mut Vec<Fault>) {
    for attempts in index.by_key.values() {
        doubled(index, attempts, faults);
        for at in attempts {
            let others: Vec<usize> = attempts.iter().copied().filter(|it| it != at).collect();
            if let Some((rule, detail)) = fault(index, *at, &others) {
                faults.push(Fault { rule, detail, about: attempts.clone() });
            }
        }
    }
}

/// Several responses of one key: an expired one makes room for another, nothing else does.
fn doubled(index: &Index<'_>, attempts: &[usize], faults: &mut Vec<Fault>) {
    let mut ids: Vec<_> = attempts
        .iter()
        .filter_map(|at| match index.entry(*at).outcome {
            Outcome::Accepted { id, replayed } => Some((id, replayed, index.entry(*at).returned)),
            _ => None,
        })
        .collect();
    ids.sort_by_key(|(id, ..)| *id);
    for pair in ids.windows(2) {
        let ((first, once, _), (second, again, returned)) = (pair[0], pair[1]);
        let is_one = first == second && (once || again);
        let made_room = || {
            let row = index.rows.get(&first);
            first != second && row.is_some_and(|row| index.may_have_expired(row, returned))
        };
        if !is_one && !made_room() {
            let detail = format!("one key has the responses {first} and {second}");
            faults.push(Fault { rule: Rule::Doubled, detail, about: attempts.to_vec() });
        }
    }
}

fn fault(index: &Index<'_>, at: usize, others: &[usize]) -> Option<(Rule, String)> {
    let (entry, sent) = attempt(index, at)?;
    let others = others.iter().filter_map(|other| attempt(index, *other));
    let earlier: Vec<_> = others.filter(|(other, _)| other.invoked < entry.returned).collect();
    match &entry.outcome {
        Outcome::Accepted { id, replayed: true } => {
            let row = index.rows.get(id);
            let Some(row) = row.filter(|row| row.from < entry.returned) else {
                return Some((Rule::WronglyReplayed, format!("{id} was never stored")));
            };
            // The content of a removed response is forgotten; only the use of its key is known.
            let is_other = sent.content != row.sent.content;
            let may_be_this = earlier
                .iter()
                .any(|(other, of)| of.content == sent.content && is_open(&other.outcome));
            let detail = || format!("{} was accepted as a retry of {id}", sent.content);
            let may_be_erased =
                index.may_be_erased(row, entry.returned) || index.may_be_gone(row, entry.returned);
            let is_wrong = is_other && !may_be_this && !may_be_erased;
            is_wrong.then(|| (Rule::WronglyReplayed, detail()))
        }
        Outcome::Refused(code) if code == KEY_REUSED => {
            let is_used = earlier.iter().any(|(other, of)| {
                let may_be = matches!(other.outcome, Outcome::Accepted { .. });
                (may_be || is_open(&other.outcome)) && of.content != sent.content
            });
            let detail = || format!("{}: its key was not used by another", sent.content);
            (!is_used).then(|| (Rule::IllegallyRefused, detail()))
        }
        Outcome::Refused(code) => {
            let stored = earlier.iter().find_map(|(other, _)| {
                let Outcome::Accepted { id, .. } = other.outcome else { return None };
                let row = index.rows.get(&id)?;
                let is_certain = other.returned < entry.invoked;
                (is_certain && !index.may_have_expired(row, entry.returned)).then_some(id)
            })?;
            let detail = format!("{} is a retry of {stored}, refused as {code}", sent.content);
            Some((Rule::IllegallyRefused, detail))
        }
        _ => None,
    }
}

fn attempt<'h>(index: &Index<'h>, at: usize) -> Option<(&'h Entry, &'h Sent)> {
    match &index.entry(at).action {
        Action::Submit(sent) => Some((index.entry(at), sent)),
        _ => None,
    }
}
