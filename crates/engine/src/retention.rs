//! Retention: deletes responses that are older than the retention period of their app.
//!
//! Every node does this, in small parts with pauses, so that submissions hardly notice; a node
//! skips an app that another node is working on. No schedule is stored that could be lost: each run
//! determines what is too old, by the engine's clock. Only apps that have something too old cost
//! more than their share of one lookup.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use sluice_flow::id::{AppId, AuditId};
use sluice_flow::time::{DAY_SECONDS, Timestamp};
use sluice_store::{
    At, AuditRow, Expiry, ExpiryCursor, Next, Page, PeopleWrite, RetainingApp, Store, StoreResult,
    TestWrite, Write,
};
use tokio::sync::watch;

use crate::audit_action::AuditAction;
use crate::background::{is_final, keep_running_after};
use crate::clock::{Clock, OFFSET_MAX};
use crate::ids::Ids;
use crate::metrics::Metrics;
use crate::test_mode::TEST_DAYS;

/// The maximum retention that an app can set, in days: a hundred years.
pub const RETENTION_DAYS_MAX: u32 = 36_525;
/// The delay from the start of the process to the first run, and between two runs.
const FIRST_RUN_DELAY: Duration = Duration::from_secs(60);
const INTERVAL: Duration = Duration::from_secs(60 * 60);
/// The actor in the audit log.
const ACTOR: &str = "retention";
/// The number of rows to scan in one transaction, and the pause after it.
const PART_ROWS: usize = 500;
const PART_PAUSE: Duration = Duration::from_millis(20);
/// The maximum number of sessions that one run removes.
const SESSIONS_SWEPT: usize = 1_000;
/// The number of apps to read at a time.
const APPS_PAGE: usize = 100;
/// The number of parts after which progress is logged.
const PROGRESS_PARTS: u64 = 100;

/// The result of one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Expired {
    pub responses: u64,
    pub respondents: u64,
    /// Invitations from which the identities were removed.
    pub invitations: u64,
    /// Apps that could not be finished; the next run starts them again.
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
        tokio::time::sleep(FIRST_RUN_DELAY).await;
        loop {
            if let Err(error) = self.enforce().await
                && !keep_running_after(&error, "retention was not enforced", &self.lost)
            {
                return;
            }
            tokio::time::sleep(INTERVAL).await;
        }
    }

    /// A failure in one app does not stop the others.
    pub(crate) async fn enforce(&self) -> StoreResult<Expired> {
        self.sweep_sessions().await?;
        self.expire_admin_requests().await?;
        if let Some(offset_ms) = self.clock.offset_millis()
            && offset_ms.unsigned_abs() > OFFSET_MAX.as_millis() as u64
        {
            tracing::error!(
                offset_ms,
                "retention does nothing: the clocks of this machine and of the database differ too much"
            );
            return Ok(Expired::default());
        }
        let mut all = Expired::default();
        self.expire_tests(None, TEST_DAYS, &mut all).await?;
        self.drop_months(&mut all).await?;
        let mut after = None;
        loop {
            let page = Page { after, limit: APPS_PAGE };
            let apps = self.store.list_retaining_apps(self.clock.now(), page).await?;
            let Some(last) = apps.last() else { return Ok(all) };
            after = Some(last.app_id);
            for app in apps.iter().filter(|app| app.retention_days < TEST_DAYS) {
                self.expire_tests(Some(app.app_id), app.retention_days, &mut all).await?;
            }
            for app in apps.iter().filter(|app| app.is_due) {
                let id = app.app_id;
                match self.expire(app, &mut all).await {
                    Ok(()) => {}
                    Err(error) if is_final(&error) => return Err(error),
                    Err(error) => {
                        let source = std::error::Error::source(&error).map(ToString::to_string);
                        tracing::warn!(app = %id, %error, source, "retention failed for an app; the next run retries it");
                        all.failed += 1;
                    }
                }
            }
        }
    }

    /// Deletes the test responses that are older than this, in one app or in all, in small parts. A
    /// failure does not stop the rest.
    async fn expire_tests(
        &self,
        app_id: Option<AppId>,
        days: u32,
        all: &mut Expired,
    ) -> StoreResult<()> {
        let before = self.clock.now().plus_seconds(-i64::from(days) * DAY_SECONDS);
        match self.delete_tests(app_id, before).await {
            Err(error) if !is_final(&error) => {
                let source = std::error::Error::source(&error).map(ToString::to_string);
                tracing::warn!(%error, source, "old test responses are not deleted; the next run retries it");
                all.failed += 1;
                Ok(())
            }
            done => done,
        }
    }

    async fn delete_tests(&self, app: Option<AppId>, before: Timestamp) -> StoreResult<()> {
        loop {
            let old = self.store.list_old_tests(app, before, PART_ROWS).await?;
            let is_last = old.len() < PART_ROWS;
            let mut by_app: BTreeMap<AppId, Vec<_>> = BTreeMap::new();
            for (app, flow, form) in old {
                by_app.entry(app).or_default().push((flow, form));
            }
            for (app_id, forms) in by_app {
                let expiry = Write::Test(TestWrite::Expire { app_id, before, forms });
                self.store.apply(At::Instance, vec![expiry].into()).await?;
            }
            if is_last {
                return Ok(());
            }
            tokio::time::sleep(PART_PAUSE).await;
        }
    }

    /// Drops whole months first, if no app keeps them: what is left then expires row by row.
    async fn drop_months(&self, all: &mut Expired) -> StoreResult<()> {
        let now = self.clock.now();
        let months = match self.store.list_expired_months(now).await {
            Ok(months) => months,
            Err(error) if is_final(&error) => return Err(error),
            Err(error) => {
                let source = std::error::Error::source(&error).map(ToString::to_string);
                tracing::warn!(%error, source, "expired months cannot be found; responses are deleted row by row");
                return Ok(());
            }
        };
        for month in months {
            let audit = month.apps.iter().map(|app| self.audit(*app, month.to, None)).collect();
            let (from, before) = (month.from, month.to);
            match self.store.drop_month(month, now, audit).await {
                Ok(Some(responses)) => {
                    tracing::info!(%from, %before, responses, "expired month dropped");
                    self.metrics.expired_responses.inc_by(responses);
                    all.responses += responses;
                }
                // What uses one month uses the others too, and each attempt delays submissions.
                Ok(None) => {
                    tracing::info!(%from, %before, "an expired month is in use; the next run retries it");
                    return Ok(());
                }
                Err(error) if is_final(&error) => return Err(error),
                Err(error) => {
                    let source = std::error::Error::source(&error).map(ToString::to_string);
                    tracing::warn!(%from, %before, %error, source, "an expired month was not dropped; the next run retries it");
                }
            }
        }
        Ok(())
    }

    /// Removes expired sessions, in case no one signs in, which also removes some.
    async fn sweep_sessions(&self) -> StoreResult<()> {
        let before = self.clock.now();
        let sweep = PeopleWrite::Sweep { before, limit: SESSIONS_SWEPT };
        self.store.apply(At::Instance, vec![Write::People(sweep)].into()).await
    }

    /// Removes the idempotency keys of administrators' requests that are too old.
    async fn expire_admin_requests(&self) -> StoreResult<()> {
        while self.store.expire_admin_requests(self.clock.now(), PART_ROWS).await? == PART_ROWS {
            tokio::time::sleep(PART_PAUSE).await;
        }
        Ok(())
    }

    /// Expires an app completely, part by part, and adds up what was deleted.
    async fn expire(&self, retaining: &RetainingApp, all: &mut Expired) -> StoreResult<()> {
        let (app, before) = (retaining.app_id, retaining.kept_since(self.clock.now()));
        let retention_days = Some(retaining.retention_days);
        let (mut gone, mut rows) = (Expired::default(), 0);
        let audit = self.audit(app, before, None);
        let mut cursor = ExpiryCursor::default();
        let mut failed = None;
        for part in 1_u64.. {
            let audit = audit.clone();
            let limit = PART_ROWS;
            let expiry = Expiry { app_id: app, retention_days, before, cursor, audit, limit };
            let part_gone = match self.store.expire(expiry).await {
                Ok(gone) => gone,
                Err(error) if is_final(&error) => return Err(error),
                // A failure here does not stop the parts that follow, except that consents must
                // not go before their responses.
                Err(error) => {
                    failed = Some(error);
                    let following = match cursor {
                        ExpiryCursor::Responses(_) => Some(ExpiryCursor::Keys(None)),
                        _ => cursor.following(),
                    };
                    match following {
                        Some(next) => cursor = next,
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
                Next::At(next) => cursor = next,
                // What this node did is recorded; another node does the rest.
                Next::Done | Next::LeftToAnother | Next::SettingChanged => break,
            }
            if part.is_multiple_of(PROGRESS_PARTS) {
                let Expired { responses, respondents, invitations, .. } = gone;
                tracing::info!(%app, responses, respondents, invitations, "deleting expired data");
            }
            tokio::time::sleep(PART_PAUSE).await;
        }
        if rows == 0 {
            return failed.map_or(Ok(()), Err);
        }
        let Expired { responses, respondents, invitations, .. } = gone;
        tracing::info!(%app, responses, respondents, invitations, "expired data deleted");
        let entry = AuditRow { detail: self.audit(app, before, Some(gone)).detail, ..audit };
        self.store.apply(At::Instance, vec![Write::Audit(entry)].into()).await?;
        failed.map_or(Ok(()), Err)
    }

    /// The audit entry of one run for an app: written with the first deleted rows, and again with
    /// the counts at the end.
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
