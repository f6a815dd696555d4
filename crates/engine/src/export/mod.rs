//! All responses of a flow as a file, over all versions. [`FORMATS`] is the table of formats.
//!
//! An export is a pipe of three stages: a reader of pages from the store, a writer of the format, and the
//! client that takes the bytes. Each stage waits for the next, so memory is bounded to a few pages, and
//! each ends when the next is gone. Every page is a separate read. Responses received after the start are
//! not included.
//!
//! [`columns`] lists the columns and their order, the same for every format that has columns.

mod columns;
mod csv;
mod flat_row;
mod format;
mod jsonl;
#[cfg(feature = "parquet")]
mod parquet;
mod pipe;
mod tags;
#[cfg(feature = "xlsx")]
mod xlsx;

pub(crate) use self::csv::without_formulas;
pub use self::format::{ExportFormat, Headings, Lines};

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

/// Rows of one page from the store.
const PAGE_ROWS: usize = 1_000;

/// The formats that this build can write, in the order in which they are offered.
///
/// To add a format: a file with its [`ExportFormat`], its `mod` above, and its line here.
pub static FORMATS: &[&ExportFormat] = &[
    &csv::FORMAT,
    &jsonl::FORMAT,
    #[cfg(feature = "parquet")]
    &parquet::FORMAT,
    #[cfg(feature = "xlsx")]
    &xlsx::FORMAT,
];

/// How responses are exported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExportAs {
    pub format: &'static ExportFormat,
    pub headings: Headings,
}

/// An export in progress.
#[derive(Debug)]
pub struct Export {
    pub format: &'static ExportFormat,
    /// A file name made of the flow's name, the day and the format.
    pub file_name: String,
    pub progress: Arc<Progress>,
    /// The file in pieces. An error is the last one.
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
#[error("the export was broken off: {0}")]
pub struct ExportFailed(pub(crate) String);

impl Engine {
    /// Starts an export of the responses that pass the filter, oldest first, and records it in the audit
    /// log.
    pub async fn export(
        &self,
        actor: &Actor,
        flow: FlowId,
        ExportAs { format, headings }: ExportAs,
        filter: &ResponseFilter,
    ) -> AdminResult<Export> {
        if headings == Headings::Texts && !format.has_headings {
            return Err(no_headings(format));
        }
        let state = self.flow_for(actor, Scope::Export, flow).await?;
        let app = state.flow.app_id;
        let place = self.exports.place(app)?;
        let paging = Paging { after: None, order: Order::Asc, limit: PAGE_ROWS };
        let now = self.now();
        // Excludes responses that arrive from now on; otherwise the export might never end.
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

    /// The number of rows, if it is known or quickly counted. For a format with a limit, counts rows up
    /// to that limit.
    async fn expected(
        &self,
        format: &ExportFormat,
        query: &ResponseQuery,
    ) -> AdminResult<Option<u64>> {
        let too_many = |rows: u64| format.rows_max.filter(|max| rows > *max);
        if let Some(rows) = self.counted(query).await? {
            return match too_many(rows) {
                Some(max) => Err(too_many_rows(format, max)),
                None => Ok(Some(rows)),
            };
        }
        let mut query = query.clone();
        let mut rows = 0;
        loop {
            let part = self.store.count_responses(&query).await?;
            rows += part.responses;
            if let Some(max) = too_many(rows) {
                return Err(too_many_rows(format, max));
            }
            match part.next {
                None => return Ok(Some(rows)),
                next if format.rows_max.is_some() => query.after = next,
                Some(_) => return Ok(None),
            }
        }
    }

    /// The stored counts of a whole flow or version. `None` with other filters, and while responses are
    /// still being counted.
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

fn no_headings(format: &ExportFormat) -> AdminError {
    let message = format!("{} has no headings: leave this parameter out", format.name);
    AdminError::Invalid(vec![Fault { pointer: "/headings".into(), message }])
}

fn too_many_rows(format: &ExportFormat, max: u64) -> AdminError {
    let message = format!(
        "{} holds at most {max} responses, and there are more: choose another format, or add a filter",
        format.name
    );
    AdminError::Invalid(vec![Fault { pointer: "/format".into(), message }])
}

/// Only letters and digits of the flow's name, so that the name is safe in a shell and a file system.
fn file_name(flow: &str, now: sluice_flow::time::Timestamp, format: &ExportFormat) -> String {
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
    format!("{name}-{day}.{}", format.extension)
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
            assert_eq!(file_name(flow, now, &csv::FORMAT), expected, "{flow}");
        }
    }
}
