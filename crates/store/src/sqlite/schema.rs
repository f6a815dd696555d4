//! The schema and its history: what this binary knows, and what the file says of itself.
//!
//! All pending migrations and their entries in the history are one transaction, so a process that
//! is killed half way leaves the old schema, and the next start begins again.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension, TransactionBehavior};

use super::open::OpenError;

/// The mark in the file's header that says whose it is; the first migration sets it.
const APPLICATION_ID: i64 = i64::from_be_bytes([0, 0, 0, 0, b'S', b'L', b'U', b'C']);

mod embedded {
    refinery::embed_migrations!("src/sqlite/migrations");
}

/// Refuses a file that is another program's, before anything, even a setting, is written to it.
pub(super) fn refuse_foreign(connection: &Connection, path: &Path) -> Result<(), OpenError> {
    let look = || -> rusqlite::Result<bool> {
        let mark: i64 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
        let tables: i64 = connection.query_row(
            "SELECT count(*) FROM sqlite_schema \
             WHERE name NOT LIKE 'refinery%' AND name NOT LIKE 'sqlite%'",
            [],
            |row| row.get(0),
        )?;
        Ok(mark == APPLICATION_ID || tables == 0)
    };
    match look() {
        Ok(true) => Ok(()),
        Ok(false) => Err(OpenError::NotOurs { path: path.to_owned() }),
        Err(error) => Err(OpenError::of(path, error)),
    }
}

/// Brings the schema to what this binary knows, or says why that cannot be.
pub(super) fn bring_up_to_date(connection: &mut Connection, path: &Path) -> Result<(), OpenError> {
    let runner = embedded::migrations::runner().set_grouped(true);
    if is_current(connection, &runner, path)? {
        return Ok(());
    }
    connection.set_transaction_behavior(TransactionBehavior::Immediate);
    match runner.run(connection) {
        Ok(_) => Ok(()),
        // Another process may have brought it up to date between the look and the run.
        Err(error) => match is_current(connection, &runner, path)? {
            true => Ok(()),
            false => Err(cannot_migrate(path, error)),
        },
    }
}

/// Refuses a schema that would have to be made or brought up to date.
pub(super) fn must_be_current(connection: &Connection, path: &Path) -> Result<(), OpenError> {
    let runner = embedded::migrations::runner();
    if is_current(connection, &runner, path)? {
        return Ok(());
    }
    let applied = history(connection).map_err(|error| OpenError::of(path, error))?;
    let versions = runner.get_migrations().iter().map(refinery::Migration::version);
    let (path, known) = (path.to_owned(), versions.max().map_or(0, i64::from));
    Err(match applied.last() {
        Some((found, _)) => OpenError::OlderSchema { path, found: *found, known },
        None => OpenError::NoSchema { path },
    })
}

/// Whether every known migration is there; a history that this binary did not write is an error.
fn is_current(
    connection: &Connection,
    runner: &refinery::Runner,
    path: &Path,
) -> Result<bool, OpenError> {
    let applied = history(connection).map_err(|error| OpenError::of(path, error))?;
    let mut known: Vec<_> = runner.get_migrations().iter().collect();
    known.sort_by_key(|migration| migration.version());
    let newest = |versions: Option<i64>| versions.unwrap_or(0);
    let newest_known = newest(known.last().map(|migration| i64::from(migration.version())));
    let newest_applied = newest(applied.last().map(|(version, _)| *version));
    if newest_applied > newest_known {
        let path = path.to_owned();
        return Err(OpenError::NewerSchema { path, found: newest_applied, known: newest_known });
    }
    for ((version, checksum), migration) in applied.iter().zip(&known) {
        if *version != i64::from(migration.version())
            || *checksum != migration.checksum().to_string()
        {
            let detail = format!("migration {version} differs");
            return Err(OpenError::OtherSchema { path: path.to_owned(), detail });
        }
    }
    Ok(applied.len() == known.len())
}

/// The versions in the file's history with their checksums, oldest first.
fn history(connection: &Connection) -> rusqlite::Result<Vec<(i64, String)>> {
    let exists = connection
        .query_row(
            "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'refinery_schema_history'",
            [],
            |_| Ok(()),
        )
        .optional()?;
    if exists.is_none() {
        return Ok(Vec::new());
    }
    connection
        .prepare("SELECT version, checksum FROM refinery_schema_history ORDER BY version")?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect()
}

fn cannot_migrate(path: &Path, error: refinery::Error) -> OpenError {
    let reason = match error.kind() {
        refinery::error::Kind::Connection(what, source) => format!("{what}: {source}"),
        _ => error.to_string(),
    };
    let source = std::error::Error::source(&error)
        .and_then(|source| source.downcast_ref::<rusqlite::Error>())
        .and_then(rusqlite::Error::sqlite_error_code);
    let path = path.to_owned();
    match source {
        Some(rusqlite::ErrorCode::DatabaseBusy | rusqlite::ErrorCode::DatabaseLocked) => {
            OpenError::Locked { path }
        }
        Some(rusqlite::ErrorCode::DatabaseCorrupt) => OpenError::Damaged { path, reason },
        _ => OpenError::Unopenable { path, reason },
    }
}
