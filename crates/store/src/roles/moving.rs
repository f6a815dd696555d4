//! Moving, as one role of the store.

use async_trait::async_trait;
use sluice_flow::id::{AppId, FlowId};

use crate::{FlowCounts, PageCheck, Record, RecordCursor, RecordPage, StoreResult};

/// Reading and writing everything: to copy a store, to back it up, and to check it.
#[async_trait]
pub trait MovingStore: Send + Sync + 'static {
    /// Everything that is stored, in the order of [`RecordCursor`], which is the same for all
    /// backends. Sessions and links are left out: they are valid only where the user signed in.
    ///
    /// Returns up to `limit` records after `after`, which need not be the cursor of an existing
    /// record. Returns fewer if they are long, because a page is held in memory, and none only at
    /// the end. Rows written meanwhile may or may not be included.
    async fn export_records(
        &self,
        after: Option<&RecordCursor>,
        limit: usize,
    ) -> StoreResult<Vec<Record>>;

    /// A page of one table, as [`StoreView::records`] returns it, at a separate instant.
    async fn read_records(&self, after: &RecordCursor, limit: usize) -> StoreResult<RecordPage>;

    /// Writes records as [`Self::export_records`] returned them, including revisions, durably: all
    /// or none.
    ///
    /// An existing record is replaced, so the same records can be imported twice. The change feed
    /// ends at or after the public revision of every imported app. Only for a database that no
    /// server uses: nothing is announced, and no revision is compared.
    async fn import_records(&self, records: Vec<Record>) -> StoreResult<()>;

    /// Opens a view of everything that is stored now.
    ///
    /// What was acknowledged before this returned is in it, and what is written later is not,
    /// however long the view stays open. On a database that is distributed over several servers,
    /// each server has a separate instant.
    async fn open_view(&self) -> StoreResult<Box<dyn StoreView>>;

    /// Checks the pages and indexes of the database, and that rows of different tables belong
    /// together: responses with their idempotency keys and consents. Servers may run meanwhile.
    /// Changes nothing.
    async fn check_pages(&self) -> StoreResult<PageCheck>;
}

/// Everything that a store held at one instant. Dropping it closes it.
#[async_trait]
pub trait StoreView: Send {
    /// Up to `limit` records after `after`, of the same table, at the instant of the view: as
    /// [`MovingStore::export_records`], but none at the end of the table. A row that cannot be
    /// decoded is listed by its ids, and the rows after it are read.
    async fn records(&mut self, after: &RecordCursor, limit: usize) -> StoreResult<RecordPage>;

    /// The counts of a flow, for all days. Unreadable counts are an error, and are not rebuilt.
    async fn counts(&mut self, app: AppId, flow: FlowId) -> StoreResult<FlowCounts>;
}
