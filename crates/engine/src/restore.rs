//! Restores a backup into an empty store.
//!
//! The caller has checked the whole file before ([`Backup::check`]), so that nothing is written
//! from a damaged one. At the end the store is read again and compared with the backup, by counts
//! and digests of every table.

use std::sync::Arc;

use sluice_store::{Record, Store, StoreError};
use tokio::sync::mpsc;

use crate::backup::{Backup, BackupError, Contents};
use crate::moving;

/// The most records that are written in one transaction, and their most bytes.
const PAGE_RECORDS: usize = 2_000;
const PAGE_BYTES: usize = 8 * 1024 * 1024;
/// The number of pages that are read ahead.
const PAGES_AHEAD: usize = 2;

#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    #[error(transparent)]
    Backup(#[from] BackupError),
    #[error("the store cannot be written: {0}")]
    Write(#[source] StoreError),
    #[error("the store cannot be read: {0}")]
    Read(#[source] StoreError),
    #[error("the restored store is not equal to the backup")]
    NotEqual,
}

/// Writes all records of a backup, in order. `progress` gets the number of records of every page.
pub async fn write(
    store: &Arc<dyn Store>,
    backup: Backup,
    progress: impl Fn(u64),
) -> Result<(), RestoreError> {
    let (pages, mut received) = mpsc::channel(PAGES_AHEAD);
    let reading = tokio::task::spawn_blocking(move || read_all(backup, &pages));
    while let Some(page) = received.recv().await {
        let records = page.len() as u64;
        store.import_records(page).await.map_err(RestoreError::Write)?;
        progress(records);
    }
    let read = reading.await.map_err(|error| BackupError::Read(std::io::Error::other(error)))?;
    Ok(read?)
}

fn read_all(mut backup: Backup, pages: &mpsc::Sender<Vec<Record>>) -> Result<(), BackupError> {
    let (mut page, mut bytes) = (Vec::new(), 0);
    while let Some(record) = backup.next_record()? {
        bytes += record.weight_bytes();
        page.push(record);
        if page.len() >= PAGE_RECORDS || bytes >= PAGE_BYTES {
            bytes = 0;
            if pages.blocking_send(std::mem::take(&mut page)).is_err() {
                return Ok(());
            }
        }
    }
    // If the writer is gone, it reports why.
    let _gone = pages.blocking_send(page);
    Ok(())
}

/// Compares a restored store with the backup.
pub async fn compare(
    store: &Arc<dyn Store>,
    contents: &Contents,
    progress: impl Fn(u64),
) -> Result<(), RestoreError> {
    let tally = moving::tally(store, progress).await.map_err(RestoreError::Read)?;
    match tally.tables() == contents.tables {
        true => Ok(()),
        false => Err(RestoreError::NotEqual),
    }
}
