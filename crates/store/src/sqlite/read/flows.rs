//! Flows and their versions, with data derived from them. A function with several statements runs
//! them in one read transaction, so it reads at one instant.

use rusqlite::{Connection, Result, params};
use sluice_flow::id::{AppId, FlowId, FlowVersionId};

use super::super::codec::{self, Cells, FLOW, LISTED_FLOW, ReadCells as _, VERSION, bytes};
use super::{limit, many, one};
use crate::{FlowQuery, FlowRow, FlowState, Order, VersionRow, VersionState};

/// Published, and neither superseded nor retired: the exact condition of an index.
const IS_CURRENT: &str =
    "published_at IS NOT NULL AND superseded_at IS NULL AND retired_at IS NULL";
const IS_DRAFT: &str = "published_at IS NULL";

const LAST_NUMBER: &str = "SELECT coalesce(max(number), 0) FROM versions \
     WHERE app_id = ?1 AND flow_id = ?2 AND number > 0";

/// The newest version of a flow under a condition.
fn newest(columns: &str, condition: &str) -> String {
    format!(
        "SELECT {columns} FROM versions WHERE app_id = ?1 AND flow_id = ?2 \
         AND {condition} ORDER BY number DESC, flow_version_id DESC LIMIT 1"
    )
}

pub(in super::super) fn flow(connection: &Connection, flow: FlowId) -> Result<Option<FlowState>> {
    let instant = connection.unchecked_transaction()?;
    let sql = format!("{} WHERE flows.flow_id = ?1", select_flow(FLOW));
    let found = one(&instant, &sql, [bytes!(flow)], flow_and_app)?;
    found.map(|found| state(&instant, found)).transpose()
}

pub(in super::super) fn flows(
    connection: &Connection,
    query: &FlowQuery,
) -> Result<Vec<FlowState>> {
    let instant = connection.unchecked_transaction()?;
    let (beyond, order, start) = match query.order {
        Order::Asc => (">", "ASC", [0; 16]),
        Order::Desc => ("<", "DESC", [0xFF; 16]),
    };
    let after = query.after.map_or(start, |id| bytes!(id));
    let archived = match query.archived {
        None => "",
        Some(true) => "AND flows.archived_at IS NOT NULL",
        Some(false) => "AND flows.archived_at IS NULL",
    };
    let labelled = match query.label {
        None => "",
        Some(_) => "AND EXISTS (SELECT 1 FROM json_each(flows.labels) WHERE value = ?4)",
    };
    let keyed = if query.key.is_some() { "AND flows.flow_key = ?5" } else { "" };
    let sql = format!(
        "{} WHERE flows.app_id = ?1 AND flows.flow_id {beyond} ?2 {archived} {labelled} {keyed} \
         ORDER BY flows.flow_id {order} LIMIT ?3",
        select_flow(LISTED_FLOW)
    );
    let (app, rows) = (bytes!(query.app_id), limit(query.limit));
    let (label, key) = (&query.label, &query.key);
    // A statement has as many parameters as the largest that it names.
    let found = match (label, key) {
        (None, None) => many(&instant, &sql, params![app, after, rows], flow_and_app)?,
        (Some(_), None) => many(&instant, &sql, params![app, after, rows, label], flow_and_app)?,
        (_, Some(_)) => many(&instant, &sql, params![app, after, rows, label, key], flow_and_app)?,
    };
    found.into_iter().map(|found| state(&instant, found)).collect()
}

pub(in super::super) fn version(
    connection: &Connection,
    version: FlowVersionId,
) -> Result<Option<VersionState>> {
    let instant = connection.unchecked_transaction()?;
    let sql = format!("SELECT {VERSION} FROM versions WHERE flow_version_id = ?1");
    let Some(version) = one(&instant, &sql, [bytes!(version)], codec::version)? else {
        return Ok(None);
    };
    let of = "WHERE flows.app_id = ?1 AND flows.flow_id = ?2";
    let sql = format!("{} {of}", select_flow(LISTED_FLOW));
    let of_flow = params![bytes!(version.app_id), bytes!(version.flow_id)];
    let found = one(&instant, &sql, of_flow, flow_and_app)?;
    let Some(FlowAndApp { flow, revision, public_revision, .. }) = found else {
        return Ok(None);
    };
    let sql = newest("flow_version_id", IS_CURRENT);
    let current = one(&instant, &sql, of_flow, |cells| cells.id(FlowVersionId::from_uuid))?;
    Ok(Some(VersionState { version, flow, revision, public_revision, current }))
}

pub(in super::super) fn versions(
    connection: &Connection,
    app: AppId,
    flow: FlowId,
    before: Option<u32>,
    rows: usize,
) -> Result<Vec<VersionRow>> {
    let sql = format!(
        "SELECT {VERSION} FROM versions WHERE app_id = ?1 AND flow_id = ?2 AND number > 0 \
         AND number < ?3 AND published_at IS NOT NULL ORDER BY number DESC LIMIT ?4"
    );
    let before = before.map_or(i64::MAX, i64::from);
    let params = params![bytes!(app), bytes!(flow), before, limit(rows)];
    many(connection, &sql, params, codec::version)
}

struct FlowAndApp {
    flow: FlowRow,
    revision: u64,
    public_revision: u64,
    app_grace_window_seconds: Option<u32>,
}

/// With these columns of a flow.
fn select_flow(columns: &str) -> String {
    format!(
        "SELECT {columns}, apps.revision, apps.public_revision, apps.grace_window_seconds \
         FROM flows JOIN apps USING (app_id)"
    )
}

fn flow_and_app(cells: &mut Cells) -> Result<FlowAndApp> {
    Ok(FlowAndApp {
        flow: codec::flow(cells)?,
        revision: cells.revision()?,
        public_revision: cells.revision()?,
        app_grace_window_seconds: cells.take()?,
    })
}

/// A flow with data derived from its versions; the connection is in a read transaction.
fn state(instant: &Connection, found: FlowAndApp) -> Result<FlowState> {
    let FlowAndApp { flow, revision, public_revision, app_grace_window_seconds } = found;
    let of_flow = params![bytes!(flow.app_id), bytes!(flow.flow_id)];
    let current = one(instant, &newest(VERSION, IS_CURRENT), of_flow, codec::version)?;
    let draft = one(instant, &newest(VERSION, IS_DRAFT), of_flow, codec::version)?;
    let last_number = one(instant, LAST_NUMBER, of_flow, |cells| cells.take())?.unwrap_or(0);
    Ok(FlowState {
        flow,
        revision,
        public_revision,
        app_grace_window_seconds,
        current,
        draft,
        last_number,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_versions_in_force_are_found_by_index_however_many_there_are() {
        let connection = Connection::open_in_memory().unwrap();
        for migration in crate::schema::SQLITE {
            connection.execute_batch(migration.sql).unwrap();
        }
        for (sql, index) in [
            (newest(VERSION, IS_CURRENT), "versions_current (app_id=? AND flow_id=?)"),
            (newest("flow_version_id", IS_CURRENT), "versions_current (app_id=? AND flow_id=?)"),
            (newest(VERSION, IS_DRAFT), "versions_draft (app_id=? AND flow_id=?)"),
            (LAST_NUMBER.to_owned(), "versions_by_number (app_id=? AND flow_id=? AND number>?)"),
        ] {
            let mut explain = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
            let id = [0_u8; 16];
            let steps = explain.query_map([id, id], |row| row.get("detail")).unwrap();
            let plan: Vec<String> = steps.map(Result::unwrap).collect();
            assert!(plan[0].starts_with("SEARCH versions USING"), "{sql}: {plan:?}");
            assert!(plan[0].ends_with(index), "{sql}: {plan:?}");
        }
    }
}
