//! Positions in sinks, and who publishes to them. Tables of the instance: one worker publishes the
//! logs of all apps.

use std::sync::Arc;

use async_trait::async_trait;
use uuid::Uuid;

use super::codec::{self, SINK_POSITION};
use super::failure::TransactionError;
use super::pool::{Params, Pool};
use super::transaction::{Transaction, end};
use super::{PgStore, to_the_end};
use crate::{SinkLease, SinkPositionRow, SinkStore, StoreResult};

#[async_trait]
impl SinkStore for PgStore {
    async fn lease_sink(&self, lease: SinkLease) -> StoreResult<bool> {
        let pool = Arc::clone(&self.pool);
        to_the_end(async move { take(&pool, &lease).await }).await
    }

    async fn list_sinks(&self) -> StoreResult<Vec<String>> {
        let sql = "SELECT DISTINCT sink FROM sink_positions ORDER BY sink";
        self.pool.many(sql, &[], |cells| cells.take()).await
    }

    async fn list_sink_positions(&self, sink: &str) -> StoreResult<Vec<SinkPositionRow>> {
        let sql =
            format!("SELECT {SINK_POSITION} FROM sink_positions WHERE sink = $1 ORDER BY app_id");
        self.pool.many(&sql, &[&sink], codec::sink_position).await
    }

    async fn save_sink_positions(
        &self,
        lease: SinkLease,
        rows: Vec<SinkPositionRow>,
    ) -> StoreResult<bool> {
        let pool = Arc::clone(&self.pool);
        to_the_end(async move { save(&pool, &lease, &rows).await }).await
    }
}

async fn take(pool: &Arc<Pool>, lease: &SinkLease) -> StoreResult<bool> {
    pool.may_commit()?;
    let transaction = Transaction::begun(pool).await.map_err(TransactionError::of_statement)?;
    let sql = "INSERT INTO sink_leases AS held (sink, leased_by, leased_until) \
         VALUES ($1, $2, $4) \
         ON CONFLICT (sink) DO UPDATE SET leased_by = $2, leased_until = $4 \
         WHERE held.leased_by = $2 OR held.leased_until <= $3";
    let worker = Uuid::from_bytes(lease.worker);
    let times = (lease.now.as_millis(), lease.until.as_millis());
    let params: Params = &[&lease.sink, &worker, &times.0, &times.1];
    let taken = transaction.execute(sql, params).await.map(|rows| rows > 0);
    end(transaction, taken).await
}

async fn save(pool: &Arc<Pool>, lease: &SinkLease, rows: &[SinkPositionRow]) -> StoreResult<bool> {
    pool.may_commit()?;
    let transaction = Transaction::begun(pool).await.map_err(TransactionError::of_statement)?;
    let body = async {
        let sql = "UPDATE sink_leases SET leased_until = $3 WHERE sink = $1 AND leased_by = $2";
        let worker = Uuid::from_bytes(lease.worker);
        let params: Params = &[&lease.sink, &worker, &lease.until.as_millis()];
        if transaction.execute(sql, params).await? == 0 {
            return Ok(false);
        }
        put(&transaction, rows).await?;
        Ok(true)
    };
    let saved = body.await;
    end(transaction, saved).await
}

pub(super) async fn put(
    transaction: &Transaction,
    rows: &[SinkPositionRow],
) -> Result<(), TransactionError> {
    if rows.is_empty() {
        return Ok(());
    }
    let sql = format!(
        "INSERT INTO sink_positions ({SINK_POSITION}) \
         SELECT * FROM unnest($1::uuid[], $2::text[], $3::uuid[]) \
         ON CONFLICT (app_id, sink) DO UPDATE SET position = excluded.position"
    );
    let apps: Vec<Uuid> = rows.iter().map(|row| row.app_id.uuid()).collect();
    let sinks: Vec<&str> = rows.iter().map(|row| row.sink.as_str()).collect();
    let positions: Vec<Uuid> = rows.iter().map(|row| row.position.uuid()).collect();
    transaction.execute(&sql, &[&apps, &sinks, &positions]).await.map(|_| ())
}
