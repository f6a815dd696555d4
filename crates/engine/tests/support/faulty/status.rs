//! The status of the store, which passes through.

use async_trait::async_trait;
use sluice_flow::time::Timestamp;
use sluice_store::*;

use super::FaultyStore;

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
