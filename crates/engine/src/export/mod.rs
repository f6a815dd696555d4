//! All responses of a flow as a file, over all versions. [`FORMATS`] is the table of formats.
//!
//! An export is a pipe of three stages: a reader of pages from the store, a writer of the format,
//! and the client that takes the bytes. Each stage waits for the next, so memory is bounded to a
//! few pages, and each ends when the next is gone. Every page is a separate read. Responses
//! received after the start are not included.
//!
//! [`since`] exports only what is new, for pipelines.
//!
//! [`columns`] lists the columns and their order, the same for every format that has columns.
//! [`labels`] replaces ids by labels, and [`codebook`] lists both.

mod begin;
mod chosen;
mod codebook;
mod columns;
mod csv;
mod flat_row;
mod format;
mod jsonl;
mod labels;
mod outlet;
#[cfg(feature = "parquet")]
mod parquet;
pub(crate) mod pipe;
mod since;
mod span;
mod tags;
mod values_as;
mod xlsx;
mod zip;

pub(crate) use self::csv::without_formulas;
pub use self::format::{ExportFormat, Followed, LineFormat};
pub(crate) use self::labels::AnswerLabels;
pub use self::values_as::ValuesAs;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use bytes::Bytes;
use sluice_flow::definition::Fault;
use sluice_flow::id::ResponseId;
use sluice_flow::time::Timestamp;
use tokio::sync::mpsc;

use crate::admin::AdminError;

/// The formats that this build can write, in the order in which they are offered.
///
/// To add a format: a file with its [`ExportFormat`], its `mod` above, and its line here.
pub static FORMATS: &[&ExportFormat] = &[
    &csv::FORMAT,
    &jsonl::FORMAT,
    #[cfg(feature = "parquet")]
    &parquet::FORMAT,
    &xlsx::FORMAT,
];

/// How responses are exported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportAs {
    pub format: &'static ExportFormat,
    pub values: ValuesAs,
    /// The names of its columns in their order ([`crate::response_columns`]); `None` means all.
    pub columns: Option<Vec<String>>,
    /// Only the responses after this one.
    pub after: Option<ResponseId>,
}

/// An export in progress.
#[derive(Debug)]
pub struct Export {
    pub format: &'static ExportFormat,
    /// A file name from the flow's name, the day and the format.
    pub file_name: String,
    pub progress: Arc<Progress>,
    /// Where the next export of new responses starts, if this is one.
    pub next: Option<Timestamp>,
    /// The file in pieces. An error ends it.
    pub chunks: mpsc::Receiver<Result<Bytes, ExportFailed>>,
}

/// The progress of an export.
#[derive(Debug, Default)]
pub struct Progress {
    rows: AtomicU64,
    ended: AtomicBool,
    /// The total number of rows, if known.
    pub total: Option<u64>,
}

impl Progress {
    pub fn rows(&self) -> u64 {
        self.rows.load(Ordering::Relaxed)
    }

    /// Whether the whole file was written.
    pub fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }
}

/// The export failed; the part that was sent is useless.
#[derive(Debug, thiserror::Error)]
#[error("the export was aborted: {0}")]
pub struct ExportFailed(pub(crate) String);

fn no_columns(format: &ExportFormat) -> AdminError {
    let message = format!("must be absent: {} has no columns", format.name);
    AdminError::Invalid(vec![Fault::new("/columns", message)])
}

fn too_many_rows(format: &ExportFormat, max: u64) -> AdminError {
    let message = format!(
        "must not be {} ({}) for more than {max} responses: choose another format, or add a filter",
        format.name, format.label
    );
    AdminError::Invalid(vec![Fault::new("/format", message)])
}

/// Keeps only letters and digits of the flow's name, so that the file name is safe in a shell and a
/// file system.
fn file_name(flow: &str, suffix: &str, now: Timestamp, format: &ExportFormat) -> String {
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
    format!("{name}{suffix}-{day}.{}", format.extension)
}

#[cfg(test)]
mod tests {
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
            assert_eq!(file_name(flow, "", now, &csv::FORMAT), expected, "{flow}");
        }
        let long = file_name(&"n".repeat(60), "-codebook", now, &csv::FORMAT);
        assert_eq!(long, format!("{}-codebook-2026-11-15.csv", "n".repeat(40)));
    }
}
