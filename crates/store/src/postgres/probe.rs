//! The readiness check: a write that needs space on the server's disk, as a submission does.
//!
//! A row that is rolled back proves little: on a full disk it still fits into a page that the table
//! already has. So a probe fills a new page and commits it. The table is emptied when it has grown
//! to [`TABLE_BYTES_MAX`]; deleting rows instead would leave pages that later probes reuse.

use std::sync::Arc;
use std::time::Duration;

use super::failure::TransactionError;
use super::pool::{self, Pool};
use super::to_the_end;
use super::transaction::{self, Transaction};
use crate::{StoreError, StoreResult};

/// How long a check waits for the server.
const DEADLINE: Duration = Duration::from_secs(2);
/// The size of the table at which it is emptied: after some hours of probes.
const TABLE_BYTES_MAX: i64 = 64 * 1024 * 1024;
/// Others use the table only for a moment, except for a dump of the database: the next check tries
/// again.
const EMPTY_WAIT: &str = "SET LOCAL lock_timeout = '100ms'";

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
    let bytes = transaction::end(transaction, written).await?;
    if bytes >= TABLE_BYTES_MAX
        && let Err(error) = empty(pool).await
    {
        tracing::debug!(%error, "the table of probes is in use");
    }
    pool.check_workers().await
}

/// Returns the size of the table.
async fn write(transaction: &Transaction) -> Result<i64, TransactionError> {
    transaction.execute(FILL_A_PAGE, &[]).await?;
    let found = transaction.query(TABLE_BYTES, &[]).await?;
    Ok(found.first().map_or(Ok(0), |row| row.try_get(0))?)
}

async fn empty(pool: &Arc<Pool>) -> StoreResult<()> {
    let transaction = Transaction::begun(pool).await.map_err(TransactionError::of_statement)?;
    let emptied = async {
        transaction.execute(EMPTY_WAIT, &[]).await?;
        transaction.execute(EMPTY, &[]).await
    };
    let emptied = emptied.await;
    transaction::end(transaction, emptied).await.map(drop)
}
