//! What one process knows about the hold of e-mails and webhooks ([`crate::outbound`]).

use std::sync::atomic::{AtomicBool, Ordering};

use sluice_store::{Store, StoreResult};

use crate::admin::AdminError;

#[derive(Debug, Default)]
pub(crate) struct Outbound {
    /// The operator started this server so that it sends nothing.
    pub(crate) is_held_here: bool,
    /// The store was seen without a hold. One is set only while no server runs.
    is_released: AtomicBool,
}

impl Outbound {
    pub(crate) fn new(is_held_here: bool) -> Self {
        Self { is_held_here, is_released: AtomicBool::new(false) }
    }

    /// Whether nothing may be sent now.
    pub(crate) async fn is_held(&self, store: &dyn Store) -> StoreResult<bool> {
        if self.is_held_here {
            return Ok(true);
        }
        if self.is_released.load(Ordering::Relaxed) {
            return Ok(false);
        }
        let is_held = store.outbound_held_at().await?.is_some();
        self.is_released.store(!is_held, Ordering::Relaxed);
        Ok(is_held)
    }
}

/// The error if something is to be sent at once.
pub(crate) fn held() -> AdminError {
    let detail =
        "e-mails and webhooks are held, because this is a copy; see sluice outbound status";
    AdminError::conflict("outbound_held", detail)
}
