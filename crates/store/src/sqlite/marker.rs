//! The marker beside a database: a file that records that a database was created here, and whose
//! lock shows whether several processes have it open.
//!
//! If the database is missing or empty although other files are there, someone has moved, deleted
//! or emptied it, and a new one in its place would hide that. If a whole volume is not mounted, the
//! marker is missing with it: then only [`CreatePolicy::Never`], or the order of mounts, prevents a
//! new database in the empty folder.

use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::open_error::OpenError;

const TEXT: &str = "Sluice created a database in this folder. While this file is here, Sluice does \
not create\nanother one if the database is missing. Delete it only together with the database.\n";

/// Names that say nothing about whether a database was here.
const IGNORED: [&str; 1] = ["lost+found"];

/// Whether a missing or empty database is created.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CreatePolicy {
    #[default]
    Always,
    /// Only if nothing else is in its folder.
    InEmptyFolder,
    Never,
}

impl CreatePolicy {
    /// Refuses a path at which no database may be created, if there is none.
    pub(super) fn check(self, path: &Path) -> Result<(), OpenError> {
        // Listed first: if another process creates the database now, it is found below.
        let other = match self {
            Self::Always => return Ok(()),
            Self::InEmptyFolder => other_file(path),
            Self::Never => None,
        };
        let is_there = std::fs::metadata(path).is_ok_and(|found| found.len() > 0);
        match (self, other) {
            _ if is_there => Ok(()),
            (Self::Never, _) => Err(OpenError::Absent { path: path.to_owned(), other: None }),
            (_, None) => Ok(()),
            (_, other) => Err(OpenError::Absent { path: path.to_owned(), other }),
        }
    }
}

/// A file in the folder of a database that does not belong to one that is just being created.
fn other_file(path: &Path) -> Option<OsString> {
    let own = ["", "-journal", "-shm"].map(|suffix| beside(path, suffix));
    let log = beside(path, "-wal");
    let is_ignored = |entry: &std::fs::DirEntry| {
        let (name, path) = (entry.file_name(), entry.path());
        let is_empty = || entry.metadata().is_ok_and(|found| found.len() == 0);
        name.as_encoded_bytes().starts_with(b".")
            || IGNORED.iter().any(|ignored| name == *ignored)
            || own.contains(&path)
            || path == log && is_empty()
    };
    // A folder that cannot be read is reported when the database is opened.
    let entries = std::fs::read_dir(folder_of(path)).ok()?.flatten();
    entries.filter(|entry| !is_ignored(entry)).map(|entry| entry.file_name()).min()
}

/// The marker of an open database, with its lock.
#[derive(Debug)]
pub(super) struct Marker(File);

impl Marker {
    /// Opens the marker and creates it if there is none.
    pub(super) fn put(path: &Path) -> io::Result<Self> {
        let path = beside(path, ".marker");
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(path)?;
        if file.metadata()?.len() == 0 {
            file.write_all(TEXT.as_bytes())?;
        }
        file.lock_shared()?;
        Ok(Self(file))
    }

    /// Whether no other process with a marker has the database open.
    pub(super) fn is_alone(&self) -> bool {
        let alone = match self.0.try_lock() {
            Ok(()) => true,
            Err(TryLockError::WouldBlock | TryLockError::Error(_)) => false,
        };
        // An attempt may lose the shared lock. Others hold the exclusive one only for a moment.
        self.0.lock_shared().is_ok() && alone
    }
}

/// The path of a file beside the database, with its name and this suffix.
pub(super) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or(OsStr::new("")).to_owned();
    name.push(suffix);
    folder_of(path).join(name)
}

pub(super) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}
