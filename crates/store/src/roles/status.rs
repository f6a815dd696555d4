//! Status, as one role of the store.

use async_trait::async_trait;
use sluice_flow::time::Timestamp;

use crate::{MailBacklog, Partitions, StoreResult, StoreStatus};

/// What operators see of the store in the metrics.
#[async_trait]
pub trait StatusStore: Send + Sync + 'static {
    /// Returns at once: it reads only what this process knows.
    fn status(&self) -> StoreStatus;

    /// The partitions of responses; absent if the backend does not store responses by month.
    async fn partitions(&self) -> StoreResult<Option<Partitions>>;

    /// The e-mails that wait at `now`. E-mails that are planned for later are not among them.
    async fn mail_backlog(&self, now: Timestamp) -> StoreResult<MailBacklog>;
}
