//! All responses of a flow as a file: CSV, JSON Lines, Parquet or XLSX, over all versions.
//!
//! An export is a pipe of three: one reads pages off the store, one puts them into the format, one is
//! whoever takes the bytes. Each waits for the next, so that memory is a few pages however many responses
//! there are, and each ends when the next has gone. Every page is a read of its own; what is received after
//! the export began is not in it.
//!
//! [`columns`] says which columns there are and in which order, the same for every format that has columns.

mod begin;
mod columns;
mod csv;
mod jsonl;
mod laid;
#[cfg(feature = "parquet")]
mod parquet;
pub(crate) mod pipe;
mod tags;
#[cfg(feature = "xlsx")]
mod xlsx;

pub(crate) use self::csv::without_formulas;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use bytes::Bytes;
use sluice_flow::definition::Fault;
use tokio::sync::mpsc;

use crate::admin::AdminError;

/// What a sheet holds, its header apart.
pub const XLSX_ROWS_MAX: u64 = 1_048_575;

/// The form of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportFormat {
    Csv,
    Jsonl,
    Parquet,
    Xlsx,
}

impl ExportFormat {
    /// Those that this build can write.
    pub const ALL: &[Self] = &[
        Self::Csv,
        Self::Jsonl,
        #[cfg(feature = "parquet")]
        Self::Parquet,
        #[cfg(feature = "xlsx")]
        Self::Xlsx,
    ];

    /// Its word in requests, and the end of the file's name.
    pub fn word(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Jsonl => "jsonl",
            Self::Parquet => "parquet",
            Self::Xlsx => "xlsx",
        }
    }

    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|format| format.word() == word)
    }

    /// Whether its first row names the columns for people.
    pub fn has_headings(self) -> bool {
        matches!(self, Self::Csv | Self::Xlsx)
    }

    pub fn media_type(self) -> &'static str {
        match self {
            Self::Csv => "text/csv; charset=utf-8; header=present",
            Self::Jsonl => "application/jsonl",
            Self::Parquet => "application/vnd.apache.parquet",
            Self::Xlsx => "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        }
    }
}

/// What the columns of questions are called, in a format that people read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Headings {
    /// By the question's id, which stays.
    #[default]
    Ids,
    /// By the text of the newest version that asks it, with the id behind it.
    Texts,
}

impl Headings {
    pub const ALL: &[Self] = &[Self::Ids, Self::Texts];

    /// Its word in requests.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ids => "ids",
            Self::Texts => "texts",
        }
    }

    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|headings| headings.word() == word)
    }
}

/// As what responses are exported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExportAs {
    pub format: ExportFormat,
    pub headings: Headings,
}

/// An export that has begun.
#[derive(Debug)]
pub struct Export {
    pub format: ExportFormat,
    /// A name for the file: of the flow, the time and the format.
    pub file_name: String,
    pub progress: Arc<Progress>,
    /// The file, piece by piece; after an error there are no more.
    pub chunks: mpsc::Receiver<Result<Bytes, ExportFailed>>,
}

/// How far an export has come.
#[derive(Debug, Default)]
pub struct Progress {
    rows: AtomicU64,
    ended: AtomicBool,
    /// How many rows there will be, where that is known.
    pub total: Option<u64>,
}

impl Progress {
    pub fn rows(&self) -> u64 {
        self.rows.load(Ordering::Relaxed)
    }

    /// Whether all of it was written.
    pub fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }
}

/// The rest of a file cannot be made; what was sent of it is of no use.
#[derive(Debug, thiserror::Error)]
#[error("the export was broken off: {0}")]
pub struct ExportFailed(pub(crate) String);

fn no_headings(format: ExportFormat) -> AdminError {
    let message = format!("{} has no headings to read: leave it out", format.word());
    AdminError::Invalid(vec![Fault { pointer: "/headings".into(), message }])
}

fn too_many_for_a_sheet() -> AdminError {
    let message = "a spreadsheet ends at 1,048,576 rows, and there are more responses than that: \
                   take csv or parquet, or filter";
    AdminError::Invalid(vec![Fault { pointer: "/format".into(), message: message.into() }])
}

/// Letters and digits of the flow's name, whatever it is; never anything that a shell or a folder minds.
fn file_name(flow: &str, now: sluice_flow::time::Timestamp, format: ExportFormat) -> String {
    const NAME_CHARS_MAX: usize = 40;
    let mut name = String::new();
    for letter in flow.chars().take(NAME_CHARS_MAX) {
        match letter {
            letter if letter.is_ascii_alphanumeric() => name.push(letter.to_ascii_lowercase()),
            _ if !name.is_empty() && !name.ends_with('-') => name.push('-'),
            _ => {}
        }
    }
    let name = name.trim_end_matches('-');
    let name = if name.is_empty() { "responses" } else { name };
    let day: String = now.to_string().chars().take_while(|letter| *letter != 'T').collect();
    format!("{name}-{day}.{}", format.word())
}

#[cfg(test)]
mod tests {
    use sluice_flow::time::Timestamp;

    use super::*;

    #[test]
    fn a_file_is_named_after_its_flow_in_plain_letters() {
        let now = Timestamp::from_millis(1_794_708_000_000);
        for (flow, expected) in [
            ("Product feedback", "product-feedback-2026-11-15.csv"),
            ("../../etc/passwd", "etc-passwd-2026-11-15.csv"),
            ("Grün & \"blau\"\r\n", "gr-n-blau-2026-11-15.csv"),
            ("日本", "responses-2026-11-15.csv"),
            ("", "responses-2026-11-15.csv"),
        ] {
            assert_eq!(file_name(flow, now, ExportFormat::Csv), expected, "{flow}");
        }
    }

    #[test]
    fn a_format_is_found_by_its_word() {
        for format in ExportFormat::ALL {
            assert_eq!(ExportFormat::named(format.word()), Some(*format));
        }
        assert_eq!(ExportFormat::named("CSV"), None);
    }
}
