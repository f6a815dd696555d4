//! Detects that the files of an open database were removed, replaced, cut off or overwritten.
//!
//! SQLite continues to write to a file that was deleted or renamed: each of these writes would be
//! acknowledged, and lost when the process ends. So the writer compares the files at their paths
//! with those that it opened, after each commit and before it is acknowledged, and once a second
//! when nothing is written:
//!
//! - The database and its log are still the same files (device and inode).
//! - The log was not cut off. While it is the same log (by the salts in its header), it is never
//!   shorter than the last commit left it. Otherwise SQLite would write behind a gap, at which
//!   recovery ends.
//! - Nothing else wrote to the database file: it has the size and time of our last checkpoint, or
//!   SQLite knows of a checkpoint by another process. This is checked only while no other process
//!   of Sluice has the database open ([`Marker`]), since one of its checkpoints may be under way. A
//!   `touch` looks the same. With a log, SQLite need not change the counters in the header of the
//!   file, so an older copy in its place may have the same ones: they prove nothing.
//!
//! A commit costs four system calls for this. On systems other than Unix nothing is checked.

use std::fs::{File, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::marker::{Marker, beside};

/// The header of a log, and of each page in it.
const LOG_HEADER_BYTES: u64 = 32;
const FRAME_HEADER_BYTES: u64 = 24;
/// The first bytes of every log, except for the last bit, which is the byte order of its checksums.
const LOG_MAGIC: u32 = 0x377f_0682;

/// A checkpoint by another program, such as a shell, takes less than this. Until it has ended, it
/// looks as if that program had overwritten the file, so the writer waits.
const CHECKPOINT_MAX: Duration = Duration::from_secs(2);
const CHECKPOINT_POLL: Duration = Duration::from_millis(20);

/// What happened to the files of an open database. Nothing may be acknowledged after this.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum FilesChanged {
    #[error("{} was removed or renamed while this server had it open", .0.display())]
    Gone(PathBuf),
    #[error("{} was replaced by another file while this server had it open", .0.display())]
    Replaced(PathBuf),
    #[error("{} was emptied or cut off while this server had it open", .0.display())]
    Cut(PathBuf),
    #[error("{} was overwritten by another program while this server had it open", .0.display())]
    Overwritten(PathBuf),
    #[error("{} cannot be checked: {}", .0.display(), .1)]
    Unreadable(PathBuf, String),
}

/// The files of an open database, as the writer left them.
#[derive(Debug)]
pub(super) struct Files {
    database: OpenFile,
    log: OpenFile,
    /// To read the header of the log. SQLite takes no locks on the log, so closing it is harmless.
    log_file: File,
    frame_bytes: u64,
    marker: Option<Marker>,
    /// The length of the log before the commit in progress.
    log_bytes_before: u64,
    /// The salts of the log at the last commit, and how long it was at least.
    last: Option<(Salts, u64)>,
    /// The database file after the last checkpoint.
    checkpointed: Checkpointed,
    /// Whether the log has pages, as far as this process knows.
    has_log_pages: bool,
}

type Salts = [u8; 8];

#[derive(Debug)]
struct OpenFile {
    path: PathBuf,
    id: FileId,
}

type FileId = (u64, u64);

#[derive(Debug, PartialEq, Eq)]
struct Checkpointed {
    bytes: u64,
    changed: Option<std::time::SystemTime>,
    /// The pages of the log that are in the database file, as SQLite knows.
    pages: i64,
}

impl Files {
    /// The files of a database that this connection has written to.
    pub(super) fn new(path: &Path, connection: &Connection) -> io::Result<Self> {
        // SQLite puts the log beside the file that a link points to.
        let path = &std::fs::canonicalize(path)?;
        let log = beside(path, "-wal");
        let page_bytes: u32 = connection
            .pragma_query_value(None, "page_size", |row| row.get(0))
            .map_err(io::Error::other)?;
        let (found, found_log) = (std::fs::metadata(path)?, std::fs::metadata(&log)?);
        let mut files = Self {
            checkpointed: Checkpointed::new(&found, connection),
            database: OpenFile { id: id_of(&found), path: path.to_owned() },
            log_file: File::open(&log)?,
            log: OpenFile { id: id_of(&found_log), path: log },
            frame_bytes: u64::from(page_bytes) + FRAME_HEADER_BYTES,
            marker: None,
            log_bytes_before: 0,
            last: None,
            has_log_pages: log_pages(connection) != 0,
        };
        files.last = files.log_salts().ok().map(|salts| (salts, found_log.len()));
        Ok(files)
    }

    pub(super) fn set_marker(&mut self, marker: Marker) {
        self.marker = Some(marker);
    }

    /// Call before each transaction.
    pub(super) fn before_commit(&mut self) {
        // A log that is gone is reported afterwards.
        self.log_bytes_before = std::fs::metadata(&self.log.path).map_or(0, |it| it.len());
    }

    /// Call after each commit that wrote something, before it is acknowledged; `log_pages` is the
    /// number of pages that are then in the log.
    pub(super) fn after_commit(
        &mut self,
        connection: &Connection,
        log_pages: u64,
    ) -> Result<(), FilesChanged> {
        let salts = self.log_salts()?;
        match self.last {
            Some((last, bytes)) if last == salts => {
                if self.log_bytes_before < bytes {
                    // It may also be gone.
                    self.log.metadata()?;
                    return Err(FilesChanged::Cut(self.log.path.clone()));
                }
            }
            // The log starts again after a checkpoint, which may have been another process's.
            _ => self.after_checkpoint(connection),
        }
        self.last = Some((salts, LOG_HEADER_BYTES + log_pages * self.frame_bytes));
        self.has_log_pages = true;
        self.check(connection)
    }

    /// Whether the files are in place. Call it when nothing is being written.
    pub(super) fn check(&mut self, connection: &Connection) -> Result<(), FilesChanged> {
        let log = self.log.metadata()?;
        if let Some((salts, bytes)) = self.last
            && log.len() < bytes
        {
            // Another process may have emptied the log after a checkpoint, and may have begun it
            // again.
            let is_cut = match self.log_salts() {
                Ok(found) => found == salts,
                // SQLite knows whether it was a checkpoint that emptied it.
                Err(_) => log_pages(connection) != 0 && self.is_alone(),
            };
            if is_cut {
                return Err(FilesChanged::Cut(self.log.path.clone()));
            }
        }
        let found = self.database.metadata()?;
        if self.checkpointed.is_of(&found) {
            return Ok(());
        }
        // Written by others: SQLite knows at the end of a checkpoint that it was one.
        let begun = Instant::now();
        loop {
            let now = Checkpointed::new(&self.database.metadata()?, connection);
            let is_emptied = self.has_log_pages && log_pages(connection) == 0;
            if now.pages != self.checkpointed.pages || is_emptied || !self.is_alone() {
                self.checkpointed = now;
                self.has_log_pages &= !is_emptied;
                return Ok(());
            }
            if begun.elapsed() > CHECKPOINT_MAX {
                return Err(FilesChanged::Overwritten(self.database.path.clone()));
            }
            std::thread::sleep(CHECKPOINT_POLL);
        }
    }

    /// Call after each checkpoint.
    pub(super) fn after_checkpoint(&mut self, connection: &Connection) {
        if let Ok(found) = std::fs::metadata(&self.database.path) {
            self.checkpointed = Checkpointed::new(&found, connection);
        }
        self.has_log_pages = log_pages(connection) != 0;
        let log_bytes = std::fs::metadata(&self.log.path).map_or(0, |it| it.len());
        self.last = self.last.filter(|(_, bytes)| log_bytes >= *bytes);
    }

    /// The salts of the log, which change when it starts again from its beginning.
    fn log_salts(&self) -> Result<Salts, FilesChanged> {
        let mut header = [0; LOG_HEADER_BYTES as usize];
        let read = read_at_start(&self.log_file, &mut header);
        read.map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => FilesChanged::Cut(self.log.path.clone()),
            _ => FilesChanged::Unreadable(self.log.path.clone(), error.to_string()),
        })?;
        let [a, b, c, d, ..] = header;
        if u32::from_be_bytes([a, b, c, d]) & !1 != LOG_MAGIC {
            return Err(FilesChanged::Cut(self.log.path.clone()));
        }
        let mut salts = Salts::default();
        salts.copy_from_slice(&header[16..24]);
        Ok(salts)
    }

    fn is_alone(&self) -> bool {
        self.marker.as_ref().is_some_and(Marker::is_alone)
    }
}

impl OpenFile {
    /// What is at the path, if it is the file that was opened.
    fn metadata(&self) -> Result<Metadata, FilesChanged> {
        match std::fs::metadata(&self.path) {
            Ok(found) if id_of(&found) == self.id => Ok(found),
            Ok(_) => Err(FilesChanged::Replaced(self.path.clone())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(FilesChanged::Gone(self.path.clone()))
            }
            Err(error) => Err(FilesChanged::Unreadable(self.path.clone(), error.to_string())),
        }
    }
}

impl Checkpointed {
    fn new(found: &Metadata, connection: &Connection) -> Self {
        Self {
            bytes: found.len(),
            changed: found.modified().ok(),
            pages: pages_in_file(connection),
        }
    }

    fn is_of(&self, found: &Metadata) -> bool {
        self.bytes == found.len() && self.changed == found.modified().ok()
    }
}

/// The pages of the log that SQLite has written into the database file; does not write any.
fn pages_in_file(connection: &Connection) -> i64 {
    checkpoint_column(connection, 2)
}

/// The pages that the log has according to SQLite.
fn log_pages(connection: &Connection) -> i64 {
    checkpoint_column(connection, 1)
}

fn checkpoint_column(connection: &Connection, column: usize) -> i64 {
    let pages = connection.query_row("PRAGMA wal_checkpoint(NOOP)", [], |row| row.get(column));
    pages.unwrap_or(-1)
}

#[cfg(unix)]
fn id_of(found: &Metadata) -> FileId {
    use std::os::unix::fs::MetadataExt as _;
    (found.dev(), found.ino())
}

#[cfg(not(unix))]
fn id_of(_: &Metadata) -> FileId {
    FileId::default()
}

#[cfg(unix)]
fn read_at_start(file: &File, buffer: &mut [u8]) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, buffer, 0)
}

#[cfg(not(unix))]
fn read_at_start(mut file: &File, buffer: &mut [u8]) -> io::Result<()> {
    use std::io::{Read as _, Seek as _};
    file.seek(io::SeekFrom::Start(0))?;
    file.read_exact(buffer)
}
