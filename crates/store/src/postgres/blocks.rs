//! Blocks of responses: laid out, filled, emptied, and used by a walk. See [`crate::blocks`].
//!
//! The server itself asks the filters, so that they need not be sent; the bits of a term are where
//! [`crate::blocks::Term`] has them, and a test holds both ways against one another.

use std::sync::Arc;

use sluice_flow::id::{AppId, FlowId, v7};
use sluice_flow::time::Timestamp;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::codec::Cells;
use super::failure::Stop;
use super::pool::Pool;
use super::read::limit;
use super::transaction::{Transaction, end};
use crate::blocks::{
    BLOCK_ROWS, BlockPlace, Blocked, FILLED_A_CALL, LAID_OUT_A_CALL, Narrowed, Narrowing, PROBES,
    Terms, Wanted, laid_out, settled_by, young_from,
};
use crate::listing::{Span, Walk};
use crate::{Order, ResponseQuery, StoreResult};

type Param = Box<dyn ToSql + Sync + Send>;

/// A block that was made of its responses; no filter where none is left.
struct Filled {
    last: Uuid,
    generation: i64,
    filter: Option<Vec<u8>>,
}

/// Looks at the flow after this one, if there is any.
pub(super) async fn make(
    pool: &Arc<Pool>,
    place: BlockPlace,
    now: Timestamp,
) -> StoreResult<Blocked> {
    let Some((app, flow)) = next_flow(pool, place).await? else {
        return Ok(Blocked { made: 0, next: None });
    };
    let filled = filled(pool, app, flow, settled_by(now)).await?;
    let laid = unblocked(pool, app, flow, young_from(now)).await?;
    let made = Blocked::at(place, (app, flow), filled.len(), laid.len());
    if made.made > 0 {
        pool.may_commit()?;
        let transaction = Transaction::begun(pool).await.map_err(Stop::of_statement)?;
        let written = write(&transaction, (app, flow), &filled, &laid, now).await;
        end(transaction, written).await?;
    }
    Ok(made)
}

async fn next_flow(pool: &Pool, place: BlockPlace) -> StoreResult<Option<(AppId, FlowId)>> {
    let (app, flow) =
        place.map_or((Uuid::nil(), Uuid::nil()), |(app, flow)| (app.uuid(), flow.uuid()));
    let sql = "SELECT app_id, flow_id FROM flows WHERE (app_id, flow_id) > ($1, $2) \
         ORDER BY app_id, flow_id LIMIT 1";
    pool.one(sql, &[&app, &flow], |cells| {
        Ok((cells.id(AppId::from_uuid)?, cells.id(FlowId::from_uuid)?))
    })
    .await
}

/// The blocks that are to be filled, with what they are to be filled with.
async fn filled(
    pool: &Pool,
    app: AppId,
    flow: FlowId,
    settled: Timestamp,
) -> StoreResult<Vec<Filled>> {
    let sql = "SELECT first_id, last_id, generation FROM response_blocks WHERE app_id = $1 \
         AND flow_id = $2 AND filter IS NULL AND since <= $3 LIMIT $4";
    let (app, flow) = (app.uuid(), flow.uuid());
    let params: [&(dyn ToSql + Sync); 4] =
        [&app, &flow, &settled.as_millis(), &limit(FILLED_A_CALL)];
    let empty = pool
        .many(sql, &params, |cells| {
            Ok((cells.take::<Uuid>()?, cells.take::<Uuid>()?, cells.take::<i64>()?))
        })
        .await?;
    let mut filled = Vec::with_capacity(empty.len());
    for (first, last, generation) in empty {
        let sql = "SELECT answers, tags FROM responses WHERE app_id = $1 AND flow_id = $2 \
             AND response_id BETWEEN $3 AND $4";
        let rows = pool.many(sql, &[&app, &flow, &first, &last], texts).await?;
        let mut terms = Terms::default();
        rows.iter().for_each(|(answers, tags)| terms.add(answers, tags.as_deref()));
        let filter = (!rows.is_empty()).then(|| terms.filter());
        filled.push(Filled { last, generation, filter });
    }
    Ok(filled)
}

fn texts(cells: &mut Cells) -> StoreResult<(String, Option<String>)> {
    Ok((cells.take()?, cells.take()?))
}

/// Whole blocks of the responses beyond the last one.
async fn unblocked(
    pool: &Pool,
    app: AppId,
    flow: FlowId,
    before: Timestamp,
) -> StoreResult<Vec<Span>> {
    let blocked_to = blocked_to(pool, app, flow).await?.map_or(Uuid::nil(), Uuid::from_u128);
    let young = Uuid::from_u128(v7(before, 0, 0).as_u128() >> 80 << 80);
    let sql = "SELECT response_id FROM responses WHERE app_id = $1 AND flow_id = $2 \
         AND response_id > $3 AND response_id < $4 ORDER BY response_id LIMIT $5";
    let most = limit(BLOCK_ROWS * LAID_OUT_A_CALL);
    let params: [&(dyn ToSql + Sync); 5] = [&app.uuid(), &flow.uuid(), &blocked_to, &young, &most];
    let ids = pool.many(sql, &params, id).await?;
    Ok(laid_out(&ids).collect())
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

/// A filter that was made of what has changed since is left out.
async fn write(
    transaction: &Transaction,
    (app, flow): (AppId, FlowId),
    filled: &[Filled],
    laid: &[Span],
    now: Timestamp,
) -> Result<(), Stop> {
    let (app, flow) = (app.uuid(), flow.uuid());
    // A block that a removal is at is left to the next look: nothing here waits for anything.
    let free = "app_id = $1 AND flow_id = $2 AND last_id IN (SELECT last_id FROM response_blocks \
         WHERE app_id = $1 AND flow_id = $2 AND last_id = $3 AND generation = $4 \
         FOR UPDATE SKIP LOCKED)";
    let fill = &format!("UPDATE response_blocks SET filter = $5 WHERE {free}");
    let drop = &format!("DELETE FROM response_blocks WHERE {free}");
    for Filled { last, generation, filter } in filled {
        match filter {
            Some(filter) => {
                transaction.execute(fill, &[&app, &flow, last, generation, filter]).await?
            }
            None => transaction.execute(drop, &[&app, &flow, last, generation]).await?,
        };
    }
    let lay = "INSERT INTO response_blocks (app_id, flow_id, first_id, last_id, since) \
         SELECT $1, $2, given.*, $5 FROM unnest($3::uuid[], $4::uuid[]) AS given \
         ON CONFLICT DO NOTHING";
    let first: Vec<Uuid> = laid.iter().map(|block| Uuid::from_u128(block.first)).collect();
    let last: Vec<Uuid> = laid.iter().map(|block| Uuid::from_u128(block.last)).collect();
    transaction.execute(lay, &[&app, &flow, &first, &last, &now.as_millis()]).await.map(|_| ())
}

/// Takes their filters from the blocks of these responses, which go or change.
pub(super) async fn unfill(
    transaction: &Transaction,
    app: AppId,
    responses: &[(Uuid, Uuid)],
) -> Result<(), Stop> {
    // Blocks hardly ever overlap: a few beyond each response are looked at, not all.
    let sql = "UPDATE response_blocks AS block SET filter = NULL, generation = generation + 1 \
         FROM (SELECT DISTINCT near.flow_id, near.last_id \
         FROM unnest($2::uuid[], $3::uuid[]) AS gone (flow_id, response_id), \
         LATERAL (SELECT flow_id, first_id, last_id FROM response_blocks WHERE app_id = $1 \
         AND flow_id = gone.flow_id AND last_id >= gone.response_id \
         ORDER BY last_id LIMIT 4) AS near WHERE near.first_id <= gone.response_id) AS found \
         WHERE block.app_id = $1 AND block.flow_id = found.flow_id \
         AND block.last_id = found.last_id";
    let (flows, ids): (Vec<Uuid>, Vec<Uuid>) = responses.iter().copied().unzip();
    transaction.execute(sql, &[&app.uuid(), &flows, &ids]).await.map(|_| ())
}

/// Takes all blocks of a flow away: something is put in that may lie within them.
pub(super) async fn forget(
    transaction: &Transaction,
    app: AppId,
    flow: FlowId,
) -> Result<(), Stop> {
    let sql = "DELETE FROM response_blocks WHERE app_id = $1 AND flow_id = $2";
    transaction.execute(sql, &[&app.uuid(), &flow.uuid()]).await.map(|_| ())
}

/// What of a span is to be walked next.
pub(super) async fn narrowed(pool: &Pool, walk: &Walk, span: Span) -> StoreResult<Narrowed> {
    let wanted = Wanted::of(&walk.query);
    if wanted.is_empty() {
        return Ok(Narrowed::To(span));
    }
    let ResponseQuery { app_id, flow_id, order, .. } = walk.query;
    let Some(blocked_to) = blocked_to(pool, app_id, flow_id).await? else {
        return Ok(Narrowed::To(span));
    };
    if let (Order::Desc, Some(young)) = (order, span.beyond(blocked_to, Order::Asc)) {
        return Ok(Narrowed::To(young));
    }
    let (sql, params) = next_block(&wanted, app_id, flow_id, span, order);
    let refs: Vec<&(dyn ToSql + Sync)> = params.iter().map(|param| &**param as _).collect();
    let mut narrowing = Narrowing::of(span, order);
    if let Some(block) = pool.one(&sql, &refs, block).await? {
        return Ok(narrowing.meets(block, true).unwrap_or(Narrowed::Nothing));
    }
    // None of them: what is left lies beyond the last, or before the first.
    let blocked = match order {
        Order::Asc => Span { first: span.first.min(blocked_to), last: blocked_to },
        Order::Desc => {
            let first = first_blocked(pool, app_id, flow_id).await?.unwrap_or(blocked_to);
            Span { first, last: span.last.max(first) }
        }
    };
    Ok(narrowing.meets(blocked, false).unwrap_or_else(|| narrowing.rest()))
}

fn block(cells: &mut Cells) -> StoreResult<Span> {
    Ok(Span { first: id(cells)?, last: id(cells)? })
}

async fn first_blocked(pool: &Pool, app: AppId, flow: FlowId) -> StoreResult<Option<u128>> {
    let sql = "SELECT first_id FROM response_blocks WHERE app_id = $1 AND flow_id = $2 \
         ORDER BY last_id LIMIT 1";
    pool.one(sql, &[&app.uuid(), &flow.uuid()], id).await
}

/// The first block of the span, in this order, that may have what is wanted.
fn next_block(
    wanted: &Wanted,
    app: AppId,
    flow: FlowId,
    span: Span,
    order: Order,
) -> (String, Vec<Param>) {
    let mut params: Vec<Param> = vec![
        Box::new(app.uuid()),
        Box::new(flow.uuid()),
        Box::new(Uuid::from_u128(span.first)),
        Box::new(Uuid::from_u128(span.last)),
    ];
    let mut holds = String::new();
    for term in wanted.terms() {
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
    let walked = match order {
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
         OR (true{holds})) {walked} LIMIT 1"
    );
    (sql, params)
}
