//! Opens the database: every failure is reported so that an operator can act on it.
//!
//! Startup time must not depend on the number of rows, so no rows are read here: only the header,
//! the settings, the schema and its history are checked, and `integrity_check` is not run.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::connection::{self, ConnectionRole};
use super::schema;

/// The oldest SQLite without the bug that can corrupt a log shared by several connections: 3.51.3.
const SQLITE_MIN: i32 = 3_051_003;
/// Pause between two attempts while another process creates or migrates the same database.
const RETRY_PAUSE: Duration = Duration::from_millis(10);

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
}

impl Default for Options {
    fn default() -> Self {
        Self {
            busy_timeout: connection::BUSY_TIMEOUT_DEFAULT,
            readers: 4,
            size_max_bytes: None,
            disk_reserve_bytes: None,
        }
    }
}

/// Why a database was not opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error(
        "SQLite {found} can damage a shared database; 3.51.3 or newer is needed: rebuild with the bundled SQLite"
    )]
    OldSqlite { found: &'static str },
    #[error("cannot write in the folder {}: {source}; choose another folder or change its permissions", path.display())]
    Folder { path: PathBuf, source: std::io::Error },
    #[error("cannot open the database {}: {reason}; check that the file and its folder can be read and written", path.display())]
    Unopenable { path: PathBuf, reason: String },
    #[error("the database {} is locked by another process (a long write or a migration): wait for it to end, or stop it", path.display())]
    Locked { path: PathBuf },
    #[error("the database {} was written by a newer Sluice (schema {found}; this binary knows {known}): upgrade the binary", path.display())]
    NewerSchema { path: PathBuf, found: i64, known: i64 },
    #[error("there is no database of Sluice in {}: name the file of an existing database", path.display())]
    NoSchema { path: PathBuf },
    #[error("the database {} has an older schema ({found}; this binary knows {known}): start a server with this binary on it once", path.display())]
    OlderSchema { path: PathBuf, found: i64, known: i64 },
    #[error("the database {} was created by a build of Sluice from before 0.1.0, whose schema cannot be upgraded: use a new folder or file; export responses that you need with the build that wrote them", path.display())]
    UnreleasedSchema { path: PathBuf },
    #[error("the schema of {} is not the one that this binary created ({detail}): use the binary that wrote it, or a copy from a backup", path.display())]
    OtherSchema { path: PathBuf, detail: String },
    #[error("the file {} is not a database of Sluice, or its first page is damaged: choose another path, or restore it from a backup", path.display())]
    NotOurs { path: PathBuf },
    #[error("the database {} is damaged ({reason}): restore it from a backup", path.display())]
    Damaged { path: PathBuf, reason: String },
    #[error("the database {} refuses the setting {setting}={expected} (found {found}): it must be on a local disk that supports it", path.display())]
    Setting { path: PathBuf, setting: &'static str, expected: String, found: String },
    #[error("cannot start the thread that writes to the database: {0}")]
    Thread(#[source] std::io::Error),
}

impl OpenError {
    pub(super) fn of(path: &Path, error: rusqlite::Error) -> Self {
        let path = path.to_owned();
        let reason = error.to_string();
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Locked { path },
            Some(ErrorCode::NotADatabase) => Self::NotOurs { path },
            Some(ErrorCode::DatabaseCorrupt) => Self::Damaged { path, reason },
            _ => Self::Unopenable { path, reason },
        }
    }
}

/// Creates the file and its schema if needed, and returns the writer's connection.
pub(super) fn open(path: &Path, options: &Options) -> Result<Connection, OpenError> {
    if rusqlite::version_number() < SQLITE_MIN {
        return Err(OpenError::OldSqlite { found: rusqlite::version() });
    }
    make_file(path)?;
    // If two processes start at once, both find the file new. SQLite reports a lock to the later
    // one without waiting, so the wait is done here.
    let deadline = Instant::now() + options.busy_timeout;
    loop {
        match connect_and_migrate(path, options) {
            Err(OpenError::Locked { .. }) if Instant::now() < deadline => {
                std::thread::sleep(RETRY_PAUSE);
            }
            result => return result,
        }
    }
}

/// Checks the schema with a read-only connection.
pub(super) fn must_be_current(path: &Path, options: &Options) -> Result<(), OpenError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let opened = Connection::open_with_flags(path, flags);
    let connection = opened.map_err(|error| OpenError::of(path, error))?;
    let wait = connection.busy_timeout(options.busy_timeout);
    wait.map_err(|error| OpenError::of(path, error))?;
    schema::refuse_foreign(&connection, path)?;
    schema::must_be_current(&connection, path)
}

fn connect_and_migrate(path: &Path, options: &Options) -> Result<Connection, OpenError> {
    let mut connection = connection::connect(path, ConnectionRole::Writer, options)?;
    schema::bring_up_to_date(&mut connection, path)?;
    Ok(connection)
}

/// Creates the folder and an empty file that only its owner can read: it will hold personal data.
///
/// An existing file is deliberately not opened here: closing it again would drop the locks that
/// other connections of this process have on it.
fn make_file(path: &Path) -> Result<(), OpenError> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let failed = |source| OpenError::Folder { path: folder.to_owned(), source };
    std::fs::create_dir_all(folder).map_err(failed)?;
    let mut file = std::fs::OpenOptions::new();
    file.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut file, 0o600);
    match file.open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(failed(error)),
    }
}
