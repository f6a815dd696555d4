//! A hook for tests that decide about every single write, and note what they decided.

use std::sync::Arc;

use async_trait::async_trait;
use sluice_store::*;

#[async_trait]
pub trait Tamper: Send + Sync {
    fn commit(
        &self,
        inner: &Arc<dyn Store>,
        responses: Vec<NewResponse>,
        if_busy: IfBusy,
        then: AfterCommit,
    );

    async fn apply(&self, inner: &Arc<dyn Store>, at: At, change: Change) -> StoreResult<()>;

    async fn erase(&self, inner: &Arc<dyn Store>, erasure: Erasure) -> StoreResult<ErasedPart>;

    fn after_expiry(&self, expired: &StoreResult<Expired>);

    /// Before and after a read of the change feed; what the first returns is passed to the second.
    fn before_feed(&self) -> u64;

    fn after_feed(&self, began: u64);
}
