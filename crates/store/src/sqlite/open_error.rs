//! Why a database was not opened, with what an operator can do about it.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

/// Why a database was not opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error(
        "SQLite {found} can damage a shared database; 3.51.3 or newer is needed: rebuild with the bundled SQLite"
    )]
    OldSqlite { found: &'static str },
    #[error("cannot write in the folder {}: {source}; choose another folder or change its permissions", path.display())]
    Folder { path: PathBuf, source: std::io::Error },
    #[error("there is no database {}, or it is empty, and none is created in its place{}", path.display(), in_folder_with(other.as_deref()))]
    Absent {
        path: PathBuf,
        /// Something else in its folder.
        other: Option<OsString>,
    },
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
    pub(super) fn from_sqlite(path: &Path, error: rusqlite::Error) -> Self {
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

fn in_folder_with(other: Option<&OsStr>) -> String {
    other.map_or(String::new(), |other| format!(": the folder has {}", other.display()))
}
