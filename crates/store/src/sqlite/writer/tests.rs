//! What stops the writer, and what does not.

use std::time::Duration;

use rusqlite::ffi;

use super::super::connection::{ConnectionRole, Options, connect};
use super::transaction::TransactionError;
use super::*;

fn sqlite(code: i32) -> TransactionError {
    TransactionError::Sqlite(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None))
}

/// One write that fails with this error, and the next one.
fn check(code: i32, stops: bool) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sluice.db");
    let connection = connect(&path, ConnectionRole::Writer, &Options::default()).unwrap();
    connection.execute_batch("CREATE TABLE probe (filler BLOB NOT NULL)").unwrap();
    let reserve = Arc::new(Reserve::new(&path, Some(0)));
    let damage_file = Arc::new(DamageFile::beside(&path));
    let (damage, gate) = (Arc::default(), Arc::default());
    let limits = Limits { reserve, log_pages_max: i32::MAX, damage, damage_file, gate };
    let mut thread = Thread::new(connection, limits, Arc::default()).unwrap();
    thread.check().unwrap();
    let failed = thread.write::<()>(|_| Err(sqlite(code)));
    let next = thread.write(|_| Ok(((), Finish::Commit)));
    let ready = thread.check();
    if stops {
        assert!(matches!(failed, Err(StoreError::Unknown(_))), "{code}: {failed:?}");
        assert!(matches!(next, Err(StoreError::Closed)), "{code}: {next:?}");
        assert!(matches!(ready, Err(StoreError::Closed)), "{code}: {ready:?}");
    } else {
        assert!(matches!(failed, Err(StoreError::Failed(_))), "{code}: {failed:?}");
        assert!(next.is_ok() && ready.is_ok(), "{code}: {next:?}, {ready:?}");
    }
}

#[test]
fn nothing_is_written_after_an_io_error() {
    for code in [ffi::SQLITE_IOERR, ffi::SQLITE_IOERR_FSYNC, ffi::SQLITE_IOERR_WRITE] {
        check(code, true);
    }
}

#[test]
fn writing_continues_after_a_full_disk_or_a_lock() {
    for code in [ffi::SQLITE_FULL, ffi::SQLITE_BUSY] {
        check(code, false);
    }
}

/// The bytes that a check adds to the log, if the last write was this long ago.
fn probed_bytes(thread: &mut Thread, log: &Path, ago: Option<Duration>) -> u64 {
    let bytes = || std::fs::metadata(log).unwrap().len();
    let before = bytes();
    thread.written_at = ago.map(|ago| Instant::now().checked_sub(ago).unwrap());
    thread.check().unwrap();
    bytes() - before
}

#[test]
fn a_check_of_an_idle_store_writes_one_page_and_none_after_a_write() {
    const PAGE_IN_LOG_BYTES: u64 = 4096 + 24;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sluice.db");
    let connection = connect(&path, ConnectionRole::Writer, &Options::default()).unwrap();
    connection.execute_batch("CREATE TABLE probe (filler BLOB NOT NULL)").unwrap();
    let reserve = Arc::new(Reserve::new(&path, Some(0)));
    let damage_file = Arc::new(DamageFile::beside(&path));
    let (damage, gate) = (Arc::default(), Arc::default());
    let limits = Limits { reserve, log_pages_max: i32::MAX, damage, damage_file, gate };
    let mut thread = Thread::new(connection, limits, Arc::default()).unwrap();
    let log = folder.path().join("sluice.db-wal");
    let mut probed = |ago| probed_bytes(&mut thread, &log, ago);
    assert!(probed(None) > 10 * PAGE_IN_LOG_BYTES, "after a failure, as much as a batch");
    assert_eq!(probed(Some(Duration::from_secs(1))), 0);
    assert_eq!(probed(Some(Duration::from_secs(6))), PAGE_IN_LOG_BYTES);
}
