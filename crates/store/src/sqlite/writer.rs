//! The only thread that writes.
//!
//! SQLite allows one writer at a time anyway; a dedicated thread turns waiting for it into a
//! bounded queue instead of lock contention. Each job is answered after its own sync; commits and
//! other jobs take turns. After an unknown outcome the thread never writes again: later jobs fail
//! because the store is closed, and only a restart, which recovers the log, helps.

mod checkpoint;
mod health;
mod jobs;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::OnceLock;
use std::time::Instant;

use rusqlite::Connection;
use sluice_flow::id::{AppId, FlowId};
use sluice_flow::time::Day;
use tokio::sync::mpsc::error::TryRecvError;
use tokio::sync::{Semaphore, mpsc, oneshot};

use jobs::Jobs;

use super::damage_file::DamageFile;
use super::disk::Reserve;
use super::files::Files;
use super::log::Log;
use super::log_gate::{Entered, LogGate};
use super::marker::Marker;
use super::open_error::OpenError;
use super::transaction::{self, Finish, TransactionError};
use super::{
    apply, commit, counts, events, expiry, import_records, reclaim, recount, removal, skip_index,
    visits,
};
use crate::counting::DamagedDay;
use crate::{
    AfterCommit, At, Change, CountsQuery, Damage, ErasedPart, Erasure, Expired, Expiry,
    NewResponse, Next, Outcome, Record, Resume, StoreError, StoreResult, VisitCountRow,
};

/// Jobs other than commits that may wait for the writer; further callers wait for room.
const QUEUE_MAX: usize = 64;

type Reply<T> = oneshot::Sender<StoreResult<T>>;

enum Job {
    Commit(Vec<NewResponse>, AfterCommit, Entered),
    Apply(At, Change, Reply<()>),
    Import(Vec<Record>, Reply<()>),
    Run(Run),
    Erase(Erasure, Reply<ErasedPart>),
    Expire(Expiry, Reply<Expired>),
    SkipIndex(skip_index::Work, Reply<()>),
    Rebuild((AppId, FlowId), DamagedDay, CountsQuery, Reply<()>),
    Check(Reply<()>),
    CheckFiles(Reply<()>),
    Close(Reply<()>),
}

/// A job that needs nothing but a transaction; it returns whether its caller has gone away.
type Run = Box<dyn FnOnce(&mut Thread) -> bool + Send>;

/// The handle to the writer thread.
#[derive(Debug)]
pub(super) struct Writer {
    jobs: mpsc::UnboundedSender<Job>,
    places: Semaphore,
    why_stopped: WhyStopped,
    gate: Arc<LogGate>,
}

/// What the writer may use, and what stops submissions.
pub(super) struct Limits {
    pub(super) reserve: Arc<Reserve>,
    pub(super) log_pages_max: i32,
    pub(super) damage: Arc<Damage>,
    pub(super) damage_file: Arc<DamageFile>,
    pub(super) gate: Arc<LogGate>,
}

/// Why the thread stopped writing, once it has.
type WhyStopped = Arc<OnceLock<String>>;

impl Writer {
    pub(super) fn start(
        connection: Connection,
        path: &Path,
        limits: Limits,
        marker: Marker,
    ) -> Result<Self, OpenError> {
        let (why_stopped, gate) = (WhyStopped::default(), Arc::clone(&limits.gate));
        let thread = Thread::new(connection, limits, Arc::clone(&why_stopped));
        let mut thread = thread.map_err(|error| OpenError::from_sqlite(path, error))?;
        thread.begin(path)?;
        thread.watch_files(path.to_owned(), marker)?;
        let (jobs, queue) = mpsc::unbounded_channel();
        std::thread::Builder::new()
            .name("sqlite-writer".to_owned())
            .spawn(move || thread.run(Jobs::new(queue)))
            .map_err(OpenError::Thread)?;
        Ok(Self { jobs, places: Semaphore::new(QUEUE_MAX), why_stopped, gate })
    }

    /// A writer that refuses every job, for a store that is only read.
    pub(super) fn closed() -> Self {
        let (jobs, _) = mpsc::unbounded_channel();
        let (why_stopped, gate) = (WhyStopped::default(), Arc::default());
        Self { jobs, places: Semaphore::new(QUEUE_MAX), why_stopped, gate }
    }

    /// Never waits: callers limit the number of commits in progress.
    pub(super) fn commit(&self, responses: Vec<NewResponse>, then: AfterCommit) {
        let first = responses.iter().map(|it| it.row.response_id.uuid().as_u128()).min();
        let entered = self.gate.enter(first.unwrap_or(u128::MAX));
        if let Err(mpsc::error::SendError(Job::Commit(_, then, _))) =
            self.jobs.send(Job::Commit(responses, then, entered))
        {
            drop(then(Err(StoreError::Closed)));
        }
    }

    /// Runs a transaction.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        body: impl FnOnce(&Connection) -> Result<(T, Finish), TransactionError> + Send + 'static,
    ) -> StoreResult<T> {
        let run = |reply: Reply<T>| {
            Job::Run(Box::new(move |thread| reply.send(thread.write(body)).is_err()))
        };
        self.ask(run).await
    }

    pub(super) async fn apply(&self, at: At, change: Change) -> StoreResult<()> {
        self.ask(|reply| Job::Apply(at, change, reply)).await
    }

    pub(super) async fn import_records(&self, records: Vec<Record>) -> StoreResult<()> {
        self.ask(|reply| Job::Import(records, reply)).await
    }

    pub(super) async fn add_visit_counts(&self, counts: Vec<VisitCountRow>) -> StoreResult<()> {
        self.run(move |connection| visits::add(connection, &counts)).await
    }

    pub(super) async fn erase(&self, erasure: Erasure) -> StoreResult<ErasedPart> {
        self.ask(|reply| Job::Erase(erasure, reply)).await
    }

    pub(super) async fn expire(&self, expiry: Expiry) -> StoreResult<Expired> {
        self.ask(|reply| Job::Expire(expiry, reply)).await
    }

    pub(super) async fn write_skip_index(&self, work: skip_index::Work) -> StoreResult<()> {
        self.ask(|reply| Job::SkipIndex(work, reply)).await
    }

    pub(super) async fn fold_counts(&self, flow: (AppId, FlowId)) -> StoreResult<(u64, bool)> {
        self.run(move |connection| counts::fold_part(connection, flow)).await
    }

    pub(super) async fn scan_counts(&self, limit: usize) -> StoreResult<u64> {
        self.run(move |connection| counts::scan_part(connection, limit)).await
    }

    /// Recounts a day of a flow.
    pub(super) async fn recount(&self, flow: (AppId, FlowId), day: Day) -> StoreResult<u64> {
        self.run(move |connection| recount::day(connection, flow, day)).await
    }

    /// The same, because its counts are unreadable.
    pub(super) async fn rebuild_damaged_day(
        &self,
        flow: (AppId, FlowId),
        damaged: DamagedDay,
        query: CountsQuery,
    ) -> StoreResult<()> {
        self.ask(|reply| Job::Rebuild(flow, damaged, query, reply)).await
    }

    pub(super) async fn check(&self) -> StoreResult<()> {
        self.ask(Job::Check).await
    }

    pub(super) async fn check_files(&self) -> StoreResult<()> {
        self.ask(Job::CheckFiles).await
    }

    pub(super) fn why_stopped(&self) -> Option<&str> {
        self.why_stopped.get().map(String::as_str)
    }

    /// Returns when all earlier jobs are done and the connection is closed.
    pub(super) async fn close(&self) {
        // A writer that is already closed has nothing left to finish.
        let _closed = self.ask(Job::Close).await;
    }

    async fn ask<T>(&self, job: impl FnOnce(Reply<T>) -> Job) -> StoreResult<T> {
        let _place = self.places.acquire().await.map_err(|_| StoreError::Closed)?;
        let (reply, answer) = oneshot::channel();
        self.jobs.send(job(reply)).map_err(|_| StoreError::Closed)?;
        answer.await.unwrap_or_else(|_| {
            Err(StoreError::Unknown("the writer thread ended without an answer".into()))
        })
    }
}

struct Thread {
    connection: Connection,
    log: Log,
    /// Set by an unknown outcome, and never reset.
    stopped: bool,
    /// When a transaction was last committed, if none has failed since.
    written_at: Option<Instant>,
    /// The file may have more unused pages than it needs.
    may_reclaim: bool,
    out_of_order: skip_index::OutOfOrderIds,
    reserve: Arc<Reserve>,
    damage: Arc<Damage>,
    damage_file: Arc<DamageFile>,
    /// Submissions are refused because the disk is nearly full.
    is_low: bool,
    /// The files that were opened; known once the first write has created them all.
    files: Option<Files>,
    unwatched: Option<(PathBuf, Marker)>,
    why_stopped: WhyStopped,
    gate: Arc<LogGate>,
}

impl Thread {
    fn new(
        mut connection: Connection,
        limits: Limits,
        why_stopped: WhyStopped,
    ) -> rusqlite::Result<Self> {
        let Limits { reserve, log_pages_max, damage, damage_file, gate } = limits;
        let log = Log::new(&mut connection, log_pages_max)?;
        Ok(Self {
            connection,
            log,
            stopped: false,
            written_at: None,
            may_reclaim: true,
            out_of_order: skip_index::OutOfOrderIds::default(),
            reserve,
            damage,
            damage_file,
            is_low: false,
            files: None,
            unwatched: None,
            why_stopped,
            gate,
        })
    }

    fn run(mut self, mut jobs: Jobs) {
        let mut closing = None;
        while let Some(job) = self.next(&mut jobs) {
            match job {
                Job::Close(reply) => {
                    closing = Some(reply);
                    break;
                }
                job => self.run_one(job, &mut jobs),
            }
        }
        jobs.close();
        self.stopped = true;
        while let Some(job) = jobs.next() {
            drop(self.answer(job));
        }
        self.damage_file.write();
        if let Err((_, error)) = self.connection.close() {
            tracing::warn!(%error, "the database did not close cleanly; the next start recovers it");
        }
        if let Some(reply) = closing {
            // The caller may have gone away.
            let _gone = reply.send(Ok(()));
        }
    }

    /// The next job. Until it comes, unused pages are returned to the file system.
    fn next(&mut self, jobs: &mut Jobs) -> Option<Job> {
        while self.may_reclaim && !self.stopped {
            match jobs.try_next() {
                Ok(job) => return Some(job),
                Err(TryRecvError::Disconnected) => return None,
                Err(TryRecvError::Empty) => self.may_reclaim = self.reclaim(),
            }
        }
        jobs.next()
    }

    /// Whether there may be more to reclaim.
    fn reclaim(&mut self) -> bool {
        let is_due = |connection: &Connection| reclaim::is_due(connection).unwrap_or(false);
        if !is_due(&self.connection) {
            return false;
        }
        let step = self.write(|connection| Ok((reclaim::step(connection)?, Finish::Commit)));
        let is_left = matches!(step, Ok(true)) && is_due(&self.connection);
        // The file is cut off when the log is written back.
        self.log.must_empty |= !is_left;
        self.checkpoint();
        is_left
    }

    /// Runs one job and answers it. After a commit, returns what lets the next one be composed.
    fn answer(&mut self, job: Job) -> Option<Resume> {
        let mut resume = None;
        // What was written stays even if the caller has gone away, so a failed send is no error.
        let _gone = match job {
            Job::Commit(responses, then, entered) => {
                let outcomes = self.commit(&responses, &entered);
                drop(entered);
                resume = Some(then(outcomes));
                false
            }
            Job::Apply(at, change, reply) => {
                let entered = self.gate.enter(0);
                let removed = self.write(|it| apply::change(it, at, change, &entered));
                drop(entered);
                self.note_removal(matches!(removed, Ok(true)));
                reply.send(removed.map(|_| ())).is_err()
            }
            Job::Erase(erasure, reply) => {
                let entered = self.gate.enter(0);
                let removed = self.write(|it| removal::erase(it, &erasure, &entered));
                drop(entered);
                self.note_removal(matches!(removed, Ok(ErasedPart { done: true, .. })));
                // Once the caller gets the answer, it may read the files.
                self.checkpoint();
                reply.send(removed).is_err()
            }
            Job::Expire(expiry, reply) => {
                let expired = self.write(|connection| expiry::part(connection, &expiry));
                self.note_removal(matches!(expired, Ok(Expired { next: Next::Done, .. })));
                reply.send(expired).is_err()
            }
            Job::Run(run) => run(self),
            Job::Rebuild(flow, DamagedDay { day, why }, query, reply) => {
                let rebuild = |connection: &Connection| {
                    // Another reader may have rebuilt it in the meantime.
                    let query = CountsQuery { from: Some(day), to: Some(day), ..query };
                    if counts::read(connection, flow.0, flow.1, &query)?.is_ok() {
                        return Ok(((), Finish::RollBack));
                    }
                    recount::damaged_day(connection, flow, day, why).map(|()| ((), Finish::Commit))
                };
                reply.send(self.write(rebuild)).is_err()
            }
            Job::Import(records, reply) => reply
                .send(self.write(|connection| import_records::records(connection, &records)))
                .is_err(),
            Job::SkipIndex(work, reply) => {
                let written = self.write(|connection| skip_index::write(connection, &work));
                if written.is_ok() {
                    self.out_of_order.note_created(&work);
                }
                reply.send(written).is_err()
            }
            Job::Check(reply) => {
                let ready = self.check_files().and_then(|()| self.may_store());
                reply.send(ready.and_then(|()| self.check())).is_err()
            }
            Job::CheckFiles(reply) => {
                self.damage_file.look(&self.damage);
                reply.send(self.check_files()).is_err()
            }
            Job::Close(reply) => reply.send(Ok(())).is_err(),
        };
        resume
    }

    /// What was removed must leave the log as well, and its pages may be reclaimed.
    fn note_removal(&mut self, is_done: bool) {
        self.log.must_empty |= is_done;
        self.may_reclaim |= is_done;
    }

    fn commit(
        &mut self,
        responses: &[NewResponse],
        entered: &Entered,
    ) -> StoreResult<Vec<Outcome>> {
        self.may_store()?;
        let mut out_of_order = std::mem::take(&mut self.out_of_order);
        let committed = self.write(|connection| {
            let (outcomes, then) = commit::responses(connection, responses)?;
            out_of_order.settle(connection, responses, &outcomes)?;
            events::announce_late(connection, responses, &outcomes, entered)?;
            Ok((outcomes, then))
        });
        // A failed read is retried the next time.
        if committed.is_ok() {
            self.out_of_order = out_of_order;
        }
        committed
    }

    /// Refuses submissions to a damaged database, or if the disk is nearly full.
    fn may_store(&mut self) -> StoreResult<()> {
        self.damage.refuse()?;
        self.must_have_room()
    }

    fn write<T>(
        &mut self,
        body: impl FnOnce(&Connection) -> Result<(T, Finish), TransactionError>,
    ) -> StoreResult<T> {
        if self.stopped {
            return Err(StoreError::Closed);
        }
        if let Some(files) = &mut self.files {
            files.before_commit();
        }
        let log_pages = self.log.before_write();
        let started = Instant::now();
        let mut result = transaction::run(&self.connection, &self.damage, body);
        if let Some(log_pages) = self.log.after_write(log_pages)
            && let Ok((_, Finish::Commit)) = &result
            && let Some(files) = &mut self.files
            && let Err(changed) = files.after_commit(&self.connection, log_pages)
        {
            result = Err(StoreError::Unknown(Box::new(changed)));
        }
        match &result {
            Ok((_, Finish::Commit)) => {
                self.written_at = Some(Instant::now());
                self.log.note_commit(started.elapsed());
                if let Some((path, marker)) = self.unwatched.take()
                    && let Err(error) = self.watch_files(path, marker)
                {
                    tracing::warn!(%error, "cannot watch the database files");
                }
            }
            Ok((_, Finish::RollBack)) => {}
            Err(StoreError::Conflict) => {}
            Err(StoreError::Unknown(error)) => {
                tracing::error!(%error, "a write has an unknown outcome; no more writes");
                let reason = error.to_string();
                self.stop(reason);
            }
            Err(_) => self.written_at = None,
        }
        result.map(|(value, _)| value)
    }

    /// Nothing is written from here on.
    fn stop(&mut self, reason: String) {
        self.stopped = true;
        self.why_stopped.get_or_init(|| reason);
    }
}

#[cfg(test)]
mod tests;
