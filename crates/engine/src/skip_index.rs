//! Builds the skip index in the background, so that submissions do not pay for it.
//!
//! Every node does this, flow by flow with pauses. Nodes that index the same responses write the
//! same result; responses that are not indexed yet are scanned. No schedule is stored that could be
//! lost: each run asks the store what is left to do.

use std::sync::Arc;
use std::time::{Duration, Instant};

use sluice_store::{Store, StoreResult};
use tokio::sync::watch;

use crate::background::{keep_running_after, pause_after};
use crate::clock::Clock;

/// The delay from the start of the process to the first run, and between two runs.
const FIRST_RUN_DELAY: Duration = Duration::from_secs(20);
const INTERVAL: Duration = Duration::from_secs(60);
/// The pause after a call that wrote something, so that submissions can proceed; and after a call
/// that did not.
const PAUSE: Duration = Duration::from_millis(20);
const STEP_PAUSE: Duration = Duration::from_millis(1);

pub(crate) struct SkipIndexBuilder {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) lost: watch::Sender<bool>,
}

impl SkipIndexBuilder {
    pub(crate) async fn run(self: Arc<Self>) {
        tokio::time::sleep(FIRST_RUN_DELAY).await;
        loop {
            if let Err(error) = self.build().await
                && !keep_running_after(&error, "the skip index was not built", &self.lost)
            {
                return;
            }
            tokio::time::sleep(INTERVAL).await;
        }
    }

    pub(crate) async fn build(&self) -> StoreResult<u64> {
        let (mut cursor, mut made) = (None, 0);
        loop {
            let started = Instant::now();
            let part = self.store.build_skip_index(cursor, self.clock.now()).await?;
            let took = started.elapsed();
            made += part.made;
            let Some(next) = part.next else { return Ok(made) };
            cursor = next;
            let usual = if part.made > 0 { PAUSE } else { STEP_PAUSE };
            tokio::time::sleep(pause_after(took, usual)).await;
        }
    }
}
