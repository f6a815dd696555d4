//! Requests with an idempotency key, passed through.

use async_trait::async_trait;
use sluice_flow::time::Timestamp;
use sluice_store::{AdminRequestRow, AdminRequestStore, AdminRequestUse, StoreResult};
use uuid::Uuid;

use super::FaultyStore;

#[async_trait]
impl AdminRequestStore for FaultyStore {
    async fn find_admin_request(&self, request: Uuid) -> StoreResult<Option<AdminRequestRow>> {
        self.read().find_admin_request(request).await
    }
    async fn admin_request_use(
        &self,
        holder: &str,
        now: Timestamp,
    ) -> StoreResult<AdminRequestUse> {
        self.read().admin_request_use(holder, now).await
    }
    async fn expire_admin_requests(&self, now: Timestamp, limit: usize) -> StoreResult<usize> {
        self.inner.expire_admin_requests(now, limit).await
    }
}
