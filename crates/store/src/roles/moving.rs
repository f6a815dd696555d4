//! Moving, as one role of the store.

use async_trait::async_trait;

use crate::{Record, RecordCursor, StoreResult};

/// Copying everything from one store into another.
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

    /// Writes records as [`Self::export_records`] returned them, including revisions, durably: all
    /// or none.
    ///
    /// An existing record is replaced, so the same records can be imported twice. The change feed
    /// ends at or after the public revision of every imported app. Only for a database that no
    /// server uses: nothing is announced, and no revision is compared.
    async fn import_records(&self, records: Vec<Record>) -> StoreResult<()>;
}
