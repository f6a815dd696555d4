//! The rows that counting needs: the cursor of a scan, definitions, and the parts of daily counts.

use rusqlite::{Connection, OptionalExtension, Result, params};
use sluice_flow::counts::{DailyCounts, StoredPart};
use sluice_flow::id::{AppId, FlowId};
use uuid::Uuid;

use super::codec::bytes;
use crate::ResponseRow;
use crate::counting::{self, DailyCountsKey, Definitions};

/// The cursor of the scan of a flow; `None` if there is no scan.
pub(super) fn scan_cursor(
    connection: &Connection,
    (app, flow): (AppId, FlowId),
) -> Result<Option<Uuid>> {
    connection
        .prepare_cached("SELECT passed FROM count_scans WHERE app_id = ?1 AND flow_id = ?2")?
        .query_row(params![bytes!(app), bytes!(flow)], |row| row.get::<_, Option<[u8; 16]>>(0))
        .optional()
        .map(|found| found.flatten().map(Uuid::from_bytes))
}

/// Records that responses of a flow were counted, for the skip index.
pub(super) fn add_unindexed(
    connection: &Connection,
    (app, flow): (AppId, FlowId),
    responses: i64,
) -> Result<()> {
    let sql = "INSERT INTO count_scans (app_id, flow_id, unindexed) VALUES (?1, ?2, ?3) \
         ON CONFLICT (app_id, flow_id) DO UPDATE SET unindexed = unindexed + excluded.unindexed";
    match responses {
        0 => Ok(()),
        _ => {
            let params = params![bytes!(app), bytes!(flow), responses];
            connection.prepare_cached(sql)?.execute(params).map(|_| ())
        }
    }
}

/// Reads the definition of a response's version, if it is not loaded yet.
pub(super) fn know(
    connection: &Connection,
    definitions: &mut Definitions,
    row: &ResponseRow,
) -> Result<()> {
    if definitions.contains_key(&row.flow_version_id) {
        return Ok(());
    }
    let json: Option<String> = connection
        .prepare_cached(
            "SELECT definition FROM versions WHERE app_id = ?1 AND flow_version_id = ?2",
        )?
        .query_row(params![bytes!(row.app_id), bytes!(row.flow_version_id)], |row| row.get(0))
        .optional()?;
    definitions.insert(row.flow_version_id, json.as_deref().and_then(counting::definition_of));
    Ok(())
}

/// Writes the changed parts of daily counts.
pub(super) fn write(
    connection: &Connection,
    key: DailyCountsKey,
    daily: DailyCounts,
) -> Result<()> {
    let (app, flow, version) =
        (bytes!(key.app_id), bytes!(key.flow_id), bytes!(key.flow_version_id));
    let mut replace = connection.prepare_cached(
        "INSERT INTO counts (app_id, flow_id, segment, day, flow_version_id, responses, admitted, \
         body) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) \
         ON CONFLICT (app_id, flow_id, segment, day, flow_version_id) DO UPDATE SET \
         responses = excluded.responses, admitted = excluded.admitted, body = excluded.body",
    )?;
    let mut delete = connection.prepare_cached(
        "DELETE FROM counts WHERE app_id = ?1 AND flow_id = ?2 AND segment = ?3 AND day = ?4 \
         AND flow_version_id = ?5",
    )?;
    for StoredPart { segment, responses, admitted, body } in daily.into_parts() {
        let day = key.day.number();
        match body {
            Some(body) => replace
                .execute(params![app, flow, segment, day, version, responses, admitted, body])?,
            None => delete.execute(params![app, flow, segment, day, version])?,
        };
    }
    Ok(())
}
