//! Short paths of hosted pages. A table of the instance, where a path is unique among all apps.

use async_trait::async_trait;
use sluice_flow::id::{AppId, FlowId};

use super::PgStore;
use super::codec::{self, SHORT_PATH};
use super::failure::TransactionError;
use super::transaction::Transaction;
use crate::{ShortPathRow, ShortPathStore, StoreError, StoreResult};

#[async_trait]
impl ShortPathStore for PgStore {
    async fn find_short_path(&self, path: &str) -> StoreResult<Option<ShortPathRow>> {
        let sql = format!("SELECT {SHORT_PATH} FROM short_paths WHERE path = $1");
        self.pool.one(&sql, &[&path], codec::short_path).await
    }

    async fn short_path_of(&self, app: AppId, flow: FlowId) -> StoreResult<Option<ShortPathRow>> {
        let sql =
            format!("SELECT {SHORT_PATH} FROM short_paths WHERE app_id = $1 AND flow_id = $2");
        self.pool.one(&sql, &[&app.uuid(), &flow.uuid()], codec::short_path).await
    }
}

/// The flow may be on another server, so it is checked in the directory and not by a foreign key.
pub(super) async fn put(
    transaction: &Transaction,
    row: &ShortPathRow,
) -> Result<(), TransactionError> {
    let sql = "INSERT INTO short_paths (app_id, flow_id, path) \
         SELECT $1::uuid, $2::uuid, $3::text FROM id_directory WHERE id = $2 AND app_id = $1 \
         ON CONFLICT (app_id, flow_id) DO UPDATE SET path = excluded.path";
    match transaction.execute(sql, &[&row.app_id.uuid(), &row.flow_id.uuid(), &row.path]).await? {
        0 => Err(StoreError::Failed("a path names a flow that does not exist".into()).into()),
        _ => Ok(()),
    }
}

pub(super) async fn delete(
    transaction: &Transaction,
    app: AppId,
    flow: FlowId,
) -> Result<(), TransactionError> {
    let sql = "DELETE FROM short_paths WHERE app_id = $1 AND flow_id = $2";
    transaction.execute(sql, &[&app.uuid(), &flow.uuid()]).await.map(|_| ())
}
