//! Writes a backup from a view of the store.

use std::io::Write;
use std::sync::Arc;

use flate2::Compression;
use flate2::write::GzEncoder;
use sluice_flow::time::Timestamp;
use sluice_store::{Record, RecordCursor, Store, StoreError, Table};
use tokio::sync::mpsc;

use super::read::{Backup, Contents};
use super::{BackupError, BackupLine, End, FORMAT, Header, IncludedKeys, is_shared};
use crate::ids::fill_random;
use crate::tally::Tally;

/// The number of records that are read at a time.
const PAGE_RECORDS: usize = 2_000;
/// The number of pages that are read ahead.
const PAGES_AHEAD: usize = 2;
/// Low, because the level above saves little and takes twice the time.
const LEVEL: u32 = 3;

/// Writes everything that is stored now. Returns what was written, and the output.
///
/// A store with a damaged row is not backed up: the error names the row. `progress` gets the number
/// of records of every page.
pub async fn write<W: Write + Send + 'static>(
    store: &Arc<dyn Store>,
    out: W,
    now: Timestamp,
    master_keys: Option<IncludedKeys>,
    base: Option<Backup>,
    progress: impl Fn(u64),
) -> Result<(Contents, W), BackupError> {
    if base.as_ref().is_some_and(|base| base.header().base.is_some()) {
        return Err(BackupError::IncrementalBase);
    }
    let header = Header {
        sluice_backup: FORMAT,
        id: new_id(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        schema: sluice_store::schema_version(),
        created_at: now,
        base: base.as_ref().map(|base| base.header().id.clone()),
        master_keys: master_keys.as_ref().map(|keys| keys.sealed.clone()),
    };
    let (pages, received) = mpsc::channel(PAGES_AHEAD);
    let writing = tokio::task::spawn_blocking(move || {
        BackupWriter::begin(out, header, base)?.write_all(received)
    });
    let read = send_all(store, master_keys.as_ref(), pages, progress).await;
    let written =
        writing.await.map_err(|error| BackupError::Write(std::io::Error::other(error)))?;
    // If writing failed, reading stopped early without an error.
    read?;
    written
}

fn new_id() -> String {
    let mut bytes = [0; 16];
    fill_random(&mut bytes);
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A page of records. `None` marks the end; without it, reading has failed.
type Pages = mpsc::Sender<Option<Vec<Record>>>;

/// Reads a view to its end, unless the writer is gone.
async fn send_all(
    store: &Arc<dyn Store>,
    master_keys: Option<&IncludedKeys>,
    pages: Pages,
    progress: impl Fn(u64),
) -> Result<(), BackupError> {
    let mut view = store.open_view().await.map_err(BackupError::Store)?;
    for table in Table::ALL {
        let mut last = RecordCursor::start_of(table);
        loop {
            let page = view.records(&last, PAGE_RECORDS).await.map_err(BackupError::Store)?;
            if let Some(row) = page.unreadable.first() {
                let what = format!("{} {}: {}", row.table.name(), row.ids, row.why);
                return Err(BackupError::Store(StoreError::Corrupt(what)));
            }
            let Some(end) = page.records.last().map(Record::cursor) else { break };
            for record in &page.records {
                record.check_intact().map_err(BackupError::Store)?;
                if master_keys.is_some_and(|keys| !keys.open_secret_of(record)) {
                    return Err(BackupError::OtherKey);
                }
            }
            let records = page.records.len() as u64;
            if pages.send(Some(page.records)).await.is_err() {
                return Ok(());
            }
            last = end;
            progress(records);
        }
    }
    // The writer may be gone: its error is reported.
    let _gone = pages.send(None).await;
    Ok(())
}

struct BackupWriter<W: Write> {
    out: GzEncoder<W>,
    header: Header,
    digest: blake3::Hasher,
    tally: Tally,
    unchanged: Option<Unchanged>,
    /// One line; reused.
    line: Vec<u8>,
}

/// Compares the responses and images with those of the base.
struct Unchanged {
    base: Backup,
    /// The next response or image of the base, if it is not at its end.
    next: Option<Record>,
    /// Not written yet.
    skip: u64,
    copy: u64,
}

impl<W: Write> BackupWriter<W> {
    fn begin(out: W, header: Header, base: Option<Backup>) -> Result<Self, BackupError> {
        let unchanged = match base {
            Some(mut base) => {
                let next = base.next_shared()?;
                Some(Unchanged { base, next, skip: 0, copy: 0 })
            }
            None => None,
        };
        let out = GzEncoder::new(out, Compression::new(LEVEL));
        let (digest, tally) = (blake3::Hasher::new(), Tally::default());
        let mut writer = Self { out, header, digest, tally, unchanged, line: Vec::new() };
        let header = writer.header.clone();
        writer.write_line(&header)?;
        Ok(writer)
    }

    fn write_all(
        mut self,
        mut pages: mpsc::Receiver<Option<Vec<Record>>>,
    ) -> Result<(Contents, W), BackupError> {
        loop {
            match pages.blocking_recv() {
                Some(Some(page)) => page.into_iter().try_for_each(|record| self.add(record))?,
                Some(None) => return self.end(),
                None => return Err(BackupError::CutOff { records: self.tally.records() }),
            }
        }
    }

    fn add(&mut self, record: Record) -> Result<(), BackupError> {
        self.tally.add(&record);
        if let Some(unchanged) = &mut self.unchanged {
            let (is_unchanged, run) = match is_shared(&record) {
                true => unchanged.compare(&record)?,
                // The last run ends before the records of the next table.
                false => (false, unchanged.take_run()),
            };
            if let Some(run) = run {
                self.write_line(&run)?;
            }
            if is_unchanged {
                return Ok(());
            }
        }
        self.write_line(&BackupLine::Record(record))
    }

    fn end(mut self) -> Result<(Contents, W), BackupError> {
        if let Some(mut unchanged) = self.unchanged.take() {
            if let Some(run) = unchanged.take_run() {
                self.write_line(&run)?;
            }
            // To its end, where its digest is checked.
            while unchanged.base.next_shared()?.is_some() {}
        }
        let digest = self.digest.finalize().to_hex().to_string();
        let tables = self.tally.tables();
        self.write_line(&BackupLine::End(End { tables: tables.clone(), digest }))?;
        let out = self.out.finish().map_err(BackupError::Write)?;
        Ok((Contents { header: self.header, tables }, out))
    }

    fn write_line(&mut self, value: &impl serde::Serialize) -> Result<(), BackupError> {
        self.line.clear();
        let encoded = serde_json::to_writer(&mut self.line, value);
        encoded.map_err(|error| BackupError::Write(error.into()))?;
        self.line.push(b'\n');
        self.digest.update(&self.line);
        self.out.write_all(&self.line).map_err(BackupError::Write)
    }
}

impl Unchanged {
    /// Whether the base has the same record, and the run before it, if that has ended.
    fn compare(&mut self, record: &Record) -> Result<(bool, Option<BackupLine>), BackupError> {
        let cursor = record.cursor();
        let mut finished = None;
        while let Some(next) = &self.next {
            let theirs = next.cursor();
            if theirs > cursor {
                break;
            }
            let is_same = *next == *record;
            self.next = self.base.next_shared()?;
            if is_same {
                self.copy += 1;
                return Ok((true, finished));
            }
            // Deleted or changed since.
            finished = finished.or_else(|| self.take_run());
            self.skip += 1;
        }
        Ok((false, finished.or_else(|| self.take_run())))
    }

    /// The run of unchanged records so far, if there is one. What is skipped before the next run
    /// belongs to that.
    fn take_run(&mut self) -> Option<BackupLine> {
        let run = BackupLine::Base { skip: self.skip, copy: self.copy };
        if self.copy == 0 {
            return None;
        }
        (self.skip, self.copy) = (0, 0);
        Some(run)
    }
}
