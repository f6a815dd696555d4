//! How deliveries to webhook endpoints went, which passes through.

use async_trait::async_trait;
use sluice_flow::id::{AppId, EndpointId};
use sluice_flow::time::Timestamp;
use sluice_store::*;

use super::FaultyStore;

#[async_trait]
impl DeliveryHealthStore for FaultyStore {
    async fn endpoint_health(
        &self,
        app: AppId,
        waiting_max: usize,
    ) -> StoreResult<Vec<EndpointHealth>> {
        self.read().endpoint_health(app, waiting_max).await
    }
    async fn delivery_times(
        &self,
        app: AppId,
        endpoint: EndpointId,
        each_max: usize,
    ) -> StoreResult<Vec<(DeliveryState, Timestamp)>> {
        self.read().delivery_times(app, endpoint, each_max).await
    }
}
