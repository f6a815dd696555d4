//! Numbers every moment, and keeps the history.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use sluice_engine::clock::Clock;
use sluice_flow::time::Timestamp;

use super::history::{Action, Entry, History, Moment, Outcome};
use super::model::FlowConfig;

/// A clock on which no two readings are the same, and that tests let run ahead.
#[derive(Debug)]
pub(super) struct ModelClock(AtomicI64);

impl ModelClock {
    pub(super) fn new(start: Timestamp) -> Self {
        Self(AtomicI64::new(start.as_millis()))
    }

    pub(super) fn advance(&self, millis: i64) {
        self.0.fetch_add(millis, Ordering::SeqCst);
    }
}

impl Clock for ModelClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.fetch_add(1, Ordering::SeqCst))
    }
}

pub(super) struct Recorder {
    pub(super) clock: Arc<ModelClock>,
    next: AtomicU64,
    entries: Mutex<Vec<Entry>>,
    feed_reads: Mutex<Vec<(u32, u64)>>,
    /// How often what was done, by its kind and by its outcome.
    pub(super) figures: Mutex<BTreeMap<String, u64>>,
}

impl Recorder {
    pub(super) fn new(clock: Arc<ModelClock>) -> Self {
        Self {
            clock,
            next: AtomicU64::new(1),
            entries: Mutex::default(),
            feed_reads: Mutex::default(),
            figures: Mutex::default(),
        }
    }

    pub(super) fn number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::SeqCst)
    }

    pub(super) fn moment(&self) -> Moment {
        let number = self.number();
        Moment { number, millis: self.clock.now().as_millis() }
    }

    pub(super) fn note_feed_read(&self, engine: u32, began: u64) {
        self.feed_reads.lock().unwrap().push((engine, began));
    }

    pub(super) fn count(&self, what: impl Into<String>) {
        *self.figures.lock().unwrap().entry(what.into()).or_default() += 1;
    }

    /// Notes an operation that has just ended.
    pub(super) fn note(
        &self,
        client: usize,
        engine: u32,
        invoked: Moment,
        action: Action,
        outcome: Outcome,
    ) {
        let returned = match outcome {
            Outcome::Abandoned => Moment::NEVER,
            _ => self.moment(),
        };
        if let Action::Submit(_) = action {
            self.count(match &outcome {
                Outcome::Accepted { replayed: false, .. } => "= stored".to_owned(),
                Outcome::Accepted { .. } => "= replayed".to_owned(),
                Outcome::Refused(code) => format!("= {code}"),
                Outcome::NotStored => "= unavailable".to_owned(),
                _ => "= unknown".to_owned(),
            });
        }
        let entry = Entry { client, engine, invoked, returned, action, outcome };
        self.entries.lock().unwrap().push(entry);
    }

    pub(super) fn history(&self, apps: usize, flows: Vec<FlowConfig>) -> History {
        let entries = std::mem::take(&mut *self.entries.lock().unwrap());
        let feed_reads = std::mem::take(&mut *self.feed_reads.lock().unwrap());
        History { apps, flows, entries, feed_reads }
    }
}
