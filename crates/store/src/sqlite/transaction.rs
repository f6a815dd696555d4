//! One write transaction: begins with the write lock, and is either committed or rolled back.

use rusqlite::Connection;

use super::failure;
use crate::{Damage, StoreError, StoreResult};

/// Why the body of a transaction stopped: with its own error, or an error of SQLite.
#[derive(Debug)]
pub(super) enum TransactionError {
    Answer(StoreError),
    Sqlite(rusqlite::Error),
}

impl From<rusqlite::Error> for TransactionError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

/// Whether a successful transaction has anything to commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Finish {
    Commit,
    /// Nothing was written, so there is nothing to sync.
    RollBack,
}

/// Runs `body` between BEGIN IMMEDIATE and COMMIT. After `Ok` with [`Finish::Commit`], everything
/// is on stable storage; after any error except [`StoreError::Unknown`], nothing is.
pub(super) fn run<T>(
    connection: &Connection,
    damage: &Damage,
    body: impl FnOnce(&Connection) -> Result<(T, Finish), TransactionError>,
) -> StoreResult<(T, Finish)> {
    let noted = |result: rusqlite::Result<()>| {
        result.inspect_err(|error| failure::note_damage(damage, error))
    };
    noted(step(connection, "BEGIN IMMEDIATE")).map_err(failure::of_write)?;
    let result = match body(connection) {
        Ok((value, Finish::Commit)) => {
            let committed = noted(step(connection, "COMMIT")).map_err(failure::of_commit);
            committed.map(|()| (value, Finish::Commit))
        }
        Ok((value, Finish::RollBack)) => roll_back(connection).map(|()| (value, Finish::RollBack)),
        Err(TransactionError::Answer(answer)) => Err(answer),
        Err(TransactionError::Sqlite(error)) => {
            failure::note_damage(damage, &error);
            Err(failure::of_write(error))
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// SQLite ends the transaction itself, and nothing of it is stored: also not what another
    /// statement of it wrote.
    #[test]
    fn a_rollback_by_sqlite_is_a_failure_that_stores_nothing() {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch("CREATE TABLE t (key INTEGER PRIMARY KEY) STRICT").unwrap();
        let damage = Damage::default();
        let failed = run(&connection, &damage, |connection| {
            connection.execute("INSERT INTO t VALUES (1)", [])?;
            connection.execute("INSERT OR ROLLBACK INTO t VALUES (2), (3), (2)", [])?;
            Ok(((), Finish::Commit))
        });
        assert!(matches!(failed, Err(StoreError::Failed(_))), "{failed:?}");
        let rows: i64 =
            connection.query_row("SELECT count(*) FROM t", [], |row| row.get(0)).unwrap();
        assert_eq!(rows, 0);
        let next = run(&connection, &damage, |connection| {
            connection.execute("INSERT INTO t VALUES (1)", [])?;
            Ok(((), Finish::Commit))
        });
        assert!(next.is_ok(), "{next:?}");
    }
}
