//! A Bloom filter over terms: "absent" is certain, "present" is nearly certain.
//!
//! Its bytes are stored, so neither the hash nor the choice of bits may ever change; a test pins
//! both.

/// Bits per term. With [`PROBES`], one block in two thousand is read in vain.
const BITS_PER_TERM: usize = 16;
pub(crate) const PROBES: u32 = 11;
/// The bounds of a filter's size. The minimum lets an empty set be queried too; the maximum keeps a
/// filter on one database page with its row, though with very many terms it excludes less.
const BYTES_MIN: usize = 8;
const BYTES_MAX: usize = 7_680;
/// With more terms than this, a filter would exclude hardly anything.
const TERMS_MAX: usize = 16_384;

const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0000_0100_0000_01b3;
/// Separates the parts of a term; it never occurs in UTF-8.
const SEPARATOR: u8 = 0xff;

/// A searchable value of a response, as a hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Term(u64);

impl Term {
    /// A term made from several texts; the first is the kind.
    pub(super) fn new(parts: [&str; 3]) -> Self {
        let mut hash = FNV_OFFSET;
        for part in parts {
            for byte in part.bytes().chain([SEPARATOR]) {
                hash = (hash ^ u64::from(byte)).wrapping_mul(FNV_PRIME);
            }
        }
        Self(mixed(hash))
    }

    /// The first bit and the step between its bits, before reduction modulo the size of a filter.
    /// Both are below 2³³, so that no sum of them overflows.
    pub(crate) fn bits(self) -> (i64, i64) {
        let Self(hash) = self;
        ((hash & 0xffff_ffff).cast_signed(), ((hash >> 32) | 1).cast_signed())
    }
}

/// Spreads differences in a few bits over all bits.
fn mixed(mut hash: u64) -> u64 {
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

/// The filter of distinct terms; empty, which excludes nothing, if there are too many.
pub(super) fn filter_of(terms: &[Term]) -> Vec<u8> {
    if terms.len() > TERMS_MAX {
        return Vec::new();
    }
    let bytes = (terms.len() * BITS_PER_TERM / 8).clamp(BYTES_MIN, BYTES_MAX);
    let mut filter = vec![0; bytes];
    for &term in terms {
        for bit in bits(term, filter.len()) {
            filter[bit / 8] |= 1 << (bit % 8);
        }
    }
    filter
}

/// Whether a filter may contain a term. An empty filter excludes nothing, so it may contain any
/// term.
pub(super) fn may_hold(filter: &[u8], term: Term) -> bool {
    bits(term, filter.len()).all(|bit| filter[bit / 8] & (1 << (bit % 8)) != 0)
}

fn bits(term: Term, bytes: usize) -> impl Iterator<Item = usize> {
    let (start, step) = term.bits();
    let count = bytes as u64 * 8;
    let probes = if count == 0 { 0 } else { PROBES };
    (0..i64::from(probes)).map(move |probe| {
        let bit = (start + probe * step).unsigned_abs() % count;
        usize::try_from(bit).unwrap_or_default()
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn term(n: u32) -> Term {
        Term::new(["t", "name", &n.to_string()])
    }

    #[test]
    fn stored_filters_never_change() {
        assert_eq!(Term::new(["t", "plan", "pro"]).0, 0xc519_a7be_7c07_d69e);
        let filter = filter_of(&[Term::new(["t", "plan", "pro"]), Term::new(["a", "nps", "9"])]);
        assert_eq!(filter, [132, 128, 240, 127, 64, 8, 33, 32]);
    }

    #[test]
    fn terms_split_at_different_points_differ() {
        let terms = [["t", "ab", "c"], ["t", "a", "bc"], ["ta", "b", "c"], ["t", "abc", ""]];
        let mut hashes = terms.map(Term::new).to_vec();
        hashes.sort_unstable();
        hashes.dedup();
        assert_eq!(hashes.len(), terms.len());
    }

    #[test]
    fn false_positives_are_rare() {
        let filter = filter_of(&(0..3_000).map(term).collect::<Vec<_>>());
        let wrong = (10_000..110_000).filter(|&n| may_hold(&filter, term(n))).count();
        assert!(wrong < 150, "{wrong} of 100,000");
    }

    #[test]
    fn a_filter_with_very_many_terms_keeps_its_size_and_excludes_less() {
        let many: Vec<Term> = (0..8_000).map(term).collect();
        let filter = filter_of(&many);
        assert!(filter.len() <= BYTES_MAX && many.iter().all(|&term| may_hold(&filter, term)));
        let too_many: Vec<Term> = (0..20_000).map(term).collect();
        assert!(filter_of(&too_many).is_empty());
    }

    #[test]
    fn an_empty_filter_may_contain_anything() {
        assert!(may_hold(&[], term(1)));
        assert!(!may_hold(&filter_of(&[]), term(1)));
    }

    proptest! {
        #[test]
        fn every_added_term_is_found(numbers in proptest::collection::vec(any::<u32>(), 0..300)) {
            let terms: Vec<Term> = numbers.into_iter().map(term).collect();
            let filter = filter_of(&terms);
            prop_assert!(terms.iter().all(|&term| may_hold(&filter, term)));
        }
    }
}
