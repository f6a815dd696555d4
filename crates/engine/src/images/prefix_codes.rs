//! The memory that the prefix codes of a lossless WebP picture take (RFC 9649, section 3).
//!
//! A picture has up to 65,536 groups of codes. The decoder makes a table of kilobytes from a few
//! bytes of each, used or not, so a small file with one pixel could take any amount of memory.
//! Therefore the codes are read before the picture is decoded. Their number is in an image with one
//! pixel for each block; pixels that are copied within it are not new, so none of them is kept.

/// The lengths of code lengths are stored in this order.
const LENGTH_ORDER: [usize; 19] =
    [17, 18, 0, 1, 2, 3, 4, 5, 16, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];
/// Green with the lengths of copies, red, blue, alpha, and the distances of copies.
const ALPHABETS: [usize; 5] = [LITERALS + 24, 256, 256, 256, 40];
const LITERALS: usize = 256;
const CODE_BITS_MAX: usize = 15;
/// Codes of up to this length are in a table, longer ones in a tree.
const TABLE_BITS_MAX: usize = 10;
/// The memory of a code without its table and tree, of an entry of a table, and for each code in a
/// tree.
const CODE_BYTES: u64 = 128;
const ENTRY_BYTES: u64 = 4;
const TREE_BYTES: u64 = 64;

/// The memory for the codes of a picture of this size; counting ends above `bytes_max`. None if the
/// picture is damaged.
pub(super) fn code_bytes(picture: &[u8], width: u32, height: u32, bytes_max: u64) -> Option<u64> {
    let mut stream = Stream { bytes: picture, at: 0 };
    let width = stream.skip_transforms(width, height)?;
    let cache = stream.cache_size()?;
    let groups = match stream.bits(1)? {
        0 => 1,
        _ => {
            let blocks = stream.blocks(width, height)?;
            stream.largest_pixel(blocks)? + 1
        }
    };
    let mut bytes = 0;
    for _ in 0..groups {
        bytes += stream.group(cache)?.iter().map(Code::memory_bytes).sum::<u64>();
        if bytes > bytes_max {
            break;
        }
    }
    Some(bytes)
}

struct Stream<'a> {
    bytes: &'a [u8],
    /// In bits.
    at: usize,
}

impl Stream<'_> {
    /// The next bits, at most 24, the lowest first.
    fn bits(&mut self, count: usize) -> Option<u32> {
        let rest = self.bytes.get(self.at / 8..).unwrap_or_default();
        let word = rest.iter().take(4).rev().fold(0, |all, byte| all << 8 | u32::from(*byte));
        let value = word >> (self.at % 8) & ((1 << count) - 1);
        self.at += count;
        (self.at <= self.bytes.len() * 8).then_some(value)
    }

    /// The number of blocks of a picture, whose side is stored here.
    fn blocks(&mut self, width: u32, height: u32) -> Option<u64> {
        let side = 4 << self.bits(3)?;
        Some(u64::from(width.div_ceil(side)) * u64::from(height.div_ceil(side)))
    }

    /// Returns the width of the picture before the transforms are undone.
    fn skip_transforms(&mut self, mut width: u32, height: u32) -> Option<u32> {
        let mut seen = [false; 4];
        while self.bits(1)? == 1 {
            let kind = self.bits(2)? as usize;
            if std::mem::replace(&mut seen[kind], true) {
                return None;
            }
            match kind {
                // Prediction, and colours.
                0 | 1 => {
                    let blocks = self.blocks(width, height)?;
                    self.largest_pixel(blocks)?;
                }
                2 => {}
                // A palette: several pixels of few colours are stored as one.
                _ => {
                    let colours = self.bits(8)? + 1;
                    self.largest_pixel(u64::from(colours))?;
                    let together = match colours {
                        0..=2 => 8,
                        3..=4 => 4,
                        5..=16 => 2,
                        _ => 1,
                    };
                    width = width.div_ceil(together);
                }
            }
        }
        Some(width)
    }

    /// How many recent colours have a code.
    fn cache_size(&mut self) -> Option<usize> {
        if self.bits(1)? == 0 {
            return Some(0);
        }
        let bits = self.bits(4)?;
        (1..=11).contains(&bits).then_some(1 << bits)
    }

    /// Reads an image with one group of codes. Returns the largest number in red and green.
    fn largest_pixel(&mut self, pixels: u64) -> Option<u32> {
        let cache = self.cache_size()?;
        let [green, red, blue, alpha, distance] = self.group(cache)?;
        let (mut read, mut largest) = (0, 0);
        while read < pixels {
            let symbol = self.symbol(&green)?;
            if symbol < LITERALS {
                let high = self.symbol(&red)?;
                self.symbol(&blue)?;
                self.symbol(&alpha)?;
                largest = largest.max((high as u32) << 8 | symbol as u32);
                read += 1;
            } else if symbol < ALPHABETS[0] {
                read += u64::from(self.value(symbol - LITERALS)?);
                let distance = self.symbol(&distance)?;
                self.value(distance)?;
            } else {
                read += 1;
            }
        }
        Some(largest)
    }

    /// A length or a distance.
    fn value(&mut self, prefix: usize) -> Option<u32> {
        if prefix < 4 {
            return Some(prefix as u32 + 1);
        }
        let bits = (prefix - 2) >> 1;
        let start = (2 + (prefix as u32 & 1)) << bits;
        Some(start + self.bits(bits)? + 1)
    }

    fn group(&mut self, cache: usize) -> Option<[Code; 5]> {
        let [green, red, blue, alpha, distance] = ALPHABETS;
        Some([
            self.code(green + cache)?,
            self.code(red)?,
            self.code(blue)?,
            self.code(alpha)?,
            self.code(distance)?,
        ])
    }

    fn code(&mut self, alphabet: usize) -> Option<Code> {
        if self.bits(1)? == 1 {
            let (is_pair, is_long) = (self.bits(1)? == 1, self.bits(1)? == 1);
            let mut symbols = vec![self.bits(if is_long { 8 } else { 1 })? as u16];
            if is_pair {
                symbols.push(self.bits(8)? as u16);
            }
            let mut counts = [0; CODE_BITS_MAX + 1];
            counts[1] = symbols.len();
            return Some(Code { counts, symbols });
        }
        let mut lengths = [0; LENGTH_ORDER.len()];
        for at in LENGTH_ORDER.into_iter().take(self.bits(4)? as usize + 4) {
            lengths[at] = self.bits(3)? as usize;
        }
        let lengths = Code::new(&lengths)?;
        let mut left = alphabet;
        if self.bits(1)? == 1 {
            let bits = 2 + 2 * self.bits(3)? as usize;
            left = self.bits(bits)? as usize + 2;
        }
        let (mut found, mut last) = (Vec::with_capacity(alphabet), 8);
        while found.len() < alphabet && left > 0 {
            left -= 1;
            let (length, times) = match self.symbol(&lengths)? {
                16 => (last, 3 + self.bits(2)?),
                17 => (0, 3 + self.bits(3)?),
                18 => (0, 11 + self.bits(7)?),
                length => (length, 1),
            };
            if length > 0 {
                last = length;
            }
            found.extend((0..times).map(|_| length));
        }
        if found.len() > alphabet {
            return None;
        }
        Code::new(&found)
    }

    fn symbol(&mut self, code: &Code) -> Option<usize> {
        if let [only] = code.symbols[..] {
            return Some(usize::from(only));
        }
        let (mut read, mut first, mut before) = (0, 0, 0);
        for count in &code.counts[1..] {
            read |= self.bits(1)? as usize;
            if read < first + count {
                return code.symbols.get(before + read - first).copied().map(usize::from);
            }
            before += count;
            first = (first + count) << 1;
            read <<= 1;
        }
        None
    }
}

/// A canonical prefix code.
struct Code {
    /// How many symbols have a code of each length.
    counts: [usize; CODE_BITS_MAX + 1],
    /// In the order of their codes. One alone takes no bits.
    symbols: Vec<u16>,
}

impl Code {
    /// The code with these lengths of symbols. None if it is not complete.
    fn new(lengths: &[usize]) -> Option<Self> {
        let mut counts = [0; CODE_BITS_MAX + 1];
        let mut symbols: Vec<u16> = Vec::new();
        for (symbol, &length) in lengths.iter().enumerate().filter(|(_, length)| **length > 0) {
            *counts.get_mut(length)? += 1;
            symbols.push(u16::try_from(symbol).ok()?);
        }
        symbols.sort_by_key(|symbol| lengths[usize::from(*symbol)]);
        let taken: usize = counts
            .iter()
            .enumerate()
            .map(|(length, count)| count << (CODE_BITS_MAX - length))
            .sum();
        let is_complete = symbols.len() == 1 || taken == 1 << CODE_BITS_MAX;
        is_complete.then_some(Self { counts, symbols })
    }

    fn memory_bytes(&self) -> u64 {
        let longest = self.counts.iter().rposition(|count| *count > 0).unwrap_or(0);
        if self.symbols.len() < 2 {
            return CODE_BYTES;
        }
        let in_tree: usize = self.counts[TABLE_BITS_MAX + 1..].iter().sum();
        let table = ENTRY_BYTES << longest.min(TABLE_BITS_MAX);
        CODE_BYTES + table + TREE_BYTES * in_tree as u64
    }
}

#[cfg(test)]
pub(super) mod samples {
    /// Bits of a lossless picture, the lowest of each number first.
    #[derive(Default)]
    struct Bits(Vec<bool>);

    impl Bits {
        fn put(&mut self, value: u32, count: u32) {
            self.0.extend((0..count).map(|at| value >> at & 1 == 1));
        }

        /// A code with one symbol.
        fn put_single(&mut self, symbol: u32) {
            self.put(0b101, 3);
            self.put(symbol, 8);
        }

        /// In 92 bits, a code whose table has 1,024 entries: codes of 1 to 9 bits and two of 10.
        fn put_large_code(&mut self) {
            const ORDER: [usize; 14] = [17, 18, 0, 1, 2, 3, 4, 5, 16, 6, 7, 8, 9, 10];
            // The canonical codes of these lengths.
            let lengths = |it: usize| match it {
                1..=5 | 10 => 3,
                6..=9 => 4,
                _ => 0,
            };
            self.put(0, 1);
            self.put(10, 4);
            for at in ORDER {
                self.put(lengths(at), 3);
            }
            self.put(1, 1);
            self.put(1, 3);
            self.put(9, 4);
            for length in [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10] {
                let (code, bits): (u32, u32) = match length {
                    1..=5 => (length - 1, 3),
                    10 => (5, 3),
                    _ => (12 + length - 6, 4),
                };
                // Codes are stored with the highest bit first.
                self.put(code.reverse_bits() >> (32 - bits), bits);
            }
        }

        fn into_bytes(self) -> Vec<u8> {
            let byte =
                |bits: &[bool]| bits.iter().rev().fold(0, |all, bit| all << 1 | u8::from(*bit));
            self.0.chunks(8).map(byte).collect()
        }
    }

    /// A picture without loss that has this many groups of codes, and uses the last.
    pub(in crate::images) fn with_groups(side: u32, groups: u32) -> Vec<u8> {
        let mut bits = Bits::default();
        for (value, count) in [(0x2f, 8), (side - 1, 14), (side - 1, 14), (0, 4)] {
            bits.put(value, count);
        }
        // No transform, no recent colours, and blocks of the largest side.
        for (value, count) in [(0, 1), (0, 1), (1, 1), (7, 3), (0, 1)] {
            bits.put(value, count);
        }
        let last = groups - 1;
        for symbol in [last & 255, last >> 8, 0, 0, 0] {
            bits.put_single(symbol);
        }
        for _ in 0..groups * 5 {
            bits.put_large_code();
        }
        // Each pixel has four symbols; the first of a code has one bit.
        for _ in 0..side * side {
            bits.put(0, 4);
        }
        bits.into_bytes()
    }
}
