//! Assets, as one role of the store. [`crate::AdminStore::apply`] writes them.

use async_trait::async_trait;
use sluice_flow::id::{AppId, AssetId};
use sluice_flow::time::Timestamp;

use crate::{AssetInfo, AssetRow, FlowRow, StoreResult, VersionRow};

/// Assets: images that authors upload for their flows. A change that stores the bytes of another
/// asset of the app again fails.
#[async_trait]
pub trait AssetStore: Send + Sync + 'static {
    /// The asset of any app, with its bytes.
    async fn find_asset(&self, asset: AssetId) -> StoreResult<Option<AssetRow>>;

    /// The assets of an app, newest first.
    async fn list_assets(&self, app: AppId) -> StoreResult<Vec<AssetInfo>>;

    /// The flows of an app that name one of these assets, archived ones included, ordered by id:
    /// those whose design contains its id, and those with drafts and versions whose definition
    /// does, ordered by id. Versions that are retired, or whose grace has ended by `now`, do not
    /// count. The designs are without pictures. Reads all other definitions of the app.
    async fn flows_naming(
        &self,
        app: AppId,
        assets: &[AssetId],
        now: Timestamp,
    ) -> StoreResult<Vec<(FlowRow, Vec<VersionRow>)>>;
}
