//! The write-ahead log: when it is written back into the database, and how long it may become.
//!
//! A reader with an open transaction, such as a shell beside the server, prevents the log from
//! being reset: every commit makes it longer, and every read slower. Its length is reported, and at
//! a limit submissions are refused until the reader has ended.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::{Duration, Instant};

use rusqlite::hooks::Wal;
use rusqlite::wal::CheckpointMode;
use rusqlite::{Connection, MAIN_DB};

use crate::{StoreError, StoreResult};

/// Pages in the log at which a checkpoint writes it back into the database: 16 MiB.
const CHECKPOINT_PAGES: i32 = 4_000;
/// The same while the disk is slow: 128 MiB. A checkpoint makes submissions wait for two more
/// syncs.
const SLOW_CHECKPOINT_PAGES: i32 = 32_768;
/// A write that takes this long is slow.
const SLOW_WRITE: Duration = Duration::from_millis(250);
/// Pages in the log from which on its length is reported: 256 MiB, and at every doubling.
const WARNED_PAGES: i32 = 65_536;
/// How long to wait for readers when the log must be emptied; the next write tries again.
const EMPTY_WAIT: Duration = Duration::from_millis(250);
/// How long to wait before emptying the log is tried again: everything else waits during an
/// attempt.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// The log, as its writer knows it.
#[derive(Debug)]
pub(super) struct Log {
    /// Pages in the log after the last commit.
    pages: Arc<AtomicI32>,
    /// Whether those pages were written back.
    is_written_back: bool,
    /// Whether the last commit was slow.
    is_slow: bool,
    /// The log may contain data removed from the database: it must be emptied, not only reset.
    pub(super) must_empty: bool,
    pages_max: i32,
    /// The length at which the next report is due.
    warned_at: i32,
    /// Submissions are refused.
    is_full: bool,
    /// When emptying the log was last tried in vain.
    tried_at: Option<Instant>,
}

impl Log {
    pub(super) fn new(connection: &mut Connection, pages_max: i32) -> rusqlite::Result<Self> {
        let pages = Arc::new(AtomicI32::new(0));
        let seen = Arc::clone(&pages);
        let hook = move |_: &mut Wal, pages| {
            seen.store(pages, Ordering::Relaxed);
            Ok(())
        };
        connection.wal_hook(Some(hook))?;
        let (is_written_back, is_slow) = (false, false);
        let (must_empty, is_full) = (false, false);
        let (pages_max, warned_at, tried_at) = (pages_max.max(1), WARNED_PAGES, None);
        Ok(Self {
            pages,
            is_written_back,
            is_slow,
            must_empty,
            pages_max,
            warned_at,
            is_full,
            tried_at,
        })
    }

    fn pages(&self) -> i32 {
        self.pages.load(Ordering::Relaxed)
    }

    /// Call before each transaction, with the result afterwards: [`Self::after_write`].
    pub(super) fn before_write(&self) -> i32 {
        self.pages.swap(0, Ordering::Relaxed)
    }

    /// The number of pages in the log, if the transaction has written any.
    pub(super) fn after_write(&self, before: i32) -> Option<u64> {
        let pages = self.pages();
        if pages == 0 {
            self.pages.store(before, Ordering::Relaxed);
        }
        u64::try_from(pages).ok().filter(|pages| *pages > 0)
    }

    /// A commit has added to the log.
    pub(super) fn note_commit(&mut self, took: Duration) {
        self.is_written_back = false;
        self.is_slow = took >= SLOW_WRITE;
        let pages = self.pages();
        if pages >= self.warned_at {
            self.warned_at = pages.saturating_mul(2);
            tracing::warn!(
                pages,
                "the log of the database grows, because a reader holds it: end transactions of other programs that use the file"
            );
        } else if pages < CHECKPOINT_PAGES {
            self.warned_at = WARNED_PAGES;
        }
    }

    /// Whether the log should be written back: it is long, or still contains removed data.
    pub(super) fn is_due(&self) -> bool {
        let pages = if self.is_slow { SLOW_CHECKPOINT_PAGES } else { CHECKPOINT_PAGES };
        self.may_empty() || !self.is_written_back && self.pages() >= pages
    }

    /// Writes the log back into the database, so that it can be reset; empties it if it still
    /// contains removed data.
    pub(super) fn write_back(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        if self.may_empty() {
            return self.empty(connection).inspect_err(|_| self.tried_at = Some(Instant::now()));
        }
        connection.wal_checkpoint_v2(Some(MAIN_DB), CheckpointMode::PASSIVE)?;
        self.is_written_back = true;
        Ok(())
    }

    /// Whether the log must be emptied, and that was not tried just now.
    fn may_empty(&self) -> bool {
        self.must_empty && self.tried_at.is_none_or(|at| at.elapsed() >= RETRY_INTERVAL)
    }

    /// Waits only briefly for reads that still use the log, since submissions wait behind this.
    fn empty(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        let usual: i64 = connection.pragma_query_value(None, "busy_timeout", |row| row.get(0))?;
        connection.busy_timeout(EMPTY_WAIT)?;
        let emptied = connection.wal_checkpoint_v2(Some(MAIN_DB), CheckpointMode::TRUNCATE);
        connection.busy_timeout(Duration::from_millis(usual.unsigned_abs()))?;
        emptied?;
        self.must_empty = false;
        self.is_written_back = true;
        self.tried_at = None;
        self.pages.store(0, Ordering::Relaxed);
        Ok(())
    }

    /// Whether the log is at its limit, and should be emptied now.
    pub(super) fn is_overdue(&mut self) -> bool {
        let is_overdue = self.pages() >= self.pages_max;
        self.must_empty |= is_overdue;
        is_overdue && self.may_empty()
    }

    /// Refuses submissions while the log is at its limit.
    pub(super) fn must_have_room(&mut self) -> StoreResult<()> {
        let is_full = self.pages() >= self.pages_max;
        if is_full != std::mem::replace(&mut self.is_full, is_full) {
            let pages = self.pages();
            match is_full {
                true => tracing::error!(
                    pages,
                    "the log of the database is at its limit: submissions are refused until the readers that hold it have ended"
                ),
                false => tracing::info!(
                    pages,
                    "the log of the database is below its limit again: submissions are stored"
                ),
            }
        }
        if is_full { Err(StoreError::DiskReserve) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn while_writes_are_slow_the_log_is_written_back_later() {
        let mut connection = Connection::open_in_memory().unwrap();
        let mut log = Log::new(&mut connection, i32::MAX).unwrap();
        let fast = Duration::from_millis(2);
        for (pages, took, is_due) in [
            (CHECKPOINT_PAGES - 1, fast, false),
            (CHECKPOINT_PAGES, fast, true),
            (CHECKPOINT_PAGES, SLOW_WRITE, false),
            (SLOW_CHECKPOINT_PAGES - 1, SLOW_WRITE, false),
            (SLOW_CHECKPOINT_PAGES - 1, fast, true),
            (SLOW_CHECKPOINT_PAGES, SLOW_WRITE, true),
        ] {
            log.pages.store(pages, Ordering::Relaxed);
            log.note_commit(took);
            assert_eq!(log.is_due(), is_due, "{pages} pages, {took:?}");
        }
        // What was removed must leave the log at once.
        log.must_empty = true;
        log.pages.store(1, Ordering::Relaxed);
        assert!(log.is_due());
    }
}
