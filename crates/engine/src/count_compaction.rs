//! Background work on counts: compacts the rows that commits have added, and counts responses that
//! were never counted.
//!
//! Works in small parts with pauses, so that submissions hardly notice, and only if something was
//! stored since the last run; from time to time it also checks for work left by other nodes. Counts
//! are exact without it: it only keeps them fast to read.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use sluice_store::{CompactionCursor, Store, StoreResult};
use tokio::sync::watch;

use crate::background::{keep_running_after, pause_after};

/// The interval between two checks for stored responses.
const INTERVAL: Duration = Duration::from_secs(2);
/// The number of checks without stored responses after which to check for other nodes' work.
const IDLE_POLLS_MAX: u32 = 30;
/// The number of responses that a scan takes in one part, and the pause after any part.
const PART_ROWS: usize = 5_000;
const PART_PAUSE: Duration = Duration::from_millis(20);

pub(crate) struct CountCompaction {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) lost: watch::Sender<bool>,
    /// Whether anything was stored since the last check.
    pub(crate) stored: Arc<AtomicBool>,
}

impl CountCompaction {
    pub(crate) async fn run(self: Arc<Self>) {
        // Work may be left from before the start.
        let mut idle_polls = IDLE_POLLS_MAX;
        loop {
            tokio::time::sleep(INTERVAL).await;
            idle_polls += 1;
            if !self.stored.swap(false, Ordering::Relaxed) && idle_polls < IDLE_POLLS_MAX {
                continue;
            }
            idle_polls = 0;
            if let Err(error) = self.compact().await
                && !keep_running_after(&error, "counts were not compacted", &self.lost)
            {
                return;
            }
        }
    }

    pub(crate) async fn compact(&self) -> StoreResult<()> {
        let mut cursor = CompactionCursor::default();
        loop {
            let started = Instant::now();
            let part = self.store.compact_counts(cursor, PART_ROWS).await?;
            let took = started.elapsed();
            let Some(next) = part.next else {
                tokio::time::sleep(pause_after(took, Duration::ZERO)).await;
                return Ok(());
            };
            cursor = next;
            tokio::time::sleep(pause_after(took, PART_PAUSE)).await;
        }
    }
}
