//! The skip index: creates, fills and clears blocks. See [`crate::skip_index`]; lists use them
//! ([`super::read`]).
//!
//! The blocks of a flow begin with the first id and leave no gap: a list does not look between
//! them. So new ones are added only after the last one, while the flow is locked, as it is while an
//! import deletes all of them. Before an empty block is removed, the next one is extended.

use std::sync::Arc;

use sluice_flow::id::{AppId, FlowId, FlowVersionId, v7};
use sluice_flow::submission::Admission;
use sluice_flow::time::Timestamp;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::citus;
use super::codec::{Cells, ReadCells as _};
use super::count_rows::{self, Lock};
use super::failure::TransactionError;
use super::pool::{Params, Pool};
use super::read::{BY_ID, IN_SPAN, id_after, limit};
use super::transaction::{Transaction, end};
use crate::StoreResult;
use crate::listing::Span;
use crate::skip_index::{
    BLOCK_ROWS, CREATED_PER_CALL, FILLED_PER_CALL, IndexedColumns, SkipIndexCursor, SkipIndexPart,
    Terms, settled_by, whole_blocks, young_from,
};

/// A block with a filter built from its responses; `None` if none is left.
struct FilledBlock {
    last: Uuid,
    generation: i64,
    filter: Option<Vec<u8>>,
}

/// The most rows that a filter is built from. A block has more if a clock was set back: all that is
/// stored until it has caught up lies in one.
const FILLED_ROWS_MAX: usize = 16 * BLOCK_ROWS;

/// Works on the flow after this one, if there is any.
pub(super) async fn make(
    pool: &Arc<Pool>,
    cursor: SkipIndexCursor,
    now: Timestamp,
) -> StoreResult<SkipIndexPart> {
    if cursor.is_none() || !pool.block_horizon().is_known() {
        learn_horizon(pool).await?;
    }
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
    let mut added = 0;
    if !filled.is_empty() || !created.is_empty() || overstated.is_some() {
        pool.may_commit()?;
        let transaction = Transaction::begun(pool).await.map_err(TransactionError::of_statement)?;
        let body = async {
            // First what may wait for another transaction: filling locks blocks, for which an
            // import may wait that has the flow.
            let added = match overstated {
                Some(it) => correct(&transaction, (app, flow), it).await.map(|()| 0)?,
                None => add(&transaction, (app, flow), blocked_to, &created, now).await?,
            };
            fill(&transaction, (app, flow), &filled, now).await?;
            Ok(added)
        };
        let written = body.await;
        added = end(transaction, written).await?;
    }
    Ok(SkipIndexPart::at(cursor, (app, flow), filled.len(), added))
}

/// Reads where the newest block ends; before the first time any id may be in a block. The condition
/// is true for all blocks: it is that of the index.
pub(super) async fn learn_horizon(pool: &Pool) -> StoreResult<()> {
    let sql = "SELECT last_id FROM response_blocks WHERE since >= 0 ORDER BY last_id DESC LIMIT 1";
    let newest: Vec<Uuid> = pool.many_by_index(sql, &[], |cells| cells.take()).await?;
    pool.block_horizon().reaches(newest.first().map_or(0, |id| id.as_u128()));
    Ok(())
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
             WHERE {IN_SPAN} {BY_ID} LIMIT {}",
            FILLED_ROWS_MAX + 1
        );
        let of_block: [&(dyn ToSql + Sync); 4] = [&app, &flow, &first, &last];
        let rows = pool.many_by_index(&sql, &of_block, indexed_columns).await?;
        let mut terms = Terms::default();
        for (version, admission, answers, tags) in &rows {
            let (version, admission, tags) = (*version, *admission, tags.as_deref());
            terms.add(IndexedColumns { version, admission, answers, tags });
        }
        let filter = match rows.len() {
            0 => None,
            1..=FILLED_ROWS_MAX => Some(terms.filter()),
            // Excludes nothing.
            _ => Some(Vec::new()),
        };
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

pub(super) fn id(cells: &mut Cells) -> StoreResult<u128> {
    cells.take::<Uuid>().map(|id| id.as_u128())
}

const BLOCKED_TO: &str = "SELECT last_id FROM response_blocks WHERE app_id = $1 AND flow_id = $2 \
     ORDER BY last_id DESC LIMIT 1";

/// The last id that is in a block.
pub(super) async fn blocked_to(pool: &Pool, app: AppId, flow: FlowId) -> StoreResult<Option<u128>> {
    pool.one(BLOCKED_TO, &[&app.uuid(), &flow.uuid()], id).await
}

/// Skips a filter whose rows have changed since it was built.
async fn fill(
    transaction: &Transaction,
    (app, flow): (AppId, FlowId),
    filled: &[FilledBlock],
    now: Timestamp,
) -> Result<(), TransactionError> {
    let (app, flow) = (app.uuid(), flow.uuid());
    let sql = &format!("UPDATE response_blocks SET filter = $5 WHERE {FREE_BLOCK}");
    for FilledBlock { last, generation, filter } in filled {
        let block = (last, generation);
        if filter.is_none() && !remove_unless_last(transaction, (app, flow), block, now).await? {
            continue;
        }
        let filter = filter.clone().unwrap_or_else(|| Terms::default().filter());
        transaction.execute(sql, &[&app, &flow, last, generation, &filter]).await?;
    }
    Ok(())
}

/// Their generation begins with the time: a block that an import has deleted and that is added
/// again is another one, if a filter for the first is still being built.
///
/// `apps` is joined for its one row, so that a distributed database knows the app of the rows.
const ADD: &str = "INSERT INTO response_blocks \
     (app_id, flow_id, first_id, last_id, since, generation) SELECT apps.app_id, $2, given.*, \
     $5::bigint, $5::bigint FROM apps, unnest($3::uuid[], $4::uuid[]) AS given \
     WHERE apps.app_id = $1 ON CONFLICT DO NOTHING";

/// Adds blocks if the last one still ends at `blocked_to`, and returns their number. Otherwise
/// another node has added some, or an import has deleted all. Then, or if the flow is locked, a
/// later call adds them.
async fn add(
    transaction: &Transaction,
    (app, flow): (AppId, FlowId),
    blocked_to: Option<u128>,
    blocks: &[Span],
    now: Timestamp,
) -> Result<usize, TransactionError> {
    if blocks.is_empty() {
        return Ok(0);
    }
    let locked = count_rows::lock(transaction, app, flow, Lock::ToFold).await?;
    if locked.is_none() {
        return Ok(0);
    }
    let (app, flow) = (app.uuid(), flow.uuid());
    // A separate statement after the lock, so that it sees what was committed before.
    let last = transaction.query(BLOCKED_TO, &[&app, &flow]).await?;
    if last.first().map(|row| id(&mut Cells::new(row))).transpose()? != blocked_to {
        return Ok(0);
    }
    let first: Vec<Uuid> = blocks.iter().map(|block| Uuid::from_u128(block.first)).collect();
    let last: Vec<Uuid> = blocks.iter().map(|block| Uuid::from_u128(block.last)).collect();
    let params: Params = &[&app, &flow, &first, &last, &now.as_millis()];
    let added = transaction.execute(ADD, params).await?;
    let indexed = limit(BLOCK_ROWS) * added.cast_signed();
    let sql = "UPDATE count_scans SET unindexed = greatest(unindexed - $3, 0) \
         WHERE app_id = $1 AND flow_id = $2";
    transaction.execute(sql, &[&app, &flow, &indexed]).await?;
    Ok(usize::try_from(added).unwrap_or_default())
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
