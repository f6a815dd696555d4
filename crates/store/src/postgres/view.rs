//! A view of everything at one instant: a transaction that stays open; and the check of indexes.
//!
//! While a view is open, the server cannot remove rows that were deleted since (VACUUM).

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use sluice_flow::id::{AppId, FlowId};

use super::codec::Cells;
use super::failure::TransactionError;
use super::pool::{Pool, within};
use super::read::{counts, export};
use super::transaction::Transaction;
use crate::{FlowCounts, PageCheck, RecordCursor, RecordPage, StoreError, StoreResult, StoreView};

/// How long the check of one index may take.
const INDEX_DEADLINE: Duration = Duration::from_secs(4 * 60 * 60);
/// The server ends an idle transaction otherwise; a slow reader of a backup may be idle for long.
const NO_IDLE_LIMIT: &str = "SELECT set_config('idle_in_transaction_session_timeout', '0', true)";
/// The B-tree indexes of our tables that hold entries.
const INDEXES: &str = "SELECT index.oid::bigint, index.relname::text FROM pg_class AS index \
     JOIN pg_am ON pg_am.oid = index.relam AND pg_am.amname = 'btree' \
     WHERE index.relkind = 'i' AND index.relpersistence = 'p' \
     AND index.relnamespace = current_schema()::regnamespace ORDER BY index.relname";
const MAY_CHECK: &str =
    "SELECT has_function_privilege('bt_index_check(regclass, boolean)', 'EXECUTE')";
const IS_INSTALLED: &str = "SELECT EXISTS (SELECT FROM pg_extension WHERE extname = 'amcheck')";

pub(super) struct View {
    /// Absent after an error, which ends a transaction.
    transaction: Option<Transaction>,
}

impl View {
    pub(super) async fn open(pool: &Arc<Pool>) -> StoreResult<Self> {
        let failed = TransactionError::of_statement;
        let transaction = Transaction::begun_at_one_instant(pool).await.map_err(failed)?;
        // Retention must not take a month away while the view is open.
        let lock = "LOCK TABLE responses IN ACCESS SHARE MODE";
        transaction.execute(lock, &[]).await.map_err(failed)?;
        for setting in [NO_IDLE_LIMIT, export::INDEX_SCAN] {
            transaction.query(setting, &[]).await.map_err(failed)?;
        }
        Ok(Self { transaction: Some(transaction) })
    }

    /// Keeps the transaction if the read succeeded.
    async fn settle<T>(
        &mut self,
        transaction: Transaction,
        read: Result<T, TransactionError>,
    ) -> StoreResult<T> {
        match read {
            Ok(value) => {
                self.transaction = Some(transaction);
                Ok(value)
            }
            Err(error) => Err(transaction.abort(error).await.of_statement()),
        }
    }
}

#[async_trait]
impl StoreView for View {
    async fn records(&mut self, after: &RecordCursor, limit: usize) -> StoreResult<RecordPage> {
        let transaction = self.transaction.take().ok_or(StoreError::Closed)?;
        let read = export::page_of_table(&transaction, after, limit).await;
        self.settle(transaction, read).await
    }

    async fn counts(&mut self, app: AppId, flow: FlowId) -> StoreResult<FlowCounts> {
        let transaction = self.transaction.take().ok_or(StoreError::Closed)?;
        let read = counts::of_flow_in(&transaction, app, flow).await;
        let read = self.settle(transaction, read).await?;
        read.map_err(|damaged| StoreError::Corrupt(format!("{}: {}", damaged.day, damaged.why)))
    }
}

/// Every index, with the server's extension `amcheck` if this user may call it.
pub(super) async fn check_pages(pool: &Arc<Pool>) -> StoreResult<PageCheck> {
    let flag = |cells: &mut Cells| cells.take::<bool>();
    let is_installed = pool.one(IS_INSTALLED, &[], flag).await? == Some(true);
    if !is_installed || pool.one(MAY_CHECK, &[], flag).await? != Some(true) {
        let skipped = "indexes were not checked: install the extension amcheck in this database, and allow \
                       this user to execute bt_index_check(regclass, boolean)";
        return Ok(PageCheck { damaged: Vec::new(), skipped: Some(skipped.to_owned()) });
    }
    let read = |cells: &mut Cells| Ok((cells.take::<i64>()?, cells.take::<String>()?));
    let mut damaged = Vec::new();
    for (oid, name) in pool.many(INDEXES, &[], read).await? {
        match check_index(pool, oid).await {
            Ok(()) => {}
            Err(StoreError::Damaged(why)) => damaged.push(format!("index {name}: {why}")),
            Err(error) => return Err(error),
        }
    }
    Ok(PageCheck { damaged, skipped: None })
}

/// Compares an index with its table, which may take as long as reading both.
async fn check_index(pool: &Arc<Pool>, oid: i64) -> StoreResult<()> {
    // It is not returned to the pool, so that neither the transaction nor its setting stays.
    let lease = pool.lease().await?;
    let checked = within(INDEX_DEADLINE, "answer", async {
        lease.batch_execute("BEGIN READ ONLY; SET LOCAL statement_timeout = 0").await?;
        lease.query("SELECT bt_index_check($1::bigint::oid::regclass, true)", &[&oid]).await
    });
    checked.await.map(drop).map_err(TransactionError::of_statement)
}
