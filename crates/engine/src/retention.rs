//! Retention: what an app has kept for longer than it wants to is deleted by the server itself.
//!
//! Every node looks, in small parts with pauses, so that submissions hardly notice; an app that
//! another node is at is left to it. There is no plan that could be lost: what is too old is asked
//! anew each time, by the clock of the engine.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use sluice_flow::id::{AppId, AuditId};
use sluice_flow::time::Timestamp;
use sluice_store::{
    App, At, AuditRow, Change, Expiry, ExpiryPlace, Next, Page, PeopleWrite, Store, StoreResult,
    Write,
};
use tokio::sync::watch;

use crate::audit_action::AuditAction;
use crate::clock::Clock;
use crate::ids::Ids;
use crate::metrics::Metrics;
use crate::upkeep::{goes_on_after, is_the_end};

/// The longest that an app can ask for, in days: a hundred years.
pub const RETENTION_DAYS_MAX: u32 = 36_525;
const DAY_MILLIS: i64 = 24 * 60 * 60 * 1000;
/// From the start of the process to the first look, and between two looks.
const FIRST_LOOK: Duration = Duration::from_secs(60);
const INTERVAL: Duration = Duration::from_secs(60 * 60);
/// Who it is in the audit log.
const ACTOR: &str = "retention";
/// Rows that are looked at in one transaction, and the pause after it.
const PART_ROWS: usize = 500;
const PART_PAUSE: Duration = Duration::from_millis(20);
/// Sessions that one look removes at the most.
const SESSIONS_SWEPT: usize = 1_000;
/// Apps that are read at a time.
const APPS_PAGE: usize = 100;
/// Parts after which the log is told how far it is.
const TELL_PARTS: u64 = 100;

/// What one look has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Expired {
    pub responses: u64,
    pub respondents: u64,
    /// Invitations that name nobody any more.
    pub invitations: u64,
    /// Apps with which it could not be finished; the next look begins them again.
    pub failed: u64,
}

pub(crate) struct Retention {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ids: Ids,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) lost: watch::Sender<bool>,
}

impl Retention {
    pub(crate) async fn run(self: Arc<Self>) {
        tokio::time::sleep(FIRST_LOOK).await;
        loop {
            if let Err(error) = self.look().await
                && !goes_on_after(&error, "retention was not enforced", &self.lost)
            {
                return;
            }
            tokio::time::sleep(INTERVAL).await;
        }
    }

    /// An app with which it fails does not keep the others from their turn.
    pub(crate) async fn look(&self) -> StoreResult<Expired> {
        self.sweep_sessions().await?;
        let mut all = Expired::default();
        let mut after = None;
        loop {
            let apps = self.store.list_apps(Page { after, limit: APPS_PAGE }).await?;
            let Some(last) = apps.last() else { return Ok(all) };
            after = Some(last.row.app_id);
            for app in &apps {
                let Some(before) = self.kept_since(app) else { continue };
                let id = app.row.app_id;
                match self.expire(id, before, &mut all).await {
                    Ok(()) => {}
                    Err(error) if is_the_end(&error) => return Err(error),
                    Err(error) => {
                        let source = std::error::Error::source(&error).map(ToString::to_string);
                        tracing::warn!(app = %id, %error, source, "retention: the app is tried again");
                        all.failed += 1;
                    }
                }
            }
        }
    }

    /// Sessions that are over go here too, where nobody signs in to do it.
    async fn sweep_sessions(&self) -> StoreResult<()> {
        let before = self.clock.now();
        let sweep = PeopleWrite::Sweep { before, limit: SESSIONS_SWEPT };
        self.store.apply(At::Instance, Change::new(move || vec![Write::People(sweep)])).await
    }

    /// What was received before this is too old.
    fn kept_since(&self, app: &App) -> Option<Timestamp> {
        let days = i64::from(app.row.retention_days?);
        let millis = self.clock.now().as_millis().saturating_sub(days * DAY_MILLIS);
        Some(Timestamp::from_millis(millis.max(0)))
    }

    /// Takes an app to its end, part by part, and adds up what went.
    async fn expire(&self, app: AppId, before: Timestamp, all: &mut Expired) -> StoreResult<()> {
        let (mut gone, mut rows) = (Expired::default(), 0);
        let audit = self.audit(app, before, None);
        let mut place = ExpiryPlace::default();
        let mut failed = None;
        for part in 1_u64.. {
            let audit = audit.clone();
            let expiry = Expiry { app_id: app, before, place, audit, limit: PART_ROWS };
            let part_gone = match self.store.expire(expiry).await {
                Ok(gone) => gone,
                Err(error) if is_the_end(&error) => return Err(error),
                // What comes after it is not kept for its sake.
                Err(error) => {
                    failed = Some(error);
                    match place.following() {
                        Some(next) => place = next,
                        None => break,
                    }
                    continue;
                }
            };
            for it in [&mut *all, &mut gone] {
                it.responses += part_gone.responses;
                it.respondents += part_gone.respondents;
                it.invitations += part_gone.invitations;
            }
            rows += part_gone.rows;
            self.metrics.expired_responses.inc_by(part_gone.responses);
            self.metrics.expired_respondents.inc_by(part_gone.respondents);
            match part_gone.next {
                Next::At(next) => place = next,
                // What this node did is on record; the rest is the other's.
                Next::Done | Next::LeftToAnother => break,
            }
            if part.is_multiple_of(TELL_PARTS) {
                let Expired { responses, respondents, invitations, .. } = gone;
                tracing::info!(%app, responses, respondents, invitations, "deleting what was kept long enough");
            }
            tokio::time::sleep(PART_PAUSE).await;
        }
        if rows == 0 {
            return failed.map_or(Ok(()), Err);
        }
        let Expired { responses, respondents, invitations, .. } = gone;
        tracing::info!(%app, responses, respondents, invitations, "kept long enough, and deleted");
        let entry = AuditRow { detail: self.audit(app, before, Some(gone)).detail, ..audit };
        self.store.apply(At::Instance, Change::new(move || vec![Write::Audit(entry)])).await?;
        failed.map_or(Ok(()), Err)
    }

    /// The entry of one look at an app: written with the first rows that go, and with the counts at
    /// the end.
    fn audit(&self, app: AppId, before: Timestamp, gone: Option<Expired>) -> AuditRow {
        let detail = match gone {
            None => json!({"before": before}),
            Some(Expired { responses, respondents, invitations, .. }) => json!({
                "before": before, "responses": responses, "respondents": respondents,
                "invitations": invitations,
            }),
        };
        AuditRow {
            audit_id: AuditId::from_uuid(self.ids.next(self.clock.now())),
            app_id: Some(app),
            actor: ACTOR.to_owned(),
            action: AuditAction::RetentionEnforced.as_str().to_owned(),
            subject: app.to_string(),
            detail: detail.to_string(),
        }
    }
}
