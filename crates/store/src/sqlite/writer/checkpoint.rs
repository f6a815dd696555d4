//! Checkpoints: writes the log back into the database.
//!
//! A checkpoint syncs the database, and the write after it syncs the new beginning of the log. On a
//! slow disk a submission that arrives when a write begins waits for that write, both of these, and
//! its own: four syncs. So that no other job makes it five:
//!
//! - A checkpoint comes directly after a commit, unless none waits.
//! - The next commit is composed after it. If another job comes first, the commit is composed after
//!   that job.
//! - The job after a checkpoint is a commit, if one waits.

use rusqlite::ErrorCode;

use super::super::failure;
use super::jobs::Jobs;
use super::{Job, Thread};

impl Thread {
    /// Runs a job with the housekeeping after it; after a commit also another job that waits.
    pub(super) fn run_one(&mut self, job: Job, jobs: &mut Jobs) {
        let is_commit = matches!(job, Job::Commit(..));
        let resume = self.answer(job);
        if is_commit {
            if self.checkpoint() {
                jobs.commit_first();
            } else if let Some(other) = jobs.take_other() {
                drop(self.answer(other));
            }
        }
        // Only now: a commit that is composed earlier would wait for all of this.
        drop(resume);
        if !jobs.has_commit() {
            self.checkpoint();
        }
        self.damage_file.write();
    }

    /// Runs a WAL checkpoint if one is due. Returns whether it was.
    pub(super) fn checkpoint(&mut self) -> bool {
        if self.stopped || !self.log.is_due() {
            return false;
        }
        // A checkpoint would mix the log into a file that is not ours.
        if self.check_files().is_err() {
            return false;
        }
        let result = self.log.write_back(&self.connection);
        if let Some(files) = &mut self.files {
            files.after_checkpoint(&self.connection);
        }
        match result {
            Ok(()) => {}
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::SystemIoFailure) => {
                tracing::error!(%error, "the WAL checkpoint failed; no more writes");
                self.stop(format!("the WAL checkpoint failed: {error}"));
            }
            // Full or busy: the log keeps growing, nothing is lost, and the next commit tries
            // again.
            Err(error) => {
                failure::note_damage(&self.damage, &error);
                tracing::warn!(%error, "the WAL checkpoint failed; the next commit tries again");
            }
        }
        true
    }
}
