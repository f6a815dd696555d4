//! One write transaction: begins with the write lock, and is either committed or rolled back.

use rusqlite::Connection;

use super::failure;
use crate::{StoreError, StoreResult};

/// Why the body of a transaction stopped: with its own error, or an error of SQLite.
#[derive(Debug)]
pub(super) enum Stop {
    Answer(StoreError),
    Sqlite(rusqlite::Error),
}

impl From<rusqlite::Error> for Stop {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

/// Whether a successful transaction has anything to commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Then {
    Commit,
    /// Nothing was written, so there is nothing to sync.
    Forget,
}

/// Runs `body` between BEGIN IMMEDIATE and COMMIT. After `Ok` with [`Then::Commit`], everything is
/// on stable storage; after any error except [`StoreError::Unknown`], nothing is.
pub(super) fn run<T>(
    connection: &Connection,
    body: impl FnOnce(&Connection) -> Result<(T, Then), Stop>,
) -> StoreResult<(T, Then)> {
    step(connection, "BEGIN IMMEDIATE").map_err(failure::of_write)?;
    let result = match body(connection) {
        Ok((value, Then::Commit)) => {
            step(connection, "COMMIT").map(|()| (value, Then::Commit)).map_err(failure::of_commit)
        }
        Ok((value, Then::Forget)) => roll_back(connection).map(|()| (value, Then::Forget)),
        Err(Stop::Answer(answer)) => Err(answer),
        Err(Stop::Sqlite(error)) => Err(failure::of_write(error)),
    };
    match result {
        Ok(done) => Ok(done),
        // SQLite rolls some transactions back itself; the others are rolled back here.
        Err(error) => roll_back(connection).and(Err(error)),
    }
}

fn roll_back(connection: &Connection) -> StoreResult<()> {
    if connection.is_autocommit() {
        return Ok(());
    }
    step(connection, "ROLLBACK").map_err(|error| StoreError::Unknown(Box::new(error)))
}

fn step(connection: &Connection, sql: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(sql)?.execute([]).map(|_| ())
}
