//! Assets, passed through.

use async_trait::async_trait;
use sluice_flow::id::{AppId, AssetId};
use sluice_flow::time::Timestamp;
use sluice_store::{AssetInfo, AssetRow, AssetStore, FlowRow, StoreResult, VersionRow};

use super::FaultyStore;

#[async_trait]
impl AssetStore for FaultyStore {
    async fn find_asset(&self, asset: AssetId) -> StoreResult<Option<AssetRow>> {
        self.read().find_asset(asset).await
    }
    async fn list_assets(&self, app: AppId) -> StoreResult<Vec<AssetInfo>> {
        let listed = self.read().list_assets(app).await;
        let meanwhile = self.after_assets.lock().unwrap().take();
        if let Some(meanwhile) = meanwhile {
            meanwhile().await;
        }
        listed
    }
    async fn flows_naming(
        &self,
        app: AppId,
        assets: &[AssetId],
        now: Timestamp,
    ) -> StoreResult<Vec<(FlowRow, Vec<VersionRow>)>> {
        self.read().flows_naming(app, assets, now).await
    }
}
