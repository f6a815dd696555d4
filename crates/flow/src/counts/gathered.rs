//! A delta grouped by tags.
//!
//! Responses with the same tags belong to the same segments, and most of a batch have the same
//! tags. So their answers are summed once, and only the sum is added to each segment.

use std::collections::{BTreeSet, HashMap};

use super::bytes::Damaged;
use super::contribution::{Head, contributions};
use super::segment::segment;
use super::totals::Counts;

/// What the bytes of a [`super::Delta`] add and subtract.
#[derive(Debug, Default)]
pub struct Gathered<'b> {
    /// In the order in which they first occur.
    sums: Vec<(Head<'b>, Counts)>,
}

impl<'b> Gathered<'b> {
    pub fn from_delta(delta: &'b [u8]) -> Result<Self, Damaged> {
        Self::from_deltas([delta])
    }

    /// From several deltas of one version and day; each must be complete on its own, or it is
    /// damaged.
    pub fn from_deltas(deltas: impl IntoIterator<Item = &'b [u8]>) -> Result<Self, Damaged> {
        let mut sums: Vec<(Head<'b>, Counts)> = Vec::new();
        let mut known: HashMap<&'b [u8], usize> = HashMap::new();
        let mut last: Option<(&'b [u8], usize)> = None;
        for delta in deltas {
            let mut reader = contributions(delta);
            while let Some(bytes) = reader.next_head()? {
                let at = match last {
                    Some((same, at)) if same == bytes => at,
                    _ => match known.get(bytes) {
                        Some(at) => *at,
                        None => {
                            sums.push((Head::read(bytes)?, Counts::default()));
                            known.insert(bytes, sums.len() - 1);
                            sums.len() - 1
                        }
                    },
                };
                last = Some((bytes, at));
                let (head, counts) = &mut sums[at];
                counts.put(head.admitted, reader.answers())?;
            }
        }
        Ok(Self { sums })
    }

    /// The segments in it: load these before adding it to daily counts.
    pub fn segments(&self) -> BTreeSet<Vec<u8>> {
        let tags = self.sums.iter().flat_map(|(head, _)| &head.tags);
        tags.filter_map(|(name, value)| value.map(|value| segment(name, value))).collect()
    }

    /// Additions first, then subtractions, so that no value gets a separate count just to be
    /// removed.
    pub(super) fn in_order(&self) -> impl Iterator<Item = &(Head<'b>, Counts)> {
        let of_sign = |sign| self.sums.iter().filter(move |(head, _)| head.sign == sign);
        of_sign(1).chain(of_sign(-1))
    }
}
