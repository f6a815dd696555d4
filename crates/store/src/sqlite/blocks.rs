//! Blocks of responses: laid out, filled, emptied, and used by a walk. See [`crate::blocks`].

use rusqlite::{Connection, OptionalExtension, Result, params};
use sluice_flow::id::{AppId, FlowId, ResponseId, v7};
use sluice_flow::time::Timestamp;

use super::codec::{Cells, bytes};
use super::read::{limit, many};
use super::transaction::{Stop, Then};
use crate::blocks::{
    BLOCK_ROWS, BlockPlace, FILLED_A_CALL, LAID_OUT_A_CALL, Narrowed, Narrowing, Terms, Wanted,
    laid_out, settled_by, young_from,
};
use crate::listing::{Span, Walk};
use crate::{Order, ResponseQuery};

/// What is to be written about the blocks of one flow.
#[derive(Debug, Default)]
pub(super) struct Work {
    pub(super) flow: Option<(AppId, FlowId)>,
    pub(super) filled: Vec<Filled>,
    pub(super) laid: Vec<Span>,
    since: i64,
}

/// A block that was made of its responses; no filter where none is left.
#[derive(Debug)]
pub(super) struct Filled {
    last: u128,
    generation: i64,
    filter: Option<Vec<u8>>,
}

/// What is to be done about the flow after this one, if there is any.
pub(super) fn work(connection: &Connection, place: BlockPlace, now: Timestamp) -> Result<Work> {
    let Some((app, flow)) = next_flow(connection, place)? else { return Ok(Work::default()) };
    let instant = connection.unchecked_transaction()?;
    let mut work = Work { flow: Some((app, flow)), since: now.as_millis(), ..Work::default() };
    let sql = "SELECT first_id, last_id, generation FROM response_blocks \
         WHERE app_id = ?1 AND flow_id = ?2 AND filter IS NULL AND since <= ?3 LIMIT ?4";
    let params =
        params![bytes!(app), bytes!(flow), settled_by(now).as_millis(), limit(FILLED_A_CALL)];
    let empty =
        many(&instant, sql, params, |cells| Ok((id(cells)?, id(cells)?, cells.take::<i64>()?)))?;
    for (first, last, generation) in empty {
        let filter = filter_of(&instant, app, flow, Span { first, last })?;
        work.filled.push(Filled { last, generation, filter });
    }
    work.laid = unblocked(&instant, app, flow, young_from(now))?;
    Ok(work)
}

fn id(cells: &mut Cells) -> Result<u128> {
    cells.take().map(u128::from_be_bytes)
}

fn next_flow(connection: &Connection, place: BlockPlace) -> Result<Option<(AppId, FlowId)>> {
    let (app, flow) = place.map_or(([0; 16], [0; 16]), |(app, flow)| (bytes!(app), bytes!(flow)));
    connection
        .prepare_cached(
            "SELECT app_id, flow_id FROM flows WHERE (app_id, flow_id) > (?1, ?2) \
             ORDER BY app_id, flow_id LIMIT 1",
        )?
        .query_row(params![app, flow], |row| {
            let mut cells = Cells::of(row);
            Ok((cells.id(AppId::from_uuid)?, cells.id(FlowId::from_uuid)?))
        })
        .optional()
}

fn filter_of(
    connection: &Connection,
    app: AppId,
    flow: FlowId,
    block: Span,
) -> Result<Option<Vec<u8>>> {
    let sql = "SELECT answers, tags FROM responses WHERE app_id = ?1 AND flow_id = ?2 \
         AND response_id BETWEEN ?3 AND ?4";
    let mut statement = connection.prepare_cached(sql)?;
    let (first, last) = (block.first.to_be_bytes(), block.last.to_be_bytes());
    let mut rows = statement.query(params![bytes!(app), bytes!(flow), first, last])?;
    let mut terms = None;
    while let Some(row) = rows.next()? {
        let (answers, tags) = (row.get_ref(0)?.as_str()?, row.get_ref(1)?.as_str_or_null()?);
        terms.get_or_insert_with(Terms::default).add(answers, tags);
    }
    Ok(terms.map(Terms::filter))
}

/// Whole blocks of the responses beyond the last one.
fn unblocked(
    connection: &Connection,
    app: AppId,
    flow: FlowId,
    before: Timestamp,
) -> Result<Vec<Span>> {
    let blocked_to = blocked_to(connection, app, flow)?;
    let sql = "SELECT response_id FROM responses WHERE app_id = ?1 AND flow_id = ?2 \
         AND response_id > ?3 AND response_id < ?4 ORDER BY response_id LIMIT ?5";
    let young = (v7(before, 0, 0).as_u128() >> 80 << 80).to_be_bytes();
    let ids = many(
        connection,
        sql,
        params![
            bytes!(app),
            bytes!(flow),
            blocked_to.unwrap_or_default().to_be_bytes(),
            young,
            limit(BLOCK_ROWS * LAID_OUT_A_CALL)
        ],
        id,
    )?;
    Ok(laid_out(&ids).collect())
}

/// The last id that is in a block.
fn blocked_to(connection: &Connection, app: AppId, flow: FlowId) -> Result<Option<u128>> {
    let sql = "SELECT last_id FROM response_blocks WHERE app_id = ?1 AND flow_id = ?2 \
         ORDER BY last_id DESC LIMIT 1";
    connection
        .prepare_cached(sql)?
        .query_row(params![bytes!(app), bytes!(flow)], |row| id(&mut Cells::of(row)))
        .optional()
}

/// Writes what is to be done. A filter that was made of what has changed since is left out.
pub(super) fn write(connection: &Connection, work: &Work) -> Result<((), Then), Stop> {
    let Some((app, flow)) = work.flow else { return Ok(((), Then::Forget)) };
    if work.filled.is_empty() && work.laid.is_empty() {
        return Ok(((), Then::Forget));
    }
    let (app, flow) = (bytes!(app), bytes!(flow));
    let fill = "UPDATE response_blocks SET filter = ?5 WHERE app_id = ?1 AND flow_id = ?2 \
         AND last_id = ?3 AND generation = ?4";
    let drop = "DELETE FROM response_blocks WHERE app_id = ?1 AND flow_id = ?2 AND last_id = ?3 \
         AND generation = ?4 AND ?5 IS NULL";
    for Filled { last, generation, filter } in &work.filled {
        let sql = if filter.is_some() { fill } else { drop };
        let params = params![app, flow, last.to_be_bytes(), generation, filter];
        connection.prepare_cached(sql)?.execute(params)?;
    }
    let lay = "INSERT INTO response_blocks (app_id, flow_id, first_id, last_id, since) \
         VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING";
    for Span { first, last } in &work.laid {
        let params = params![app, flow, first.to_be_bytes(), last.to_be_bytes(), work.since];
        connection.prepare_cached(lay)?.execute(params)?;
    }
    Ok(((), Then::Commit))
}

/// Takes their filters from the blocks of these responses, which go or change.
pub(super) fn unfill(
    connection: &Connection,
    app: AppId,
    flow: FlowId,
    mut ids: Vec<ResponseId>,
) -> Result<()> {
    // Blocks hardly ever overlap: a few beyond the response are looked at, not all.
    let sql = "UPDATE response_blocks SET filter = NULL, generation = generation + 1 \
         WHERE app_id = ?1 AND flow_id = ?2 AND last_id IN (SELECT last_id FROM response_blocks \
         WHERE app_id = ?1 AND flow_id = ?2 AND last_id >= ?3 ORDER BY last_id LIMIT 4) \
         AND first_id <= ?3 RETURNING last_id";
    ids.sort_unstable();
    let mut unfilled_to = [0; 16];
    for response in ids {
        let response = bytes!(response);
        if response > unfilled_to {
            let params = params![bytes!(app), bytes!(flow), response];
            let ends = many(connection, sql, params, |cells| cells.take::<[u8; 16]>())?;
            unfilled_to = ends.into_iter().min().unwrap_or(response);
        }
    }
    Ok(())
}

/// Takes all blocks of a flow away: something is put in that may lie within them.
pub(super) fn forget(connection: &Connection, app: AppId, flow: FlowId) -> Result<()> {
    connection
        .prepare_cached("DELETE FROM response_blocks WHERE app_id = ?1 AND flow_id = ?2")?
        .execute(params![bytes!(app), bytes!(flow)])
        .map(|_| ())
}

/// What of a span is to be walked next.
pub(super) fn narrowed(connection: &Connection, walk: &Walk, span: Span) -> Result<Narrowed> {
    let wanted = Wanted::of(&walk.query);
    if wanted.is_empty() {
        return Ok(Narrowed::To(span));
    }
    let ResponseQuery { app_id, flow_id, order, .. } = walk.query;
    let Some(blocked_to) = blocked_to(connection, app_id, flow_id)? else {
        return Ok(Narrowed::To(span));
    };
    if let (Order::Desc, Some(young)) = (order, span.beyond(blocked_to, Order::Asc)) {
        return Ok(Narrowed::To(young));
    }
    let mut narrowing = Narrowing::of(span, order);
    let mut statement = connection.prepare_cached(in_the_order_of(order))?;
    let at = match order {
        Order::Asc => span.first,
        Order::Desc => span.last,
    };
    let mut rows = statement.query(params![bytes!(app_id), bytes!(flow_id), at.to_be_bytes()])?;
    while let Some(row) = rows.next()? {
        let mut cells = Cells::of(row);
        let block = Span { first: id(&mut cells)?, last: id(&mut cells)? };
        let filter = row.get_ref(2)?.as_blob_or_null()?;
        let may_have = filter.is_none_or(|filter| wanted.may_be_in(filter));
        if let Some(narrowed) = narrowing.meets(block, may_have) {
            return Ok(narrowed);
        }
    }
    Ok(narrowing.rest())
}

/// All blocks from this id on, the one that holds it among them.
fn in_the_order_of(order: Order) -> &'static str {
    match order {
        Order::Asc => {
            "SELECT first_id, last_id, filter FROM response_blocks WHERE app_id = ?1 \
             AND flow_id = ?2 AND last_id >= ?3 ORDER BY last_id"
        }
        Order::Desc => {
            "SELECT first_id, last_id, filter FROM response_blocks WHERE app_id = ?1 \
             AND flow_id = ?2 AND last_id <= coalesce((SELECT last_id FROM response_blocks \
             WHERE app_id = ?1 AND flow_id = ?2 AND last_id >= ?3 ORDER BY last_id LIMIT 1 \
             OFFSET 3), x'ffffffffffffffffffffffffffffffff') AND first_id <= ?3 \
             ORDER BY last_id DESC"
        }
    }
}
