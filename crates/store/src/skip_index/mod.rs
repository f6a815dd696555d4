//! The skip index: filters over blocks of responses, so that a scan for a rare value skips nearly
//! all of them.
//!
//! A thousand consecutive responses of a flow form a block. It stores its last id and a filter over
//! its tags, answers, versions and admissions: two bytes per term. A block begins where the
//! previous one ends, so every id up to the end of the last block is in one. A gap would not be
//! filled later, and PostgreSQL does not look into it. Blocks are built in the background from
//! responses that are some minutes old, so a submission pays nothing. Blocks may be missing
//! altogether, lag behind or overlap; then more rows are scanned, with the same result.
//! Deliberately absent: words of texts. A search matches any part of a word, which no filter can
//! exclude.
//!
//! Two events clear the filter of a block, in their own transaction, and a new filter is built
//! later from the rows left. First, a response is removed or loses a tag: the filter reveals
//! something about the answers. Second, a response is stored with an id within the block, because a
//! clock was set back or is slow: it would not be found. A block is created first and filled some
//! time later: a removal that was in progress when it was created, and did not see it, has ended by
//! then.

mod filter;
mod terms;

use std::time::Duration;

use sluice_flow::id::{AppId, FlowId};
use sluice_flow::time::Timestamp;

use crate::Order;
use crate::listing::{Scan, Span};

pub(crate) use filter::PROBES;
pub(crate) use terms::{IndexedColumns, QueryTerms, Terms};

/// Responses in a block. The schemas contain this number.
pub(crate) const BLOCK_ROWS: usize = 1_024;
/// The most blocks that one call fills, and the most it creates.
pub(crate) const FILLED_PER_CALL: usize = 16;
pub(crate) const CREATED_PER_CALL: usize = 64;
/// The minimum age of a response in a block. Its id was assigned before its write, whose deadline
/// is far shorter than this.
const AGE: Duration = Duration::from_secs(600);
/// How long a block waits between being created and being filled: longer than any transaction
/// lasts, and than clocks of nodes differ.
const SETTLES: Duration = Duration::from_secs(600);
/// Blocks read in one step of a scan.
pub(crate) const BLOCKS_PER_STEP: usize = 2_000;
/// The most adjacent blocks that are scanned at once if all of them may match.
pub(crate) const BLOCKS_SCANNED_MAX: usize = 8;

/// The cursor of building the index: the last flow visited. `None` is the beginning.
pub type SkipIndexCursor = Option<(AppId, FlowId)>;

/// What one call did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SkipIndexPart {
    /// Blocks that were created, filled or deleted.
    pub made: u64,
    /// Where to continue; `None` if every flow has been visited.
    pub next: Option<SkipIndexCursor>,
}

impl SkipIndexPart {
    /// The result for this flow; visits it again if the call reached its limit.
    pub(crate) fn at(
        cursor: SkipIndexCursor,
        flow: (AppId, FlowId),
        filled: usize,
        created: usize,
    ) -> Self {
        let is_more = filled >= FILLED_PER_CALL || created >= CREATED_PER_CALL;
        let next = if is_more { cursor } else { Some(flow) };
        Self { made: (filled + created) as u64, next: Some(next) }
    }
}

/// Responses received from this time on are too young to be in a block.
pub(crate) fn young_from(now: Timestamp) -> Timestamp {
    back(now, AGE)
}

/// Blocks created after this time are not filled yet.
pub(crate) fn settled_by(now: Timestamp) -> Timestamp {
    back(now, SETTLES)
}

fn back(now: Timestamp, by: Duration) -> Timestamp {
    let millis = i64::try_from(by.as_millis()).unwrap_or(i64::MAX);
    Timestamp::from_millis(now.as_millis().saturating_sub(millis).max(0))
}

/// Cuts consecutive ids into whole blocks; the first begins after `blocked_to`. The remainder is
/// left for later.
pub(crate) fn whole_blocks(blocked_to: Option<u128>, ids: &[u128]) -> Vec<Span> {
    let mut first = blocked_to.map_or(0, |last| last.saturating_add(1));
    let mut blocks = Vec::new();
    for last in ids.chunks_exact(BLOCK_ROWS).filter_map(|block| block.last().copied()) {
        blocks.push(Span { first, last });
        first = last.saturating_add(1);
    }
    blocks
}

/// The part of a span to scan next, according to its blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Narrowed {
    To(Span),
    /// No match up to this id; the rest has not been checked.
    PassedTo(u128),
    /// No block of the span can match, and nothing lies outside of them.
    Nothing,
}

impl Narrowed {
    /// The part of the scan's rest to read next; skips what the index rules out before it.
    pub(crate) fn part_of(self, scan: &mut Scan) -> Option<Span> {
        match self {
            Self::To(part) => return Some(part),
            Self::PassedTo(id) => scan.advance(0, Some(id)),
            Self::Nothing => scan.advance(0, None),
        }
        None
    }
}

/// Finds what to scan next. Blocks come in scan order, and none in between is left out.
#[derive(Debug)]
pub(crate) struct Narrowing {
    /// What is left to check.
    rest: Option<Span>,
    order: Order,
    /// Adjacent blocks that may match, joined.
    found: Option<Span>,
    joined: usize,
    checked: usize,
}

impl Narrowing {
    pub(crate) fn new(span: Span, order: Order) -> Self {
        Self { rest: Some(span), order, found: None, joined: 0, checked: 0 }
    }

    /// Takes the next block; returns the result as soon as it is known.
    pub(crate) fn take(&mut self, block: Span, may_have: bool) -> Option<Narrowed> {
        let rest = self.rest?;
        let (first, last) = (block.first.max(rest.first), block.last.min(rest.last));
        if first > last {
            // Beyond the rest, or already skipped with a block that it overlaps.
            return self.is_beyond(block, rest).then(|| self.ends());
        }
        let part = Span { first, last };
        if let Some(before) = self.before(part, rest) {
            // If a block is missing, everything there is scanned.
            return Some(self.found.map_or(Narrowed::To(before), Narrowed::To));
        }
        self.checked += 1;
        if may_have {
            self.found = Some(self.found.map_or(part, |found| found.joined_with(part)));
            self.joined += 1;
        } else if let Some(found) = self.found {
            return Some(Narrowed::To(found));
        }
        let end = match self.order {
            Order::Asc => last,
            Order::Desc => first,
        };
        self.rest = rest.beyond(end, self.order);
        match self.found {
            Some(found) if self.joined >= BLOCKS_SCANNED_MAX => Some(Narrowed::To(found)),
            None if self.checked >= BLOCKS_PER_STEP && self.rest.is_some() => {
                Some(Narrowed::PassedTo(end))
            }
            _ => None,
        }
    }

    /// The result if no block follows.
    pub(crate) fn ends(&self) -> Narrowed {
        match (self.found, self.rest) {
            (Some(found), _) => Narrowed::To(found),
            (None, Some(rest)) => Narrowed::To(rest),
            (None, None) => Narrowed::Nothing,
        }
    }

    fn is_beyond(&self, block: Span, rest: Span) -> bool {
        match self.order {
            Order::Asc => block.first > rest.last,
            Order::Desc => block.last < rest.first,
        }
    }

    /// The part of the rest before a part of it.
    fn before(&self, part: Span, rest: Span) -> Option<Span> {
        match self.order {
            Order::Asc if part.first > rest.first => {
                Some(Span { first: rest.first, last: part.first - 1 })
            }
            Order::Desc if part.last < rest.last => {
                Some(Span { first: part.last + 1, last: rest.last })
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn span(first: u128, last: u128) -> Span {
        Span { first, last }
    }

    fn narrowed(order: Order, of: Span, blocks: &[(Span, bool)]) -> Narrowed {
        let mut narrowing = Narrowing::new(of, order);
        let result = blocks.iter().find_map(|&(block, may)| narrowing.take(block, may));
        result.unwrap_or_else(|| narrowing.ends())
    }

    const A: Span = span(0, 19);
    const B: Span = span(20, 29);
    const C: Span = span(30, 39);

    #[test]
    fn a_scan_continues_at_the_next_block_that_may_match() {
        let asc = |of, blocks: &[(Span, bool)]| narrowed(Order::Asc, of, blocks);
        assert_eq!(asc(span(0, 99), &[]), Narrowed::To(span(0, 99)));
        assert_eq!(asc(span(15, 99), &[(A, true), (B, false)]), Narrowed::To(span(15, 19)));
        assert_eq!(asc(span(0, 99), &[(A, false), (B, true), (C, false)]), Narrowed::To(B));
        assert_eq!(
            asc(span(0, 99), &[(A, false), (B, false), (C, false)]),
            Narrowed::To(span(40, 99))
        );
        assert_eq!(asc(span(0, 25), &[(A, false), (B, false)]), Narrowed::Nothing);
        assert_eq!(asc(span(5, 9), &[(A, true)]), Narrowed::To(span(5, 9)));
        assert_eq!(
            asc(span(0, 35), &[(A, false), (B, false), (C, true)]),
            Narrowed::To(span(30, 35))
        );
    }

    #[test]
    fn a_reverse_scan_works_the_same_way() {
        let desc = |of, blocks: &[(Span, bool)]| narrowed(Order::Desc, of, blocks);
        assert_eq!(desc(span(0, 39), &[(C, false), (B, true), (A, false)]), Narrowed::To(B));
        assert_eq!(desc(span(0, 35), &[(C, true), (B, false)]), Narrowed::To(span(30, 35)));
        assert_eq!(desc(span(25, 39), &[(C, false), (B, false)]), Narrowed::Nothing);
        assert_eq!(desc(span(0, 39), &[(C, false), (B, false), (A, false)]), Narrowed::Nothing);
    }

    #[test]
    fn adjacent_blocks_that_may_match_are_scanned_together() {
        for (order, blocks) in [(Order::Asc, [A, B, C]), (Order::Desc, [C, B, A])] {
            let given = blocks.map(|block| (block, block != C));
            assert_eq!(
                narrowed(order, span(5, 39), &given),
                Narrowed::To(span(5, 29)),
                "{order:?}"
            );
        }
        let many: Vec<(Span, bool)> =
            (0..20_u128).map(|n| (span(n * 10, n * 10 + 9), true)).collect();
        let scanned = span(0, BLOCKS_SCANNED_MAX as u128 * 10 - 1);
        assert_eq!(narrowed(Order::Asc, span(0, 999), &many), Narrowed::To(scanned));
    }

    #[test]
    fn a_gap_between_blocks_is_scanned() {
        let (asc, desc) = (Order::Asc, Order::Desc);
        assert_eq!(
            narrowed(asc, span(0, 99), &[(A, false), (C, false)]),
            Narrowed::To(span(20, 29))
        );
        assert_eq!(
            narrowed(desc, span(0, 39), &[(C, false), (A, false)]),
            Narrowed::To(span(20, 29))
        );
        assert_eq!(narrowed(asc, span(0, 99), &[(B, false)]), Narrowed::To(span(0, 19)));
        assert_eq!(narrowed(desc, span(0, 29), &[(B, false)]), Narrowed::To(span(0, 19)));
        assert_eq!(narrowed(asc, span(0, 99), &[(A, true), (C, true)]), Narrowed::To(A));
    }

    #[test]
    fn overlapping_blocks_are_skipped_once() {
        let (a, b) = (span(0, 19), span(0, 21));
        let given = [(a, false), (b, false)];
        assert_eq!(narrowed(Order::Asc, span(0, 99), &given), Narrowed::To(span(22, 99)));
        let given = [(b, false), (a, false)];
        assert_eq!(narrowed(Order::Desc, span(0, 21), &given), Narrowed::Nothing);
    }

    #[test]
    fn a_step_reads_a_limited_number_of_blocks_and_returns_its_position() {
        let blocks: Vec<(Span, bool)> =
            (0..BLOCKS_PER_STEP as u128 + 10).map(|n| (span(n * 10, n * 10 + 9), false)).collect();
        let passed = Narrowed::PassedTo(BLOCKS_PER_STEP as u128 * 10 - 1);
        assert_eq!(narrowed(Order::Asc, span(0, u128::MAX), &blocks), passed);
    }

    #[test]
    fn only_whole_blocks_are_created_without_gaps() {
        let ids: Vec<u128> = (1..=BLOCK_ROWS as u128 * 2 + 5).map(|n| n * 3).collect();
        let ends = [BLOCK_ROWS as u128 * 3, BLOCK_ROWS as u128 * 6];
        assert_eq!(whole_blocks(None, &ids), [span(0, ends[0]), span(ends[0] + 1, ends[1])]);
        assert_eq!(whole_blocks(Some(1), &ids)[0], span(2, ends[0]));
    }
}
