//! The skip index, for reading: which part of a span a scan reads next.
//!
//! The server evaluates the filters, so that they need not be transferred. It computes the bits of
//! a term as [`crate::skip_index::Term`] does; a test compares the two.
//!
//! Only blocks that may match are read, so nothing here would notice a gap between two blocks:
//! [`super::super::skip_index`] leaves none.

use std::collections::VecDeque;

use sluice_flow::id::{AppId, FlowId};
use uuid::Uuid;

use super::super::codec::Cells;
use super::super::pool::{BoxedParam, Pool, param_refs};
use super::super::skip_index::{blocked_to, id};
use crate::listing::{Scan, Span};
use crate::skip_index::{BLOCKS_PER_STEP, BLOCKS_SCANNED_MAX, Narrowed, PROBES, QueryTerms};
use crate::{Order, ResponseQuery, StoreResult};

/// The blocks that one step finds after the first, which may be all that a page needs.
const BLOCKS_AHEAD: usize = 64;

/// Blocks that may match and were found ahead of a scan: adjacent ones joined, in scan order.
#[derive(Debug, Default)]
pub(super) struct Ahead {
    runs: VecDeque<Run>,
    has_begun: bool,
    /// Whether the part that was found last consists of filled blocks, and so of few rows.
    pub(super) has_few_rows: bool,
}

#[derive(Debug, Clone, Copy)]
struct Run {
    span: Span,
    has_few_rows: bool,
}

impl Ahead {
    /// The next blocks within a span. They stay until the span has passed them: a scan may stop
    /// within them.
    fn next_in(&mut self, span: Span) -> Option<Span> {
        while let Some(Run { span: run, has_few_rows }) = self.runs.front() {
            let (first, last) = (run.first.max(span.first), run.last.min(span.last));
            if first <= last {
                self.has_few_rows = *has_few_rows;
                return Some(Span { first, last });
            }
            self.runs.pop_front();
        }
        None
    }
}

/// The part of a span to scan next.
pub(super) async fn narrowed(
    pool: &Pool,
    scan: &Scan,
    span: Span,
    ahead: &mut Ahead,
) -> StoreResult<Narrowed> {
    ahead.has_few_rows = false;
    let query_terms = QueryTerms::new(&scan.query);
    if query_terms.is_empty() {
        return Ok(Narrowed::To(span));
    }
    if let Some(blocks) = ahead.next_in(span) {
        return Ok(Narrowed::To(blocks));
    }
    let ResponseQuery { app_id, flow_id, order, .. } = scan.query;
    let Some(blocked_to) = blocked_to(pool, app_id, flow_id).await? else {
        return Ok(Narrowed::To(span));
    };
    match (span.beyond(blocked_to, Order::Asc), order) {
        // Responses in no block yet come first, or are all that is left.
        (Some(young), Order::Desc) => return Ok(Narrowed::To(young)),
        (Some(young), Order::Asc) if young == span => return Ok(Narrowed::To(span)),
        _ => {}
    }
    let edge = edge(pool, app_id, flow_id, span, order).await?;
    let most = match std::mem::replace(&mut ahead.has_begun, true) {
        false => BLOCKS_SCANNED_MAX,
        true => BLOCKS_AHEAD,
    };
    let (sql, params) = next_blocks(&query_terms, app_id, flow_id, (span, edge), order, most);
    let found = pool.many_by_index(&sql, &param_refs(&params), found_block).await?;
    let (may_match, last): (Vec<_>, Vec<_>) = found.into_iter().partition(|it| !it.is_last);
    let needed = edge.map_or(blocked_to, |edge| edge.max(blocked_to));
    if last.first().is_none_or(|last| last.block.last < needed) {
        // An import has deleted blocks since they were read above.
        return Ok(Narrowed::To(span));
    }
    ahead.runs = joined(&may_match);
    if let Some(blocks) = ahead.next_in(span) {
        return Ok(Narrowed::To(blocks));
    }
    Ok(match (edge, order) {
        (Some(edge), _) if span.beyond(edge, order).is_some() => Narrowed::PassedTo(edge),
        (None, Order::Asc) => {
            span.beyond(blocked_to, order).map_or(Narrowed::Nothing, Narrowed::To)
        }
        _ => Narrowed::Nothing,
    })
}

/// Blocks, a limited number of adjacent ones joined.
fn joined(blocks: &[FoundBlock]) -> VecDeque<Run> {
    let touches = |one: &Span, other: &Span| {
        other.first <= one.last.saturating_add(1) && one.first <= other.last.saturating_add(1)
    };
    let together = |one: &FoundBlock, other: &FoundBlock| {
        one.has_few_rows && other.has_few_rows && touches(&one.block, &other.block)
    };
    let mut runs = VecDeque::new();
    for run in blocks.chunk_by(together) {
        for part in run.chunks(BLOCKS_SCANNED_MAX) {
            let has_few_rows = part.iter().all(|it| it.has_few_rows);
            let span = part.iter().map(|it| it.block).reduce(Span::joined_with);
            runs.extend(span.map(|span| Run { span, has_few_rows }));
        }
    }
    runs
}

/// A row of [`next_blocks`].
struct FoundBlock {
    is_last: bool,
    /// One that excludes nothing, or has no filter yet, may have any number of rows: after a clock
    /// was set back, all responses of the time in between are stored in one.
    has_few_rows: bool,
    block: Span,
}

fn found_block(cells: &mut Cells) -> StoreResult<FoundBlock> {
    let (is_last, has_few_rows) = (cells.take()?, cells.take()?);
    let block = Span { first: id(cells)?, last: id(cells)? };
    Ok(FoundBlock { is_last, has_few_rows, block })
}

/// Where the last of the blocks ends that one step reads; `None` if there are no more.
async fn edge(
    pool: &Pool,
    app: AppId,
    flow: FlowId,
    span: Span,
    order: Order,
) -> StoreResult<Option<u128>> {
    let sql = match order {
        Order::Asc => format!(
            "SELECT last_id FROM response_blocks WHERE app_id = $1 AND flow_id = $2 \
             AND last_id >= $3 ORDER BY last_id LIMIT 1 OFFSET {}",
            BLOCKS_PER_STEP - 1
        ),
        Order::Desc => format!(
            "SELECT first_id FROM response_blocks WHERE app_id = $1 AND flow_id = $2 \
             AND first_id <= $3 ORDER BY last_id DESC LIMIT 1 OFFSET {}",
            BLOCKS_PER_STEP - 1
        ),
    };
    let at = match order {
        Order::Asc => span.first,
        Order::Desc => span.last,
    };
    pool.one(&sql, &[&app.uuid(), &flow.uuid(), &Uuid::from_u128(at)], id).await
}

/// The first blocks of the span before the edge, in this order, that may match. Then the last block
/// of the flow, of the same instant: it shows how far there are blocks.
fn next_blocks(
    query_terms: &QueryTerms,
    app: AppId,
    flow: FlowId,
    (span, edge): (Span, Option<u128>),
    order: Order,
    most: usize,
) -> (String, Vec<BoxedParam>) {
    let span = match (edge, order) {
        (Some(edge), Order::Asc) => Span { last: span.last.min(edge), ..span },
        (Some(edge), Order::Desc) => Span { first: span.first.max(edge), ..span },
        (None, _) => span,
    };
    let mut params: Vec<BoxedParam> = vec![
        Box::new(app.uuid()),
        Box::new(flow.uuid()),
        Box::new(Uuid::from_u128(span.first)),
        Box::new(Uuid::from_u128(span.last)),
    ];
    let mut holds = String::new();
    for term in query_terms.terms() {
        let (start, step) = term.bits();
        params.push(Box::new(start));
        params.push(Box::new(step));
        let (start, step) = (params.len() - 1, params.len());
        for probe in 0..PROBES {
            holds.push_str(&format!(
                " AND get_bit(filter, (${start}::bigint + {probe} * ${step}::bigint) \
                 % (octet_length(filter)::bigint * 8)) = 1"
            ));
        }
    }
    let scanned = match order {
        Order::Asc => "ORDER BY last_id",
        Order::Desc => {
            "AND last_id <= coalesce((SELECT last_id FROM response_blocks WHERE app_id = $1 \
             AND flow_id = $2 AND last_id >= $4 ORDER BY last_id LIMIT 1 OFFSET 3), \
             'ffffffff-ffff-ffff-ffff-ffffffffffff') ORDER BY last_id DESC"
        }
    };
    let sql = format!(
        "(SELECT false, coalesce(octet_length(filter), 0) > 0, first_id, last_id \
         FROM response_blocks WHERE app_id = $1 AND flow_id = $2 \
         AND last_id >= $3 AND first_id <= $4 AND (filter IS NULL OR octet_length(filter) = 0 \
         OR (true{holds})) {scanned} LIMIT {most}) UNION ALL \
         (SELECT true, true, first_id, last_id FROM response_blocks WHERE app_id = $1 AND flow_id = $2 \
         ORDER BY last_id DESC LIMIT 1)"
    );
    (sql, params)
}
