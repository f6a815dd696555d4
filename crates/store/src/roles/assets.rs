//! Assets, as one role of the store. [`crate::AdminStore::apply`] writes them.

use async_trait::async_trait;
use sluice_flow::id::{AppId, AssetId};

use crate::{AssetInfo, AssetRow, StoreResult, VersionRow};

/// Assets: images that authors upload for their flows. A change that stores the bytes of another
/// asset of the app again fails.
#[async_trait]
pub trait AssetStore: Send + Sync + 'static {
    /// The asset of any app, with its bytes.
    async fn find_asset(&self, asset: AssetId) -> StoreResult<Option<AssetRow>>;

    /// The assets of an app, newest first.
    async fn list_assets(&self, app: AppId) -> StoreResult<Vec<AssetInfo>>;

    /// The drafts and versions of an app whose definition contains the id of the asset, retired and
    /// superseded ones included. Reads all definitions of the app.
    async fn versions_naming(&self, app: AppId, asset: AssetId) -> StoreResult<Vec<VersionRow>>;
}
