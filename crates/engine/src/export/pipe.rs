//! The pipe: reads pages from the store, writes the format, and sends the bytes to the client.

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use sluice_flow::id::{AppId, ResponseId};
use sluice_flow::time::Timestamp;
use sluice_store::{ResponseQuery, ResponseRow, Store, StoreResult};
use tokio::sync::{mpsc, oneshot};

use super::chosen::ChosenColumns;
use super::columns::Columns;
use super::format::{ExportFormat, Followed, FormatWriter};
use super::outlet::{Outlet, Piece};
use super::span::SpanRead;
use super::tags::TagNames;
use super::values_as::ValuesAs;
use super::{ExportFailed, Progress};
use crate::admin::{AdminError, AdminResult};
use crate::question_history::QuestionHistory;

/// Concurrent exports of one process; each has a thread.
const EXPORTS_MAX: usize = 8;
/// Concurrent exports of one app in one process, so that no app takes all slots.
const EXPORTS_PER_APP_MAX: usize = 2;
/// Why an export ends at a damaged response. The log names it.
const DAMAGED: &str = "a stored response is damaged";
/// Pages, and pieces of the file, that may wait between two stages.
pub(super) const WAITING_MAX: usize = 2;

/// State that all exports of a process share.
#[derive(Debug, Default)]
pub(crate) struct Exports {
    /// The number of running exports by app; apps without any are absent.
    running: Mutex<HashMap<AppId, usize>>,
    tag_names: TagNames,
}

impl Exports {
    /// Takes a slot for one more export of the app, if one is free.
    pub(super) fn take_slot(self: &Arc<Self>, app: AppId) -> AdminResult<ExportSlot> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let of_app = running.get(&app).copied().unwrap_or(0);
        let detail = if of_app >= EXPORTS_PER_APP_MAX {
            "two exports of this app are running; start this one when one of them has ended"
        } else if running.values().sum::<usize>() >= EXPORTS_MAX {
            "several exports are running; start this one when another has ended"
        } else {
            running.insert(app, of_app + 1);
            return Ok(ExportSlot { app, exports: Arc::clone(self) });
        };
        Err(AdminError::conflict("too_many_exports", detail))
    }
}

/// The right to run one export; dropping it frees the slot.
#[derive(Debug)]
pub(super) struct ExportSlot {
    app: AppId,
    exports: Arc<Exports>,
}

impl Drop for ExportSlot {
    fn drop(&mut self) {
        let mut running = self.exports.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = running.get_mut(&self.app) {
            *count -= 1;
            if *count == 0 {
                running.remove(&self.app);
            }
        }
    }
}

/// What an export reads.
pub(super) struct Source {
    pub(super) store: Arc<dyn Store>,
    pub(super) exports: Arc<Exports>,
    pub(super) query: ResponseQuery,
    /// The part of the log that is exported; without it, everything that the query finds.
    pub(super) span: Option<SpanRead>,
    pub(super) asked: QuestionHistory,
    pub(super) values: ValuesAs,
    pub(super) chosen: Option<ChosenColumns>,
    pub(super) now: Timestamp,
}

impl Source {
    /// The columns of the format. May scan every response to collect tag names, unless the chosen
    /// columns name the tags.
    async fn columns(&mut self, format: &ExportFormat) -> AdminResult<Columns> {
        let asked = std::mem::take(&mut self.asked);
        let ResponseQuery { app_id, flow_id, .. } = self.query;
        let chosen = self.chosen.as_ref();
        let tags = match chosen.and_then(ChosenColumns::tags) {
            Some(tags) => tags,
            None if format.has_columns => {
                let all = self.exports.tag_names.for_flow(&*self.store, app_id, flow_id, self.now);
                match chosen {
                    Some(chosen) => chosen.with_tags(all.await?),
                    None => all.await?,
                }
            }
            None => Vec::new(),
        };
        Ok(Columns::new(asked, tags, self.values, format.has_codebook, chosen))
    }
}

type ReadPage = Result<Vec<ResponseRow>, ExportFailed>;

/// Starts the pipe. It ends when the receiver of its bytes is dropped.
pub(super) fn start(
    source: Source,
    format: &'static ExportFormat,
    progress: Arc<Progress>,
    slot: ExportSlot,
) -> mpsc::Receiver<Piece> {
    let (columns, columns_out) = oneshot::channel();
    let (pages, pages_out) = mpsc::channel(WAITING_MAX);
    let (pieces, pieces_out) = mpsc::channel(WAITING_MAX);
    // The reader may wait for the store, and the writer for the reader, so the reader must be the
    // one that notices when the client is gone.
    let taken = pieces.clone();
    let has_next_line = format.followed == Some(Followed::Lines);
    let until = source.span.as_ref().map(SpanRead::until).filter(|_| has_next_line);
    let next_line = until.map(|until| format!("{{\"next\":\"{until}\"}}\n"));
    tokio::spawn(async move {
        tokio::select! {
            () = read(source, format, columns, pages) => {}
            () = taken.closed() => {}
        }
    });
    tokio::task::spawn_blocking(move || {
        let _slot = slot;
        // Without columns the reader has failed; it sends the reason instead of the first page.
        let columns = columns_out.blocking_recv().unwrap_or_default();
        let writer = (format.new_writer)(columns);
        let written =
            writer.and_then(|writer| write(writer, pages_out, &pieces, &progress, next_line));
        if let Err(failed) = written {
            tracing::warn!(error = %failed, "an export was aborted");
            // The client may be gone.
            let _gone = pieces.blocking_send(Err(failed));
        }
    });
    pieces_out
}

/// Reads pages until the last one, or until the writer is gone.
async fn read(
    mut source: Source,
    format: &'static ExportFormat,
    columns: oneshot::Sender<Columns>,
    pages: mpsc::Sender<ReadPage>,
) {
    match source.columns(format).await {
        Ok(found) => drop(columns.send(found)),
        Err(error) => return drop(pages.send(Err(unread(&error))).await),
    }
    let Source { store, mut query, span, .. } = source;
    if let Some(span) = &span {
        for ids in span.late_pages() {
            let late = span.late(&*store, ids).await.map_err(|error| unread(&error));
            let late = late.and_then(|rows| intact(&*store, rows));
            let has_failed = late.is_err();
            if pages.send(late).await.is_err() || has_failed {
                return;
            }
        }
    }
    let mut page = next_page(&*store, &query, span.as_ref()).await;
    loop {
        let (rows, next) = match page {
            Ok(page) => page,
            Err(error) => return drop(pages.send(Err(unread(&error))).await),
        };
        query.after = next;
        // The store reads the next page while this one is checked and waits for the writer.
        let upcoming = async {
            match next {
                Some(_) => Some(next_page(&*store, &query, span.as_ref()).await),
                None => None,
            }
        };
        let handed_over = async {
            let rows = intact(&*store, rows);
            let is_intact = rows.is_ok();
            pages.send(rows).await.is_ok() && is_intact
        };
        match tokio::join!(upcoming, handed_over) {
            (Some(read), true) => page = read,
            _ => return,
        }
    }
}

async fn next_page(
    store: &dyn Store,
    query: &ResponseQuery,
    span: Option<&SpanRead>,
) -> StoreResult<(Vec<ResponseRow>, Option<ResponseId>)> {
    let page = store.list_responses(query).await?;
    let rows = match span {
        Some(span) => span.without_later(store, page.rows).await?,
        None => page.rows,
    };
    Ok((rows, page.next))
}

/// The rows, unless one of them is damaged.
fn intact(store: &dyn Store, rows: Vec<ResponseRow>) -> ReadPage {
    match rows.iter().try_for_each(ResponseRow::check_intact) {
        Ok(()) => Ok(rows),
        Err(damaged) => {
            store.damage().note(&damaged);
            Err(ExportFailed(DAMAGED.to_owned()))
        }
    }
}

fn unread(error: &dyn std::error::Error) -> ExportFailed {
    let source = error.source().map(ToString::to_string);
    tracing::warn!(%error, source, "an export cannot continue reading");
    ExportFailed("the store could not be read".to_owned())
}

fn write(
    mut writer: Box<dyn FormatWriter>,
    mut pages: mpsc::Receiver<ReadPage>,
    pieces: &mpsc::Sender<Piece>,
    progress: &Progress,
    next_line: Option<String>,
) -> Result<(), ExportFailed> {
    let mut outlet = Outlet { waiting: Vec::new(), pieces };
    writer.begin(progress.total, &mut outlet.waiting)?;
    while let Some(page) = pages.blocking_recv() {
        let rows = page?;
        writer.add(&rows, &mut outlet.waiting)?;
        progress.rows.fetch_add(rows.len() as u64, Ordering::Relaxed);
        // A format that sends nothing before its end must also notice that the client is gone.
        if pieces.is_closed() || outlet.send().is_err() {
            return Ok(());
        }
    }
    if pieces.is_closed() {
        return Ok(());
    }
    writer.end(&mut outlet)?;
    outlet.waiting.extend_from_slice(next_line.unwrap_or_default().as_bytes());
    if outlet.send().is_ok() {
        progress.ended.store(true, Ordering::Relaxed);
    }
    Ok(())
}
