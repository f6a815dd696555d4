//! The role of a store that is moved, backed up and checked; each method delegates to the module
//! with its SQL.

use std::sync::Arc;

use async_trait::async_trait;

use super::read::export;
use super::{SqliteStore, page_check, view};
use crate::{MovingStore, PageCheck, Record, RecordCursor, RecordPage, StoreResult, StoreView};

#[async_trait]
impl MovingStore for SqliteStore {
    async fn export_records(
        &self,
        after: Option<&RecordCursor>,
        limit: usize,
    ) -> StoreResult<Vec<Record>> {
        let after = after.cloned();
        self.readers.read(move |it| export::page(it, after.as_ref(), limit)).await
    }

    async fn read_records(&self, after: &RecordCursor, limit: usize) -> StoreResult<RecordPage> {
        let after = after.clone();
        self.readers.read(move |it| export::read_table(it, &after, limit)).await
    }

    async fn import_records(&self, records: Vec<Record>) -> StoreResult<()> {
        self.writer.import_records(records).await
    }

    async fn open_view(&self) -> StoreResult<Box<dyn StoreView>> {
        let connection = self.readers.connect().await?;
        Ok(Box::new(view::View::open(connection, Arc::clone(&self.damage)).await?))
    }

    async fn check_pages(&self) -> StoreResult<PageCheck> {
        self.readers.read(page_check::check_pages).await
    }
}
