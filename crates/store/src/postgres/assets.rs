//! Assets. A table of the instance, where an asset is found by its id alone.

use async_trait::async_trait;
use sluice_flow::id::{AppId, AssetId};
use sluice_flow::time::Timestamp;
use uuid::Uuid;

use super::PgStore;
use super::codec::{self, ASSET, ASSET_INFO, LISTED_FLOW, VERSION};
use super::failure::TransactionError;
use super::pool::Params;
use super::transaction::Transaction;
use crate::asset;
use crate::{AssetInfo, AssetRow, AssetStore, FlowRow, StoreResult, VersionRow};

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

    async fn flows_naming(
        &self,
        app: AppId,
        assets: &[AssetId],
        now: Timestamp,
    ) -> StoreResult<Vec<(FlowRow, Vec<VersionRow>)>> {
        // A text without the prefix of ids is searched once, not for each of them.
        let names = |column: &str| {
            format!(
                "(strpos({column}, '{}') > 0 AND EXISTS \
                 (SELECT 1 FROM unnest($2::text[]) AS named (id) WHERE strpos({column}, id) > 0))",
                AssetId::PREFIX
            )
        };
        let ids: Vec<String> = assets.iter().map(AssetId::to_string).collect();
        let (app, now) = (app.uuid(), now.as_millis());
        let sql = format!(
            "SELECT {VERSION} FROM versions WHERE app_id = $1 AND retired_at IS NULL \
             AND (superseded_at IS NULL OR grace_ends_at > $3) AND {} ORDER BY flow_version_id",
            names("definition")
        );
        let versions = self.pool.many(&sql, &[&app, &ids, &now], codec::version).await?;
        let found: Vec<Uuid> = versions.iter().map(|it| it.flow_id.uuid()).collect();
        let sql = format!(
            "SELECT {LISTED_FLOW} FROM flows WHERE app_id = $1 \
             AND ({} OR flow_id = ANY($3)) ORDER BY flow_id",
            names("design")
        );
        let flows = self.pool.many(&sql, &[&app, &ids, &found], codec::flow).await?;
        Ok(asset::grouped(flows, versions))
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
