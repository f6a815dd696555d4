//! Assets. A table of the instance, where an asset is found by its id alone.

use async_trait::async_trait;
use sluice_flow::id::{AppId, AssetId};

use super::PgStore;
use super::codec::{self, ASSET, ASSET_INFO, VERSION};
use super::failure::TransactionError;
use super::pool::Params;
use super::transaction::Transaction;
use crate::{AssetInfo, AssetRow, AssetStore, StoreResult, VersionRow};

#[async_trait]
impl AssetStore for PgStore {
    async fn find_asset(&self, asset: AssetId) -> StoreResult<Option<AssetRow>> {
        let sql = format!("SELECT {ASSET} FROM assets WHERE asset_id = $1");
        self.pool.one(&sql, &[&asset.uuid()], codec::asset).await
    }

    async fn list_assets(&self, app: AppId) -> StoreResult<Vec<AssetInfo>> {
        let sql = format!(
            "SELECT {ASSET_INFO}, length(bytes)::bigint FROM assets WHERE app_id = $1 \
             ORDER BY asset_id DESC"
        );
        self.pool.many(&sql, &[&app.uuid()], codec::asset_info).await
    }

    async fn versions_naming(&self, app: AppId, asset: AssetId) -> StoreResult<Vec<VersionRow>> {
        let sql = format!(
            "SELECT {VERSION} FROM versions WHERE app_id = $1 AND strpos(definition, $2) > 0 \
             ORDER BY flow_version_id"
        );
        self.pool.many(&sql, &[&app.uuid(), &asset.to_string()], codec::version).await
    }
}

pub(super) async fn put(transaction: &Transaction, row: &AssetRow) -> Result<(), TransactionError> {
    let sql = "INSERT INTO assets (app_id, asset_id, content_type, width, height, digest, \
         created_at, bytes) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) \
         ON CONFLICT (app_id, asset_id) DO UPDATE SET content_type = excluded.content_type, \
         width = excluded.width, height = excluded.height, digest = excluded.digest, \
         created_at = excluded.created_at, bytes = excluded.bytes";
    let params: Params = &[
        &row.app_id.uuid(),
        &row.asset_id.uuid(),
        &row.content_type.as_str(),
        &i64::from(row.width),
        &i64::from(row.height),
        &row.digest.as_slice(),
        &row.created_at.as_millis(),
        &row.bytes,
    ];
    transaction.execute(sql, params).await.map(|_| ())
}

pub(super) async fn delete(
    transaction: &Transaction,
    app: AppId,
    asset: AssetId,
) -> Result<(), TransactionError> {
    let sql = "DELETE FROM assets WHERE app_id = $1 AND asset_id = $2";
    transaction.execute(sql, &[&app.uuid(), &asset.uuid()]).await.map(|_| ())
}
