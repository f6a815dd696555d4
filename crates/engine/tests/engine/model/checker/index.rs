//! A history by what it is about: responses, keys, settings, removals.

use std::collections::{BTreeMap, HashMap};

use sluice_flow::id::ResponseId;

use super::{Fault, Rule};
use crate::model::history::{Action, Did, Entry, History, Moment, Outcome, Seen, Sent};
use crate::model::model::{Change, FlowConfig};

pub(super) struct Index<'h> {
    pub(super) history: &'h History,
    pub(super) rows: HashMap<ResponseId, Row<'h>>,
    /// Attempts by content, in the order of their begin.
    pub(super) by_content: HashMap<&'h str, Vec<usize>>,
    /// Attempts by app and key, in the order of their begin.
    pub(super) by_key: BTreeMap<(usize, &'h str), Vec<usize>>,
    /// By flow.
    pub(super) states: Vec<Vec<State<'h>>>,
    pub(super) deletes: HashMap<ResponseId, Vec<usize>>,
    pub(super) erases: HashMap<(usize, u8), Vec<Erase>>,
    /// By app.
    pub(super) retentions: Vec<Vec<Retention>>,
    pub(super) expiries: Vec<usize>,
    feeds: HashMap<u32, Vec<u64>>,
    pub(super) faults: Vec<Fault>,
}

/// A response that was stored at some time.
pub(super) struct Row<'h> {
    pub(super) id: ResponseId,
    pub(super) sent: &'h Sent,
    /// It was not stored before this.
    pub(super) from: Moment,
    /// It was stored before this number.
    pub(super) known: u64,
    /// The first entry that names it.
    pub(super) entry: usize,
}

impl Row<'_> {
    pub(super) fn time(&self) -> i64 {
        self.id.made_at().as_millis()
    }
}

/// Settings of a flow, from the change that made them.
pub(super) struct State<'h> {
    pub(super) config: &'h FlowConfig,
    pub(super) change: Option<(usize, &'h Entry, Change)>,
    /// Whether the change is certain: then its own node knows it when it has returned.
    pub(super) is_certain: bool,
    /// The moment of the change, if the settings have it.
    pub(super) time: Option<i64>,
}

impl State<'_> {
    pub(super) fn begin(&self) -> u64 {
        self.change.map_or(0, |(_, entry, _)| entry.invoked.number)
    }
}

pub(super) struct Erase {
    pub(super) entry: usize,
    pub(super) invoked: u64,
    /// It has no effect after this.
    pub(super) returned: u64,
    pub(super) delete: bool,
    pub(super) done: bool,
}

/// How long an app keeps responses, from a change on.
pub(super) struct Retention {
    pub(super) days: Option<u32>,
    pub(super) invoked: Moment,
    pub(super) returned: Moment,
}

impl<'h> Index<'h> {
    pub(super) fn new(history: &'h History) -> Self {
        let mut index = Self {
            history,
            rows: HashMap::new(),
            by_content: HashMap::new(),
            by_key: BTreeMap::new(),
            states: Vec::new(),
            deletes: HashMap::new(),
            erases: HashMap::new(),
            retentions: Vec::new(),
            expiries: Vec::new(),
            feeds: HashMap::new(),
            faults: Vec::new(),
        };
        index.add_attempts();
        index.add_accepted();
        index.add_seen();
        index.add_states();
        index.add_removals();
        for (engine, began) in &history.feed_reads {
            index.feeds.entry(*engine).or_default().push(*began);
        }
        index.feeds.values_mut().for_each(|reads| reads.sort_unstable());
        index
    }

    pub(super) fn entry(&self, at: usize) -> &'h Entry {
        &self.history.entries[at]
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = (usize, &'h Entry)> + use<'h> {
        self.history.entries.iter().enumerate()
    }

    /// The submissions with their place in the history.
    pub(super) fn attempts(&self) -> impl Iterator<Item = (usize, &'h Entry, &'h Sent)> + use<'h> {
        self.entries().filter_map(|(at, entry)| match &entry.action {
            Action::Submit(sent) => Some((at, entry, sent)),
            _ => None,
        })
    }

    /// What an engine surely knows at this moment of changes by others: all that had ended before
    /// this number. Once a read of the feed begins, the one before it has taken effect.
    pub(super) fn floor(&self, engine: u32, at: u64) -> u64 {
        let Some(reads) = self.feeds.get(&engine) else { return 0 };
        let before = reads.partition_point(|began| *began < at);
        if before < 2 { 0 } else { reads[before - 2] }
    }

    fn add_attempts(&mut self) {
        for (at, _, sent) in self.attempts() {
            self.by_content.entry(&sent.content).or_default().push(at);
            if let Some(key) = &sent.key {
                self.by_key.entry((sent.app, key.as_str())).or_default().push(at);
            }
        }
        for attempts in self.by_content.values_mut().chain(self.by_key.values_mut()) {
            attempts.sort_by_key(|at| self.history.entries[*at].invoked);
        }
    }

    fn add_accepted(&mut self) {
        // The call that stored it comes first: it has the content.
        for is_replay in [false, true] {
            for (at, entry, sent) in self.attempts() {
                let Outcome::Accepted { id, replayed } = entry.outcome else { continue };
                if replayed != is_replay {
                    continue;
                }
                let stored = if replayed { self.may_have_stored(sent) } else { Some((at, sent)) };
                let Some((first, sent)) = stored else { continue };
                let (from, known) = (self.entry(first).invoked, entry.returned.number);
                let row = self.rows.entry(id).or_insert(Row { id, sent, from, known, entry: at });
                row.known = row.known.min(known);
            }
        }
    }

    /// The first attempt with this key, or of this content, whose outcome is unknown.
    fn may_have_stored(&self, sent: &Sent) -> Option<(usize, &'h Sent)> {
        let of_content = self.by_content.get(sent.content.as_str()).into_iter().flatten();
        let of_key = sent.key.as_deref().and_then(|key| self.by_key.get(&(sent.app, key)));
        let mut all = of_content.chain(of_key.into_iter().flatten());
        let first = all.find(|at| is_open(&self.entry(**at).outcome))?;
        match &self.entry(*first).action {
            Action::Submit(sent) => Some((*first, sent)),
            _ => None,
        }
    }

    /// Responses that are known only from a read: the outcome of their submission is unknown.
    fn add_seen(&mut self) {
        for (at, entry) in self.entries() {
            match &entry.outcome {
                Outcome::Present(seen) => self.add_one_seen(at, entry, seen),
                Outcome::Audited(audit) => {
                    let rows = audit.flows.iter().flat_map(|flow| &flow.rows);
                    rows.for_each(|seen| self.add_one_seen(at, entry, seen));
                }
                _ => {}
            }
        }
    }

    fn add_one_seen(&mut self, at: usize, entry: &Entry, seen: &'h Seen) {
        if let Some(row) = self.rows.get_mut(&seen.id) {
            row.known = row.known.min(entry.returned.number);
            return;
        }
        let attempts = self.by_content.get(seen.content.as_str()).cloned().unwrap_or_default();
        let open = attempts.iter().copied().find(|it| is_open(&self.entry(*it).outcome));
        let accepted = |it: &&usize| matches!(self.entry(**it).outcome, Outcome::Accepted { .. });
        let (rule, why) = match (open, attempts.iter().find(accepted), attempts.is_empty()) {
            (Some(open), ..) => {
                let Action::Submit(sent) = &self.entry(open).action else { return };
                let (from, known) = (self.entry(open).invoked, entry.returned.number);
                let id = seen.id;
                self.rows.insert(id, Row { id, sent, from, known, entry: at });
                return;
            }
            (None, Some(_), _) => (Rule::Doubled, "it was acknowledged with another id"),
            (None, None, false) => (Rule::StoredAlthoughRefused, "it was refused"),
            (None, None, true) => (Rule::StoredAlthoughRefused, "it was never sent"),
        };
        let detail = format!("{} with the content {} is stored: {why}", seen.id, seen.content);
        let about = attempts.into_iter().chain([at]).collect();
        self.faults.push(Fault { rule, detail, about });
    }

    fn add_states(&mut self) {
        let initial = |config| State { config, change: None, is_certain: true, time: None };
        self.states = self.history.flows.iter().map(|config| vec![initial(config)]).collect();
        let mut changes: Vec<_> = self.entries().collect();
        changes.sort_by_key(|(_, entry)| entry.invoked);
        for (at, entry) in changes {
            let Action::Change { flow, change } = entry.action else { continue };
            let Outcome::Changed { did, after, .. } = &entry.outcome else { continue };
            let states = &mut self.states[flow];
            let before = states.last().map(|state| state.config);
            if before == Some(after) {
                continue;
            }
            let times = before.map(|before| after.new_times(before, change)).unwrap_or_default();
            states.push(State {
                config: after,
                change: Some((at, entry, change)),
                is_certain: *did == Did::Done,
                time: times.first().copied(),
            });
        }
    }

    fn add_removals(&mut self) {
        let mut finished: Vec<u64> = self
            .entries()
            .filter(|(_, entry)| entry.action == Action::FinishErasures)
            .map(|(_, entry)| entry.returned.number)
            .collect();
        finished.sort_unstable();
        let never = Moment { number: 0, millis: i64::MIN };
        let initial = || vec![Retention { days: None, invoked: never, returned: never }];
        self.retentions = (0..self.history.apps).map(|_| initial()).collect();
        let mut entries: Vec<_> = self.entries().collect();
        entries.sort_by_key(|(_, entry)| entry.invoked);
        for (at, entry) in entries {
            match (&entry.action, &entry.outcome) {
                (Action::Delete { id }, _) => self.deletes.entry(*id).or_default().push(at),
                (_, Outcome::NoRespondent) => {}
                (Action::Erase { app, person, delete }, outcome) => {
                    let done = *outcome == Outcome::Erased { done: true };
                    let later = finished.iter().find(|it| **it > entry.invoked.number);
                    let returned = match done {
                        true => entry.returned.number,
                        false => later.copied().unwrap_or(u64::MAX),
                    };
                    let invoked = entry.invoked.number;
                    let erase = Erase { entry: at, invoked, returned, delete: *delete, done };
                    self.erases.entry((*app, *person)).or_default().push(erase);
                }
                (Action::Expire, _) => self.expiries.push(at),
                (Action::Retain { app, .. }, Outcome::Retained { after, .. }) => {
                    let (invoked, returned) = (entry.invoked, entry.returned);
                    self.retentions[*app].push(Retention { days: *after, invoked, returned });
                }
                _ => {}
            }
        }
    }
}

/// Whether a submission with this outcome may have been stored.
pub(super) fn is_open(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Unknown | Outcome::Abandoned)
}
