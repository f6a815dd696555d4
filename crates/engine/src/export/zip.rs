//! A ZIP archive that is sent while it is written.
//!
//! The length of a file is unknown when it begins, so it follows the file's bytes, as in every
//! archive that is written into a pipe. Files may be longer than 4 GiB (ZIP64).

use std::io::{self, Write as _};

use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc};

const LOCAL_HEADER: u32 = 0x0403_4b50;
const SIZES: u32 = 0x0807_4b50;
const DIRECTORY_ENTRY: u32 = 0x0201_4b50;
const DIRECTORY_END: u32 = 0x0605_4b50;
const LONG_DIRECTORY_END: u32 = 0x0606_4b50;
const LONG_DIRECTORY_PLACE: u32 = 0x0706_4b50;
/// Sizes follow the bytes; names are in UTF-8.
const FLAGS: u16 = 1 << 3 | 1 << 11;
const DEFLATED: u16 = 8;
const VERSION: u16 = 20;
const VERSION_LONG: u16 = 45;
/// Midnight of 1980-01-01, the first time that an archive can state.
const TIME: [u16; 2] = [0, 0x21];

/// Writes files one after the other.
#[derive(Debug, Default)]
pub(super) struct Archive {
    /// Bytes that were written so far.
    at: u64,
    files: Vec<Written>,
}

/// A file that is being written.
#[derive(Debug)]
pub(super) struct OpenFile {
    name: &'static str,
    begins_at: u64,
    packed: DeflateEncoder<Vec<u8>>,
    crc: Crc,
    packed_bytes: u64,
    bytes: u64,
}

#[derive(Debug)]
struct Written {
    name: &'static str,
    begins_at: u64,
    crc: u32,
    packed_bytes: u64,
    bytes: u64,
}

impl Archive {
    pub(super) fn begin(&mut self, name: &'static str, out: &mut Vec<u8>) -> OpenFile {
        let begins_at = self.at;
        let mut header = Vec::new();
        put_u32(&mut header, LOCAL_HEADER);
        put_u16s(&mut header, &[VERSION, FLAGS, DEFLATED, TIME[0], TIME[1]]);
        header.extend([0; 12]);
        put_u16s(&mut header, &[length(name), 0]);
        header.extend(name.as_bytes());
        self.append(&header, out);
        let packed = DeflateEncoder::new(Vec::new(), Compression::default());
        OpenFile { name, begins_at, packed, crc: Crc::new(), packed_bytes: 0, bytes: 0 }
    }

    pub(super) fn write(
        &mut self,
        file: &mut OpenFile,
        bytes: &[u8],
        out: &mut Vec<u8>,
    ) -> io::Result<()> {
        file.packed.write_all(bytes)?;
        file.crc.update(bytes);
        file.bytes += bytes.len() as u64;
        self.take(file, out);
        Ok(())
    }

    pub(super) fn end(&mut self, mut file: OpenFile, out: &mut Vec<u8>) -> io::Result<()> {
        file.packed.try_finish()?;
        self.take(&mut file, out);
        let OpenFile { name, begins_at, crc, packed_bytes, bytes, .. } = file;
        let written = Written { name, begins_at, crc: crc.sum(), packed_bytes, bytes };
        let mut sizes = Vec::new();
        put_u32(&mut sizes, SIZES);
        put_u32(&mut sizes, written.crc);
        for size in [packed_bytes, bytes] {
            match written.is_long() {
                true => put_u64(&mut sizes, size),
                false => put_u32(&mut sizes, short(size)),
            }
        }
        self.append(&sizes, out);
        self.files.push(written);
        Ok(())
    }

    /// A whole file.
    pub(super) fn add(
        &mut self,
        name: &'static str,
        bytes: &[u8],
        out: &mut Vec<u8>,
    ) -> io::Result<()> {
        let mut file = self.begin(name, out);
        self.write(&mut file, bytes, out)?;
        self.end(file, out)
    }

    /// Writes the directory, with which the archive ends.
    pub(super) fn finish(mut self, out: &mut Vec<u8>) {
        let begins_at = self.at;
        let mut directory = Vec::new();
        self.files.iter().for_each(|file| file.list(&mut directory));
        self.append(&directory, out);
        let count = self.files.len() as u64;
        let size = directory.len() as u64;
        let mut end = Vec::new();
        if begins_at >= u64::from(u32::MAX) {
            put_u32(&mut end, LONG_DIRECTORY_END);
            // The length of the rest of this record.
            put_u64(&mut end, 44);
            put_u16s(&mut end, &[VERSION_LONG; 2]);
            put_u64(&mut end, 0);
            [count, count, size, begins_at].iter().for_each(|it| put_u64(&mut end, *it));
            put_u32(&mut end, LONG_DIRECTORY_PLACE);
            put_u32(&mut end, 0);
            put_u64(&mut end, self.at);
            put_u32(&mut end, 1);
        }
        put_u32(&mut end, DIRECTORY_END);
        let count = u16::try_from(count).unwrap_or(u16::MAX);
        put_u16s(&mut end, &[0, 0, count, count]);
        put_u32(&mut end, short(size));
        put_u32(&mut end, short(begins_at));
        put_u16s(&mut end, &[0]);
        self.append(&end, out);
    }

    /// Takes over what was compressed so far.
    fn take(&mut self, file: &mut OpenFile, out: &mut Vec<u8>) {
        let packed = file.packed.get_mut();
        file.packed_bytes += packed.len() as u64;
        self.append(packed, out);
        packed.clear();
    }

    fn append(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        self.at += bytes.len() as u64;
        out.extend_from_slice(bytes);
    }
}

impl Written {
    fn is_long(&self) -> bool {
        self.packed_bytes.max(self.bytes) >= u64::from(u32::MAX)
    }

    /// Its entry in the directory.
    fn list(&self, out: &mut Vec<u8>) {
        let sizes = [self.bytes, self.packed_bytes, self.begins_at];
        let mut long = Vec::new();
        for size in sizes.into_iter().filter(|size| *size >= u64::from(u32::MAX)) {
            put_u64(&mut long, size);
        }
        let extra = if long.is_empty() { 0 } else { long.len() as u16 + 4 };
        let version = if extra == 0 { VERSION } else { VERSION_LONG };
        put_u32(out, DIRECTORY_ENTRY);
        put_u16s(out, &[version, version, FLAGS, DEFLATED, TIME[0], TIME[1]]);
        put_u32(out, self.crc);
        put_u32(out, short(self.packed_bytes));
        put_u32(out, short(self.bytes));
        put_u16s(out, &[length(self.name), extra, 0, 0, 0, 0, 0]);
        put_u32(out, short(self.begins_at));
        out.extend(self.name.as_bytes());
        if extra > 0 {
            put_u16s(out, &[1, extra - 4]);
            out.extend(long);
        }
    }
}

/// A size in 32 bits; a longer one is stated elsewhere.
fn short(size: u64) -> u32 {
    u32::try_from(size).unwrap_or(u32::MAX)
}

fn length(name: &str) -> u16 {
    name.len() as u16
}

fn put_u16s(out: &mut Vec<u8>, numbers: &[u16]) {
    numbers.iter().for_each(|number| out.extend(number.to_le_bytes()));
}

fn put_u32(out: &mut Vec<u8>, number: u32) {
    out.extend(number.to_le_bytes());
}

fn put_u64(out: &mut Vec<u8>, number: u64) {
    out.extend(number.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use flate2::read::DeflateDecoder;

    use super::*;

    fn u32_at(bytes: &[u8], at: usize) -> usize {
        u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize
    }

    #[test]
    fn the_directory_leads_to_every_file() {
        let (mut archive, mut out) = (Archive::default(), Vec::new());
        archive.add("a.txt", b"first", &mut out).unwrap();
        let mut file = archive.begin("b.txt", &mut out);
        for _ in 0..1_000 {
            archive.write(&mut file, b"line after line\n", &mut out).unwrap();
        }
        archive.end(file, &mut out).unwrap();
        archive.finish(&mut out);
        let mut entry = u32_at(&out, out.len() - 6);
        for (name, bytes) in
            [("a.txt", b"first".to_vec()), ("b.txt", b"line after line\n".repeat(1_000))]
        {
            let mut crc = Crc::new();
            crc.update(&bytes);
            assert_eq!(u32_at(&out, entry), DIRECTORY_ENTRY as usize);
            assert_eq!(u32_at(&out, entry + 16), crc.sum() as usize);
            assert_eq!(u32_at(&out, entry + 24), bytes.len());
            assert_eq!(&out[entry + 46..entry + 46 + name.len()], name.as_bytes());
            let (packed, begins_at) = (u32_at(&out, entry + 20), u32_at(&out, entry + 42));
            assert_eq!(u32_at(&out, begins_at), LOCAL_HEADER as usize);
            let start = begins_at + 30 + name.len();
            let mut read = Vec::new();
            DeflateDecoder::new(&out[start..start + packed]).read_to_end(&mut read).unwrap();
            assert_eq!(read, bytes, "{name}");
            assert_eq!(u32_at(&out, start + packed), SIZES as usize);
            entry += 46 + name.len();
        }
        assert_eq!(u32_at(&out, entry), DIRECTORY_END as usize);
    }

    #[test]
    fn what_does_not_fit_in_32_bits_is_stated_in_64() {
        let long = Written {
            name: "a",
            begins_at: 5 << 32,
            crc: 7,
            packed_bytes: 1_000,
            bytes: u64::from(u32::MAX),
        };
        assert!(long.is_long());
        let mut entry = Vec::new();
        long.list(&mut entry);
        let sizes = [u32_at(&entry, 20), u32_at(&entry, 24), u32_at(&entry, 42)];
        assert_eq!(sizes, [1_000, u32::MAX as usize, u32::MAX as usize]);
        let mut extra = Vec::new();
        put_u16s(&mut extra, &[1, 16]);
        put_u64(&mut extra, u64::from(u32::MAX));
        put_u64(&mut extra, 5 << 32);
        assert_eq!(entry[47..], extra);
        let (archive, mut out) = (Archive { at: 5 << 32, files: vec![long] }, Vec::new());
        archive.finish(&mut out);
        let end = &out[out.len() - 98..];
        assert_eq!(u32_at(end, 0), LONG_DIRECTORY_END as usize);
        assert_eq!(end[48..56], (5_u64 << 32).to_le_bytes());
        assert_eq!(u32_at(end, 56), LONG_DIRECTORY_PLACE as usize);
        assert_eq!(end[64..72], ((5_u64 << 32) + entry.len() as u64).to_le_bytes());
        assert_eq!(u32_at(end, 76), DIRECTORY_END as usize);
    }
}
