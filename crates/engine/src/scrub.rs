//! Reads all stored data from time to time, in the background, to detect damage.
//!
//! A row that nobody reads may be damaged for months, until no backup has it any more. A pass reads
//! every record in small parts with long pauses, so that it takes at most a tenth of one reader,
//! and compares every response with its digest. Damage is recorded in the store, which accepts no
//! responses from then on ([`sluice_store::Damage`]). The position is not saved: after a restart a
//! pass begins again.
//!
//! A row that cannot be decoded is only logged and counted: during an upgrade, a newer node may
//! have written it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use sluice_store::{RecordCursor, Store, StoreError, StoreResult, Table, UnreadableRow};
use tokio::sync::watch;

use crate::background::keep_running_after;
use crate::metrics::Metrics;
use crate::whole_table::log_unreadable;

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
    /// Rows that this build cannot decode.
    pub unreadable: u64,
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
                Ok(Scrubbed { records, damaged, unreadable }) => {
                    tracing::info!(
                        records,
                        damaged,
                        unreadable,
                        "everything stored was read and compared"
                    );
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
        for table in Table::ALL {
            let mut last = RecordCursor::start_of(table);
            let mut listed = Vec::new();
            loop {
                let begun = Instant::now();
                let part = match self.store.read_records(&last, PART_RECORDS).await {
                    Ok(part) => part,
                    // What comes after it is not read: the operator has to act, and `verify` reads
                    // it.
                    Err(error @ StoreError::Damaged(_)) => {
                        self.damaged(&mut done, &error);
                        return Ok(done);
                    }
                    Err(error) => return Err(error),
                };
                self.note_unreadable(&mut done, &listed, &part.unreadable);
                listed = part.unreadable;
                let Some(end) = part.records.last() else { break };
                last = end.cursor();
                for record in &part.records {
                    if let Err(error) = record.check_intact() {
                        self.damaged(&mut done, &error);
                    }
                }
                done.records += part.records.len() as u64;
                self.metrics.scrub.records.inc_by(part.records.len() as u64);
                tokio::time::sleep(PAUSE_MIN.max(begun.elapsed() * PAUSE_TIMES)).await;
            }
        }
        Ok(done)
    }

    fn damaged(&self, done: &mut Scrubbed, what: &StoreError) {
        done.damaged += 1;
        self.metrics.scrub.damaged.inc();
        self.store.damage().note(what);
    }

    /// A row at the end of a part may be listed again with the next one.
    fn note_unreadable(
        &self,
        done: &mut Scrubbed,
        before: &[UnreadableRow],
        now: &[UnreadableRow],
    ) {
        for row in now.iter().filter(|row| !before.contains(row)) {
            done.unreadable += 1;
            self.metrics.scrub.unreadable.inc();
            log_unreadable(row);
        }
    }
}
