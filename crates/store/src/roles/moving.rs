//! Moving, as one role of the store.

use async_trait::async_trait;

use crate::{Record, RecordCursor, StoreResult};

/// Copying everything from one store into another.
#[async_trait]
pub trait MovingStore: Send + Sync + 'static {
    /// Everything that is stored, in the order of [`RecordCursor`], which all backends share; but for sessions and
    /// links, which are of the place where somebody signed in.
    ///
    /// Gives up to `limit` records beyond `after`, which need not be the place of a record; fewer where
    /// they are long (a page is held in memory, so all its texts together are bounded), and none only at
    /// the end. Rows that are written meanwhile may or may not be
    /// among them.
    async fn export_records(
        &self,
        after: Option<&RecordCursor>,
        limit: usize,
    ) -> StoreResult<Vec<Record>>;

    /// Puts records in as [`Self::export_records`] gave them, revisions included, all or none, and durably.
    ///
    /// A record that is there already is put in its place, so that the same records may come twice. The
    /// change feed ends at or beyond the public revision of every app that was put in. For a database
    /// that nobody else uses: it is not announced, and no revision is compared.
    async fn import_records(&self, records: Vec<Record>) -> StoreResult<()>;
}
