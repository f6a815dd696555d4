//! How deliveries to webhook endpoints went, as a role of the store.

use async_trait::async_trait;
use sluice_flow::id::{AppId, EndpointId};
use sluice_flow::time::Timestamp;

use crate::{DeliveryState, EndpointHealth, StoreResult};

/// Reads for people who look after endpoints. All of them read only an index, up to a limit.
#[async_trait]
pub trait DeliveryHealthStore: Send + Sync + 'static {
    /// One entry for each endpoint of an app, ordered by id. `waiting` is counted up to this limit.
    async fn endpoint_health(
        &self,
        app: AppId,
        waiting_max: usize,
    ) -> StoreResult<Vec<EndpointHealth>>;

    /// When the deliveries of an endpoint were last sent, and what became of them: of each state
    /// the newest ones, up to this number.
    async fn delivery_times(
        &self,
        app: AppId,
        endpoint: EndpointId,
        each_max: usize,
    ) -> StoreResult<Vec<(DeliveryState, Timestamp)>>;
}
