//! All responses of a flow as a file: CSV, JSON Lines, Parquet or XLSX, over all versions.
//!
//! An export is a pipe of three: one reads pages off the store, one puts them into the format, one is
//! whoever takes the bytes. Each waits for the next, so that memory is a few pages however many responses
//! there are, and each ends when the next has gone. Every page is a read of its own; what is received after
//! the export began is not in it.
//!
//! [`columns`] says which columns there are and in which order, the same for every format that has columns.

mod columns;
mod csv;
mod jsonl;
mod laid;
#[cfg(feature = "parquet")]
mod parquet;
mod pipe;
mod tags;
#[cfg(feature = "xlsx")]
mod xlsx;

pub(crate) use self::csv::without_formulas;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use bytes::Bytes;
use sluice_flow::definition::Fault;
use sluice_flow::id::FlowId;
use sluice_store::{CountsQuery, Order, ResponseQuery, Scope};
use tokio::sync::mpsc;

use crate::actor::Actor;
use crate::admin::{AdminError, AdminResult};
use crate::engine::Engine;
use crate::responses::{Paging, ResponseFilter};
pub(crate) use pipe::Exports;

/// Rows of one page on its way from the store into a file.
const PAGE_ROWS: usize = 1_000;
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

impl Engine {
    /// Begins an export of the responses that pass the filter, oldest first. That it was begun is in the audit
    /// log.
    pub async fn export(
        &self,
        actor: &Actor,
        flow: FlowId,
        ExportAs { format, headings }: ExportAs,
        filter: &ResponseFilter,
    ) -> AdminResult<Export> {
        if headings == Headings::Texts && !format.has_headings() {
            return Err(no_headings(format));
        }
        let state = self.flow_for(actor, Scope::Export, flow).await?;
        let app = state.flow.app_id;
        let place = self.exports.place(app)?;
        let paging = Paging { after: None, order: Order::Asc, limit: PAGE_ROWS };
        let now = self.now();
        // What comes in from now on is not in it, or it might never end.
        let end = now.plus_seconds(1);
        let filter =
            ResponseFilter { to: Some(filter.to.map_or(end, |to| to.min(end))), ..filter.clone() };
        let query = self.response_query(app, flow, &filter, paging).await?;
        let asked = self.asked(app, flow).await?;
        let total = self.expected(format, &query).await?;
        self.note_export(actor, app, "responses.exported", flow).await?;
        let progress = Arc::new(Progress { total, ..Progress::default() });
        let source = pipe::Source {
            store: Arc::clone(&self.store),
            exports: Arc::clone(&self.exports),
            query,
            asked,
            headings,
            now,
        };
        let chunks = pipe::start(source, format, Arc::clone(&progress), place);
        let file_name = file_name(&state.flow.name, now, format);
        Ok(Export { format, file_name, progress, chunks })
    }

    /// How many rows there will be, where that is quickly said. A sheet has an end, so for one all are
    /// counted, as far as it goes.
    async fn expected(
        &self,
        format: ExportFormat,
        query: &ResponseQuery,
    ) -> AdminResult<Option<u64>> {
        if let Some(rows) = self.counted(query).await? {
            let over = format == ExportFormat::Xlsx && rows > XLSX_ROWS_MAX;
            return if over { Err(too_many_for_a_sheet()) } else { Ok(Some(rows)) };
        }
        let mut query = query.clone();
        let mut rows = 0;
        loop {
            let part = self.store.count_responses(&query).await?;
            rows += part.responses;
            let over = rows > XLSX_ROWS_MAX;
            match (part.next, format) {
                (_, ExportFormat::Xlsx) if over => return Err(too_many_for_a_sheet()),
                (None, _) => return Ok(Some(rows)),
                (next, ExportFormat::Xlsx) => query.after = next,
                _ => return Ok(None),
            }
        }
    }

    /// What the counts that are kept say, of a whole flow or of a version. While some of it is still to be counted, they say
    /// nothing.
    async fn counted(&self, query: &ResponseQuery) -> AdminResult<Option<u64>> {
        let ResponseQuery { app_id, flow_id, version, .. } = *query;
        let is_whole = query.from.is_none()
            && query.to.is_none_or(|to| to > self.now())
            && query.admission.is_none()
            && query.tags.is_empty()
            && query.answers.is_empty()
            && query.search.is_none();
        if !is_whole {
            return Ok(None);
        }
        let today = Some(self.now().day());
        let day = CountsQuery { from: today, to: today, segment: None };
        if self.store.read_counts(app_id, flow_id, &day).await?.walk.is_some() {
            return Ok(None);
        }
        let by_version = self.store.count_by_version(app_id, flow_id).await?;
        let counted = by_version.iter().filter(|(id, _)| version.is_none_or(|it| it == *id));
        Ok(u64::try_from(counted.map(|(_, responses)| responses).sum::<i64>()).ok())
    }
}

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
