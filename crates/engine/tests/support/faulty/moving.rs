//! Moving a database, passed through.

use async_trait::async_trait;
use sluice_store::*;

use super::FaultyStore;

#[async_trait]
impl MovingStore for FaultyStore {
    async fn export_records(
        &self,
        after: Option<&RecordCursor>,
        limit: usize,
    ) -> StoreResult<Vec<Record>> {
        self.inner.export_records(after, limit).await
    }
    async fn read_records(&self, after: &RecordCursor, limit: usize) -> StoreResult<RecordPage> {
        self.inner.read_records(after, limit).await
    }
    async fn import_records(&self, records: Vec<Record>) -> StoreResult<()> {
        self.inner.import_records(records).await
    }
    async fn open_view(&self) -> StoreResult<Box<dyn StoreView>> {
        self.inner.open_view().await
    }
    async fn check_pages(&self) -> StoreResult<PageCheck> {
        self.inner.check_pages().await
    }
}
