//! The maintenance that the server runs in the background, which can also be started on demand.

use std::sync::Arc;

use sluice_store::{StoreError, StoreResult};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::count_compaction::CountCompaction;
use crate::erasure::Erasures;
use crate::retention::{Expired, Retention};
use crate::skip_index::SkipIndexBuilder;

pub struct Upkeep {
    pub(crate) retention: Arc<Retention>,
    pub(crate) skip_index: Arc<SkipIndexBuilder>,
    pub(crate) count_compaction: Arc<CountCompaction>,
    pub(crate) erasures: Arc<Erasures>,
}

impl std::fmt::Debug for Upkeep {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Upkeep").finish_non_exhaustive()
    }
}

impl Upkeep {
    pub(crate) fn start(&self) -> Vec<JoinHandle<()>> {
        vec![
            tokio::spawn(Arc::clone(&self.retention).run()),
            tokio::spawn(Arc::clone(&self.skip_index).run()),
            tokio::spawn(Arc::clone(&self.count_compaction).run()),
            tokio::spawn(Arc::clone(&self.erasures).run()),
        ]
    }

    /// Deletes now the data that apps have kept for too long; the server does this every hour.
    pub async fn enforce_retention(&self) -> Result<Expired, StoreError> {
        self.retention.enforce().await
    }

    /// Builds the next chunks of the skip index; the server does this every minute. Returns how
    /// many were built.
    pub async fn build_skip_index(&self) -> StoreResult<u64> {
        self.skip_index.build().await
    }

    /// Folds small count rows into daily ones; the server also does this in the background.
    pub async fn compact_counts(&self) -> Result<(), StoreError> {
        self.count_compaction.compact().await
    }

    /// Finishes interrupted erasures now.
    pub async fn finish_erasures(&self) -> Result<(), StoreError> {
        self.erasures.finish().await
    }
}

/// Whether nothing more can be written after this error.
pub(crate) fn is_final(error: &StoreError) -> bool {
    matches!(error, StoreError::Unknown(_) | StoreError::Closed)
}

/// Whether a task should try again after this error. A closed store is not a fault: the process is
/// stopping, and the next start continues the work.
pub(crate) fn keep_running_after(
    error: &StoreError,
    what: &str,
    lost: &watch::Sender<bool>,
) -> bool {
    if !matches!(error, StoreError::Closed) {
        let source = std::error::Error::source(error).map(ToString::to_string);
        tracing::warn!(%error, source, "{what}");
    }
    if is_final(error) {
        lost.send_replace(true);
        return false;
    }
    true
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    struct LogBuffer(Arc<Mutex<Vec<u8>>>);

    impl Write for LogBuffer {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_closed_store_is_not_reported_as_a_fault() {
        let cases = [
            (StoreError::Closed, false, false),
            (StoreError::Unknown("lost".into()), false, true),
            (StoreError::Failed("away".into()), true, true),
        ];
        for (error, expected, is_reported) in cases {
            let log = LogBuffer::default();
            let writer = log.clone();
            let subscriber = tracing_subscriber::fmt().with_writer(move || writer.clone()).finish();
            let lost = watch::Sender::new(false);
            let keeps_running = tracing::subscriber::with_default(subscriber, || {
                keep_running_after(&error, "it was not finished", &lost)
            });
            assert_eq!(keeps_running, expected, "{error}");
            assert_eq!(*lost.borrow(), !expected, "{error}");
            let logged = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
            assert_eq!(logged.contains("it was not finished"), is_reported, "{logged}");
        }
    }
}
