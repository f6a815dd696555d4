//! Responses: by id, and by flow with a filter.
//!
//! A list scans the index by flow, whose entries are in id order. A filter can skip many rows
//! before it finds a match, so the scan is cut into slices, each a separate read, and the log can
//! be reset in between.

use rusqlite::types::FromSqlError;
use rusqlite::{Connection, Params, Result, Row};
use sluice_flow::id::{AppId, FlowId, FlowVersionId, ResponseId};
use sluice_flow::submission::Admission;
use uuid::Uuid;

use super::super::codec::{self, Cells, RESPONSE, bytes};
use super::super::version_numbers::{OF_FLOW, RESPONSES};
use super::super::{response_keys, skip_index};
use super::{limit, one};
use crate::codec::{COUNTED, ReadCells as _};
use crate::listing::{Candidate, Scan, Span};
use crate::{Order, ResponseRow};

/// Rows that one slice of a scan reads.
pub(in super::super) const SLICE_ROWS: usize = 5_000;

/// Positions in [`RESPONSE`] of the columns that decide whether a row passes.
const VERSION_AT: usize = 2;
const ID_AT: usize = 3;
const ADMITTED_AT: usize = 4;
const ANSWERS_AT: usize = 5;
const TAGS_AT: usize = 9;

/// Nearly every response has the first key of its id: one statement, which needs no transaction.
pub(in super::super) fn find(
    connection: &Connection,
    response: ResponseId,
) -> Result<Option<ResponseRow>> {
    match with_key(connection, response, response_keys::first_key(response.uuid().as_u128()))? {
        Some(found) => Ok(Some(found)),
        None => by_id(&*connection.unchecked_transaction()?, response),
    }
}

/// The connection is in a transaction.
pub(in super::super) fn by_id(
    connection: &Connection,
    response: ResponseId,
) -> Result<Option<ResponseRow>> {
    match response_keys::find(connection, response)? {
        Some(key) => with_key(connection, response, key),
        None => Ok(None),
    }
}

fn with_key(
    connection: &Connection,
    response: ResponseId,
    key: i64,
) -> Result<Option<ResponseRow>> {
    let sql =
        format!("SELECT {RESPONSE} FROM {RESPONSES} WHERE response_key = ?1 AND response_id = ?2");
    one(connection, &sql, (key, bytes!(response)), codec::response)
}

pub(in super::super) fn by_ids(
    connection: &Connection,
    app: AppId,
    mut responses: Vec<ResponseId>,
) -> Result<Vec<ResponseRow>> {
    responses.sort_unstable();
    responses.dedup();
    let instant = connection.unchecked_transaction()?;
    let found = responses.into_iter().map(|response| by_id(&instant, response));
    let found = found.filter_map(Result::transpose);
    found.filter(|row| row.as_ref().map_or(true, |row| row.app_id == app)).collect()
}

pub(in super::super) fn newest(
    connection: &Connection,
    app: AppId,
    flows: &[FlowId],
) -> Result<Vec<(FlowId, ResponseId)>> {
    let instant = connection.unchecked_transaction()?;
    let sql = format!(
        "SELECT response_id FROM responses WHERE {OF_FLOW} ORDER BY response_key DESC LIMIT 1"
    );
    let mut newest = Vec::new();
    for flow in flows {
        let of_flow = [bytes!(app), bytes!(flow)];
        let found = one(&instant, &sql, of_flow, |cells| cells.id(ResponseId::from_uuid))?;
        newest.extend(found.map(|response| (*flow, response)));
    }
    Ok(newest)
}

/// Scans one slice: a separate short read. Between two slices other reads get their turn, and the
/// scan stops if the caller has gone away.
pub(in super::super) fn step(connection: &Connection, mut scan: Scan) -> Result<Scan> {
    let Some((span, rows_max)) = scan.slice(SLICE_ROWS) else { return Ok(scan) };
    // One instant for both: in between, a filter may be cleared and its block rebuilt.
    let instant = connection.unchecked_transaction()?;
    let narrowed = skip_index::narrowed(&instant, &scan, span)?;
    let Some(span) = narrowed.part_of(&mut scan) else { return Ok(scan) };
    let end = scan.end_of(span);
    let mut statement =
        instant.prepare_cached(&scan_sql(scan.query.columns(), RESPONSES, scan.query.order))?;
    let mut rows = statement.query(scan_params(&instant, &scan, span, rows_max)?)?;
    let is_open = scan.filter.is_open();
    let (mut rows_read, mut last) = (0, None);
    while let Some(row) = rows.next()? {
        rows_read += 1;
        last = Some(u128::from_be_bytes(row.get(ID_AT)?));
        let passes = is_open || scan.filter.passes(&candidate(row)?);
        if passes && !scan.take(codec::response(&mut Cells::new(row))?) {
            break;
        }
    }
    // A complete slice leaves nothing; one that was cut leaves what is after its last row.
    scan.advance(rows_read, last.filter(|_| rows_read >= rows_max).or(end));
    Ok(scan)
}

/// For callers that only count: without a filter, only ids and tags are read.
pub(in super::super) fn step_counting(connection: &Connection, mut scan: Scan) -> Result<Scan> {
    let Some((span, rows_max)) = scan.slice(SLICE_ROWS) else { return Ok(scan) };
    let instant = connection.unchecked_transaction()?;
    let narrowed = skip_index::narrowed(&instant, &scan, span)?;
    let Some(span) = narrowed.part_of(&mut scan) else { return Ok(scan) };
    let end = scan.end_of(span);
    let is_open = scan.filter.is_open();
    let (columns, table, id_at, tags_at) = match is_open {
        true => ("response_id, tags", "responses", 0, 1),
        false => (COUNTED.as_str(), RESPONSES, ID_AT, TAGS_AT),
    };
    let mut statement = instant.prepare_cached(&scan_sql(columns, table, scan.query.order))?;
    let mut rows = statement.query(scan_params(&instant, &scan, span, rows_max)?)?;
    let (mut rows_read, mut last) = (0, None);
    while let Some(row) = rows.next()? {
        rows_read += 1;
        last = Some(u128::from_be_bytes(row.get(id_at)?));
        if is_open || scan.filter.passes(&candidate(row)?) {
            scan.matches.add(row.get_ref(tags_at)?.as_str_or_null()?);
        }
    }
    scan.advance(rows_read, last.filter(|_| rows_read >= rows_max).or(end));
    Ok(scan)
}

fn scan_params(
    connection: &Connection,
    scan: &Scan,
    span: Span,
    rows: usize,
) -> Result<impl Params + use<>> {
    let Scan { query, .. } = scan;
    let (first, last) = response_keys::range(connection, span)?;
    Ok((bytes!(query.app_id), bytes!(query.flow_id), first, last, limit(rows)))
}

fn candidate<'r>(row: &'r Row<'_>) -> Result<Candidate<'r>> {
    let version = row.get_ref(VERSION_AT)?.as_blob()?;
    Ok(Candidate {
        version: Uuid::from_slice(version)
            .map(FlowVersionId::from_uuid)
            .map_err(FromSqlError::other)?,
        admission: Admission::from_admitted(row.get(ADMITTED_AT)?),
        answers: row.get_ref(ANSWERS_AT)?.as_str()?,
        tags: row.get_ref(TAGS_AT)?.as_str_or_null()?,
    })
}

fn scan_sql(columns: &str, table: &str, order: Order) -> String {
    let direction = match order {
        Order::Asc => "ASC",
        Order::Desc => "DESC",
    };
    format!(
        "SELECT {columns} FROM {table} WHERE {OF_FLOW} \
         AND response_key BETWEEN ?3 AND ?4 ORDER BY response_key {direction} LIMIT ?5"
    )
}

#[cfg(test)]
mod tests {
    use rusqlite::params;

    use super::*;

    #[test]
    fn every_list_uses_the_flow_index_without_sorting() {
        let connection = Connection::open_in_memory().unwrap();
        for migration in crate::schema::SQLITE {
            connection.execute_batch(migration.sql).unwrap();
        }
        for order in [Order::Asc, Order::Desc] {
            let sql = format!("EXPLAIN QUERY PLAN {}", scan_sql(RESPONSE, RESPONSES, order));
            let mut explain = connection.prepare(&sql).unwrap();
            let id = [0_u8; 16];
            let steps = explain.query_map(params![id, id, 0, 0, 10], |row| row.get("detail"));
            let plan: Vec<String> = steps.unwrap().map(Result::unwrap).collect();
            let expected = [
                "SEARCH responses USING INDEX responses_by_flow \
                 (flow_number=? AND rowid>? AND rowid<?)",
                "SCALAR SUBQUERY 1",
                "SEARCH version_numbers USING INDEX sqlite_autoindex_version_numbers_1 \
                 (app_id=? AND flow_id=?)",
                "SEARCH version_numbers USING INTEGER PRIMARY KEY (rowid=?)",
            ];
            assert_eq!(plan, expected, "{order:?}");
        }
    }

    #[test]
    fn filter_columns_are_at_their_positions() {
        let names: Vec<&str> = RESPONSE.split(',').map(str::trim).collect();
        for (at, name) in [
            (VERSION_AT, "flow_version_id"),
            (ID_AT, "response_id"),
            (ADMITTED_AT, "admitted"),
            (ANSWERS_AT, "answers"),
            (TAGS_AT, "tags"),
        ] {
            assert_eq!(names[at], name);
        }
    }
}
