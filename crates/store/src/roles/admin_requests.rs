//! Administrators' requests with an idempotency key, as one role of the store.
//! [`crate::AdminStore::apply`] writes them.

use async_trait::async_trait;
use sluice_flow::time::Timestamp;
use uuid::Uuid;

use crate::{AdminRequestRow, AdminRequestUse, StoreResult};

/// Requests with an idempotency key. Of several attempts to claim one, by any number of processes,
/// one succeeds; the others get a conflict. No change to them moves a revision or the feed.
#[async_trait]
pub trait AdminRequestStore: Send + Sync + 'static {
    /// The request with this id, expired or not.
    async fn find_admin_request(&self, request: Uuid) -> StoreResult<Option<AdminRequestRow>>;

    /// How much the requests of a token use that have not expired at `now`.
    async fn admin_request_use(&self, holder: &str, now: Timestamp)
    -> StoreResult<AdminRequestUse>;

    /// Removes up to `limit` requests that have expired at `now`, durably, and returns their
    /// number.
    async fn expire_admin_requests(&self, now: Timestamp, limit: usize) -> StoreResult<usize>;
}
