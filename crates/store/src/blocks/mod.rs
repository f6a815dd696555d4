//! Blocks: what the responses of a stretch of a flow can be found by, so that a walk for a rare value passes over
//! nearly all of them.
//!
//! A thousand responses that follow one another make a block, which keeps the ids of its first and last and a filter
//! of the tags and answers in it: two bytes a term. Blocks are made in the background, of responses so old that none
//! can come between them any more, so that a submission pays nothing. They may be lacking, behind, or overlap; then more is
//! walked, and the answer is the same. Deliberately absent: words of texts. A search is for any part of a word, which no
//! filter can rule out.
//!
//! A filter tells something of what was answered. So where a response goes or loses a tag, its block loses the filter in the
//! same transaction, and gets another from what is left. A block is laid out first and filled a while later: a
//! removal that was under way when it was laid out, and did not see it, is over by then.

mod filter;
mod terms;

use std::time::Duration;

use sluice_flow::id::{AppId, FlowId};
use sluice_flow::time::Timestamp;

use crate::Order;
use crate::listing::Span;

pub(crate) use filter::PROBES;
pub(crate) use terms::{Terms, Wanted};

/// Responses in a block.
pub(crate) const BLOCK_ROWS: usize = 1_024;
/// Blocks that one call fills, and lays out, at the most.
pub(crate) const FILLED_A_CALL: usize = 16;
pub(crate) const LAID_OUT_A_CALL: usize = 64;
/// How old a response must be to be in a block: its id was given before its write, which has a deadline far below this.
const AGE: Duration = Duration::from_secs(600);
/// How long a block waits between being laid out and being filled: longer than any transaction lasts.
const SETTLES: Duration = Duration::from_secs(120);

/// Where the making of blocks stands: the flow that was looked at last. None is the beginning.
pub type BlockPlace = Option<(AppId, FlowId)>;

/// What one call made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Blocked {
    /// Blocks that were laid out, filled or taken away.
    pub made: u64,
    /// Where to go on; none where every flow has been looked at.
    pub next: Option<BlockPlace>,
}

impl Blocked {
    /// After a look at this flow: at it again where there was as much to do as one call does.
    pub(crate) fn at(place: BlockPlace, flow: (AppId, FlowId), filled: usize, laid: usize) -> Self {
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

/// Cuts ids that follow one another into whole blocks, each by its first and last; what is left over is for later.
pub(crate) fn laid_out(ids: &[u128]) -> impl Iterator<Item = Span> {
    ids.chunks_exact(BLOCK_ROWS)
        .filter_map(|block| Some(Span { first: *block.first()?, last: *block.last()? }))
}

/// What of a span is to be walked next, where blocks lie in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Narrowed {
    To(Span),
    /// No block in it can have what is wanted, and nothing lies outside of them.
    Nothing,
}

/// Finds what to walk next. Blocks come in the order of the walk, and none is left out between two of them.
#[derive(Debug)]
pub(crate) struct Narrowing {
    span: Span,
    order: Order,
}

impl Narrowing {
    pub(crate) fn of(span: Span, order: Order) -> Self {
        Self { span, order }
    }

    /// Passes over a block, or says that this is the one to walk. Before a block there is nothing: the one before it ends
    /// where it begins.
    pub(crate) fn meets(&mut self, block: Span, may_have: bool) -> Option<Narrowed> {
        let (span, order) = (self.span, self.order);
        let is_beyond = match order {
            Order::Asc => block.first > span.last,
            Order::Desc => block.last < span.first,
        };
        if is_beyond {
            return Some(Narrowed::Nothing);
        }
        if may_have {
            let first = block.first.max(span.first);
            let last = block.last.min(span.last);
            // Overlapping blocks may have been passed already.
            return (first <= last).then_some(Narrowed::To(Span { first, last }));
        }
        let end = match order {
            Order::Asc => block.last,
            Order::Desc => block.first,
        };
        let is_before = match order {
            Order::Asc => end < span.first,
            Order::Desc => end > span.last,
        };
        match span.beyond(end, order) {
            _ if is_before => None,
            Some(rest) => {
                self.span = rest;
                None
            }
            None => Some(Narrowed::Nothing),
        }
    }

    /// What is left where no block follows.
    pub(crate) fn rest(self) -> Narrowed {
        Narrowed::To(self.span)
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
        met.unwrap_or_else(|| narrowing.rest())
    }

    #[test]
    fn a_walk_goes_on_at_the_next_block_that_may_have_what_is_wanted() {
        let (a, b, c) = (span(10, 19), span(22, 29), span(30, 39));
        let asc = |of, blocks: &[(Span, bool)]| narrowed(Order::Asc, of, blocks);
        assert_eq!(asc(span(0, 99), &[]), Narrowed::To(span(0, 99)));
        assert_eq!(asc(span(0, 99), &[(a, true), (b, true)]), Narrowed::To(a));
        assert_eq!(asc(span(15, 99), &[(a, true)]), Narrowed::To(span(15, 19)));
        assert_eq!(asc(span(0, 99), &[(a, false), (b, true), (c, true)]), Narrowed::To(b));
        assert_eq!(
            asc(span(0, 99), &[(a, false), (b, false), (c, false)]),
            Narrowed::To(span(40, 99))
        );
        assert_eq!(asc(span(0, 25), &[(a, false), (b, false)]), Narrowed::Nothing);
        assert_eq!(asc(span(0, 9), &[(a, true)]), Narrowed::Nothing);
        assert_eq!(
            asc(span(0, 35), &[(a, false), (b, false), (c, true)]),
            Narrowed::To(span(30, 35))
        );
    }

    #[test]
    fn backwards_it_is_the_same_from_the_other_end() {
        let (a, b, c) = (span(10, 19), span(22, 29), span(30, 39));
        let desc = |of, blocks: &[(Span, bool)]| narrowed(Order::Desc, of, blocks);
        assert_eq!(desc(span(0, 39), &[(c, false), (b, true), (a, true)]), Narrowed::To(b));
        assert_eq!(desc(span(0, 35), &[(c, true)]), Narrowed::To(span(30, 35)));
        assert_eq!(desc(span(25, 39), &[(c, false), (b, false)]), Narrowed::Nothing);
        assert_eq!(
            desc(span(0, 39), &[(c, false), (b, false), (a, false)]),
            Narrowed::To(span(0, 9))
        );
        assert_eq!(desc(span(35, 39), &[(b, true)]), Narrowed::Nothing);
    }

    #[test]
    fn overlapping_blocks_are_passed_once() {
        let (a, b) = (span(10, 19), span(12, 21));
        assert_eq!(
            narrowed(Order::Asc, span(0, 99), &[(a, false), (b, false)]),
            Narrowed::To(span(22, 99))
        );
        assert_eq!(
            narrowed(Order::Desc, span(0, 21), &[(b, false), (a, false)]),
            Narrowed::To(span(0, 9))
        );
    }

    #[test]
    fn only_whole_blocks_are_laid_out() {
        let ids: Vec<u128> = (0..BLOCK_ROWS as u128 * 2 + 5).map(|n| n * 3).collect();
        let blocks: Vec<Span> = laid_out(&ids).collect();
        let rows = BLOCK_ROWS as u128;
        assert_eq!(blocks, [span(0, (rows - 1) * 3), span(rows * 3, (rows * 2 - 1) * 3)]);
    }
}
