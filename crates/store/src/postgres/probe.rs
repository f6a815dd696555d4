//! The readiness check: a write that needs space on the server's disk, as a submission does.
//!
//! A row that is rolled back proves little: on a full disk it still fits into a page that the table
//! already has. So a probe fills a page of its own and commits it. The table is emptied when it has
//! grown to [`TABLE_BYTES_MAX`]; deleting rows instead would leave pages that later probes reuse.

use std::sync::Arc;
use std::time::Duration;

use super::failure::TransactionError;
use super::pool::{self, Pool};
use super::to_the_end;
use super::transaction::{self, Transaction};
use crate::{StoreError, StoreResult};

/// How long a check waits for the server.
const DEADLINE: Duration = Duration::from_secs(2);
/// The size of the table at which it is emptied: after 128 probes.
const TABLE_BYTES_MAX: i64 = 1024 * 1024;

/// Four rows fill a page of 8 KiB, and are too short to be compressed or stored elsewhere.
const FILL_A_PAGE: &str =
    "INSERT INTO probe (filler) SELECT repeat('x', 1900) FROM generate_series(1, 4)";
const TABLE_BYTES: &str = "SELECT pg_relation_size('probe')";
const EMPTY: &str = "TRUNCATE probe";

pub(super) async fn check(pool: &Arc<Pool>) -> StoreResult<()> {
    let own = Arc::clone(pool);
    // To its end also after the deadline: a COMMIT is never cancelled.
    let probe = to_the_end(async move { probe(&own).await });
    let probed = pool::within(DEADLINE, "answer", async { Ok(probe.await) }).await;
    probed.map_err(TransactionError::of_statement)??;
    match pool.stall().lasts() {
        true => Err(StoreError::Failed(
            "a commit was not confirmed in time; is a synchronous standby down?".into(),
        )),
        false => Ok(()),
    }
}

async fn probe(pool: &Arc<Pool>) -> StoreResult<()> {
    pool.must_be_open()?;
    pool.may_commit()?;
    let transaction = Transaction::begun(pool).await.map_err(TransactionError::of_statement)?;
    let written = write(&transaction).await;
    transaction::end(transaction, written).await?;
    pool.check_workers().await
}

async fn write(transaction: &Transaction) -> Result<(), TransactionError> {
    let found = transaction.query(TABLE_BYTES, &[]).await?;
    let bytes: i64 = found.first().map_or(Ok(0), |row| row.try_get(0))?;
    if bytes >= TABLE_BYTES_MAX {
        // Before this transaction has any other lock on the table: nodes must not wait for each
        // other.
        transaction.execute(EMPTY, &[]).await?;
    }
    transaction.execute(FILL_A_PAGE, &[]).await.map(drop)
}
