//! When a response may be gone, and when it must be.

use std::collections::HashSet;

use sluice_flow::id::ResponseId;

use super::index::{Erase, Index, Row, is_open};
use super::{Fault, Rule};
use crate::model::history::{Action, Did, Moment, Outcome, Sent};

const DAY_MILLIS: i64 = 24 * 60 * 60 * 1_000;

impl Index<'_> {
    /// Whether anything that began before this moment may have removed it.
    pub(super) fn may_be_gone(&self, row: &Row<'_>, until: Moment) -> bool {
        self.may_be_gone_without(row, until, None)
    }

    /// The same, apart from one deletion.
    fn may_be_gone_without(&self, row: &Row<'_>, until: Moment, apart: Option<usize>) -> bool {
        let deleted = self.deletes_of(row.id).any(|(at, invoked, _, did)| {
            Some(at) != apart && did != Did::Refused && invoked < until.number
        });
        let erased = self
            .erases_of(row)
            .any(|it| it.delete && it.invoked < until.number && it.returned > row.from.number);
        deleted || erased || self.may_have_expired(row, until)
    }

    /// Whether an erasure that began before this moment may have deleted or unlinked it.
    pub(super) fn may_be_erased(&self, row: &Row<'_>, until: Moment) -> bool {
        let is_about_it = |it: &Erase| it.invoked < until.number && it.returned > row.from.number;
        self.erases_of(row).any(is_about_it)
    }

    /// Whether it was too old at some time before this moment. Nodes remove such responses at any
    /// time, and their keys with them.
    pub(super) fn may_have_expired(&self, row: &Row<'_>, until: Moment) -> bool {
        self.may_be_too_old(row.sent.app, row.time(), until)
    }

    fn may_be_too_old(&self, app: usize, time: i64, until: Moment) -> bool {
        let retentions = &self.retentions[app];
        (0..retentions.len()).any(|at| {
            let Some(days) = retentions[at].days else { return false };
            let ended = retentions.get(at + 1).map_or(until, |next| next.returned.min(until));
            let is_before = retentions[at].invoked.number < until.number;
            is_before && time < ended.millis.saturating_sub(i64::from(days) * DAY_MILLIS)
        })
    }

    /// The contents of submissions to a flow, begun before this number, that may have been stored
    /// although no read or audit shows them: their outcome is unknown, and they may have been
    /// removed before anybody looked.
    pub(super) fn unseen(&self, flow: usize, before: u64) -> HashSet<&str> {
        let returned = self.entries().map(|(_, entry)| entry.returned);
        let never = Moment { number: 0, millis: i64::MIN };
        let end = returned.filter(|it| it.number != u64::MAX).max().unwrap_or(never);
        let is_known = |sent: &Sent| {
            let is_same = |row: &Row<'_>| {
                let of_key = sent.key.is_some() && row.sent.key == sent.key;
                row.sent.content == sent.content || (of_key && row.sent.app == sent.app)
            };
            self.rows.values().any(is_same)
        };
        let may_be_removed = |sent: &Sent, invoked: Moment| {
            let person = sent.person.and_then(|person| self.erases.get(&(sent.app, person)));
            let mut erases = person.into_iter().flatten();
            erases.any(|it| it.delete && it.returned > invoked.number)
                || self.may_be_too_old(sent.app, invoked.millis, end)
        };
        let open = self.attempts().filter(|(_, entry, sent)| {
            is_open(&entry.outcome) && sent.flow == flow && entry.invoked.number < before
        });
        let unseen = open.filter(|(_, entry, sent)| {
            !sent.invalid && !is_known(sent) && may_be_removed(sent, entry.invoked)
        });
        unseen.map(|(_, _, sent)| sent.content.as_str()).collect()
    }

    /// What removed it for certain before this number, if anything did.
    pub(super) fn must_be_gone(&self, row: &Row<'_>, at: u64) -> Option<usize> {
        let deleted = self
            .deletes_of(row.id)
            .find(|(_, _, returned, did)| *did == Did::Done && *returned < at)
            .map(|(at, ..)| at);
        deleted.or_else(|| self.must_be_erased(row, at, true)).or_else(|| self.expired(row, at))
    }

    /// The erasure that has surely unlinked it before this number; or deleted it.
    pub(super) fn must_be_erased(&self, row: &Row<'_>, at: u64, delete: bool) -> Option<usize> {
        let is_alone = |erase: &Erase| {
            self.erases_of(row).all(|other| {
                other.entry == erase.entry
                    || other.returned <= row.from.number
                    || other.invoked >= erase.returned
            })
        };
        let mut all = self.erases_of(row);
        let found = all.find(|it| {
            it.done
                && (it.delete || !delete)
                && it.invoked > row.known
                && it.returned < at
                && is_alone(it)
        });
        found.map(|it| it.entry)
    }

    fn expired(&self, row: &Row<'_>, at: u64) -> Option<usize> {
        let retentions = &self.retentions[row.sent.app];
        self.expiries.iter().copied().find(|expiry| {
            let entry = self.entry(*expiry);
            let (invoked, returned) = (entry.invoked, entry.returned.number);
            if entry.outcome != (Outcome::Expired { complete: true })
                || returned >= at
                || row.known > invoked.number
            {
                return false;
            }
            let current = retentions.iter().rposition(|it| it.returned.number < invoked.number);
            let Some(current) = current else { return false };
            let next = retentions.get(current + 1);
            let is_settled = next.is_none_or(|next| next.invoked.number > returned);
            let Some(days) = retentions[current].days.filter(|_| is_settled) else { return false };
            row.time() < invoked.millis - i64::from(days) * DAY_MILLIS
        })
    }

    pub(super) fn erases_of(&self, row: &Row<'_>) -> impl Iterator<Item = &Erase> {
        let of = row.sent.person.and_then(|person| self.erases.get(&(row.sent.app, person)));
        of.into_iter().flatten()
    }

    /// Its deletions: where, from, to, and what they did.
    fn deletes_of(&self, id: ResponseId) -> impl Iterator<Item = (usize, u64, u64, Did)> {
        self.deletes.get(&id).into_iter().flatten().map(move |at| {
            let entry = self.entry(*at);
            let Outcome::Deleted(did) = entry.outcome else {
                return (*at, entry.invoked.number, entry.returned.number, Did::Unknown);
            };
            (*at, entry.invoked.number, entry.returned.number, did)
        })
    }
}

/// Deletions and erasures that found nothing although there was something, or the reverse.
pub(super) fn check(index: &Index<'_>, faults: &mut Vec<Fault>) {
    for (id, deletes) in &index.deletes {
        let done = |at: &&usize| index.entry(**at).outcome == Outcome::Deleted(Did::Done);
        let done: Vec<usize> = deletes.iter().filter(done).copied().collect();
        if done.len() > 1 {
            let detail = format!("{id} was deleted {} times", done.len());
            faults.push(Fault { rule: Rule::DeletedTwice, detail, about: done });
        }
        let Some(row) = index.rows.get(id) else { continue };
        for at in deletes {
            let entry = index.entry(*at);
            let found_nothing = entry.outcome == Outcome::Deleted(Did::Refused);
            if found_nothing
                && row.known < entry.invoked.number
                && !index.may_be_gone_without(row, entry.returned, Some(*at))
            {
                let detail = format!("{id} was not there to be deleted");
                faults.push(Fault { rule: Rule::Lost, detail, about: vec![row.entry, *at] });
            }
            let gone = index.must_be_gone(row, entry.invoked.number);
            if let Some(gone) = gone.filter(|_| entry.outcome == Outcome::Deleted(Did::Done)) {
                let detail = format!("{id} was deleted although it was gone");
                let about = vec![row.entry, gone, *at];
                faults.push(Fault { rule: Rule::Resurrected, detail, about });
            }
        }
    }
    for (at, entry) in index.entries() {
        if let Action::Move = entry.action
            && entry.outcome != (Outcome::Moved { differences: 0 })
        {
            let detail = format!("the copy is not the same: {:?}", entry.outcome);
            faults.push(Fault { rule: Rule::MoveDiffers, detail, about: vec![at] });
        }
    }
    missed_erasures(index, faults);
}

/// Erasures of a person that found no profile although a response is linked to it.
fn missed_erasures(index: &Index<'_>, faults: &mut Vec<Fault>) {
    let missed: Vec<_> = index
        .entries()
        .filter_map(|(at, entry)| match (&entry.action, &entry.outcome) {
            (Action::Erase { app, person, .. }, Outcome::NoRespondent) => {
                Some((at, entry, *app, *person))
            }
            _ => None,
        })
        .collect();
    for (at, entry, app, person) in missed {
        let linked = index.rows.values().find(|row| {
            row.sent.app == app
                && row.sent.person == Some(person)
                && row.known < entry.invoked.number
                && !index.may_be_gone(row, entry.returned)
                && index.erases_of(row).all(|other| {
                    other.returned <= row.from.number || other.invoked >= entry.returned.number
                })
        });
        if let Some(row) = linked {
            let detail = format!("{} is linked to person {person}, who was not found", row.id);
            let about = vec![row.entry, at];
            faults.push(Fault { rule: Rule::RespondentNotFound, detail, about });
        }
    }
}
