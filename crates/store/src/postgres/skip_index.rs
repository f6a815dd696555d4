//! The skip index: creates, fills, clears and uses blocks. See [`crate::skip_index`].
//!
//! The server evaluates the filters, so that they need not be transferred. It computes the bits of
//! a term as [`crate::skip_index::Term`] does; a test compares the two.

use std::collections::VecDeque;
use std::sync::Arc;

use sluice_flow::id::{AppId, FlowId, FlowVersionId, v7};
use sluice_flow::submission::Admission;
use sluice_flow::time::Timestamp;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::citus;
use super::codec::{Cells, ReadCells as _};
use super::count_rows;
use super::failure::TransactionError;
use super::pool::{BoxedParam, Params, Pool, param_refs};
use super::read::{BY_ID, IN_SPAN, id_after, limit};
use super::transaction::{Transaction, end};
use crate::listing::{Scan, Span};
use crate::skip_index::{
    BLOCK_ROWS, BLOCKS_PER_STEP, BLOCKS_SCANNED_MAX, CREATED_PER_CALL, FILLED_PER_CALL,
    IndexedColumns, Narrowed, PROBES, QueryTerms, SkipIndexCursor, SkipIndexPart, Terms,
    settled_by, whole_blocks, young_from,
};
use crate::{Order, ResponseQuery, StoreResult};

/// Far below the age at which responses are put in blocks, so that the clocks of nodes may differ.
const OLD_MILLIS: i64 = 60_000;

/// A block with a filter built from its responses; `None` if none is left.
struct FilledBlock {
    last: Uuid,
    generation: i64,
    filter: Option<Vec<u8>>,
}

/// Works on the flow after this one, if there is any.
pub(super) async fn make(
    pool: &Arc<Pool>,
    cursor: SkipIndexCursor,
    now: Timestamp,
) -> StoreResult<SkipIndexPart> {
    let settled = settled_by(now);
    let Some((app, flow)) = next_flow(pool, cursor, settled).await? else {
        return Ok(SkipIndexPart { made: 0, next: None });
    };
    // Nothing is built from responses that an open transaction may still add to.
    let open = open_since(pool).await?.unwrap_or(now);
    let filled = filled(pool, app, flow, settled.min(open)).await?;
    let (blocked_to, created) = unblocked(pool, app, flow, young_from(now).min(open)).await?;
    let overstated = match created.is_empty() {
        true => overstated(pool, app, flow, blocked_to).await?,
        false => None,
    };
    let made = SkipIndexPart::at(cursor, (app, flow), filled.len(), created.len());
    if made.made > 0 || overstated.is_some() {
        pool.may_commit()?;
        let transaction = Transaction::begun(pool).await.map_err(TransactionError::of_statement)?;
        let body = async {
            write(&transaction, (app, flow), &filled, &created, now).await?;
            match overstated {
                Some(overstated) => correct(&transaction, (app, flow), overstated).await,
                None => Ok(()),
            }
        };
        let written = body.await;
        end(transaction, written).await?;
    }
    Ok(made)
}

/// The first flow after the cursor with blocks to fill, or with responses for a block.
async fn next_flow(
    pool: &Pool,
    cursor: SkipIndexCursor,
    settled: Timestamp,
) -> StoreResult<Option<(AppId, FlowId)>> {
    let (app, flow) =
        cursor.map_or((Uuid::nil(), Uuid::nil()), |(app, flow)| (app.uuid(), flow.uuid()));
    let sql = format!(
        "SELECT app_id, flow_id FROM ( \
         (SELECT app_id, flow_id FROM response_blocks WHERE (app_id, flow_id) > ($1, $2) \
          AND filter IS NULL AND since <= $3 ORDER BY app_id, flow_id LIMIT 1) UNION ALL \
         (SELECT app_id, flow_id FROM count_scans WHERE (app_id, flow_id) > ($1, $2) \
          AND unindexed >= {BLOCK_ROWS} ORDER BY app_id, flow_id LIMIT 1)) AS due \
         ORDER BY app_id, flow_id LIMIT 1"
    );
    let params: [&(dyn ToSql + Sync); 3] = [&app, &flow, &settled.as_millis()];
    let found = pool.many_by_index(&sql, &params, |cells| {
        Ok((cells.id(AppId::from_uuid)?, cells.id(FlowId::from_uuid)?))
    });
    Ok(found.await?.into_iter().next())
}

/// A number of responses without a block that is too high, because some were removed or counted
/// again: as it was read, and as it should be.
#[derive(Debug, Clone, Copy)]
struct Overstated {
    read: i64,
    exact: i64,
}

/// Checks the number of a flow's responses without a block: young responses may be among them.
async fn overstated(
    pool: &Pool,
    app: AppId,
    flow: FlowId,
    blocked_to: Option<u128>,
) -> StoreResult<Option<Overstated>> {
    let (app, flow) = (app.uuid(), flow.uuid());
    let sql = "SELECT unindexed FROM count_scans WHERE app_id = $1 AND flow_id = $2";
    let read: Option<i64> = pool.one(sql, &[&app, &flow], |cells| cells.take()).await?;
    let most = limit(BLOCK_ROWS);
    let Some(read) = read.filter(|read| *read >= most) else { return Ok(None) };
    let sql = format!(
        "SELECT count(*) FROM (SELECT FROM responses WHERE {IN_SPAN} {BY_ID} LIMIT $5) AS unblocked"
    );
    let after = blocked_to.map_or(Uuid::nil(), |last| id_after(Uuid::from_u128(last)));
    let params: [&(dyn ToSql + Sync); 5] = [&app, &flow, &after, &Uuid::max(), &most];
    let exact = pool.many_by_index(&sql, &params, |cells| cells.take());
    let exact = exact.await?.first().copied().unwrap_or(0);
    Ok((exact < most).then_some(Overstated { read, exact }))
}

/// The row of a flow, unless it is locked: then the next visit changes it, and nothing waits.
const FREE_FLOW: &str = "app_id = $1 AND flow_id = $2 AND flow_id IN (SELECT flow_id \
     FROM count_scans WHERE app_id = $1 AND flow_id = $2 FOR NO KEY UPDATE SKIP LOCKED)";

/// Corrects a number that is still as it was read.
async fn correct(
    transaction: &Transaction,
    (app, flow): (AppId, FlowId),
    Overstated { read, exact }: Overstated,
) -> Result<(), TransactionError> {
    let sql = format!("UPDATE count_scans SET unindexed = $3 WHERE {FREE_FLOW} AND unindexed = $4");
    transaction.execute(&sql, &[&app.uuid(), &flow.uuid(), &exact, &read]).await.map(|_| ())
}

/// The blocks that need a filter, with the filters built for them.
async fn filled(
    pool: &Pool,
    app: AppId,
    flow: FlowId,
    settled: Timestamp,
) -> StoreResult<Vec<FilledBlock>> {
    let sql = "SELECT first_id, last_id, generation FROM response_blocks WHERE app_id = $1 \
         AND flow_id = $2 AND filter IS NULL AND since <= $3 ORDER BY last_id LIMIT $4";
    let (app, flow) = (app.uuid(), flow.uuid());
    let params: [&(dyn ToSql + Sync); 4] =
        [&app, &flow, &settled.as_millis(), &limit(FILLED_PER_CALL)];
    let empty = pool
        .many(sql, &params, |cells| {
            Ok((cells.take::<Uuid>()?, cells.take::<Uuid>()?, cells.take::<i64>()?))
        })
        .await?;
    let mut filled = Vec::with_capacity(empty.len());
    for (first, last, generation) in empty {
        let sql = format!(
            "SELECT flow_version_id, admitted, answers, tags FROM responses \
             WHERE {IN_SPAN} {BY_ID}"
        );
        let of_block: [&(dyn ToSql + Sync); 4] = [&app, &flow, &first, &last];
        let rows = pool.many_by_index(&sql, &of_block, indexed_columns).await?;
        let mut terms = Terms::default();
        for (version, admission, answers, tags) in &rows {
            let (version, admission, tags) = (*version, *admission, tags.as_deref());
            terms.add(IndexedColumns { version, admission, answers, tags });
        }
        let filter = (!rows.is_empty()).then(|| terms.filter());
        filled.push(FilledBlock { last, generation, filter });
    }
    Ok(filled)
}

fn indexed_columns(
    cells: &mut Cells,
) -> StoreResult<(FlowVersionId, Admission, String, Option<String>)> {
    let version = cells.id(FlowVersionId::from_uuid)?;
    Ok((version, Admission::from_admitted(cells.take()?), cells.take()?, cells.take()?))
}

/// The end of the last block, and whole blocks of the responses after it.
async fn unblocked(
    pool: &Pool,
    app: AppId,
    flow: FlowId,
    before: Timestamp,
) -> StoreResult<(Option<u128>, Vec<Span>)> {
    let blocked_to = blocked_to(pool, app, flow).await?;
    let after = blocked_to.map_or(Uuid::nil(), |last| id_after(Uuid::from_u128(last)));
    // No real id equals this bound: every id has its version in the bits that are cut off.
    let young = Uuid::from_u128(v7(before, 0, 0).as_u128() >> 80 << 80);
    let sql = format!("SELECT response_id FROM responses WHERE {IN_SPAN} {BY_ID} LIMIT $5");
    let most = limit(BLOCK_ROWS * CREATED_PER_CALL);
    let params: [&(dyn ToSql + Sync); 5] = [&app.uuid(), &flow.uuid(), &after, &young, &most];
    let ids = pool.many_by_index(&sql, &params, id).await?;
    Ok((blocked_to, whole_blocks(blocked_to, &ids)))
}

/// A time before the oldest transaction began that may still write: a commit that waits for a
/// standby can become visible hours later. `None` if there is no such transaction.
async fn open_since(pool: &Pool) -> StoreResult<Option<Timestamp>> {
    let here = "SELECT (extract(epoch FROM min(xact_start)) * 1000)::bigint - 60000 \
         FROM pg_stat_activity WHERE datname = current_database() AND backend_xid IS NOT NULL";
    let sql = if pool.is_citus() { citus::open_since() } else { here.to_owned() };
    let millis = pool.one(&sql, &[], |cells| cells.take::<Option<i64>>()).await?.flatten();
    Ok(millis.map(|millis| Timestamp::from_millis(millis.max(0))))
}

fn id(cells: &mut Cells) -> StoreResult<u128> {
    cells.take::<Uuid>().map(|id| id.as_u128())
}

/// The last id that is in a block.
async fn blocked_to(pool: &Pool, app: AppId, flow: FlowId) -> StoreResult<Option<u128>> {
    let sql = "SELECT last_id FROM response_blocks WHERE app_id = $1 AND flow_id = $2 \
         ORDER BY last_id DESC LIMIT 1";
    pool.one(sql, &[&app.uuid(), &flow.uuid()], id).await
}

/// Skips a filter whose rows have changed since it was built.
async fn write(
    transaction: &Transaction,
    (app, flow): (AppId, FlowId),
    filled: &[FilledBlock],
    created: &[Span],
    now: Timestamp,
) -> Result<(), TransactionError> {
    let (app, flow) = (app.uuid(), flow.uuid());
    let fill = &format!("UPDATE response_blocks SET filter = $5 WHERE {FREE_BLOCK}");
    for FilledBlock { last, generation, filter } in filled {
        let block = (last, generation);
        if filter.is_none() && !remove_unless_last(transaction, (app, flow), block, now).await? {
            continue;
        }
        let filter = filter.clone().unwrap_or_else(|| Terms::default().filter());
        transaction.execute(fill, &[&app, &flow, last, generation, &filter]).await?;
    }
    // `apps` is joined for its one row, so that a distributed database knows the app of the rows.
    let create = "INSERT INTO response_blocks (app_id, flow_id, first_id, last_id, since) \
         SELECT apps.app_id, $2, given.*, $5 FROM apps, unnest($3::uuid[], $4::uuid[]) AS given \
         WHERE apps.app_id = $1 ON CONFLICT DO NOTHING";
    let first: Vec<Uuid> = created.iter().map(|block| Uuid::from_u128(block.first)).collect();
    let last: Vec<Uuid> = created.iter().map(|block| Uuid::from_u128(block.last)).collect();
    let created =
        transaction.execute(create, &[&app, &flow, &first, &last, &now.as_millis()]).await?;
    let indexed = limit(BLOCK_ROWS) * created.cast_signed();
    let sql =
        format!("UPDATE count_scans SET unindexed = greatest(unindexed - $3, 0) WHERE {FREE_FLOW}");
    if created > 0 {
        transaction.execute(&sql, &[&app, &flow, &indexed]).await?;
    }
    Ok(())
}

/// A block as it was read. One that a removal has locked is left for the next call.
const FREE_BLOCK: &str = "app_id = $1 AND flow_id = $2 AND last_id IN (SELECT last_id \
     FROM response_blocks WHERE app_id = $1 AND flow_id = $2 AND last_id = $3 \
     AND generation = $4 FOR UPDATE SKIP LOCKED)";

/// Removes a block without responses, unless it is the flow's last; returns whether it is. The next
/// block begins where it began, for responses that are stored with an old id; one may be about to
/// be, so that block is filled later. What is locked or has changed is left for the next call.
async fn remove_unless_last(
    transaction: &Transaction,
    (app, flow): (Uuid, Uuid),
    (last, generation): (&Uuid, &i64),
    now: Timestamp,
) -> Result<bool, TransactionError> {
    let sql = format!("SELECT first_id FROM response_blocks WHERE {FREE_BLOCK}");
    let rows = transaction.query(&sql, &[&app, &flow, last, generation]).await?;
    let Some(row) = rows.first() else { return Ok(false) };
    let first: Uuid = Cells::new(row).take()?;
    let of_flow = "SELECT last_id FROM response_blocks WHERE app_id = $1 AND flow_id = $2";
    let next = format!("{of_flow} AND last_id > $3 ORDER BY last_id LIMIT 1");
    if transaction.query(&next, &[&app, &flow, last]).await?.is_empty() {
        return Ok(true);
    }
    let extend = format!(
        "UPDATE response_blocks SET first_id = least(first_id, $4), filter = NULL, \
         generation = generation + 1, since = $5 WHERE app_id = $1 AND flow_id = $2 \
         AND last_id IN ({of_flow} AND last_id = ({next}) FOR UPDATE SKIP LOCKED)"
    );
    let params: Params = &[&app, &flow, last, &first, &now.as_millis()];
    if transaction.execute(&extend, params).await? == 0 {
        return Ok(false);
    }
    let remove = "DELETE FROM response_blocks WHERE app_id = $1 AND flow_id = $2 AND last_id = $3";
    transaction.execute(remove, &[&app, &flow, last]).await.map(|_| false)
}

/// A response stored with an id that is no older than this, by the server's clock, falls into no
/// block.
pub(super) fn old_at(now: Timestamp) -> Timestamp {
    Timestamp::from_millis(now.as_millis().saturating_sub(OLD_MILLIS).max(0))
}

/// Blocks hardly ever overlap, so only a few after each response are read. They are locked in one
/// order, so that two transactions that clear filters do not wait for each other.
pub(super) const UNFILL: &str = "WITH held AS (SELECT flow_id, last_id FROM response_blocks \
     WHERE app_id = $1 AND (flow_id, last_id) IN (SELECT near.flow_id, near.last_id \
     FROM unnest($2::uuid[], $3::uuid[]) AS given (flow_id, response_id), \
     LATERAL (SELECT flow_id, first_id, last_id FROM response_blocks WHERE app_id = $1 \
     AND flow_id = given.flow_id AND last_id >= given.response_id \
     ORDER BY last_id LIMIT 4) AS near WHERE near.first_id <= given.response_id) \
     ORDER BY flow_id, last_id FOR UPDATE) \
     UPDATE response_blocks AS block SET filter = NULL, generation = generation + 1 FROM held \
     WHERE block.app_id = $1 AND block.flow_id = held.flow_id AND block.last_id = held.last_id";

/// Clears the filters of the blocks with these responses, which are removed or changed.
pub(super) async fn unfill(
    transaction: &Transaction,
    app: AppId,
    responses: &[(Uuid, Uuid)],
) -> Result<(), TransactionError> {
    let (flows, ids): (Vec<Uuid>, Vec<Uuid>) = responses.iter().copied().unzip();
    transaction.execute(UNFILL, &[&app.uuid(), &flows, &ids]).await.map(|_| ())
}

/// Deletes all blocks of a flow: imported responses may lie within them. The caller has locked the
/// row of its scan; the flow is visited again.
pub(super) async fn forget(
    transaction: &Transaction,
    app: AppId,
    flow: FlowId,
) -> Result<(), TransactionError> {
    let sql = "DELETE FROM response_blocks WHERE app_id = $1 AND flow_id = $2";
    transaction.execute(sql, &[&app.uuid(), &flow.uuid()]).await?;
    count_rows::add_unindexed(transaction, app, flow, limit(BLOCK_ROWS)).await
}

/// The blocks that one step finds after the first, which may be all that a page needs.
const BLOCKS_AHEAD: usize = 64;

/// Blocks that may match and were found ahead of a scan: adjacent ones joined, in scan order.
#[derive(Debug, Default)]
pub(super) struct Ahead {
    runs: VecDeque<Span>,
    has_begun: bool,
    /// Whether the part that was found last consists of blocks, and so of few rows.
    pub(super) is_in_blocks: bool,
}

impl Ahead {
    /// The next blocks within a span. They stay until the span has passed them: a scan may stop
    /// within them.
    fn next_in(&mut self, span: Span) -> Option<Span> {
        while let Some(run) = self.runs.front() {
            let (first, last) = (run.first.max(span.first), run.last.min(span.last));
            if first <= last {
                self.is_in_blocks = true;
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
    ahead.is_in_blocks = false;
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
    let found = pool.many_by_index(&sql, &param_refs(&params), block).await?;
    ahead.runs = joined(&found);
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
fn joined(blocks: &[Span]) -> VecDeque<Span> {
    let touches = |one: &Span, other: &Span| {
        other.first <= one.last.saturating_add(1) && one.first <= other.last.saturating_add(1)
    };
    let mut runs = VecDeque::new();
    for run in blocks.chunk_by(touches) {
        for part in run.chunks(BLOCKS_SCANNED_MAX) {
            runs.extend(part.iter().copied().reduce(Span::joined_with));
        }
    }
    runs
}

fn block(cells: &mut Cells) -> StoreResult<Span> {
    Ok(Span { first: id(cells)?, last: id(cells)? })
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

/// The first blocks of the span before the edge, in this order, that may match.
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
        "SELECT first_id, last_id FROM response_blocks WHERE app_id = $1 AND flow_id = $2 \
         AND last_id >= $3 AND first_id <= $4 AND (filter IS NULL OR octet_length(filter) = 0 \
         OR (true{holds})) {scanned} LIMIT {most}"
    );
    (sql, params)
}
