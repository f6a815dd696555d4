//! Responses: by id, and by flow with a filter.
//!
//! A list scans the primary key of the partitions in its range of ids, and stops at its limit. A
//! filter can skip many rows before it finds a match; that scan is cut into slices, each a separate
//! statement well within its deadline. The server drops rows that cannot pass, by cheap tests; the
//! remaining rows are judged here.

use std::sync::LazyLock;

use sluice_flow::id::{AppId, FlowId, ResponseId};
use uuid::Uuid;

use super::super::codec::{self, Cells, RESPONSE, ReadCells as _};
use super::super::pool::{BoxedParam, Pool, param_refs};
use super::blocks::{self, Ahead};
use super::{BY_ID, IN_SPAN, limit};
use crate::listing::{Candidate, Scan, Span};
use crate::skip_index::{BLOCK_ROWS, BLOCKS_SCANNED_MAX};
use crate::{Order, ResponseCount, ResponsePage, ResponseQuery, ResponseRow, StoreResult};

/// The most rows of one slice of a filtered scan.
const SLICE_ROWS_MAX: usize = 10_000;
/// The most rows that one statement returns to be judged, unless a page has more; a slice with more
/// ends at the last one.
const CANDIDATES_MAX: usize = 1_000;

/// How much the next statements of a scan read. The server reads a whole slice to find its end, but
/// a statement ends at its last candidate: if most rows pass the filter, long slices would be read
/// several times.
struct Slices {
    rows: usize,
    candidates_max: usize,
}

impl Slices {
    /// For a page of this many rows; some candidates do not pass. One more than the page has shows
    /// whether the list continues.
    fn for_page(limit: usize) -> Self {
        let candidates = limit.saturating_mul(4).clamp(CANDIDATES_MAX / 5, CANDIDATES_MAX);
        Self::with_candidates(candidates.max(limit.saturating_add(1)).min(SLICE_ROWS_MAX / 2))
    }

    fn with_candidates(candidates_max: usize) -> Self {
        Self { rows: 2 * candidates_max, candidates_max }
    }

    /// The rows of the next slice. Without a filter all rows match, so it is as long as possible.
    fn next_rows(&self, is_open: bool) -> usize {
        if is_open { SLICE_ROWS_MAX } else { self.rows }
    }

    /// The last candidate, if the slice has more than one statement returns. The next slice is then
    /// shorter, otherwise longer. After a cut the next statement returns more: a page that goes on
    /// has few matches among its candidates.
    fn cut<'a>(&mut self, candidates: &'a [ResponseRow]) -> Option<&'a ResponseRow> {
        let is_cut = candidates.len() >= self.candidates_max;
        let rows = if is_cut {
            self.candidates_max = CANDIDATES_MAX.max(self.candidates_max);
            self.rows / 2
        } else {
            self.rows * 2
        };
        self.rows = rows.clamp(self.candidates_max, SLICE_ROWS_MAX);
        candidates.last().filter(|_| is_cut)
    }
}

pub(in super::super) async fn by_id(
    pool: &Pool,
    response: ResponseId,
) -> StoreResult<Option<ResponseRow>> {
    let sql = format!("SELECT {RESPONSE} FROM responses WHERE response_id = $1");
    pool.one(&sql, &[&response.uuid()], codec::response).await
}

pub(in super::super) async fn by_ids(
    pool: &Pool,
    app: AppId,
    responses: &[ResponseId],
) -> StoreResult<Vec<ResponseRow>> {
    let responses: Vec<Uuid> = responses.iter().map(|response| response.uuid()).collect();
    let sql = format!(
        "SELECT {RESPONSE} FROM responses WHERE app_id = $1 AND response_id = ANY($2) \
         ORDER BY response_id"
    );
    pool.many(&sql, &[&app.uuid(), &responses], codec::response).await
}

pub(in super::super) async fn newest(
    pool: &Pool,
    app: AppId,
    flows: &[FlowId],
) -> StoreResult<Vec<(FlowId, ResponseId)>> {
    let flows: Vec<Uuid> = flows.iter().map(|flow| flow.uuid()).collect();
    // For each flow, one lookup in the primary key of each partition, see [`IN_SPAN`].
    let sql = "SELECT wanted.flow_id, newest.response_id \
         FROM unnest($2::uuid[]) AS wanted (flow_id) CROSS JOIN LATERAL \
         (SELECT response_id FROM responses WHERE app_id = $1 \
          AND (responses.flow_id, response_id) >= \
          (wanted.flow_id, '00000000-0000-0000-0000-000000000000') \
          AND (responses.flow_id, response_id) <= \
          (wanted.flow_id, 'ffffffff-ffff-ffff-ffff-ffffffffffff') \
          ORDER BY responses.flow_id DESC, response_id DESC LIMIT 1) AS newest";
    let pair =
        |cells: &mut Cells| Ok((cells.id(FlowId::from_uuid)?, cells.id(ResponseId::from_uuid)?));
    pool.many_by_index(sql, &[&app.uuid(), &flows], pair).await
}

pub(in super::super) async fn list(
    pool: &Pool,
    query: &ResponseQuery,
) -> StoreResult<ResponsePage> {
    let mut scan = Scan::new(query);
    let is_open = scan.filter.is_open();
    let (mut ahead, mut slices) = (Ahead::default(), Slices::for_page(query.limit));
    while let Some((span, scan_rows)) = scan.slice(slices.next_rows(is_open)) {
        let narrowed = blocks::narrowed(pool, &scan, span, &mut ahead).await?;
        let Some(span) = narrowed.part_of(&mut scan) else { continue };
        let end = scan.end_of(span);
        // A few blocks at the most, unless this is all that is left.
        let scan_rows =
            if end.is_some() { scan_rows.min(BLOCK_ROWS * BLOCKS_SCANNED_MAX) } else { scan_rows };
        if is_open {
            // One more than requested shows whether the list continues.
            slices.candidates_max = scan_rows.min(query.limit.saturating_add(1));
        }
        let slice_end = match is_open || ahead.has_few_rows {
            // An open list stops at its limit; filled blocks have few rows.
            true => None,
            false => slice_end(pool, query, span, scan_rows).await?,
        };
        let slice = slice_end.map_or(span, |end| span.up_to(end, query.order));
        let (sql, params) = scan_sql(&scan, slice, slices.candidates_max);
        let candidates = pool.many_by_index(&sql, &param_refs(&params), codec::response).await?;
        let (rows_read, up_to) = match slices.cut(&candidates) {
            Some(last) => (candidates.len(), Some(last.response_id.uuid().as_u128())),
            // The exact number is unknown; within blocks it is usually one block.
            None if slice_end.is_none() && end.is_some() => (scan_rows.min(BLOCK_ROWS), end),
            None => (scan_rows, slice_end.or(end)),
        };
        for row in candidates {
            if (is_open || scan.filter.passes(&candidate(&row))) && !scan.take(row) {
                break;
            }
        }
        scan.advance(rows_read, up_to);
    }
    Ok(scan.page())
}

/// As [`list`], but keeps no rows; without a filter, the server counts.
pub(in super::super) async fn count(
    pool: &Pool,
    query: &ResponseQuery,
) -> StoreResult<ResponseCount> {
    let mut scan = Scan::new(query);
    let is_open = scan.filter.is_open();
    let (mut ahead, mut slices) = (Ahead::default(), Slices::with_candidates(CANDIDATES_MAX));
    while let Some((span, scan_rows)) = scan.slice(slices.next_rows(is_open)) {
        let narrowed = blocks::narrowed(pool, &scan, span, &mut ahead).await?;
        let Some(span) = narrowed.part_of(&mut scan) else { continue };
        let slice_end = slice_end(pool, query, span, scan_rows).await?;
        let slice = slice_end.map_or(span, |end| span.up_to(end, query.order));
        let slice_end = slice_end.or(scan.end_of(span));
        if is_open {
            let params = scan_params(query, slice);
            let found = pool.many_by_index(&COUNTING, &param_refs(&params), counted).await?;
            let (responses, names) = found.into_iter().next().unwrap_or_default();
            scan.matches.responses += responses;
            scan.matches.tag_names.extend(names);
            scan.advance(scan_rows, slice_end);
            continue;
        }
        let (sql, params) = scan_sql(&scan, slice, slices.candidates_max);
        let candidates = pool.many_by_index(&sql, &param_refs(&params), codec::response).await?;
        for row in candidates.iter().filter(|row| scan.filter.passes(&candidate(row))) {
            scan.matches.add(row.tags.as_deref());
        }
        match slices.cut(&candidates) {
            Some(last) => {
                let last = last.response_id.uuid().as_u128();
                scan.advance(candidates.len(), Some(last));
            }
            None => scan.advance(scan_rows, slice_end),
        }
    }
    Ok(scan.count())
}

static COUNTING: LazyLock<String> = LazyLock::new(|| {
    format!(
        "WITH slice AS MATERIALIZED (SELECT tags FROM responses WHERE {IN_SPAN} {BY_ID}) \
         SELECT (SELECT count(*) FROM slice), ARRAY(SELECT DISTINCT \
         jsonb_object_keys(tags::jsonb) FROM slice WHERE tags IS NOT NULL)"
    )
});

fn counted(cells: &mut Cells) -> StoreResult<(u64, Vec<String>)> {
    Ok((cells.revision()?, cells.take()?))
}

fn candidate(row: &ResponseRow) -> Candidate<'_> {
    Candidate {
        version: row.flow_version_id,
        admission: row.admission,
        answers: &row.answers,
        tags: row.tags.as_deref(),
    }
}

/// The id at which a slice ends; `None` if the rest of the span is shorter than a slice.
async fn slice_end(
    pool: &Pool,
    query: &ResponseQuery,
    span: Span,
    rows: usize,
) -> StoreResult<Option<u128>> {
    let scan = in_span(query.order, "");
    let mut params = scan_params(query, span);
    params.push(Box::new(limit(rows.saturating_sub(1))));
    let sql = format!("SELECT response_id FROM responses WHERE {scan} LIMIT 1 OFFSET $5");
    let read = |cells: &mut Cells| cells.take();
    let end: Vec<Uuid> = pool.many_by_index(&sql, &param_refs(&params), read).await?;
    Ok(end.first().map(|id| id.as_u128()))
}

fn scan_params(query: &ResponseQuery, span: Span) -> Vec<BoxedParam> {
    let ids = [span.first, span.last].map(Uuid::from_u128);
    let ids = [query.app_id.uuid(), query.flow_id.uuid()].into_iter().chain(ids);
    ids.map(|id| Box::new(id) as BoxedParam).collect()
}

fn in_span(order: Order, filter: &str) -> String {
    match order {
        Order::Asc => format!("{IN_SPAN}{filter} {BY_ID}"),
        Order::Desc => format!("{IN_SPAN}{filter} ORDER BY flow_id DESC, response_id DESC"),
    }
}

/// The rows of a span without those that cannot pass.
fn scan_sql(scan: &Scan, span: Span, rows: usize) -> (String, Vec<BoxedParam>) {
    let query = &scan.query;
    let mut filter = String::new();
    let mut params = scan_params(query, span);
    params.push(Box::new(limit(rows)));
    if let Some(version) = query.version {
        params.push(Box::new(version.uuid()));
        filter.push_str(&format!(" AND flow_version_id = ${}", params.len()));
    }
    if let Some(admission) = query.admission {
        params.push(Box::new(admission == sluice_flow::submission::Admission::Admitted));
        filter.push_str(&format!(" AND admitted = ${}", params.len()));
    }
    let tags = scan.filter.tag_needles().map(|needle| ("tags", needle));
    for (column, needle) in tags.chain(scan.filter.answer_needles().map(|it| ("answers", it))) {
        params.push(Box::new(needle.to_owned()));
        filter.push_str(&may_contain(column, params.len()));
    }
    for word in scan.filter.words() {
        filter.push_str(&may_have_word(word, &mut params));
    }
    let (columns, scan) = (query.columns(), in_span(query.order, &filter));
    (format!("SELECT {columns} FROM responses WHERE {scan} LIMIT $5"), params)
}

/// JSON without escapes contains its texts verbatim.
fn may_contain(column: &str, needle: usize) -> String {
    format!(r" AND (strpos({column}, ${needle}::text) > 0 OR strpos({column}, '\') > 0)")
}

/// How a database lower-cases a letter depends on its locale, except for ASCII. So the server only
/// judges plain ASCII, and everything else is judged here.
fn may_have_word(word: &str, params: &mut Vec<BoxedParam>) -> String {
    let unsure = r"strpos(answers, '\') > 0 OR octet_length(answers) <> char_length(answers)";
    if !word.is_ascii() {
        return format!(" AND ({unsure})");
    }
    params.push(Box::new(word.to_owned()));
    let word = params.len();
    format!(r#" AND (strpos(lower(answers COLLATE "C"), ${word}::text) > 0 OR {unsure})"#)
}
