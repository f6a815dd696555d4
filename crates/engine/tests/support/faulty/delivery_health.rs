//! How deliveries to webhook endpoints went, and the status of the store, which pass through.

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

#[async_trait]
impl StatusStore for FaultyStore {
    fn status(&self) -> StoreStatus {
        self.inner.status()
    }
    async fn partitions(&self) -> StoreResult<Option<Partitions>> {
        self.read().partitions().await
    }
    async fn mail_backlog(&self, now: Timestamp) -> StoreResult<MailBacklog> {
        self.read().mail_backlog(now).await
    }
}
