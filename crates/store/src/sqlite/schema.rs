//! The schema of the file: which migrations it needs, and how they are applied.
//!
//! Each migration and its row in the history are one transaction, so a killed process leaves the
//! schema as it was before that migration, and the next start continues. The transaction takes the
//! write lock first: if several processes start at once, one migrates while the others wait.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};

use super::open_error::OpenError;
use crate::schema::{self, Applied, Migration, Mismatch, SQLITE};

/// The mark of Sluice in the file's header; the first migration sets it.
const APPLICATION_ID: i64 = i64::from_be_bytes([0, 0, 0, 0, b'S', b'L', b'U', b'C']);

const MAKE_HISTORY: &str = "CREATE TABLE IF NOT EXISTS schema_history (
    version    INTEGER PRIMARY KEY,
    name       TEXT NOT NULL,
    checksum   TEXT NOT NULL,
    applied_at INTEGER NOT NULL
) STRICT";

/// Refuses a file of another program. Nothing is written before this check, not even a setting.
pub(super) fn refuse_foreign(connection: &Connection, path: &Path) -> Result<(), OpenError> {
    let is_ours = || -> rusqlite::Result<bool> {
        // Before the mark: another process that creates the database now writes both at once.
        let tables: i64 = connection.query_row(
            "SELECT count(*) FROM sqlite_schema \
             WHERE name <> 'schema_history' AND name NOT LIKE 'sqlite%'",
            [],
            |row| row.get(0),
        )?;
        let mark: i64 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
        Ok(tables == 0 || mark == APPLICATION_ID)
    };
    match is_ours().map_err(|error| OpenError::from_sqlite(path, error))? {
        true => Ok(()),
        false => Err(OpenError::NotOurs { path: path.to_owned() }),
    }
}

/// Applies the migrations that the file does not have yet.
pub(super) fn bring_up_to_date(connection: &mut Connection, path: &Path) -> Result<(), OpenError> {
    while !pending(connection, path)?.is_empty() {
        let failed = |error| OpenError::from_sqlite(path, error);
        let transaction =
            connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
        // Another process may have applied it before this one got the lock.
        if let Some(migration) = pending(&transaction, path)?.first() {
            apply(&transaction, migration).map_err(failed)?;
            transaction.commit().map_err(failed)?;
        }
    }
    Ok(())
}

/// Refuses a schema that would have to be created or migrated.
pub(super) fn must_be_current(connection: &Connection, path: &Path) -> Result<(), OpenError> {
    if pending(connection, path)?.is_empty() {
        return Ok(());
    }
    let applied = history(connection).map_err(|error| OpenError::from_sqlite(path, error))?;
    let (path, known) = (path.to_owned(), schema::newest(SQLITE));
    Err(match applied.last() {
        Some(newest) => OpenError::OlderSchema { path, found: newest.version, known },
        None => OpenError::NoSchema { path },
    })
}

fn apply(connection: &Connection, migration: &Migration) -> rusqlite::Result<()> {
    connection.execute_batch(MAKE_HISTORY)?;
    connection.execute_batch(migration.sql)?;
    connection.execute(
        "INSERT INTO schema_history (version, name, checksum, applied_at) \
         VALUES (?1, ?2, ?3, CAST(unixepoch('subsec') * 1000 AS INTEGER))",
        params![migration.version, migration.name, migration.checksum()],
    )?;
    Ok(())
}

/// The migrations that the file does not have yet; a history that this binary did not write is an
/// error.
fn pending(connection: &Connection, path: &Path) -> Result<&'static [Migration], OpenError> {
    let applied = history(connection).map_err(|error| OpenError::from_sqlite(path, error))?;
    schema::pending(SQLITE, &applied).map_err(|mismatch| {
        let path = path.to_owned();
        match mismatch {
            Mismatch::Newer { found, known } => OpenError::NewerSchema { path, found, known },
            Mismatch::Different { version } => {
                OpenError::OtherSchema { path, detail: Mismatch::detail(version) }
            }
        }
    })
}

/// The migrations that were applied to the file, oldest first.
fn history(connection: &Connection) -> rusqlite::Result<Vec<Applied>> {
    let found = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'schema_history'";
    if connection.query_row(found, [], |_| Ok(())).optional()?.is_none() {
        return Ok(Vec::new());
    }
    connection
        .prepare("SELECT version, checksum FROM schema_history ORDER BY version")?
        .query_map([], |row| Ok(Applied { version: row.get(0)?, checksum: row.get(1)? }))?
        .collect()
}
