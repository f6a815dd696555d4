//! Opens a connection: sets the settings that durability depends on, and reads them back.
//!
//! - `journal_mode=WAL`: readers never wait for the writer, and several processes may share the
//!   file.
//! - `synchronous=FULL`: a commit returns after the log is synced. With NORMAL, often used with
//!   WAL, an acknowledged response could be lost in a power failure. The setting is per connection,
//!   so every connection gets it.
//! - `wal_autocheckpoint=0`: the writer runs checkpoints itself, after it has answered, so that no
//!   submission waits for one and its errors are not swallowed.
//! - `mmap_size=0`: with mapped files, a failing disk raises a fatal signal instead of an error.
//! - `secure_delete=ON`: a deleted response is overwritten, not just unlinked.
//! - `trusted_schema=OFF`, `cell_size_check=ON`: a tampered or damaged file fails early.
//!
//! SQLite silently ignores a setting that it cannot apply, so each one is read back.

use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::marker::CreatePolicy;
use super::open_error::OpenError;
use super::schema;

/// How to open a database.
#[derive(Debug, Clone)]
pub struct Options {
    /// How long to wait for a lock that another process holds.
    pub busy_timeout: Duration,
    /// The most concurrent reads.
    pub readers: usize,
    /// The maximum size of the database file; beyond it, writes fail as on a full disk.
    pub size_max_bytes: Option<u64>,
    /// Free disk space that submissions must not use, in bytes: 0 means none, absent means the
    /// default.
    pub disk_reserve_bytes: Option<u64>,
    /// The length of the log at which submissions are refused.
    pub log_bytes_max: u64,
    /// Whether a missing or empty database is created.
    pub create: CreatePolicy,
}

impl Options {
    pub(super) fn log_pages_max(&self) -> i32 {
        i32::try_from(self.log_bytes_max / u64::from(PAGE_BYTES)).unwrap_or(i32::MAX)
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            busy_timeout: BUSY_TIMEOUT_DEFAULT,
            readers: 4,
            size_max_bytes: None,
            disk_reserve_bytes: None,
            log_bytes_max: LOG_BYTES_MAX_DEFAULT,
            create: CreatePolicy::default(),
        }
    }
}

/// What a connection is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConnectionRole {
    Writer,
    Reader,
    /// Reads a file that this process must not change.
    ReadOnly,
}

impl ConnectionRole {
    fn flags(self) -> OpenFlags {
        // A connection is used by one thread at a time, so SQLite needs no mutexes.
        OpenFlags::SQLITE_OPEN_NO_MUTEX
            | match self {
                Self::Writer => OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE,
                Self::Reader => OpenFlags::SQLITE_OPEN_READ_WRITE,
                Self::ReadOnly => OpenFlags::SQLITE_OPEN_READ_ONLY,
            }
    }
}

/// How long a connection waits for another process before it reports a locked database.
const BUSY_TIMEOUT_DEFAULT: Duration = Duration::from_secs(5);
/// Far above what reads of this process need.
const LOG_BYTES_MAX_DEFAULT: u64 = 4 * 1024 * 1024 * 1024;
/// Page size of a new database. Idempotency keys are random, so each of them dirties a separate
/// page: with twice this size, keyed batches of 64 wrote half as many bytes again.
const PAGE_BYTES: u32 = 4 * 1024;
/// Cache of the writer: the pages that one batch touches, and those above them. It stays in memory,
/// and twice as much was not faster.
const WRITER_CACHE_KIBIBYTES: i64 = 32 * 1024;
const READER_CACHE_KIBIBYTES: i64 = 8 * 1024;
/// Size of the log file after a reset.
const LOG_KEPT_BYTES: i64 = 64 * 1024 * 1024;
/// Prepared statements cached per connection; more than this crate has.
const STATEMENTS_MAX: usize = 64;

/// The settings of a connection: name, and the value written and then read back.
fn settings(role: ConnectionRole) -> [(&'static str, i64); 12] {
    let (cache, query_only) = match role {
        ConnectionRole::Writer => (WRITER_CACHE_KIBIBYTES, 0),
        ConnectionRole::Reader | ConnectionRole::ReadOnly => (READER_CACHE_KIBIBYTES, 1),
    };
    const FULL: i64 = 2;
    const IN_MEMORY: i64 = 2;
    [
        ("synchronous", FULL),
        ("foreign_keys", 1),
        ("trusted_schema", 0),
        ("cell_size_check", 1),
        ("secure_delete", 1),
        ("mmap_size", 0),
        ("temp_store", IN_MEMORY),
        ("wal_autocheckpoint", 0),
        ("journal_size_limit", LOG_KEPT_BYTES),
        ("cache_size", -cache),
        // Pages are written to the log only by a commit, as `sluice_vfs` needs.
        ("cache_spill", 0),
        ("query_only", query_only),
    ]
}

/// Opens the database with every setting in place. The only place that opens a connection. Only the
/// writer, which is opened first, creates a database: the file may be taken away later.
pub(super) fn connect(
    path: &Path,
    role: ConnectionRole,
    options: &Options,
) -> Result<Connection, OpenError> {
    // SQLite would delete the log beside an empty file.
    let is_empty = || std::fs::metadata(path).is_ok_and(|file| file.len() == 0);
    if role != ConnectionRole::Writer && is_empty() {
        return Err(OpenError::NoSchema { path: path.to_owned() });
    }
    let opened = open(path, role);
    let connection = opened.map_err(|error| OpenError::from_sqlite(path, error))?;
    let wait = connection.busy_timeout(options.busy_timeout);
    wait.map_err(|error| OpenError::from_sqlite(path, error))?;
    schema::refuse_foreign(&connection, path)?;
    set_up(&connection, role, options).map_err(|error| OpenError::from_sqlite(path, error))?;
    verify(&connection, role, options, path)?;
    Ok(connection)
}

/// The writer's file system does not sync the log twice in a row on a slow disk.
fn open(path: &Path, role: ConnectionRole) -> rusqlite::Result<Connection> {
    #[cfg(unix)]
    if role == ConnectionRole::Writer && sluice_vfs::register() {
        return Connection::open_with_flags_and_vfs(path, role.flags(), sluice_vfs::NAME);
    }
    Connection::open_with_flags(path, role.flags())
}

fn set_up(
    connection: &Connection,
    role: ConnectionRole,
    options: &Options,
) -> rusqlite::Result<()> {
    connection.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
    // Plans do not depend on the values of parameters. Otherwise SQLite prepares some statements
    // again for every run.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    let mode: String = connection.pragma_query_value(None, "journal_mode", |row| row.get(0))?;
    if mode != "wal" && role == ConnectionRole::Writer {
        // These only take effect on an empty file, before the first write.
        connection.pragma_update(None, "page_size", PAGE_BYTES)?;
        connection.pragma_update(None, "auto_vacuum", "incremental")?;
        connection.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(()))?;
    }
    for (name, value) in settings(role) {
        // Some of these return a row and some do not; both are fine.
        connection.pragma_update_and_check(None, name, value, |_| Ok(())).or_else(|error| {
            match error {
                rusqlite::Error::QueryReturnedNoRows => Ok(()),
                other => Err(other),
            }
        })?;
    }
    if let Some(bytes) = options.size_max_bytes {
        let page_bytes: u64 = connection
            .pragma_query_value(None, "page_size", |row| row.get::<_, i64>(0))?
            .cast_unsigned();
        let pages = (bytes / page_bytes.max(1)).cast_signed();
        connection.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))?;
    }
    Ok(())
}

fn verify(
    connection: &Connection,
    role: ConnectionRole,
    options: &Options,
    path: &Path,
) -> Result<(), OpenError> {
    let read = |name: &str| -> Result<String, OpenError> {
        connection
            .pragma_query_value(None, name, |row| row.get::<_, rusqlite::types::Value>(0))
            .map(text)
            .map_err(|error| OpenError::from_sqlite(path, error))
    };
    let timeout = i64::try_from(options.busy_timeout.as_millis()).unwrap_or(i64::MAX);
    let expected = settings(role)
        .into_iter()
        .chain([("busy_timeout", timeout)])
        .map(|(name, value)| (name, value.to_string()))
        // A copy that is only read may have another mode.
        .chain((role != ConnectionRole::ReadOnly).then(|| ("journal_mode", "wal".to_owned())));
    for (setting, expected) in expected {
        let found = read(setting)?;
        if found != expected {
            return Err(OpenError::Setting { path: path.to_owned(), setting, expected, found });
        }
    }
    Ok(())
}

fn text(value: rusqlite::types::Value) -> String {
    match value {
        rusqlite::types::Value::Integer(number) => number.to_string(),
        rusqlite::types::Value::Text(text) => text,
        other => format!("{other:?}"),
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::StatementStatus;

    use super::*;

    #[test]
    fn every_connection_is_durable_and_set_up_as_documented() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sluice.db");
        for role in [
            ConnectionRole::Writer,
            ConnectionRole::Reader,
            ConnectionRole::Writer,
            ConnectionRole::Reader,
        ] {
            let connection = connect(&path, role, &Options::default()).unwrap();
            let read = |name: &str| {
                text(connection.pragma_query_value(None, name, |row| row.get(0)).unwrap())
            };
            assert_eq!(read("journal_mode"), "wal");
            assert_eq!(read("synchronous"), "2", "FULL");
            assert_eq!(read("foreign_keys"), "1");
            assert_eq!(read("trusted_schema"), "0");
            assert_eq!(read("mmap_size"), "0");
            assert_eq!(read("busy_timeout"), "5000");
            assert_eq!(read("page_size"), PAGE_BYTES.to_string());
            assert_eq!(read("query_only"), if role == ConnectionRole::Reader { "1" } else { "0" });
        }
    }

    #[test]
    fn a_statement_is_prepared_once_for_many_runs() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sluice.db");
        let connection = connect(&path, ConnectionRole::Writer, &Options::default()).unwrap();
        for migration in crate::schema::SQLITE {
            connection.execute_batch(migration.sql).unwrap();
        }
        let sql = "UPDATE response_blocks SET filter = NULL WHERE last_id IN (SELECT last_id \
             FROM response_blocks WHERE app_id = ?1 AND last_id >= ?2 LIMIT 4)";
        for _ in 0..3 {
            let mut statement = connection.prepare_cached(sql).unwrap();
            statement.execute([[0_u8; 16], [0_u8; 16]]).unwrap();
            assert_eq!(statement.get_status(StatementStatus::RePrepare), 0);
        }
    }

    #[test]
    fn a_reader_cannot_write() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sluice.db");
        let _writer = connect(&path, ConnectionRole::Writer, &Options::default()).unwrap();
        for role in [ConnectionRole::Reader, ConnectionRole::ReadOnly] {
            let reader = connect(&path, role, &Options::default()).unwrap();
            assert!(reader.execute_batch("CREATE TABLE t (x)").is_err(), "{role:?}");
        }
    }
    #[test]
    fn a_reader_of_a_file_that_was_taken_away_creates_nothing_and_keeps_the_log() {
        let folder = tempfile::tempdir().unwrap();
        let [path, log] = ["sluice.db", "sluice.db-wal"].map(|name| folder.path().join(name));
        let writer = connect(&path, ConnectionRole::Writer, &Options::default()).unwrap();
        writer.execute_batch("CREATE TABLE t (x); INSERT INTO t VALUES (7)").unwrap();
        let written = std::fs::read(&log).unwrap();
        assert!(!written.is_empty());
        std::fs::rename(&path, folder.path().join("moved.db")).unwrap();
        for is_empty_file_there in [false, true] {
            if is_empty_file_there {
                std::fs::write(&path, "").unwrap();
            }
            for role in [ConnectionRole::Reader, ConnectionRole::ReadOnly] {
                assert!(connect(&path, role, &Options::default()).is_err(), "{role:?}");
                assert_eq!(path.exists(), is_empty_file_there, "{role:?}");
                assert!(std::fs::read(&log).unwrap() == written, "{role:?}");
            }
        }
    }
}
