//! What one process knows about the hold of e-mails and webhooks ([`crate::outbound`]).

use std::sync::atomic::{AtomicBool, Ordering};

use sluice_flow::id::AppId;
use sluice_flow::time::Timestamp;
use sluice_store::{Store, StoreResult};

use crate::admin::AdminError;

/// The sink that this server publishes events to.
#[derive(Debug)]
pub(crate) struct Publishes {
    pub(crate) sink: String,
    /// Empty means all.
    pub(crate) apps: Vec<AppId>,
}

impl Publishes {
    pub(crate) fn includes(&self, app: AppId) -> bool {
        self.apps.is_empty() || self.apps.contains(&app)
    }
}

#[derive(Debug, Default)]
pub(crate) struct Outbound {
    /// The operator started this server so that it sends nothing.
    pub(crate) is_held_here: bool,
    pub(crate) publishes: Option<Publishes>,
    /// The store had no hold when it was read. A hold is set only while no server runs.
    is_released: AtomicBool,
}

impl Outbound {
    pub(crate) fn new(is_held_here: bool, publishes: Option<Publishes>) -> Self {
        Self { is_held_here, publishes, is_released: AtomicBool::new(false) }
    }

    /// Whether nothing may be sent now.
    pub(crate) async fn is_held(&self, store: &dyn Store) -> StoreResult<bool> {
        Ok(self.is_held_here || self.held_at(store).await?.is_some())
    }

    /// Since when the store is held; absent if it is not.
    pub(crate) async fn held_at(&self, store: &dyn Store) -> StoreResult<Option<Timestamp>> {
        if self.is_released.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let held_at = store.outbound_held_at().await?;
        self.is_released.store(held_at.is_none(), Ordering::Relaxed);
        Ok(held_at)
    }
}

/// The error if something is to be sent at once.
pub(crate) fn held() -> AdminError {
    let detail =
        "e-mails and webhooks are held, because this is a copy; see sluice outbound status";
    AdminError::conflict("outbound_held", detail)
}
