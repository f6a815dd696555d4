//! Faults between engine and store: writes that fail, writes whose outcome gets lost, crashes. And,
//! for controls, stores that break their promises.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use sluice_store::{
    AfterCommit, At, Change, ErasedPart, Erasure, Expired, IfBusy, NewResponse, Next, Outcome,
    Store, StoreError, StoreResult,
};

use super::operations::Random;
use super::recorder::Recorder;
use crate::support::Tamper;

/// A promise that a store breaks now and then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Broken {
    /// It reports responses as stored that it drops.
    DropsWrites,
    /// It stores a retry a second time.
    StoresRetries,
    /// It reports an erasure as done that it did not carry out.
    ForgetsErasures,
    /// It stores what was refused.
    StoresRefused,
}

/// How often a fault happens: once in this many calls.
const FAILED_COMMIT: u64 = 150;
const DOUBTFUL_COMMIT: u64 = 100;
const FINAL_COMMIT: u64 = 4_000;
const FAILED_CHANGE: u64 = 40;
const DOUBTFUL_CHANGE: u64 = 30;
const FINAL_CHANGE: u64 = 500;
/// How often a broken store breaks its promise. Few calls are erasures.
const BREACH: u64 = 20;
const FORGOTTEN_ERASURE: u64 = 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Well,
    /// Nothing is written.
    Failed,
    /// Nothing is written, and nobody knows.
    DoubtfulBefore,
    /// It is written, and nobody knows.
    DoubtfulAfter,
    /// The same, and the process must end.
    Final,
}

pub(super) struct Tampering {
    recorder: Arc<Recorder>,
    engine: u32,
    random: Mutex<Random>,
    broken: Option<Broken>,
    /// The process is dead: nothing more is answered.
    pub(super) crashed: Arc<AtomicBool>,
    /// Expiries that did not go to their end.
    pub(super) left: AtomicU64,
    keys: Mutex<HashSet<[u8; 16]>>,
}

impl Tampering {
    pub(super) fn new(
        recorder: &Arc<Recorder>,
        engine: u32,
        seed: u64,
        broken: Option<Broken>,
    ) -> Self {
        Self {
            recorder: Arc::clone(recorder),
            engine,
            random: Mutex::new(Random::new(seed, 1_000 + u64::from(engine))),
            broken,
            crashed: Arc::default(),
            left: AtomicU64::new(0),
            keys: Mutex::default(),
        }
    }

    fn fate(&self, failed: u64, doubtful: u64, last: u64) -> Fate {
        let mut random = self.random.lock().unwrap();
        let fate = if random.is_one_in(last) {
            Fate::Final
        } else if random.is_one_in(failed) {
            Fate::Failed
        } else if random.is_one_in(doubtful) {
            if random.is_one_in(2) { Fate::DoubtfulBefore } else { Fate::DoubtfulAfter }
        } else {
            Fate::Well
        };
        if fate != Fate::Well {
            self.recorder.count(format!("! {fate:?}"));
        }
        fate
    }

    fn breaches(&self, how: Broken) -> bool {
        let once_in = if how == Broken::ForgetsErasures { FORGOTTEN_ERASURE } else { BREACH };
        let is_broken = self.broken == Some(how) && self.random.lock().unwrap().is_one_in(once_in);
        if is_broken {
            self.recorder.count(format!("! {how:?}"));
        }
        is_broken
    }

    /// Stores a retry under no key, so that it is stored again.
    fn forget_keys(&self, responses: &mut [NewResponse]) {
        let mut known = self.keys.lock().unwrap();
        for response in responses {
            let is_retry = response.idempotency_key.is_some_and(|key| !known.insert(key));
            if is_retry && self.breaches(Broken::StoresRetries) {
                response.idempotency_key = None;
            }
        }
    }
}

fn doubtful() -> StoreError {
    StoreError::InDoubt("the connection failed".into())
}

fn last() -> StoreError {
    StoreError::Unknown("the process ended".into())
}

#[async_trait]
impl Tamper for Tampering {
    fn commit(
        &self,
        inner: &Arc<dyn Store>,
        mut responses: Vec<NewResponse>,
        if_busy: IfBusy,
        then: AfterCommit,
    ) {
        if self.crashed.load(Ordering::SeqCst) {
            return drop(then(Err(StoreError::Closed)));
        }
        if self.breaches(Broken::DropsWrites) {
            return drop(then(Ok(vec![Outcome::Stored; responses.len()])));
        }
        self.forget_keys(&mut responses);
        let lies = self.breaches(Broken::StoresRefused);
        let fate = self.fate(FAILED_COMMIT, DOUBTFUL_COMMIT, FINAL_COMMIT);
        match fate {
            Fate::Failed => return drop(then(Err(StoreError::Failed("disk full".into())))),
            Fate::DoubtfulBefore => return drop(then(Err(doubtful()))),
            Fate::Well | Fate::DoubtfulAfter | Fate::Final => {}
        }
        let crashed = Arc::clone(&self.crashed);
        let after = move |stored: StoreResult<Vec<Outcome>>| {
            let is_dead = fate == Fate::Final || crashed.load(Ordering::SeqCst);
            then(match (stored, fate) {
                (Ok(_), _) if is_dead => Err(last()),
                (Ok(_), Fate::DoubtfulAfter) => Err(doubtful()),
                (Ok(_), _) if lies => Err(StoreError::Failed("disk full".into())),
                (stored, _) => stored,
            })
        };
        inner.commit_then(responses, if_busy, Box::new(after));
    }

    async fn apply(&self, inner: &Arc<dyn Store>, at: At, change: Change) -> StoreResult<()> {
        if self.crashed.load(Ordering::SeqCst) {
            return Err(StoreError::Closed);
        }
        let fate = self.fate(FAILED_CHANGE, DOUBTFUL_CHANGE, FINAL_CHANGE);
        match fate {
            Fate::Failed => return Err(StoreError::Failed("disk full".into())),
            Fate::DoubtfulBefore => return Err(doubtful()),
            Fate::Well | Fate::DoubtfulAfter | Fate::Final => {}
        }
        inner.apply(at, change).await?;
        match fate {
            _ if self.crashed.load(Ordering::SeqCst) => Err(last()),
            Fate::Final => Err(last()),
            Fate::DoubtfulAfter => Err(doubtful()),
            _ => Ok(()),
        }
    }

    async fn erase(&self, inner: &Arc<dyn Store>, erasure: Erasure) -> StoreResult<ErasedPart> {
        if self.crashed.load(Ordering::SeqCst) {
            return Err(StoreError::Closed);
        }
        if self.breaches(Broken::ForgetsErasures) {
            return Ok(ErasedPart { responses: 1, respondents: 1, invitations: 0, done: true });
        }
        let fate = self.fate(FAILED_CHANGE, DOUBTFUL_CHANGE, FINAL_CHANGE);
        match fate {
            Fate::Failed => return Err(StoreError::Failed("disk full".into())),
            Fate::DoubtfulBefore => return Err(doubtful()),
            Fate::Well | Fate::DoubtfulAfter | Fate::Final => {}
        }
        let erased = inner.erase(erasure).await?;
        match fate {
            _ if self.crashed.load(Ordering::SeqCst) => Err(last()),
            Fate::Final => Err(last()),
            Fate::DoubtfulAfter => Err(doubtful()),
            _ => Ok(erased),
        }
    }

    fn after_expiry(&self, expired: &StoreResult<Expired>) {
        let next = expired.as_ref().map(|it| it.next);
        if !matches!(next, Ok(Next::At(_) | Next::Done)) {
            self.left.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn before_feed(&self) -> u64 {
        self.recorder.number()
    }

    fn after_feed(&self, began: u64) {
        self.recorder.note_feed_read(self.engine, began);
    }
}
