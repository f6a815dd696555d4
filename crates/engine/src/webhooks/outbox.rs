//! What use cases share with the worker that delivers events.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use sluice_flow::id::AppId;
use tokio::sync::Semaphore;

use super::sender::WebhookSender;
use super::wakes::Wakes;

/// How often a node reads which apps have endpoints.
const APPS_INTERVAL: Duration = Duration::from_secs(5);

/// Test events at a time; they are sent while someone waits, apart from the deliveries.
const TESTS_MAX: usize = 16;

#[derive(Debug)]
pub(super) struct TestEvents(pub(super) Semaphore);

impl Default for TestEvents {
    fn default() -> Self {
        Self(Semaphore::new(TESTS_MAX))
    }
}

/// What use cases share with the worker.
#[derive(Debug, Default)]
pub(crate) struct Deliveries {
    /// Absent if this process sends nothing.
    pub(crate) sender: Option<Arc<dyn WebhookSender>>,
    pub(crate) wakes: Wakes,
    /// Limits the test events at a time.
    pub(super) tests: TestEvents,
    /// The apps with endpoints, and when they were read.
    apps: Mutex<Option<(Instant, Arc<Vec<AppId>>)>>,
}

impl Deliveries {
    pub(crate) fn new(sender: Option<Arc<dyn WebhookSender>>) -> Self {
        Self { sender, ..Self::default() }
    }

    /// Must be called when an app gets its first endpoint, or loses its last.
    pub(crate) fn forget_apps(&self) {
        *self.apps.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// The apps with endpoints, if they were read recently.
    pub(super) fn known_apps(&self) -> Option<Arc<Vec<AppId>>> {
        let known = self.apps.lock().unwrap_or_else(PoisonError::into_inner);
        let known = known.as_ref().filter(|(read, _)| read.elapsed() < APPS_INTERVAL);
        known.map(|(_, apps)| Arc::clone(apps))
    }

    pub(super) fn learn(&self, apps: Vec<AppId>) -> Arc<Vec<AppId>> {
        let apps = Arc::new(apps);
        let read = Some((Instant::now(), Arc::clone(&apps)));
        *self.apps.lock().unwrap_or_else(PoisonError::into_inner) = read;
        apps
    }
}
