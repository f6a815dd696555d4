//! Reads, by kind: each function is one read at one instant on one connection.

pub(super) mod apps;
pub(super) mod export;
pub(super) mod flows;
pub(super) mod instance;
pub(super) mod respondents;
pub(super) mod responses;

use rusqlite::{Connection, OptionalExtension, Params, Result};

use super::codec::Cells;

pub(super) fn one<T>(
    connection: &Connection,
    sql: &str,
    params: impl Params,
    read: fn(&mut Cells) -> Result<T>,
) -> Result<Option<T>> {
    connection.prepare_cached(sql)?.query_row(params, |row| read(&mut Cells::new(row))).optional()
}

pub(super) fn many<T>(
    connection: &Connection,
    sql: &str,
    params: impl Params,
    read: fn(&mut Cells) -> Result<T>,
) -> Result<Vec<T>> {
    connection.prepare_cached(sql)?.query_map(params, |row| read(&mut Cells::new(row)))?.collect()
}

/// A limit in the type that SQLite expects.
pub(super) fn limit(rows: usize) -> i64 {
    i64::try_from(rows).unwrap_or(i64::MAX)
}
