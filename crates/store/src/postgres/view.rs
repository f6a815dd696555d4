//! A view of everything at one instant: a transaction that stays open.
//!
//! While a view is open, the server cannot remove rows that were deleted since (VACUUM).

use std::sync::Arc;

use async_trait::async_trait;
use sluice_flow::id::{AppId, FlowId};

use super::failure::TransactionError;
use super::pool::Pool;
use super::read::{counts, export};
use super::transaction::Transaction;
use crate::{FlowCounts, RecordCursor, RecordPage, StoreError, StoreResult, StoreView};

/// The server ends an idle transaction otherwise; a slow reader of a backup may be idle for long.
const NO_IDLE_LIMIT: &str = "SELECT set_config('idle_in_transaction_session_timeout', '0', true)";

pub(super) struct View {
    /// Absent after an error, which ends a transaction.
    transaction: Option<Transaction>,
}

impl View {
    pub(super) async fn open(pool: &Arc<Pool>) -> StoreResult<Self> {
        let failed = TransactionError::of_statement;
        let transaction = Transaction::begun_at_one_instant(pool).await.map_err(failed)?;
        // Retention must not drop a month while the view is open.
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
