//! Assets, passed through.

use async_trait::async_trait;
use sluice_flow::id::{AppId, AssetId};
use sluice_store::{AssetInfo, AssetRow, AssetStore, StoreResult, VersionRow};

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
    async fn versions_naming(&self, app: AppId, asset: AssetId) -> StoreResult<Vec<VersionRow>> {
        self.read().versions_naming(app, asset).await
    }
}
