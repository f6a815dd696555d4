//! The skip index: creates, fills, clears and uses blocks. See [`crate::skip_index`].

use rusqlite::{Connection, OptionalExtension, Result, params};
use sluice_flow::id::{AppId, FlowId, FlowVersionId, ResponseId, v7};
use sluice_flow::submission::Admission;
use sluice_flow::time::Timestamp;

use super::codec::{Cells, ReadCells as _, bytes};
use super::count_rows;
use super::read::{limit, many, one};
use super::response_keys;
use super::transaction::{Finish, TransactionError};
use super::version_numbers::{OF_FLOW, RESPONSES};
use crate::listing::{Scan, Span};
use crate::skip_index::{
    BLOCK_ROWS, CREATED_PER_CALL, FILLED_PER_CALL, IndexedColumns, Narrowed, Narrowing, QueryTerms,
    SkipIndexCursor, Terms, settled_by, whole_blocks, young_from,
};
use crate::{NewResponse, Order, Outcome, ResponseQuery};

/// The pending writes to the blocks of one flow.
#[derive(Debug, Default)]
pub(super) struct Work {
    pub(super) flow: Option<(AppId, FlowId)>,
    pub(super) filled: Vec<FilledBlock>,
    /// The end of the last block as it was read, and the blocks after it.
    blocked_to: Option<u128>,
    pub(super) created: Vec<Span>,
    /// The number of responses without a block as it was read, and as it should be, if that is too
    /// high: because some were removed or counted again.
    overstated: Option<(i64, i64)>,
    since: i64,
}

impl Work {
    pub(super) fn is_empty(&self) -> bool {
        self.filled.is_empty() && self.created.is_empty() && self.overstated.is_none()
    }
}

/// A block with a filter built from its responses; `None` if none is left.
#[derive(Debug)]
pub(super) struct FilledBlock {
    last: u128,
    generation: i64,
    filter: Option<Vec<u8>>,
}

/// The work for the flow after this one, if there is any.
pub(super) fn work(
    connection: &Connection,
    cursor: SkipIndexCursor,
    now: Timestamp,
) -> Result<Work> {
    let instant = connection.unchecked_transaction()?;
    let settled = settled_by(now).as_millis();
    let Some((app, flow)) = next_flow(&instant, cursor, settled)? else {
        return Ok(Work::default());
    };
    let mut work = Work { flow: Some((app, flow)), since: now.as_millis(), ..Work::default() };
    let sql = "SELECT first_id, last_id, generation FROM response_blocks \
         WHERE app_id = ?1 AND flow_id = ?2 AND filter IS NULL AND since <= ?3 \
         ORDER BY last_id LIMIT ?4";
    let params = params![bytes!(app), bytes!(flow), settled, limit(FILLED_PER_CALL)];
    let empty =
        many(&instant, sql, params, |cells| Ok((id(cells)?, id(cells)?, cells.take::<i64>()?)))?;
    for (first, last, generation) in empty {
        let filter = filter_of(&instant, app, flow, Span { first, last })?;
        work.filled.push(FilledBlock { last, generation, filter });
    }
    work.blocked_to = blocked_to(&instant, app, flow)?;
    work.created = unblocked(&instant, app, flow, work.blocked_to, young_from(now))?;
    if work.created.is_empty() {
        work.overstated = overstated(&instant, app, flow, work.blocked_to)?;
    }
    Ok(work)
}

/// Checks the number of a flow's responses without a block: young responses may be among them.
fn overstated(
    connection: &Connection,
    app: AppId,
    flow: FlowId,
    blocked_to: Option<u128>,
) -> Result<Option<(i64, i64)>> {
    let sql = "SELECT unindexed FROM count_scans WHERE app_id = ?1 AND flow_id = ?2";
    let ids = params![bytes!(app), bytes!(flow)];
    let read: Option<i64> = one(connection, sql, ids, |cells| cells.take())?;
    let most = limit(BLOCK_ROWS);
    let Some(read) = read.filter(|read| *read >= most) else { return Ok(None) };
    let sql = format!(
        "SELECT count(*) FROM (SELECT 1 FROM responses WHERE {OF_FLOW} AND response_key >= ?3 \
         LIMIT ?4)"
    );
    let first = response_keys::after(connection, blocked_to.unwrap_or_default())?;
    let ids = params![bytes!(app), bytes!(flow), first, most];
    let exact = one(connection, &sql, ids, |cells| cells.take())?.unwrap_or(0);
    Ok((exact < most).then_some((read, exact)))
}

fn id(cells: &mut Cells) -> Result<u128> {
    cells.take().map(u128::from_be_bytes)
}

/// The first flow after the cursor with blocks to fill, or with responses for a block.
fn next_flow(
    connection: &Connection,
    cursor: SkipIndexCursor,
    settled: i64,
) -> Result<Option<(AppId, FlowId)>> {
    let (app, flow) = cursor.map_or(([0; 16], [0; 16]), |(app, flow)| (bytes!(app), bytes!(flow)));
    let fill = "SELECT app_id, flow_id FROM response_blocks WHERE (app_id, flow_id) > (?1, ?2) \
         AND filter IS NULL AND since <= ?3 ORDER BY app_id, flow_id LIMIT 1";
    let create = format!(
        "SELECT app_id, flow_id FROM count_scans WHERE (app_id, flow_id) > (?1, ?2) \
         AND unindexed >= {BLOCK_ROWS} ORDER BY app_id, flow_id LIMIT 1"
    );
    let read = |cells: &mut Cells| Ok((cells.id(AppId::from_uuid)?, cells.id(FlowId::from_uuid)?));
    let to_fill = one(connection, fill, params![app, flow, settled], read)?;
    let to_create = one(connection, &create, params![app, flow], read)?;
    Ok(to_fill.into_iter().chain(to_create).min())
}

/// `None` if the block has no responses.
fn filter_of(
    connection: &Connection,
    app: AppId,
    flow: FlowId,
    block: Span,
) -> Result<Option<Vec<u8>>> {
    let sql = format!(
        "SELECT flow_version_id, admitted, answers, tags FROM {RESPONSES} WHERE {OF_FLOW} \
         AND response_key BETWEEN ?3 AND ?4"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let (first, last) = response_keys::range(connection, block)?;
    let mut rows = statement.query(params![bytes!(app), bytes!(flow), first, last])?;
    let (mut terms, mut is_empty) = (Terms::default(), true);
    while let Some(row) = rows.next()? {
        is_empty = false;
        let mut cells = Cells::new(row);
        let version = cells.id(FlowVersionId::from_uuid)?;
        let admission = Admission::from_admitted(cells.take()?);
        let (answers, tags) = (row.get_ref(2)?.as_str()?, row.get_ref(3)?.as_str_or_null()?);
        terms.add(IndexedColumns { version, admission, answers, tags });
    }
    Ok((!is_empty).then(|| terms.filter()))
}

/// Whole blocks of the responses after the last block.
fn unblocked(
    connection: &Connection,
    app: AppId,
    flow: FlowId,
    blocked_to: Option<u128>,
    before: Timestamp,
) -> Result<Vec<Span>> {
    let sql = format!(
        "SELECT response_id FROM responses WHERE {OF_FLOW} \
         AND response_key >= ?3 AND response_key < ?4 ORDER BY response_key LIMIT ?5"
    );
    let first = response_keys::after(connection, blocked_to.unwrap_or_default())?;
    let young = response_keys::from(connection, v7(before, 0, 0).as_u128() >> 80 << 80)?;
    let rows = limit(BLOCK_ROWS * CREATED_PER_CALL);
    let ids = many(connection, &sql, params![bytes!(app), bytes!(flow), first, young, rows], id)?;
    Ok(whole_blocks(blocked_to, &ids))
}

/// The last id that is in a block.
fn blocked_to(connection: &Connection, app: AppId, flow: FlowId) -> Result<Option<u128>> {
    let sql = "SELECT last_id FROM response_blocks WHERE app_id = ?1 AND flow_id = ?2 \
         ORDER BY last_id DESC LIMIT 1";
    connection
        .prepare_cached(sql)?
        .query_row(params![bytes!(app), bytes!(flow)], |row| id(&mut Cells::new(row)))
        .optional()
}

/// Writes the work. Skips a filter whose rows have changed since it was built, and new blocks if
/// the last one has changed: an import deletes all of a flow, and then there would be a gap before
/// them.
pub(super) fn write(
    connection: &Connection,
    work: &Work,
) -> Result<((), Finish), TransactionError> {
    let Some((app, flow)) = work.flow else { return Ok(((), Finish::RollBack)) };
    if work.is_empty() {
        return Ok(((), Finish::RollBack));
    }
    let created: &[Span] = match blocked_to(connection, app, flow)? == work.blocked_to {
        true => &work.created,
        false => &[],
    };
    let (app, flow) = (bytes!(app), bytes!(flow));
    let fill = "UPDATE response_blocks SET filter = ?5 WHERE app_id = ?1 AND flow_id = ?2 \
         AND last_id = ?3 AND generation = ?4";
    for FilledBlock { last, generation, filter } in &work.filled {
        let last = last.to_be_bytes();
        if filter.is_none() && remove_empty(connection, (app, flow), (last, *generation))? {
            continue;
        }
        let filter = filter.clone().unwrap_or_else(|| Terms::default().filter());
        connection.prepare_cached(fill)?.execute(params![app, flow, last, generation, filter])?;
    }
    let create = "INSERT INTO response_blocks (app_id, flow_id, first_id, last_id, since) \
         VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING";
    for Span { first, last } in created {
        let params = params![app, flow, first.to_be_bytes(), last.to_be_bytes(), work.since];
        connection.prepare_cached(create)?.execute(params)?;
    }
    let indexed = "UPDATE count_scans SET unindexed = max(unindexed - ?3, 0) \
         WHERE app_id = ?1 AND flow_id = ?2";
    let responses = limit(created.len() * BLOCK_ROWS);
    connection.prepare_cached(indexed)?.execute(params![app, flow, responses])?;
    if let Some((read, exact)) = work.overstated {
        let sql = "UPDATE count_scans SET unindexed = ?3 \
             WHERE app_id = ?1 AND flow_id = ?2 AND unindexed = ?4";
        connection.prepare_cached(sql)?.execute(params![app, flow, exact, read])?;
    }
    Ok(((), Finish::Commit))
}

/// Removes a block without responses, unless something has changed or it is the flow's last;
/// returns whether it did. The next block begins where it began, so that a response that is stored
/// with an old id still falls into a block.
fn remove_empty(
    connection: &Connection,
    (app, flow): ([u8; 16], [u8; 16]),
    (last, generation): ([u8; 16], i64),
) -> Result<bool> {
    let extend = "UPDATE response_blocks SET first_id = min(response_blocks.first_id, gone.first_id) \
         FROM response_blocks AS gone WHERE gone.app_id = ?1 AND gone.flow_id = ?2 \
         AND gone.last_id = ?3 AND gone.generation = ?4 AND response_blocks.app_id = ?1 \
         AND response_blocks.flow_id = ?2 AND response_blocks.last_id = (SELECT min(last_id) \
         FROM response_blocks WHERE app_id = ?1 AND flow_id = ?2 AND last_id > ?3)";
    if connection.prepare_cached(extend)?.execute(params![app, flow, last, generation])? == 0 {
        return Ok(false);
    }
    let remove = "DELETE FROM response_blocks WHERE app_id = ?1 AND flow_id = ?2 AND last_id = ?3";
    connection.prepare_cached(remove)?.execute(params![app, flow, last])?;
    Ok(true)
}

/// Clears the filters of the blocks with these responses, which are removed or changed.
pub(super) fn unfill(
    connection: &Connection,
    app: AppId,
    flow: FlowId,
    mut ids: Vec<ResponseId>,
) -> Result<()> {
    // Blocks hardly ever overlap, so only a few after the response are read.
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

/// Detects responses stored with ids within blocks: never, unless a clock was set back.
#[derive(Debug, Default)]
pub(super) struct OutOfOrderIds {
    /// The last known id in a block of any flow; `None` if it must be queried.
    blocked_to: Option<u128>,
    /// The last id that was stored.
    stored_to: u128,
}

impl OutOfOrderIds {
    /// Records that blocks were created.
    pub(super) fn note_created(&mut self, work: &Work) {
        let last = work.created.last().map(|block| block.last);
        self.blocked_to = self.blocked_to.map(|known| known.max(last.unwrap_or_default()));
    }

    /// Clears the filters of blocks that these responses fall into.
    pub(super) fn settle(
        &mut self,
        connection: &Connection,
        responses: &[NewResponse],
        outcomes: &[Outcome],
    ) -> Result<()> {
        let id = |response: &NewResponse| response.row.response_id.uuid().as_u128();
        let Some(first) = responses.iter().map(id).min() else { return Ok(()) };
        let blocked_to = match self.blocked_to {
            // After a step back in time there may be blocks that another process has created.
            Some(known) if first > self.stored_to => known,
            _ => last_blocked(connection)?,
        };
        self.blocked_to = Some(blocked_to);
        self.stored_to = responses.iter().map(id).max().unwrap_or(first);
        if first > blocked_to {
            return Ok(());
        }
        let stored = responses.iter().zip(outcomes);
        let late =
            stored.filter(|(it, outcome)| **outcome == Outcome::Stored && id(it) <= blocked_to);
        for (NewResponse { row, .. }, _) in late {
            unfill(connection, row.app_id, row.flow_id, vec![row.response_id])?;
        }
        Ok(())
    }
}

fn last_blocked(connection: &Connection) -> Result<u128> {
    let sql = "SELECT coalesce(max(last_id), zeroblob(16)) FROM response_blocks";
    connection.prepare_cached(sql)?.query_row([], |row| id(&mut Cells::new(row)))
}

/// Deletes all blocks of a flow: imported responses may lie within them. The flow is visited again.
pub(super) fn forget(connection: &Connection, app: AppId, flow: FlowId) -> Result<()> {
    connection
        .prepare_cached("DELETE FROM response_blocks WHERE app_id = ?1 AND flow_id = ?2")?
        .execute(params![bytes!(app), bytes!(flow)])?;
    count_rows::add_unindexed(connection, (app, flow), limit(BLOCK_ROWS))
}

/// The part of a span to scan next.
pub(super) fn narrowed(connection: &Connection, scan: &Scan, span: Span) -> Result<Narrowed> {
    let query_terms = QueryTerms::new(&scan.query);
    if query_terms.is_empty() {
        return Ok(Narrowed::To(span));
    }
    let ResponseQuery { app_id, flow_id, order, .. } = scan.query;
    let mut narrowing = Narrowing::new(span, order);
    let mut statement = connection.prepare_cached(in_the_order_of(order))?;
    let at = match order {
        Order::Asc => span.first,
        Order::Desc => span.last,
    };
    let mut rows = statement.query(params![bytes!(app_id), bytes!(flow_id), at.to_be_bytes()])?;
    while let Some(row) = rows.next()? {
        let mut cells = Cells::new(row);
        let block = Span { first: id(&mut cells)?, last: id(&mut cells)? };
        let filter = row.get_ref(2)?.as_blob_or_null()?;
        let may_have = filter.is_none_or(|filter| query_terms.may_be_in(filter));
        if let Some(narrowed) = narrowing.take(block, may_have) {
            return Ok(narrowed);
        }
    }
    Ok(narrowing.ends())
}

/// All blocks from this id on, including the one that contains it.
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

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn blocks_are_added_only_after_the_last_one_of_their_flow() {
        let connection = Connection::open_in_memory().unwrap();
        for migration in crate::schema::SQLITE {
            connection.execute_batch(migration.sql).unwrap();
        }
        let app = AppId::from_uuid(Uuid::from_u128(1));
        let flow = FlowId::from_uuid(Uuid::from_u128(2));
        let after = |blocked_to, first, last| {
            let created = vec![Span { first, last }];
            let work = Work { flow: Some((app, flow)), blocked_to, created, ..Work::default() };
            write(&connection, &work).unwrap();
        };
        let blocks = || {
            let sql = "SELECT first_id, last_id FROM response_blocks ORDER BY last_id";
            many(&connection, sql, [], |cells| Ok((id(cells)?, id(cells)?))).unwrap()
        };
        after(None, 0, 9);
        after(Some(9), 10, 19);
        assert_eq!(blocks(), [(0, 9), (10, 19)]);
        // Another build was faster.
        after(Some(9), 10, 15);
        assert_eq!(blocks(), [(0, 9), (10, 19)]);
        // An import has deleted them.
        forget(&connection, app, flow).unwrap();
        after(Some(19), 20, 29);
        assert!(blocks().is_empty(), "{:?}", blocks());
    }
}
