//! Reads a backup: every record in order, checked as it is read.
//!
//! Records can be trusted only after the end was reached without an error: the digest is compared
//! only there. A restore therefore reads a file twice, and writes in the second pass.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use flate2::bufread::GzDecoder;
use sluice_store::{Record, RecordCursor, Table};

use super::{BackupError, BackupLine, End, FORMAT, Header, is_shared};
use crate::tally::{TableTally, Tally};

/// The longest line, in bytes; longer than any record.
const LINE_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// Bytes that are read from the file at a time.
const BUFFER_BYTES: usize = 128 * 1024;

/// What a backup holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contents {
    pub header: Header,
    /// By table, with the responses of the base.
    pub tables: Vec<TableTally>,
}

impl Contents {
    pub fn records(&self) -> u64 {
        self.tables.iter().map(|table| table.records).sum()
    }

    pub fn responses(&self) -> u64 {
        let responses = self.tables.iter().filter(|it| it.table == Table::Responses);
        responses.map(|table| table.records).sum()
    }
}

/// A backup that is being read, with its base if it is incremental.
#[derive(Debug)]
pub struct Backup {
    lines: Lines,
    header: Header,
    base: Option<Box<Self>>,
    /// Responses and images that are to be taken from the base next.
    copy: u64,
    last: Option<RecordCursor>,
    tally: Tally,
    contents: Option<Contents>,
}

impl Backup {
    /// Opens a file, and its base if it is incremental.
    pub fn open(file: &Path, base: Option<&Path>) -> Result<Self, BackupError> {
        let backup = Self::begin(file)?;
        let base = match (base, &backup.header.base) {
            (None, None) => None,
            (Some(_), None) => return Err(BackupError::NoBase),
            (None, Some(_)) => return Err(BackupError::BaseNeeded),
            (Some(base), Some(id)) => {
                let base = Self::begin(base)?;
                if base.header.id != *id {
                    return Err(BackupError::OtherBase);
                }
                Some(Box::new(base))
            }
        };
        Ok(Self { base, ..backup })
    }

    fn begin(file: &Path) -> Result<Self, BackupError> {
        let file = File::open(file).map_err(BackupError::Read)?;
        let mut lines = Lines::new(file);
        let header = match lines.next_line() {
            Ok(Some(line)) => serde_json::from_slice(line).map_err(|_| BackupError::NotABackup),
            Ok(None) | Err(BackupError::CutOff { .. } | BackupError::Damaged(_)) => {
                Err(BackupError::NotABackup)
            }
            Err(error) => Err(error),
        };
        let header: Header = header?;
        if header.sluice_backup > FORMAT || header.schema > sluice_store::schema_version() {
            return Err(BackupError::Newer { version: header.version });
        }
        let (last, tally, contents) = (None, Tally::default(), None);
        Ok(Self { lines, header, base: None, copy: 0, last, tally, contents })
    }

    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Reads to the end. Calls `progress` now and then with the number of records since.
    pub fn check(mut self, progress: impl Fn(u64)) -> Result<Contents, BackupError> {
        const EVERY: u64 = 2_000;
        let mut records = 0;
        while self.next_record()?.is_some() {
            records += 1;
            if records == EVERY {
                progress(records);
                records = 0;
            }
        }
        let cut_off = self.lines.cut_off();
        self.contents.ok_or(cut_off)
    }

    /// The next record; `None` at the end, after all checks have passed.
    pub fn next_record(&mut self) -> Result<Option<Record>, BackupError> {
        if self.contents.is_some() {
            return Ok(None);
        }
        while self.copy == 0 {
            let entry = match self.lines.next_line()? {
                Some(line) => serde_json::from_slice(line),
                None => return Err(self.lines.cut_off()),
            };
            match entry.map_err(|error| self.lines.damaged(error))? {
                BackupLine::Record(record) => return self.checked(record).map(Some),
                BackupLine::Base { skip, copy } => {
                    for _ in 0..skip {
                        self.take_from_base()?;
                    }
                    self.copy = copy;
                }
                BackupLine::End(end) => return self.end(end).map(|()| None),
            }
        }
        self.copy -= 1;
        let record = self.take_from_base()?;
        self.checked(record).map(Some)
    }

    /// The next response or image; skips other records.
    pub(super) fn next_shared(&mut self) -> Result<Option<Record>, BackupError> {
        loop {
            let record = self.next_record()?;
            if record.as_ref().is_none_or(is_shared) {
                return Ok(record);
            }
        }
    }

    fn take_from_base(&mut self) -> Result<Record, BackupError> {
        let base = self.base.as_mut().ok_or(BackupError::BaseNeeded)?;
        let missing =
            || BackupError::Damaged("it refers to records that its base does not have".into());
        base.next_shared()?.ok_or_else(missing)
    }

    /// The record, if it is in order and matches its own digest.
    fn checked(&mut self, record: Record) -> Result<Record, BackupError> {
        let cursor = record.cursor();
        if self.last.as_ref().is_some_and(|last| *last >= cursor) {
            return Err(self.lines.damaged("records are out of order"));
        }
        record.check_intact().map_err(|error| self.lines.damaged(error))?;
        self.last = Some(cursor);
        self.tally.add(&record);
        Ok(record)
    }

    fn end(&mut self, end: End) -> Result<(), BackupError> {
        if self.lines.digest_before_last() != end.digest {
            return Err(BackupError::Damaged("its content does not match its digest".to_owned()));
        }
        let tables = self.tally.tables();
        let is_equal = match self.header.schema == sluice_store::schema_version() {
            true => tables == end.tables,
            // The digests are over the columns of another schema; the numbers still count.
            false => end.tables.iter().all(|was| tables.iter().any(|it| it.has_same_count(was))),
        };
        if !is_equal {
            return Err(BackupError::Damaged("its records do not match their digests".to_owned()));
        }
        if self.lines.next_line()?.is_some() {
            return Err(BackupError::Damaged("something follows its end".to_owned()));
        }
        if let Some(base) = &mut self.base {
            while base.next_shared()?.is_some() {}
        }
        self.contents = Some(Contents { header: self.header.clone(), tables });
        Ok(())
    }
}

/// The lines of a file.
#[derive(Debug)]
struct Lines {
    reader: BufReader<GzDecoder<BufReader<File>>>,
    line: Vec<u8>,
    /// The number of the last line.
    number: u64,
    /// Of all lines before the last.
    digest: blake3::Hasher,
}

impl Lines {
    fn new(file: File) -> Self {
        let file = BufReader::with_capacity(BUFFER_BYTES, file);
        let reader = BufReader::with_capacity(BUFFER_BYTES, GzDecoder::new(file));
        Self { reader, line: Vec::new(), number: 0, digest: blake3::Hasher::new() }
    }

    /// The next line; `None` at the end of the file.
    fn next_line(&mut self) -> Result<Option<&[u8]>, BackupError> {
        self.digest.update(&self.line);
        self.line.clear();
        let mut limited = (&mut self.reader).take(LINE_BYTES_MAX);
        let read = limited.read_until(b'\n', &mut self.line);
        match read.map_err(|error| BackupError::from_read(error, self.records()))? {
            0 => self.must_end().map(|()| None),
            _ if self.line.last() != Some(&b'\n') => Err(self.cut_off()),
            _ => {
                self.number += 1;
                Ok(Some(&self.line))
            }
        }
    }

    /// Nothing may follow the compressed data.
    fn must_end(&mut self) -> Result<(), BackupError> {
        let file = self.reader.get_mut().get_mut();
        match file.fill_buf().map_err(BackupError::Read)?.is_empty() {
            true => Ok(()),
            false => Err(BackupError::Damaged("something follows its end".to_owned())),
        }
    }

    /// The number of lines after the first.
    fn records(&self) -> u64 {
        self.number.saturating_sub(1)
    }

    fn cut_off(&self) -> BackupError {
        BackupError::CutOff { records: self.records() }
    }

    fn digest_before_last(&self) -> String {
        self.digest.finalize().to_hex().to_string()
    }

    fn damaged(&self, why: impl std::fmt::Display) -> BackupError {
        BackupError::Damaged(format!("line {}: {why}", self.number))
    }
}
