//! Reads files of a zip archive, within limits.
//!
//! The directory at the end of the archive names its files. Only what an `.xlsx` has is read: files
//! that are stored or deflated, without encryption and in one part.

use std::io::Read as _;

use flate2::read::DeflateDecoder;

/// The largest file, and the most files.
const ENTRY_BYTES_MAX: usize = 32 * 1024 * 1024;
const ENTRIES_MAX: usize = 2_000;

/// Binary workbooks start with it, and so do encrypted ones.
const OLD_MARK: &[u8] = &[0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1];
const END_MARK: &[u8] = b"PK\x05\x06";
const ENTRY_MARK: &[u8] = b"PK\x01\x02";
const FILE_MARK: &[u8] = b"PK\x03\x04";
const END_BYTES: usize = 22;
const ENTRY_BYTES: usize = 46;
const FILE_BYTES: usize = 30;
const COMMENT_BYTES_MAX: usize = 65_535;

#[derive(Debug)]
pub(super) struct Archive<'b> {
    bytes: &'b [u8],
    entries: Vec<Entry>,
}

#[derive(Debug)]
struct Entry {
    name: String,
    method: u16,
    packed: usize,
    at: usize,
}

pub(super) fn is_old(bytes: &[u8]) -> bool {
    bytes.starts_with(OLD_MARK)
}

impl<'b> Archive<'b> {
    pub(super) fn open(bytes: &'b [u8]) -> Result<Self, String> {
        let not = || "is not a workbook (.xlsx)".to_owned();
        if is_old(bytes) {
            let remedy = "open it in a spreadsheet program and save it as .xlsx";
            return Err(format!("is an old workbook (.xls) or one with a password: {remedy}"));
        }
        let last = bytes.len().checked_sub(END_BYTES).ok_or_else(not)?;
        let first = last.saturating_sub(COMMENT_BYTES_MAX);
        let end = (first..=last).rev().find(|at| bytes[*at..].starts_with(END_MARK));
        let end = end.ok_or_else(not)?;
        let count = usize::from(short(bytes, end + 10).ok_or_else(not)?);
        let mut at = long(bytes, end + 16).ok_or_else(not)?;
        if count > ENTRIES_MAX {
            return Err(format!("has more than {ENTRIES_MAX} files in its archive"));
        }
        let mut entries = Vec::with_capacity(count);
        for _ in 0..count {
            let (entry, next) = entry(bytes, at).ok_or("is a damaged workbook")?;
            entries.push(entry);
            at = next;
        }
        Ok(Self { bytes, entries })
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.entries.iter().any(|entry| entry.name == name)
    }

    /// A file as text.
    pub(super) fn read(&self, name: &str) -> Result<String, String> {
        let entry = self.entries.iter().find(|entry| entry.name == name);
        let entry = entry.ok_or_else(|| format!("is not a workbook: it has no {name}"))?;
        let damaged = || format!("is damaged: {name} cannot be read");
        let packed = self.packed(entry).ok_or_else(damaged)?;
        let mut unpacked = Vec::new();
        let limit = ENTRY_BYTES_MAX as u64 + 1;
        match entry.method {
            0 => unpacked.extend_from_slice(&packed[..packed.len().min(ENTRY_BYTES_MAX + 1)]),
            8 => {
                let read = DeflateDecoder::new(packed).take(limit).read_to_end(&mut unpacked);
                read.map_err(|_| damaged())?;
            }
            _ => return Err(format!("cannot be read: {name} is compressed in an unknown way")),
        }
        if unpacked.len() > ENTRY_BYTES_MAX {
            let limit = ENTRY_BYTES_MAX / (1024 * 1024);
            return Err(format!("is too large: {name} has more than {limit} MiB"));
        }
        String::from_utf8(unpacked).map_err(|_| damaged())
    }

    fn packed(&self, entry: &Entry) -> Option<&'b [u8]> {
        let file = self.bytes.get(entry.at..)?;
        if !file.starts_with(FILE_MARK) {
            return None;
        }
        let name = usize::from(short(file, 26)?);
        let extra = usize::from(short(file, 28)?);
        let start = FILE_BYTES + name + extra;
        file.get(start..start.checked_add(entry.packed)?)
    }
}

fn entry(bytes: &[u8], at: usize) -> Option<(Entry, usize)> {
    let header = bytes.get(at..)?;
    if !header.starts_with(ENTRY_MARK) {
        return None;
    }
    let name_bytes = usize::from(short(header, 28)?);
    let name = header.get(ENTRY_BYTES..ENTRY_BYTES + name_bytes)?;
    let rest = usize::from(short(header, 30)?) + usize::from(short(header, 32)?);
    let entry = Entry {
        name: String::from_utf8_lossy(name).replace('\\', "/"),
        method: short(header, 10)?,
        packed: long(header, 20)?,
        at: long(header, 42)?,
    };
    Some((entry, at + ENTRY_BYTES + name_bytes + rest))
}

fn short(bytes: &[u8], at: usize) -> Option<u16> {
    let bytes = bytes.get(at..at.checked_add(2)?)?;
    Some(u16::from_le_bytes([bytes[0], bytes[1]]))
}

fn long(bytes: &[u8], at: usize) -> Option<usize> {
    let bytes = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]) as usize)
}
