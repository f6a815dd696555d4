//! Marks of the whole database that outlive a process.

use std::sync::Arc;
use std::time::Duration;

use tokio_postgres::Client;

use super::connect::{self, ConnectError};
use super::failure::{RedactedError, TransactionError};
use super::link::Connector;
use super::pool::Pool;
use super::transaction::{Transaction, end};
use crate::StoreResult;

/// A backup is being restored into the database.
pub(super) const RESTORING: &str = "restoring";

/// Refuses a database that holds a part of a backup.
pub(super) async fn must_be_complete(
    client: &Client,
    connector: &Connector,
    deadline: Duration,
) -> Result<(), ConnectError> {
    let sql = "SELECT FROM marks WHERE name = $1";
    let found = connect::answered(deadline, client.query(sql, &[&RESTORING])).await?;
    let place = connector.place();
    match found {
        Ok(found) if found.is_empty() => Ok(()),
        Ok(_) => Err(ConnectError::Restoring { place }),
        Err(error) => {
            let reason = RedactedError::new(&error).to_string();
            Err(ConnectError::Unreachable { place, reason })
        }
    }
}

/// Puts a mark, durably. Returns false if it is there already.
pub(super) async fn put(pool: &Arc<Pool>, name: &str, detail: &str) -> StoreResult<bool> {
    let sql = "INSERT INTO marks (name, detail) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING";
    let transaction = Transaction::begun(pool).await.map_err(TransactionError::of_statement)?;
    let rows = transaction.execute(sql, &[&name, &detail]).await;
    Ok(end(transaction, rows).await? > 0)
}

pub(super) async fn remove(pool: &Arc<Pool>, name: &str) -> StoreResult<()> {
    let transaction = Transaction::begun(pool).await.map_err(TransactionError::of_statement)?;
    let removed = transaction.execute("DELETE FROM marks WHERE name = $1", &[&name]).await;
    end(transaction, removed).await.map(drop)
}
