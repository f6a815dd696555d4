//! Moving a database: copies one store into another, and verifies that both are the same.
//!
//! Records are copied in the order of [`RecordCursor`], in consecutive transactions; so an
//! interrupted move leaves a prefix of the source. To resume, the destination is read and compared
//! with the source, record by record, and copying continues after its last record. No state is kept
//! outside the two databases, so none can be lost, belong to another pair, or be out of date. The
//! cost is one read of the existing records, which is far faster than writing them was.
//!
//! Every response is compared with its digest as it is read, so that damage is not copied.
//!
//! Each function reports the records of every page to `progress`. Deliberately absent: moving while
//! the source is written to. It is detected, not supported.

use std::sync::Arc;

use sluice_store::{Record, RecordCursor, Store, StoreError, StoreResult};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::tally::Tally;

/// The number of records that are read, and written in one transaction, at a time.
const PAGE_RECORDS: usize = 2_000;
/// The number of pages that are read ahead.
const PAGES_AHEAD: usize = 2;

#[derive(Debug, thiserror::Error)]
pub enum MoveError {
    #[error("the destination holds records that are not the beginning of the source")]
    NotTheBeginning,
    #[error("the source cannot be read: {0}")]
    Source(#[source] StoreError),
    #[error("the destination cannot be read: {0}")]
    Destination(#[source] StoreError),
    #[error("the destination cannot be written: {0}")]
    Write(#[source] StoreError),
}

/// The progress of an earlier move.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Beginning {
    pub records: u64,
    /// The last record of the destination; copying continues after it.
    pub last: Option<RecordCursor>,
}

/// The part of the source that the destination already has. Fails if it holds anything else.
pub async fn beginning(
    from: &Arc<dyn Store>,
    to: &Arc<dyn Store>,
    progress: impl Fn(u64),
) -> Result<Beginning, MoveError> {
    let mut copied = Pages::new(to, None);
    let mut source = None;
    let mut found = Beginning::default();
    let mut ahead = Vec::new().into_iter();
    while let Some(page) = copied.next().await.map_err(MoveError::Destination)? {
        // With an empty destination the source need not be read.
        let source = source.get_or_insert_with(|| Pages::new(from, None));
        for record in &page {
            if ahead.len() == 0 {
                let next = source.next().await.map_err(MoveError::Source)?;
                ahead = next.unwrap_or_default().into_iter();
            }
            if ahead.next().as_ref() != Some(record) {
                return Err(MoveError::NotTheBeginning);
            }
        }
        found.records += page.len() as u64;
        found.last = page.last().map(Record::cursor);
        progress(page.len() as u64);
    }
    Ok(found)
}

/// Copies all records after a cursor, in order, and returns their number.
pub async fn copy(
    from: &Arc<dyn Store>,
    to: &Arc<dyn Store>,
    after: Option<RecordCursor>,
    progress: impl Fn(u64),
) -> Result<u64, MoveError> {
    let mut source = Pages::new(from, after);
    let mut copied = 0;
    while let Some(page) = source.next().await.map_err(MoveError::Source)? {
        let records = page.len() as u64;
        to.import_records(page).await.map_err(MoveError::Write)?;
        copied += records;
        progress(records);
    }
    Ok(copied)
}

/// Reads a whole store and tallies it.
pub async fn tally(store: &Arc<dyn Store>, progress: impl Fn(u64)) -> StoreResult<Tally> {
    let mut pages = Pages::new(store, None);
    let mut tally = Tally::default();
    while let Some(page) = pages.next().await? {
        for record in &page {
            tally.add(record);
        }
        progress(page.len() as u64);
    }
    Ok(tally)
}

/// The pages of a store, read ahead by a separate task.
struct Pages {
    pages: mpsc::Receiver<StoreResult<Vec<Record>>>,
    reader: JoinHandle<()>,
}

impl Pages {
    fn new(store: &Arc<dyn Store>, mut after: Option<RecordCursor>) -> Self {
        let store = Arc::clone(store);
        let (sender, pages) = mpsc::channel(PAGES_AHEAD);
        let reader = tokio::spawn(async move {
            loop {
                let page = store.export_records(after.as_ref(), PAGE_RECORDS).await;
                let last = page.as_ref().ok().and_then(|page| page.last()).map(Record::cursor);
                let is_last = last.is_none();
                after = last;
                if sender.send(page).await.is_err() || is_last {
                    return;
                }
            }
        });
        Self { pages, reader }
    }

    /// The next page; `None` at the end.
    async fn next(&mut self) -> StoreResult<Option<Vec<Record>>> {
        match self.pages.recv().await {
            Some(Ok(page)) if page.is_empty() => Ok(None),
            Some(page) => page.and_then(intact).map(Some),
            None => Err(StoreError::Failed("the task that reads ended early".into())),
        }
    }
}

/// The same records, if each of them matches its digest.
fn intact(records: Vec<Record>) -> StoreResult<Vec<Record>> {
    records.iter().try_for_each(Record::check_intact)?;
    Ok(records)
}

impl Drop for Pages {
    fn drop(&mut self) {
        self.reader.abort();
    }
}
