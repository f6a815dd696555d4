//! Retention: what an app has kept for longer than it wants to is deleted by the server itself.
//!
//! Every node does it, in small parts with pauses, so that submissions hardly notice; a part that another
//! node has done already is empty. There is no plan that could be lost: what is too old is asked anew each
//! time, by the clock of the engine.

use std::sync::Arc;
use std::time::Duration;

use sluice_flow::id::AppId;
use sluice_flow::time::Timestamp;
use sluice_store::{App, Page, Store, StoreError, StoreResult};
use tokio::sync::watch;

use crate::clock::Clock;
use crate::engine::Engine;
use crate::metrics::Metrics;

/// The longest that an app can ask for, in days: a hundred years.
pub const RETENTION_DAYS_MAX: u32 = 36_525;
const DAY_MILLIS: i64 = 24 * 60 * 60 * 1000;
/// From the start of the process to the first look, and between two looks.
const FIRST_LOOK: Duration = Duration::from_secs(60);
const INTERVAL: Duration = Duration::from_secs(60 * 60);
/// Rows that are deleted in one transaction, and the pause after it.
const PART_ROWS: usize = 500;
const PART_PAUSE: Duration = Duration::from_millis(20);
/// Apps that are read at a time.
const APPS_PAGE: usize = 100;
/// Parts after which the log is told how far it is.
const TELL_PARTS: u64 = 100;

/// What one look has deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Expired {
    pub responses: u64,
    pub respondents: u64,
}

pub(crate) struct Retention {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) lost: watch::Sender<bool>,
}

impl Engine {
    /// Deletes now what every app has kept for too long; the server does this by itself every hour.
    pub async fn enforce_retention(&self) -> Result<Expired, StoreError> {
        self.retention.look().await
    }
}

impl Retention {
    pub(crate) async fn run(self: Arc<Self>) {
        tokio::time::sleep(FIRST_LOOK).await;
        loop {
            if let Err(error) = self.look().await {
                let source = std::error::Error::source(&error).map(ToString::to_string);
                tracing::warn!(%error, source, "retention was not enforced; it is tried again");
                if matches!(error, StoreError::Unknown(_) | StoreError::Closed) {
                    self.lost.send_replace(true);
                    return;
                }
            }
            tokio::time::sleep(INTERVAL).await;
        }
    }

    async fn look(&self) -> StoreResult<Expired> {
        let mut expired = Expired::default();
        let mut after = None;
        loop {
            let apps = self.store.list_apps(Page { after, limit: APPS_PAGE }).await?;
            let Some(last) = apps.last() else { return Ok(expired) };
            after = Some(last.row.app_id);
            for app in &apps {
                if let Some(before) = self.kept_since(app) {
                    let gone = self.expire(app.row.app_id, before).await?;
                    expired.responses += gone.responses;
                    expired.respondents += gone.respondents;
                }
            }
        }
    }

    /// What was received before this is too old.
    fn kept_since(&self, app: &App) -> Option<Timestamp> {
        let days = i64::from(app.row.retention_days?);
        let millis = self.clock.now().as_millis().saturating_sub(days * DAY_MILLIS);
        Some(Timestamp::from_millis(millis.max(0)))
    }

    async fn expire(&self, app: AppId, before: Timestamp) -> StoreResult<Expired> {
        let mut gone = Expired::default();
        for part in 1_u64.. {
            let removed = self.store.expire(app, before, PART_ROWS).await?;
            gone.responses += removed.responses;
            gone.respondents += removed.respondents;
            self.metrics.expired_responses.inc_by(removed.responses);
            self.metrics.expired_respondents.inc_by(removed.respondents);
            let Expired { responses, respondents } = gone;
            if removed.done {
                if gone != Expired::default() {
                    tracing::info!(%app, responses, respondents, "kept long enough, and deleted");
                }
                break;
            }
            if part.is_multiple_of(TELL_PARTS) {
                tracing::info!(%app, responses, respondents, "deleting what was kept long enough");
            }
            tokio::time::sleep(PART_PAUSE).await;
        }
        Ok(gone)
    }
}
