//! Recounts a day of a flow from its responses: if its counts cannot be read, if an operator
//! requests it, or if other tags may now be the most frequent.
//!
//! All in one transaction of the single writer, so nothing is stored or removed meanwhile, and
//! bounded by the responses of a day.

use std::collections::BTreeSet;

use rusqlite::{Connection, Result, params};
use sluice_flow::counts::{Damaged, TAGS_RECOUNT_RESPONSES_MAX};
use sluice_flow::id::{AppId, FlowId, ResponseId};
use sluice_flow::time::Day;

use super::codec::{self, Cells, RESPONSE, ReadCells as _, bytes};
use super::count_rows;
use super::read::{limit, many, one};
use super::response_keys;
use super::transaction::{Finish, TransactionError};
use super::version_numbers::{OF_FLOW, RESPONSES};
use crate::StoreError;
use crate::counting::{Definitions, RECOUNT_ROWS, Recount, ids_of};

/// Recounts a day with unreadable counts.
pub(super) fn damaged_day(
    connection: &Connection,
    flow: (AppId, FlowId),
    day: Day,
    why: Damaged,
) -> Result<(), TransactionError> {
    tracing::warn!(flow = %flow.1, %day, %why, "rebuilding the counts of a day");
    count(connection, flow, day).map(|_| ())
}

/// Recounts a day to find its most frequent tags. A day with too many responses stays as it is, and
/// so does one with responses that are not counted yet.
pub(super) fn tags_of_day(
    connection: &Connection,
    flow: (AppId, FlowId),
    day: Day,
) -> Result<(), TransactionError> {
    let sql = "SELECT coalesce(sum(responses), 0) <= ?4 \
         AND NOT EXISTS (SELECT 1 FROM count_scans WHERE app_id = ?1 AND flow_id = ?2 \
         AND passed IS NOT NULL) FROM ( \
         SELECT responses FROM counts \
         WHERE app_id = ?1 AND flow_id = ?2 AND segment = x'' AND day = ?3 \
         UNION ALL SELECT responses FROM count_deltas \
         WHERE app_id = ?1 AND flow_id = ?2 AND day = ?3)";
    let of_day = params![bytes!(flow.0), bytes!(flow.1), day.number(), TAGS_RECOUNT_RESPONSES_MAX];
    if connection.prepare_cached(sql)?.query_row(of_day, |row| row.get(0))? {
        count(connection, flow, day)?;
    }
    Ok(())
}

/// Recounts a day and returns the number of counted responses.
pub(super) fn day(
    connection: &Connection,
    flow: (AppId, FlowId),
    day: Day,
) -> Result<(u64, Finish), TransactionError> {
    Ok((count(connection, flow, day)?, Finish::Commit))
}

fn count(
    connection: &Connection,
    (app, flow): (AppId, FlowId),
    day: Day,
) -> Result<u64, TransactionError> {
    let ids = (bytes!(app), bytes!(flow));
    for sql in [
        "DELETE FROM counts WHERE app_id = ?1 AND flow_id = ?2 AND day = ?3",
        "DELETE FROM count_deltas WHERE app_id = ?1 AND flow_id = ?2 AND day = ?3",
    ] {
        connection.prepare_cached(sql)?.execute(params![ids.0, ids.1, day.number()])?;
    }
    let passed = count_rows::scan_cursor(connection, (app, flow))?;
    let sql = format!(
        "SELECT counted, {RESPONSE} FROM {RESPONSES} WHERE {OF_FLOW} \
         AND response_key >= ?3 AND response_key < ?4 ORDER BY response_key LIMIT ?5"
    );
    let (start, end) = ids_of(day);
    let end = response_keys::from(connection, end.as_u128())?;
    let mut after = start;
    let (mut definitions, mut recount) = (Definitions::new(), Recount::default());
    loop {
        let first = response_keys::after(connection, after.as_u128())?;
        let page = params![ids.0, ids.1, first, end, limit(RECOUNT_ROWS)];
        let rows = many(connection, &sql, page, |cells: &mut Cells| {
            Ok((cells.take::<bool>()?, codec::response(cells)?))
        })?;
        for (_, row) in &rows {
            count_rows::know(connection, &mut definitions, row)?;
        }
        recount
            .add(&definitions, &rows, passed)
            .map_err(|damaged| TransactionError::Answer(StoreError::from(damaged)))?;
        match rows.last() {
            Some((_, last)) if rows.len() >= RECOUNT_ROWS => after = last.response_id.uuid(),
            _ if recount.begins_second_pass() => after = start,
            _ => break,
        }
    }
    let responses = recount.responses;
    for (key, daily) in recount.into_daily_counts() {
        count_rows::write(connection, key, daily)?;
    }
    // Its deltas are deleted, and nothing else records them.
    count_rows::add_unindexed(connection, (app, flow), responses.cast_signed())?;
    Ok(responses)
}

/// The days on which a flow has responses or counts.
pub(super) fn days(connection: &Connection, app: AppId, flow: FlowId) -> Result<Vec<Day>> {
    let connection = &connection.unchecked_transaction()?;
    let counted = "SELECT day FROM counts WHERE app_id = ?1 AND flow_id = ?2 \
         UNION SELECT day FROM count_deltas WHERE app_id = ?1 AND flow_id = ?2";
    let counted = many(connection, counted, params![bytes!(app), bytes!(flow)], |cells| {
        cells.take().map(Day::from_number)
    })?;
    let mut days = BTreeSet::from_iter(counted);
    let first = format!(
        "SELECT response_id FROM responses WHERE {OF_FLOW} AND response_key >= ?3 \
         ORDER BY response_key LIMIT 1"
    );
    let mut from = 0;
    while let Some(id) =
        one(connection, &first, params![bytes!(app), bytes!(flow), from], |cells| {
            cells.id(ResponseId::from_uuid)
        })?
    {
        let day = id.made_at().day();
        days.insert(day);
        from = response_keys::from(connection, ids_of(day).1.as_u128())?;
    }
    Ok(days.into_iter().collect())
}
