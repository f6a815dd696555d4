//! Short paths, passed through.

use async_trait::async_trait;
use sluice_flow::id::{AppId, FlowId};
use sluice_store::{ShortPathRow, ShortPathStore, StoreResult};

use super::FaultyStore;

#[async_trait]
impl ShortPathStore for FaultyStore {
    async fn find_short_path(&self, path: &str) -> StoreResult<Option<ShortPathRow>> {
        self.read().find_short_path(path).await
    }
    async fn short_path_of(&self, app: AppId, flow: FlowId) -> StoreResult<Option<ShortPathRow>> {
        self.read().short_path_of(app, flow).await
    }
}
