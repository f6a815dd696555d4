//! The work that counts need in the background: what commits have added is put together, and what
//! was never counted is walked over.
//!
//! It is done in small parts with pauses, so that submissions hardly notice, and only where
//! something was stored since the last time; from time to time it is looked for what others left
//! behind. Counts are exact whether or not it is done: it only keeps reading them quick.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sluice_store::{Store, StoreResult};
use tokio::sync::watch;

use crate::upkeep::goes_on_after;

/// Between two looks whether anything was stored.
const INTERVAL: Duration = Duration::from_secs(2);
/// Looks without anything stored here, after which it is looked for the work of others.
const IDLE_LOOKS: u32 = 30;
/// Responses that a walk takes in one transaction, and the pause after any part.
const PART_ROWS: usize = 500;
const PART_PAUSE: Duration = Duration::from_millis(20);

pub(crate) struct Counting {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) lost: watch::Sender<bool>,
    /// Whether anything was stored since the last look.
    pub(crate) stored: Arc<AtomicBool>,
}

impl Counting {
    pub(crate) async fn run(self: Arc<Self>) {
        // A walk may be waiting since before the start.
        let mut idle_looks = IDLE_LOOKS;
        loop {
            tokio::time::sleep(INTERVAL).await;
            idle_looks += 1;
            if !self.stored.swap(false, Ordering::Relaxed) && idle_looks < IDLE_LOOKS {
                continue;
            }
            idle_looks = 0;
            if let Err(error) = self.compact().await
                && !goes_on_after(&error, "counts were not compacted", &self.lost)
            {
                return;
            }
        }
    }

    pub(crate) async fn compact(&self) -> StoreResult<()> {
        while !self.store.compact_counts(PART_ROWS).await?.is_done {
            tokio::time::sleep(PART_PAUSE).await;
        }
        Ok(())
    }
}
