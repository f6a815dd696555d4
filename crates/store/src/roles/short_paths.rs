//! Short paths, as one role of the store. [`crate::AdminStore::apply`] writes them.

use async_trait::async_trait;
use sluice_flow::id::{AppId, FlowId};

use crate::{ShortPathRow, StoreResult};

/// Short paths: addresses of hosted pages that authors choose. A change that gives a flow the path
/// of another one fails, in whichever app the other is.
#[async_trait]
pub trait ShortPathStore: Send + Sync + 'static {
    /// The flow with this path.
    async fn find_short_path(&self, path: &str) -> StoreResult<Option<ShortPathRow>>;

    /// The path of a flow.
    async fn short_path_of(&self, app: AppId, flow: FlowId) -> StoreResult<Option<ShortPathRow>>;
}
