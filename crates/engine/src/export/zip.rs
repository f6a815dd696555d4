//! A ZIP archive that is sent while it is written.
//!
//! The length of a file is unknown when it begins, so it follows the file's bytes, as in every
//! archive that is written into a pipe. Files may be longer than 4 GiB (ZIP64). Whether those
//! lengths have 8 bytes instead of 4 is in the header of the file, so it is decided when the file
//! begins: only for files that may be that long, because some spreadsheets refuse it in others.

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
/// The extra field with sizes in 64 bits.
const LONG_SIZES: u16 = 1;
/// The smallest size that does not fit in 32 bits: this value says that it is stated elsewhere.
pub(super) const LONG_BYTES: u64 = u32::MAX as u64;

/// The room for the sizes of a file, behind its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sizes {
    In32Bits,
    /// For a file that may have [`LONG_BYTES`] or more.
    In64Bits,
}

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
    sizes: Sizes,
    packed: DeflateEncoder<Vec<u8>>,
    crc: Crc,
    packed_bytes: u64,
    bytes: u64,
}

#[derive(Debug)]
struct Written {
    name: &'static str,
    begins_at: u64,
    sizes: Sizes,
    crc: u32,
    packed_bytes: u64,
    bytes: u64,
}

impl Archive {
    pub(super) fn begin(
        &mut self,
        name: &'static str,
        sizes: Sizes,
        out: &mut Vec<u8>,
    ) -> OpenFile {
        let begins_at = self.at;
        // The sizes are not known yet: zeros, here and in the extra field.
        let mut extra = Vec::new();
        if sizes == Sizes::In64Bits {
            put_u16s(&mut extra, &[LONG_SIZES, 16]);
            extra.extend([0; 16]);
        }
        let mut header = Vec::new();
        put_u32(&mut header, LOCAL_HEADER);
        put_u16s(&mut header, &[sizes.version(), FLAGS, DEFLATED, TIME[0], TIME[1]]);
        header.extend([0; 12]);
        put_u16s(&mut header, &[length(name), extra.len() as u16]);
        header.extend(name.as_bytes());
        header.extend(extra);
        self.append(&header, out);
        let packed = DeflateEncoder::new(Vec::new(), Compression::default());
        OpenFile { name, begins_at, sizes, packed, crc: Crc::new(), packed_bytes: 0, bytes: 0 }
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
        let OpenFile { name, begins_at, sizes, crc, packed_bytes, bytes, .. } = file;
        let written = Written { name, begins_at, sizes, crc: crc.sum(), packed_bytes, bytes };
        let mut behind = Vec::new();
        written.put_sizes(&mut behind);
        self.append(&behind, out);
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
        let mut file = self.begin(name, Sizes::In32Bits, out);
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
        if begins_at >= LONG_BYTES {
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

impl Sizes {
    /// What a reader must understand.
    fn version(self) -> u16 {
        match self {
            Self::In32Bits => VERSION,
            Self::In64Bits => VERSION_LONG,
        }
    }
}

impl Written {
    /// What follows the bytes of the file. A file that became longer than its header says has them
    /// in 64 bits all the same: readers of the directory need none of this.
    fn put_sizes(&self, out: &mut Vec<u8>) {
        let is_long = self.packed_bytes.max(self.bytes) >= LONG_BYTES;
        put_u32(out, SIZES);
        put_u32(out, self.crc);
        for size in [self.packed_bytes, self.bytes] {
            match is_long || self.sizes == Sizes::In64Bits {
                true => put_u64(out, size),
                false => put_u32(out, short(size)),
            }
        }
    }

    /// Its entry in the directory.
    fn list(&self, out: &mut Vec<u8>) {
        let sizes = [self.bytes, self.packed_bytes, self.begins_at];
        let mut long = Vec::new();
        for size in sizes.into_iter().filter(|size| *size >= LONG_BYTES) {
            put_u64(&mut long, size);
        }
        let extra = if long.is_empty() { 0 } else { long.len() as u16 + 4 };
        let version = if extra == 0 { self.sizes.version() } else { VERSION_LONG };
        put_u32(out, DIRECTORY_ENTRY);
        put_u16s(out, &[version, version, FLAGS, DEFLATED, TIME[0], TIME[1]]);
        put_u32(out, self.crc);
        put_u32(out, short(self.packed_bytes));
        put_u32(out, short(self.bytes));
        put_u16s(out, &[length(self.name), extra, 0, 0, 0, 0, 0]);
        put_u32(out, short(self.begins_at));
        out.extend(self.name.as_bytes());
        if extra > 0 {
            put_u16s(out, &[LONG_SIZES, extra - 4]);
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
        let mut file = archive.begin("b.txt", Sizes::In32Bits, &mut out);
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
            sizes: Sizes::In64Bits,
            crc: 7,
            packed_bytes: 1_000,
            bytes: u64::from(u32::MAX),
        };
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

    /// The header of a file, what follows its bytes, and its entry in the directory, with these
    /// sizes in place of the real ones.
    fn parts(sizes: Sizes, packed_bytes: u64, bytes: u64) -> [Vec<u8>; 3] {
        let (mut archive, mut header, mut behind) = (Archive::default(), Vec::new(), Vec::new());
        let mut file = archive.begin("a", sizes, &mut header);
        // The two bytes that the compressor ends with are added to it.
        (file.packed_bytes, file.bytes) = (packed_bytes - 2, bytes);
        archive.end(file, &mut behind).unwrap();
        let mut entry = Vec::new();
        archive.files[0].list(&mut entry);
        [header, behind[2..].to_vec(), entry]
    }

    #[test]
    fn a_header_with_64_bits_has_sizes_in_64_bits_behind_it_at_any_length() {
        for (packed_bytes, bytes) in
            [(2, 0), (1_000, LONG_BYTES - 1), (1_000, LONG_BYTES), (LONG_BYTES, LONG_BYTES + 9)]
        {
            let [header, behind, entry] = parts(Sizes::In64Bits, packed_bytes, bytes);
            assert_eq!((header[4], entry[6]), (45, 45));
            assert_eq!(header[14..26], [0; 12], "unknown when it begins");
            assert_eq!(header[26..30], [1, 0, 20, 0]);
            let mut extra = vec![b'a', 1, 0, 16, 0];
            extra.extend([0; 16]);
            assert_eq!(header[30..], extra);
            assert_eq!(behind.len(), 24);
            assert_eq!(behind[8..16], packed_bytes.to_le_bytes());
            assert_eq!(behind[16..], bytes.to_le_bytes());
            let stated = [packed_bytes, bytes].iter().filter(|it| **it >= LONG_BYTES).count();
            assert_eq!(entry.len(), 47 + if stated > 0 { 4 + 8 * stated } else { 0 });
        }
    }

    #[test]
    fn a_header_with_32_bits_has_no_extra_field_and_short_sizes() {
        let [header, behind, entry] = parts(Sizes::In32Bits, 1_000, LONG_BYTES - 1);
        assert_eq!((header[4], entry[6]), (20, 20));
        assert_eq!((header.len(), behind.len(), entry.len()), (31, 16, 47));
        assert_eq!((u32_at(&behind, 8), u32_at(&behind, 12)), (1_000, u32::MAX as usize - 1));
        // Longer than expected: the directory has it right.
        let [_, behind, entry] = parts(Sizes::In32Bits, 1_000, LONG_BYTES);
        assert_eq!((behind.len(), entry[6]), (24, 45));
        assert_eq!(entry[47..], [&[1, 0, 8, 0][..], &LONG_BYTES.to_le_bytes()].concat());
    }
}
