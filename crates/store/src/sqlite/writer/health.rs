//! Whether the writer could store a response now: space on the disk, files in place, and a write
//! that succeeds.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::ErrorCode;

use super::super::files::{Files, FilesChanged};
use super::super::marker::Marker;
use super::super::open_error::OpenError;
use super::super::transaction::Finish;
use super::Thread;
use crate::{StoreError, StoreResult};

/// A check this soon after a successful write relies on that write.
const CHECK_FRESH: Duration = Duration::from_secs(5);
/// What a check writes if all is well: it fits into a page that the table already has.
const PROBE_BYTES: u32 = 1024;
/// What a check writes after a failure, or if the disk is nearly full: it needs new pages, as a
/// small batch of responses does.
const LARGE_PROBE_BYTES: u32 = 64 * 1024;
/// With less free space than this the disk is nearly full.
const AMPLE_BYTES: u64 = 16 * 1024 * 1024;

impl Thread {
    /// Makes one durable write before anything is answered.
    ///
    /// A killed process may have left a batch in the log that was written but not yet synced. It is
    /// visible now, so a retry would be answered as stored; this sync makes that true.
    pub(super) fn begin(&mut self, path: &Path) -> Result<(), OpenError> {
        let path = || path.to_owned();
        let source = match self.check() {
            Ok(()) => return Ok(()),
            Err(StoreError::Failed(source)) => source,
            Err(StoreError::Corrupt(reason) | StoreError::Damaged(reason)) => {
                return Err(OpenError::Damaged { path: path(), reason });
            }
            Err(StoreError::Unknown(source) | StoreError::InDoubt(source)) => {
                return Err(OpenError::Unopenable { path: path(), reason: source.to_string() });
            }
            Err(error @ (StoreError::Conflict | StoreError::DiskReserve | StoreError::Closed)) => {
                error.into()
            }
        };
        match source.downcast::<rusqlite::Error>() {
            // Reads still work, and writes will when there is space again.
            Ok(error) if error.sqlite_error_code() == Some(ErrorCode::DiskFull) => {
                tracing::warn!(%error, "the disk is full: nothing can be stored");
                Ok(())
            }
            Ok(error) => Err(OpenError::from_sqlite(&path(), *error)),
            Err(other) => Err(OpenError::Unopenable { path: path(), reason: other.to_string() }),
        }
    }

    /// Remembers the files of the database. If the disk was full at the start, there is no log yet,
    /// and this is done after the first write.
    pub(super) fn watch_files(&mut self, path: PathBuf, marker: Marker) -> Result<(), OpenError> {
        match Files::new(&path, &self.connection) {
            Ok(mut files) => {
                files.set_marker(marker);
                self.files = Some(files);
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                self.unwatched = Some((path, marker));
            }
            Err(error) => {
                return Err(OpenError::Unopenable { path, reason: error.to_string() });
            }
        }
        Ok(())
    }

    /// Refuses submissions while free disk space is below the reserve, or the log at its limit.
    /// Costs one system call per batch.
    pub(super) fn must_have_room(&mut self) -> StoreResult<()> {
        if !self.stopped {
            if self.log.is_overdue() {
                self.checkpoint();
            }
            self.log.must_have_room()?;
        }
        let is_low = !self.stopped && !self.reserve.has_room(&self.connection);
        if is_low != self.is_low {
            self.is_low = is_low;
            let space = self.reserve.space();
            let (free_bytes, reserve_bytes) =
                (space.map(|it| it.free_bytes), space.map(|it| it.reserve_bytes));
            if is_low {
                tracing::error!(
                    free_bytes,
                    reserve_bytes,
                    "the disk is nearly full: submissions are refused until there is room"
                );
                // The log takes up disk space too.
                self.log.must_empty = true;
            } else {
                tracing::info!(
                    free_bytes,
                    reserve_bytes,
                    "the disk has room: submissions are stored again"
                );
            }
        }
        if is_low { Err(StoreError::DiskReserve) } else { Ok(()) }
    }

    /// Whether the files of the database are in place.
    pub(super) fn check_files(&mut self) -> StoreResult<()> {
        if self.stopped {
            return Err(StoreError::Closed);
        }
        let Some(files) = &mut self.files else { return Ok(()) };
        files.check(&self.connection).map_err(|changed: FilesChanged| {
            tracing::error!(%changed, "the database files are not as expected; no more writes");
            self.stop(changed.to_string());
            StoreError::Unknown(Box::new(changed))
        })
    }

    /// Writes and removes a row, with a real sync, which detects a full or failing disk. A recent
    /// write is as good, so an idle server writes one page every few seconds, however often this is
    /// called.
    pub(super) fn check(&mut self) -> StoreResult<()> {
        let age = self.written_at.map(|at| at.elapsed());
        if !self.stopped && age.is_some_and(|age| age < CHECK_FRESH) {
            return Ok(());
        }
        let has_space = || self.reserve.space().is_none_or(|it| it.free_bytes >= AMPLE_BYTES);
        let bytes = if age.is_some() && has_space() { PROBE_BYTES } else { LARGE_PROBE_BYTES };
        self.write(|connection| {
            connection
                .prepare_cached("INSERT INTO probe (filler) VALUES (zeroblob(?1))")?
                .execute([bytes])?;
            connection.prepare_cached("DELETE FROM probe")?.execute([])?;
            Ok(((), Finish::Commit))
        })
    }
}
