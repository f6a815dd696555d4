//! Checks pages and indexes, and rows of different tables that must belong together.

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Result, Row};
use sluice_flow::id::{AppId, ResponseId};
use uuid::Uuid;

use super::failure;
use super::response_row::key_in_app;
use super::version_numbers::RESPONSES;
use crate::{IdempotencyKey, PageCheck};

/// The most places that one check lists.
const PLACES_MAX: usize = 1_000;

/// Checks everything that SQLite can check by itself.
pub(super) fn check_pages(connection: &Connection) -> Result<PageCheck> {
    let instant = connection.unchecked_transaction()?;
    let mut damaged = Vec::new();
    for check in [integrity, foreign_keys, numbers, consents, used_keys] {
        match check(&instant, &mut damaged) {
            Err(error) if failure::is_file_damage(&error) => damaged.push(error.to_string()),
            result => result?,
        }
    }
    Ok(PageCheck { damaged, skipped: None })
}

fn integrity(connection: &Connection, damaged: &mut Vec<String>) -> Result<()> {
    let mut check = connection.prepare(&format!("PRAGMA integrity_check({PLACES_MAX})"))?;
    let mut lines = check.query([])?;
    while let Some(line) = lines.next()? {
        let line: String = line.get(0)?;
        // One row may hold several lines; the first only names the database.
        let lines = line.lines().filter(|line| *line != "ok" && !line.starts_with("***"));
        damaged.extend(lines.map(str::to_owned));
    }
    Ok(())
}

fn foreign_keys(connection: &Connection, damaged: &mut Vec<String>) -> Result<()> {
    let mut check =
        connection.prepare("SELECT DISTINCT \"table\", parent FROM pragma_foreign_key_check")?;
    let mut rows = check.query([])?;
    while let Some(row) = rows.next()? {
        let (table, parent): (String, String) = (row.get(0)?, row.get(1)?);
        damaged.push(format!("table {table}: a row references a missing row of {parent}"));
    }
    Ok(())
}

/// A response whose version has no number, or another flow, is found by no other read.
fn numbers(connection: &Connection, damaged: &mut Vec<String>) -> Result<()> {
    let sql = format!(
        "SELECT response_id FROM responses LEFT JOIN version_numbers AS known \
         ON known.version_number = responses.version_number \
         WHERE known.flow_number IS NOT responses.flow_number LIMIT {PLACES_MAX}"
    );
    each_response(connection, &sql, |id| {
        damaged.push(format!("table responses: {id} belongs to a version without a number"));
    })
}

/// A linked response has a consent with the same ids, and no other response has any. A consent may
/// outlive its response.
fn consents(connection: &Connection, damaged: &mut Vec<String>) -> Result<()> {
    let sql = format!(
        "SELECT responses.response_id FROM {RESPONSES} \
         LEFT JOIN consents USING (app_id, response_id) \
         WHERE consents.respondent_id IS NOT responses.respondent_id \
         OR consents.respondent_id IS NOT NULL \
         AND (consents.flow_id <> version_numbers.flow_id \
         OR consents.flow_version_id <> version_numbers.flow_version_id) LIMIT {PLACES_MAX}"
    );
    each_response(connection, &sql, |id| {
        damaged.push(format!("table consents: {id} has another respondent, flow or version there"));
    })
}

/// The key of a removed response belongs to no stored one.
fn used_keys(connection: &Connection, damaged: &mut Vec<String>) -> Result<()> {
    let mut used = connection.prepare("SELECT app_id, key, response_id FROM used_keys")?;
    let mut find = connection.prepare("SELECT 1 FROM responses WHERE idempotency_key = ?1")?;
    let mut rows = used.query([])?;
    while let Some(row) = rows.next()?
        && damaged.len() < PLACES_MAX
    {
        let key = IdempotencyKey::try_from(bytes(row, 1)?);
        // What cannot be decoded is reported when its own table is read.
        let (Ok(app), Ok(key)) = (Uuid::from_slice(bytes(row, 0)?), key) else { continue };
        if find.exists([key_in_app(AppId::from_uuid(app), key)])? {
            let id = shown(bytes(row, 2)?);
            damaged.push(format!("table used_keys: the key of {id} belongs to another response"));
        }
    }
    Ok(())
}

/// Calls `found` with the ids that a statement selects.
fn each_response(connection: &Connection, sql: &str, mut found: impl FnMut(String)) -> Result<()> {
    let mut check = connection.prepare(sql)?;
    let mut rows = check.query([])?;
    while let Some(row) = rows.next()? {
        found(shown(bytes(row, 0)?));
    }
    Ok(())
}

/// The bytes of a column; none if it is damaged and holds a number.
fn bytes<'a>(row: &'a Row<'_>, column: usize) -> Result<&'a [u8]> {
    match row.get_ref(column)? {
        ValueRef::Blob(bytes) | ValueRef::Text(bytes) => Ok(bytes),
        ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) => Ok(&[]),
    }
}

fn shown(id: &[u8]) -> String {
    let id = Uuid::from_slice(id).map(ResponseId::from_uuid);
    id.map_or_else(|_| "a response with an unreadable id".to_owned(), |id| id.to_string())
}
