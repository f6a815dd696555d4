//! Which tag names and values are not counted separately: a Bloom filter, so that any number of
//! them needs bounded space.
//!
//! It never misses an added entry. It may report an entry that was not added: that one is then also
//! counted under "others", from its first response on, so counts stay exact.

use super::bytes::{ByteReader, Damaged};

/// A power of two: 32 KiB. With 10,000 entries, the false positive rate is one in 2,500; with
/// 100,000, one in three.
const BITS: u64 = 1 << 18;
const BYTES: usize = (BITS / 8) as usize;
const HASHES: u64 = 4;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Hidden {
    /// Without it, nothing is hidden.
    filter: Option<Box<[u8]>>,
    /// Every key that is checked is hidden from then on. This is not stored.
    is_closed: bool,
}

impl Hidden {
    /// Hides every key that is checked.
    pub(super) fn closed() -> Self {
        Self { filter: Some(empty()), is_closed: true }
    }

    pub(super) fn is_nothing(&self) -> bool {
        self.filter.is_none()
    }

    pub(super) fn add(&mut self, key: &[u8]) {
        let filter = self.filter.get_or_insert_with(empty);
        for (byte, bit) in places(key) {
            filter[byte] |= bit;
        }
    }

    pub(super) fn hides(&mut self, key: &[u8]) -> bool {
        if self.is_closed {
            self.add(key);
        }
        let has = |filter: &[u8]| places(key).all(|(byte, bit)| filter[byte] & bit != 0);
        self.filter.as_deref().is_some_and(has)
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.push(u8::from(self.filter.is_some()));
        out.extend_from_slice(self.filter.as_deref().unwrap_or_default());
    }

    pub(super) fn read(reader: &mut ByteReader<'_>) -> Result<Self, Damaged> {
        let filter = match reader.byte()? {
            0 => None,
            1 => {
                let filter = reader.0;
                reader.skip(BYTES)?;
                Some(filter[..BYTES].into())
            }
            _ => return Err(Damaged("of an unknown form")),
        };
        Ok(Self { filter, is_closed: false })
    }
}

fn empty() -> Box<[u8]> {
    vec![0; BYTES].into()
}

/// The byte indexes and bit masks of a key. They are stored, so they must never change.
fn places(key: &[u8]) -> impl Iterator<Item = (usize, u8)> {
    // FNV-1a, followed by the finaliser of SplitMix64, since FNV-1a alone mixes its high bits
    // poorly.
    let mut hash = key.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    hash = (hash ^ hash >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ hash >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^= hash >> 31;
    let (first, step) = (hash & 0xffff_ffff, hash >> 32 | 1);
    (0..HASHES).map(move |nth| {
        let bit = (first + nth * step) % BITS;
        ((bit / 8) as usize, 1 << (bit % 8))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn added_keys_are_reported_with_few_false_positives() {
        let mut hidden = Hidden::default();
        let key = |number: u32| format!("tag\0value {number}").into_bytes();
        assert!(!hidden.hides(&key(0)));
        (0..10_000).for_each(|number| hidden.add(&key(number)));
        assert!((0..10_000).all(|number| hidden.hides(&key(number))));
        let wrongly = (10_000..20_000).filter(|number| hidden.hides(&key(*number))).count();
        assert!(wrongly < 20, "{wrongly} of 10,000");
        let mut out = Vec::new();
        hidden.write(&mut out);
        assert_eq!(Hidden::read(&mut ByteReader(&out)), Ok(hidden));
        assert!(Hidden::read(&mut ByteReader(&out[..BYTES])).is_err());
        assert!(Hidden::read(&mut ByteReader(&[2])).is_err());
    }

    #[test]
    fn the_bits_of_a_key_never_change() {
        let places: Vec<_> = places(b"plan\0pro").collect();
        assert_eq!(places, [(9071, 8), (21390, 1), (940, 32), (13259, 4)]);
    }
}
