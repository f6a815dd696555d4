//! The counts of flows that limit their responses. There is one writer, so what a commit reads does
//! not change before it is written.

use async_trait::async_trait;
use rusqlite::{Connection, Result, params};
use sluice_flow::closing::ClosingCounts;
use sluice_flow::id::{AppId, FlowId, FlowVersionId, ResponseId};

use super::SqliteStore;
use super::codec::{self, CLOSING_COUNTS, Cells, ReadCells as _, bytes, closing_counts};
use super::read::one;
use super::response_keys;
use super::version_numbers::{OF_FLOW, RESPONSES};
use crate::room::Room;
use crate::{ClosingCountsRow, ClosingStore, ClosingWrite, NewResponse, SetClosing, StoreResult};

#[async_trait]
impl ClosingStore for SqliteStore {
    async fn read_closing_counts(
        &self,
        app: AppId,
        flows: &[FlowId],
    ) -> StoreResult<Vec<ClosingCountsRow>> {
        let flows = flows.to_vec();
        self.readers.read(move |it| read_many(it, app, &flows)).await
    }
}

fn read_many(
    connection: &Connection,
    app: AppId,
    flows: &[FlowId],
) -> Result<Vec<ClosingCountsRow>> {
    let found = flows.iter().map(|flow| row(connection, app, *flow));
    found.filter_map(Result::transpose).collect()
}

fn row(connection: &Connection, app: AppId, flow: FlowId) -> Result<Option<ClosingCountsRow>> {
    let sql =
        format!("SELECT {CLOSING_COUNTS} FROM closing_counts WHERE app_id = ?1 AND flow_id = ?2");
    one(connection, &sql, [bytes!(app), bytes!(flow)], closing_counts)
}

/// Reads the counts of the response's flow, unless they are known.
pub(super) fn learn(
    connection: &Connection,
    room: &mut Room,
    response: &NewResponse,
) -> Result<()> {
    if response.limits.is_empty() || room.knows(response) {
        return Ok(());
    }
    let (app, flow) = (response.row.app_id, response.row.flow_id);
    let found = row(connection, app, flow)?;
    room.note(app, flow, found.map(|row| row.counts));
    Ok(())
}

pub(super) fn write(connection: &Connection, room: Room) -> Result<()> {
    room.changed().try_for_each(|row| put(connection, &row))
}

pub(super) fn put(connection: &Connection, row: &ClosingCountsRow) -> Result<()> {
    let sql = "INSERT INTO closing_counts (app_id, flow_id, counts) VALUES (?1, ?2, ?3) \
         ON CONFLICT (app_id, flow_id) DO UPDATE SET counts = excluded.counts";
    let params = params![bytes!(row.app_id), bytes!(row.flow_id), codec::json(&row.counts)?];
    connection.prepare_cached(sql)?.execute(params).map(|_| ())
}

/// Writes a change, and returns its app.
pub(super) fn change(connection: &Connection, write: &ClosingWrite) -> Result<Option<AppId>> {
    match write {
        ClosingWrite::Set(set) => {
            let stored = row(connection, set.app_id, set.flow_id)?.map(|row| row.counts);
            let counts = set.counts(stored, rest(connection, set)?.into_iter());
            put_or_remove(connection, set.app_id, set.flow_id, counts)?;
        }
        ClosingWrite::Release { app_id, flow_id, counters } => {
            if let Some(mut found) = row(connection, *app_id, *flow_id)? {
                found.counts.release(counters);
                put(connection, &found)?;
            }
        }
    }
    Ok(Some(write.app_id()))
}

fn put_or_remove(
    connection: &Connection,
    app_id: AppId,
    flow_id: FlowId,
    counts: ClosingCounts,
) -> Result<()> {
    if !counts.is_empty() {
        return put(connection, &ClosingCountsRow { app_id, flow_id, counts });
    }
    let sql = "DELETE FROM closing_counts WHERE app_id = ?1 AND flow_id = ?2";
    connection.prepare_cached(sql)?.execute([bytes!(app_id), bytes!(flow_id)]).map(|_| ())
}

/// The responses that are not counted yet.
fn rest(connection: &Connection, set: &SetClosing) -> Result<Vec<(FlowVersionId, String)>> {
    if set.limits.is_empty() {
        return Ok(Vec::new());
    }
    let after = |id: ResponseId| response_keys::after(connection, id.uuid().as_u128());
    let first = set.counted_to.map(after).transpose()?.unwrap_or(i64::MIN);
    let sql = format!(
        "SELECT flow_version_id, answers FROM {RESPONSES} WHERE {OF_FLOW} AND response_key >= ?3"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let of = params![bytes!(set.app_id), bytes!(set.flow_id), first];
    let found = statement.query_map(of, |row| {
        let mut cells = Cells::new(row);
        Ok((cells.id(FlowVersionId::from_uuid)?, cells.text()?))
    });
    found?.collect()
}
