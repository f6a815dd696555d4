//! What background tasks share: whether to continue after an error, and how long to pause.

use std::time::Duration;

use sluice_store::StoreError;
use tokio::sync::watch;

/// A part of background work that takes this long shows that the store is slow.
const SLOW_PART: Duration = Duration::from_millis(200);
/// Background work on a slow store pauses this many times as long as it works.
const SLOW_PAUSES: u32 = 9;

/// How long to pause after a part that took this long. Usually a moment; if the store is slow, long
/// enough to leave it to submissions, since each part costs it a sync.
pub(crate) fn pause_after(took: Duration, usual: Duration) -> Duration {
    if took < SLOW_PART { usual } else { took * SLOW_PAUSES }
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
    fn background_work_leaves_a_slow_store_to_submissions() {
        let usual = Duration::from_millis(20);
        for (took, expected) in [(0, 20), (199, 20), (200, 1_800), (1_000, 9_000)] {
            let pause = pause_after(Duration::from_millis(took), usual);
            assert_eq!(pause, Duration::from_millis(expected), "{took}");
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
