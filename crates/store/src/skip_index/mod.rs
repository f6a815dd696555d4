//! Blocks: what the responses of a stretch of a flow can be found by, so that a walk for a rare
//! value passes over nearly all of them.
//!
//! A thousand responses that follow one another make a block, which keeps the id of its last and a
//! filter of the tags, answers, versions and admissions in it: two bytes a term. A block begins
//! where the one before it ends, so that every id up to the last block's end is in one. Blocks are
//! made in the background, of responses that are some minutes old, so that a submission pays
//! nothing. They may be lacking, behind, or overlap; then more is walked, and the answer is the
//! same. Deliberately absent: words of texts. A search is for any part of a word, which no filter
//! can rule out.
//!
//! Two things take a block's filter away, in their own transaction, and it gets another later from
//! what is there then. A response that goes or loses a tag: the filter reveals something about the
//! answers. And one that is stored with an id within the block, since a clock was set back or is
//! slow: it would not be found. A block is laid out first and filled a while later: a removal that
//! was under way when it was laid out, and did not see it, is over by then.

mod filter;
mod terms;

use std::time::Duration;

use sluice_flow::id::{AppId, FlowId};
use sluice_flow::time::Timestamp;

use crate::Order;
use crate::listing::Span;

pub(crate) use filter::PROBES;
pub(crate) use terms::{Looked, Terms, Wanted};

/// Responses in a block.
pub(crate) const BLOCK_ROWS: usize = 1_024;
/// Blocks that one call fills, and lays out, at the most.
pub(crate) const FILLED_A_CALL: usize = 16;
pub(crate) const LAID_OUT_A_CALL: usize = 64;
/// How old a response must be to be in a block: its id was given before its write, which has a
/// deadline far below this.
const AGE: Duration = Duration::from_secs(600);
/// How long a block waits between being laid out and being filled: longer than any transaction
/// lasts, and than clocks of nodes differ.
const SETTLES: Duration = Duration::from_secs(600);
/// Blocks that are looked at in one step of a walk.
pub(crate) const BLOCKS_A_STEP: usize = 2_000;
/// The most adjacent blocks that are scanned at once if all of them may match.
pub(crate) const BLOCKS_WALKED: usize = 8;

/// Where the making of blocks stands: the flow that was looked at last. None is the beginning.
pub type SkipIndexCursor = Option<(AppId, FlowId)>;

/// What one call made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SkipIndexPart {
    /// Blocks that were laid out, filled or taken away.
    pub made: u64,
    /// Where to go on; none where every flow has been looked at.
    pub next: Option<SkipIndexCursor>,
}

impl SkipIndexPart {
    /// After a look at this flow: at it again where there was as much to do as one call does.
    pub(crate) fn at(
        place: SkipIndexCursor,
        flow: (AppId, FlowId),
        filled: usize,
        laid: usize,
    ) -> Self {
        let is_more = filled >= FILLED_A_CALL || laid >= LAID_OUT_A_CALL;
        let next = if is_more { place } else { Some(flow) };
        Self { made: (filled + laid) as u64, next: Some(next) }
    }
}

/// What was received from here on is too young to be in a block.
pub(crate) fn young_from(now: Timestamp) -> Timestamp {
    back(now, AGE)
}

/// What was laid out after this is not filled yet.
pub(crate) fn settled_by(now: Timestamp) -> Timestamp {
    back(now, SETTLES)
}

fn back(now: Timestamp, by: Duration) -> Timestamp {
    let millis = i64::try_from(by.as_millis()).unwrap_or(i64::MAX);
    Timestamp::from_millis(now.as_millis().saturating_sub(millis).max(0))
}

/// Cuts ids that follow one another into whole blocks; the first begins behind `blocked_to`. What
/// is left over is for later.
pub(crate) fn laid_out(blocked_to: Option<u128>, ids: &[u128]) -> Vec<Span> {
    let mut first = blocked_to.map_or(0, |last| last.saturating_add(1));
    let mut blocks = Vec::new();
    for last in ids.chunks_exact(BLOCK_ROWS).filter_map(|block| block.last().copied()) {
        blocks.push(Span { first, last });
        first = last.saturating_add(1);
    }
    blocks
}

/// What of a span is to be walked next, where blocks lie in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Narrowed {
    To(Span),
    /// Up to here there is nothing; what comes after it has not been looked at.
    PassedTo(u128),
    /// No block in it can have what is wanted, and nothing lies outside of them.
    Nothing,
}

/// Finds what to walk next. Blocks come in the order of the walk, and none is left out between two
/// of them.
#[derive(Debug)]
pub(crate) struct Narrowing {
    /// What is left to look at.
    rest: Option<Span>,
    order: Order,
    /// Blocks that may have it, joined.
    found: Option<Span>,
    joined: usize,
    met: usize,
}

impl Narrowing {
    pub(crate) fn of(span: Span, order: Order) -> Self {
        Self { rest: Some(span), order, found: None, joined: 0, met: 0 }
    }

    /// Takes the next block; says what comes of it, as soon as that is known.
    pub(crate) fn meets(&mut self, block: Span, may_have: bool) -> Option<Narrowed> {
        let rest = self.rest?;
        let (first, last) = (block.first.max(rest.first), block.last.min(rest.last));
        if first > last {
            // Beyond the rest, or passed already with one that it overlaps.
            return self.is_beyond(block, rest).then(|| self.ends());
        }
        let part = Span { first, last };
        if let Some(before) = self.before(part, rest) {
            // Where a block is lacking, everything is walked.
            return Some(self.found.map_or(Narrowed::To(before), Narrowed::To));
        }
        self.met += 1;
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
            Some(found) if self.joined >= BLOCKS_WALKED => Some(Narrowed::To(found)),
            None if self.met >= BLOCKS_A_STEP && self.rest.is_some() => {
                Some(Narrowed::PassedTo(end))
            }
            _ => None,
        }
    }

    /// What comes of it where no block follows.
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

    /// What of the rest lies before a part of it.
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
        let mut narrowing = Narrowing::of(of, order);
        let met = blocks.iter().find_map(|&(block, may)| narrowing.meets(block, may));
        met.unwrap_or_else(|| narrowing.ends())
    }

    const A: Span = span(0, 19);
    const B: Span = span(20, 29);
    const C: Span = span(30, 39);

    #[test]
    fn a_walk_goes_on_at_the_next_block_that_may_have_what_is_wanted() {
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
    fn backwards_it_is_the_same_from_the_other_end() {
        let desc = |of, blocks: &[(Span, bool)]| narrowed(Order::Desc, of, blocks);
        assert_eq!(desc(span(0, 39), &[(C, false), (B, true), (A, false)]), Narrowed::To(B));
        assert_eq!(desc(span(0, 35), &[(C, true), (B, false)]), Narrowed::To(span(30, 35)));
        assert_eq!(desc(span(25, 39), &[(C, false), (B, false)]), Narrowed::Nothing);
        assert_eq!(desc(span(0, 39), &[(C, false), (B, false), (A, false)]), Narrowed::Nothing);
    }

    #[test]
    fn neighbours_that_may_have_it_are_walked_at_once() {
        for (order, blocks) in [(Order::Asc, [A, B, C]), (Order::Desc, [C, B, A])] {
            let met = blocks.map(|block| (block, block != C));
            assert_eq!(narrowed(order, span(5, 39), &met), Narrowed::To(span(5, 29)), "{order:?}");
        }
        let many: Vec<(Span, bool)> =
            (0..20_u128).map(|n| (span(n * 10, n * 10 + 9), true)).collect();
        let walked = span(0, BLOCKS_WALKED as u128 * 10 - 1);
        assert_eq!(narrowed(Order::Asc, span(0, 999), &many), Narrowed::To(walked));
    }

    #[test]
    fn where_a_block_is_lacking_everything_is_walked() {
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
    fn overlapping_blocks_are_passed_once() {
        let (a, b) = (span(0, 19), span(0, 21));
        let met = [(a, false), (b, false)];
        assert_eq!(narrowed(Order::Asc, span(0, 99), &met), Narrowed::To(span(22, 99)));
        let met = [(b, false), (a, false)];
        assert_eq!(narrowed(Order::Desc, span(0, 21), &met), Narrowed::Nothing);
    }

    #[test]
    fn a_step_looks_at_so_many_blocks_and_says_how_far_it_came() {
        let blocks: Vec<(Span, bool)> =
            (0..BLOCKS_A_STEP as u128 + 10).map(|n| (span(n * 10, n * 10 + 9), false)).collect();
        let passed = Narrowed::PassedTo(BLOCKS_A_STEP as u128 * 10 - 1);
        assert_eq!(narrowed(Order::Asc, span(0, u128::MAX), &blocks), passed);
    }

    #[test]
    fn only_whole_blocks_are_laid_out_and_each_begins_where_the_last_one_ended() {
        let ids: Vec<u128> = (1..=BLOCK_ROWS as u128 * 2 + 5).map(|n| n * 3).collect();
        let ends = [BLOCK_ROWS as u128 * 3, BLOCK_ROWS as u128 * 6];
        assert_eq!(laid_out(None, &ids), [span(0, ends[0]), span(ends[0] + 1, ends[1])]);
        assert_eq!(laid_out(Some(1), &ids)[0], span(2, ends[0]));
    }
}
