//! Reads everything that is stored once in a while, in the background, to notice damage.
//!
//! A row that nobody reads may be damaged for months, until no backup has it any more. A pass reads
//! every record in small parts with long pauses, so that it takes at most a tenth of one reader, and
//! compares every response with its digest. What it finds is noted in the store, which accepts no
//! responses from then on ([`sluice_store::Damage`]). Its position is not kept: after a restart a
//! pass begins again.

use std::sync::Arc;
use std::time::{Duration, Instant};

use sluice_store::{Record, Store, StoreError, StoreResult};
use tokio::sync::watch;

use crate::background::keep_running_after;
use crate::metrics::Metrics;

/// The delay from the start of the process to the first pass.
const FIRST_RUN_DELAY: Duration = Duration::from_secs(5 * 60);
/// The number of records to read at a time.
const PART_RECORDS: usize = 500;
/// The pause after a part, as a multiple of the time that it took, and the shortest pause.
const PAUSE_TIMES: u32 = 10;
const PAUSE_MIN: Duration = Duration::from_millis(20);

/// What one pass has read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Scrubbed {
    pub records: u64,
    pub damaged: u64,
}

pub(crate) struct Scrub {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) lost: watch::Sender<bool>,
    /// The time between two passes; without it there are none.
    pub(crate) interval: Option<Duration>,
}

impl Scrub {
    pub(crate) async fn run(self: Arc<Self>) {
        let Some(interval) = self.interval else { return };
        tokio::time::sleep(FIRST_RUN_DELAY).await;
        loop {
            match self.pass().await {
                Ok(Scrubbed { records, damaged }) => {
                    tracing::info!(records, damaged, "everything stored was read and compared");
                }
                Err(error) => {
                    if !keep_running_after(&error, "the stored data was not checked", &self.lost) {
                        return;
                    }
                }
            }
            tokio::time::sleep(interval).await;
        }
    }

    /// Reads everything once.
    pub(crate) async fn pass(&self) -> StoreResult<Scrubbed> {
        let mut done = Scrubbed::default();
        let mut after = None;
        loop {
            let begun = Instant::now();
            let part = match self.store.export_records(after.as_ref(), PART_RECORDS).await {
                Ok(part) => part,
                // What comes after it is not read: the operator has to act, and `verify` reads it.
                Err(error @ StoreError::Corrupt(_)) => {
                    self.damaged(&mut done, &error);
                    return Ok(done);
                }
                Err(error) => return Err(error),
            };
            let Some(last) = part.last() else { return Ok(done) };
            after = Some(last.cursor());
            for record in &part {
                if let Record::Response { row, .. } = record
                    && let Err(error) = row.check_intact()
                {
                    self.damaged(&mut done, &error);
                }
            }
            done.records += part.len() as u64;
            self.metrics.scrubbed_records.inc_by(part.len() as u64);
            tokio::time::sleep(PAUSE_MIN.max(begun.elapsed() * PAUSE_TIMES)).await;
        }
    }

    fn damaged(&self, done: &mut Scrubbed, what: &StoreError) {
        done.damaged += 1;
        self.metrics.damaged_records.inc();
        self.store.damage().note(what);
    }
}
