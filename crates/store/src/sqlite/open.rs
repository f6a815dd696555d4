//! Opens the database: every failure is reported so that an operator can act on it.
//!
//! Startup time must not depend on the number of rows, so no rows are read here: only the header,
//! the settings, the schema and its history are checked, and `integrity_check` is not run. SQLite
//! itself refuses a file that has fewer pages than its header says.

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::connection::{self, ConnectionRole, Options};
use super::marker::folder_of;
use super::open_error::OpenError;
use super::schema;

/// The oldest SQLite without the bug that can corrupt a log shared by several connections: 3.51.3.
const SQLITE_MIN: i32 = 3_051_003;
/// Pause between two attempts while another process creates or migrates the same database.
const RETRY_PAUSE: Duration = Duration::from_millis(10);

/// Creates the file and its schema if needed, and returns the writer's connection.
pub(super) fn open(path: &Path, options: &Options) -> Result<Connection, OpenError> {
    if rusqlite::version_number() < SQLITE_MIN {
        return Err(OpenError::OldSqlite { found: rusqlite::version() });
    }
    options.create.check(path)?;
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
    let connection = connection::connect(path, ConnectionRole::ReadOnly, options)?;
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
    let folder = folder_of(path);
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
