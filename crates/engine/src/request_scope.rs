//! What holds for all writes of one administrator's request: the claim of its idempotency key.
//!
//! The transport runs a handler within a scope, and [`crate::core::Core::apply`], which every use
//! case writes through, reads it. So a use case neither knows about keys nor can forget them. Work
//! that outlives the request (background tasks) is outside of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sluice_flow::time::Timestamp;
use sluice_store::{AdminRequestWrite, Change, Write};
use uuid::Uuid;

tokio::task_local! {
    static CURRENT: Arc<RequestScope>;
}

/// The scope of one request.
#[derive(Debug, Default)]
pub struct RequestScope {
    /// The ids of the request and of its claim.
    claim: Option<(Uuid, Uuid)>,
    /// Whether the change that is being written has rows.
    has_rows: Arc<AtomicBool>,
    /// Whether rows of the request were written.
    applied: AtomicBool,
}

impl RequestScope {
    pub(crate) fn claimed(request_id: Uuid, claim: Uuid) -> Self {
        Self { claim: Some((request_id, claim)), ..Self::default() }
    }

    /// Runs the handler of a request.
    pub async fn run<T>(self: Arc<Self>, handler: impl Future<Output = T>) -> T {
        CURRENT.scope(self, handler).await
    }

    pub(crate) fn current() -> Option<Arc<Self>> {
        CURRENT.try_with(Arc::clone).ok()
    }

    /// The change together with the mark that it belongs to this request. A change without rows
    /// stays without.
    pub(crate) fn marked(&self, change: Change, now: Timestamp) -> Change {
        let (mark, has_rows) = (self.mark(now), Arc::clone(&self.has_rows));
        Change::new(move || {
            let mut rows = change.rows();
            has_rows.store(!rows.is_empty(), Ordering::Relaxed);
            if !rows.is_empty() {
                rows.extend(mark);
            }
            rows
        })
    }

    pub(crate) fn mark(&self, now: Timestamp) -> Option<Write> {
        let (request_id, claim) = self.claim?;
        Some(Write::AdminRequest(AdminRequestWrite::Apply { request_id, claim, at: now }))
    }

    /// Notes that the change was written.
    pub(crate) fn note_written(&self) {
        self.applied.fetch_or(self.has_rows.swap(false, Ordering::Relaxed), Ordering::Relaxed);
    }

    /// Notes that something is sent that no change contains.
    pub(crate) fn note_effect(&self) {
        self.applied.store(true, Ordering::Relaxed);
    }

    pub(crate) fn was_applied(&self) -> bool {
        self.applied.load(Ordering::Relaxed)
    }
}
