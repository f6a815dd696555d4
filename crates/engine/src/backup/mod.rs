//! Backups: everything of a store at one instant, in one file that either backend can restore.
//!
//! A backup is gzip of lines of JSON: a [`Header`], then a [`BackupLine`] for each record in the
//! order of [`sluice_store::RecordCursor`], then the [`End`] with counts and digests. A file that
//! was cut off has no end; a file that was changed does not match the digest in it.
//!
//! An incremental backup refers to a full one, its base. It has every record except the responses
//! that are in the base and unchanged; of those it lists the positions. So it also knows which
//! responses were deleted or rewritten since: restoring it brings none of them back. It needs
//! exactly its base, never another incremental backup.
//!
//! Deliberately absent: encryption of the whole file (pipe it through a tool for that), and
//! sessions of the console, counts and the skip index, which are rebuilt.

mod key;
mod read;
mod write;

pub use key::{IncludedKeys, SealedKeys};
pub use read::{Backup, Contents};
pub use write::write;

use serde::{Deserialize, Serialize};
use sluice_flow::time::Timestamp;
use sluice_store::{Record, StoreError};

use crate::tally::TableTally;

/// The format that is written; older ones can be read. It is incremented when an older binary could
/// not read the file.
const FORMAT: u32 = 1;

/// The first line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// The format of the file.
    pub sluice_backup: u32,
    /// Identifies the backup; random.
    pub id: String,
    /// The version of the binary that wrote it.
    pub version: String,
    /// The newest schema that this binary supports.
    pub schema: i64,
    /// Just before the instant of its records: everything acknowledged before then is in it.
    pub created_at: Timestamp,
    /// The id of the full backup that an incremental one refers to.
    pub base: Option<String>,
    pub master_keys: Option<SealedKeys>,
}

/// A line after the first.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::large_enum_variant, reason = "nearly every line is a record")]
enum BackupLine {
    Record(Record),
    /// Unchanged responses and images: those after the next `skip` of them of the base.
    Base {
        skip: u64,
        copy: u64,
    },
    End(End),
}

/// Whether an incremental backup refers to the base for a record that has not changed: there are
/// many responses, and images are large.
fn is_shared(record: &Record) -> bool {
    matches!(record, Record::Response { .. } | Record::Asset(_))
}

/// The last line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct End {
    /// Of all records that a restore writes, with those from the base.
    tables: Vec<TableTally>,
    /// BLAKE3 of all lines before this one.
    digest: String,
}

/// Why a backup cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    #[error("the store cannot be read: {0}")]
    Store(#[source] StoreError),
    #[error("the master key does not open the secrets in the store")]
    OtherKey,
    #[error("the file cannot be written: {0}")]
    Write(#[source] std::io::Error),
    #[error("the file cannot be read: {0}")]
    Read(#[source] std::io::Error),
    #[error("the file is not a backup of Sluice")]
    NotABackup,
    #[error("the backup was written by a newer Sluice ({version})")]
    Newer { version: String },
    #[error("the backup is incomplete: it was cut off after {records} records")]
    CutOff { records: u64 },
    #[error("the backup is damaged: {0}")]
    Damaged(String),
    #[error("this is an incremental backup: its base is needed")]
    BaseNeeded,
    #[error("this is a full backup: it has no base")]
    NoBase,
    #[error("this is not the base of the backup")]
    OtherBase,
    #[error("the base must be a full backup, and this one is incremental")]
    IncrementalBase,
}

impl BackupError {
    /// An error while decompressing: a file that ends too early, or was changed.
    fn from_read(error: std::io::Error, records: u64) -> Self {
        use std::io::ErrorKind;
        match error.kind() {
            ErrorKind::UnexpectedEof => Self::CutOff { records },
            ErrorKind::InvalidInput | ErrorKind::InvalidData => Self::Damaged(error.to_string()),
            _ => Self::Read(error),
        }
    }
}
