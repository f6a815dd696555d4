//! A real store with injected failures, unknown outcomes and delays. The rest passes through.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use sluice_flow::id::{
    ApiKey, AppId, AssignmentId, AuditId, FlowId, FlowVersionId, RespondentId, ResponseId,
};
use sluice_flow::invitation::Invitee;
use sluice_flow::respondent::ProfileIdentity;
use sluice_flow::time::Timestamp;
use sluice_store::*;

#[path = "faulty/admin_requests.rs"]
mod admin_requests;
#[path = "faulty/assets.rs"]
mod assets;
#[path = "faulty/closing.rs"]
mod closing;
#[path = "faulty_counts.rs"]
mod counts;
#[path = "faulty/events.rs"]
mod events;
#[path = "faulty/mails.rs"]
mod mails;
#[path = "faulty/moving.rs"]
mod moving;
#[path = "faulty/reports.rs"]
mod reports;
#[path = "faulty/short_paths.rs"]
mod short_paths;
#[path = "faulty/status.rs"]
mod status;
#[path = "faulty/tamper.rs"]
mod tamper;
#[path = "faulty/test_responses.rs"]
mod test_responses;
#[path = "faulty/users.rs"]
mod users;

pub use tamper::Tamper;

/// How often a held commit checks the mood.
const A_MOMENT: Duration = Duration::from_millis(1);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mood {
    Well,
    /// Commits take this long.
    Slow(Duration),
    /// Commits take this long and store nothing: for tests in which time is simulated.
    Simulated(Duration),
    /// Commits wait until the mood changes.
    Held,
    /// Commits and counts of visits fail, and nothing is stored.
    Failing,
    /// Lookups of keys, apps, flows and versions fail after this long.
    Hanging(Duration),
    /// Pages of responses fail after this long; a read of a single response succeeds.
    HidingResponses(Duration),
    /// The definition of the version with this number cannot be read in lists of versions.
    DamagingVersion(u32),
    /// Retention fails for this app.
    FailingToExpire(AppId),
    /// Writes are stored, but their outcome is reported as unknown.
    LosingTrack,
}

/// What a test does while the store answers.
pub type Meanwhile = Box<dyn FnOnce() -> Pin<Box<dyn Future<Output = ()> + Send>> + Send>;

pub struct FaultyStore {
    inner: Arc<dyn Store>,
    mood: Arc<std::sync::Mutex<Mood>>,
    runtime: tokio::runtime::Handle,
    pub commits: AtomicUsize,
    pub rows: AtomicUsize,
    pub checks: AtomicUsize,
    /// The number of lookups during `Mood::Hanging`.
    pub hung: AtomicUsize,
    pub key_lookups: AtomicUsize,
    /// Writes of webhooks and sinks.
    pub webhook_writes: AtomicUsize,
    /// The number of wakes that fail from now on.
    pub failing_wakes: AtomicUsize,
    /// The number of wakes, once none fails, that can change no endpoint just now.
    pub skipped_wakes: AtomicUsize,
    pub log_reads: AtomicUsize,
    /// The most rows that a read of the log returned.
    pub log_rows_max: AtomicUsize,
    pub invitation_lookups: AtomicUsize,
    /// The number of reads by use cases.
    pub reads: AtomicUsize,
    /// Apps that the change feed has returned.
    pub changed_apps: AtomicUsize,
    pub expiries: AtomicUsize,
    /// Runs once, after the next list of assets was read and before it is returned.
    pub after_assets: std::sync::Mutex<Option<Meanwhile>>,
    /// Decides about each write, if set.
    pub tamper: std::sync::OnceLock<Arc<dyn Tamper>>,
    /// Replaces the lanes of the inner store, if set.
    pub lanes: std::sync::OnceLock<Lanes>,
}

impl FaultyStore {
    pub fn new(inner: Arc<dyn Store>) -> Self {
        Self {
            inner,
            mood: Arc::new(std::sync::Mutex::new(Mood::Well)),
            runtime: tokio::runtime::Handle::current(),
            commits: AtomicUsize::new(0),
            rows: AtomicUsize::new(0),
            checks: AtomicUsize::new(0),
            hung: AtomicUsize::new(0),
            key_lookups: AtomicUsize::new(0),
            webhook_writes: AtomicUsize::new(0),
            failing_wakes: AtomicUsize::new(0),
            skipped_wakes: AtomicUsize::new(0),
            log_reads: AtomicUsize::new(0),
            log_rows_max: AtomicUsize::new(0),
            invitation_lookups: AtomicUsize::new(0),
            reads: AtomicUsize::new(0),
            changed_apps: AtomicUsize::new(0),
            expiries: AtomicUsize::new(0),
            after_assets: std::sync::Mutex::new(None),
            tamper: std::sync::OnceLock::new(),
            lanes: std::sync::OnceLock::new(),
        }
    }

    pub fn set(&self, mood: Mood) {
        *self.mood.lock().unwrap() = mood;
    }

    /// The inner store; counts one read.
    fn read(&self) -> &dyn Store {
        self.reads.fetch_add(1, Ordering::SeqCst);
        &*self.inner
    }

    /// Fails like a store that gives up at its deadline.
    async fn hang(&self) -> StoreResult<()> {
        let Mood::Hanging(deadline) = *self.mood.lock().unwrap() else { return Ok(()) };
        self.hung.fetch_add(1, Ordering::SeqCst);
        tokio::time::sleep(deadline).await;
        Err(StoreError::Failed("no answer within the deadline".into()))
    }
}

#[async_trait]
impl IntakeStore for FaultyStore {
    fn commit_then(&self, responses: Vec<NewResponse>, if_busy: IfBusy, then: AfterCommit) {
        self.commits.fetch_add(1, Ordering::SeqCst);
        self.rows.fetch_add(responses.len(), Ordering::SeqCst);
        if let Some(tamper) = self.tamper.get() {
            return tamper.commit(&self.inner, responses, if_busy, then);
        }
        let mood = *self.mood.lock().unwrap();
        match mood {
            Mood::Well
            | Mood::Hanging(_)
            | Mood::HidingResponses(_)
            | Mood::DamagingVersion(_)
            | Mood::FailingToExpire(_) => self.inner.commit_then(responses, if_busy, then),
            Mood::Slow(_) | Mood::Held => {
                let (inner, shared) = (Arc::clone(&self.inner), Arc::clone(&self.mood));
                // The caller may be the writer's thread, which is outside the runtime.
                self.runtime.spawn(async move {
                    let pause = if let Mood::Slow(pause) = mood { pause } else { A_MOMENT };
                    tokio::time::sleep(pause).await;
                    while *shared.lock().unwrap() == Mood::Held {
                        tokio::time::sleep(A_MOMENT).await;
                    }
                    inner.commit_then(responses, if_busy, then);
                });
            }
            Mood::Simulated(pause) => {
                self.runtime.spawn(async move {
                    tokio::time::sleep(pause).await;
                    drop(then(Ok(vec![Outcome::Stored; responses.len()])));
                });
            }
            Mood::Failing => drop(then(Err(StoreError::Failed("disk full".into())))),
            Mood::LosingTrack => {
                let lose = |stored: StoreResult<Vec<Outcome>>| {
                    then(stored.and(Err(StoreError::Unknown("sync failed".into()))))
                };
                self.inner.commit_then(responses, if_busy, Box::new(lose));
            }
        }
    }
    fn lanes(&self) -> Lanes {
        self.lanes.get().copied().unwrap_or_else(|| self.inner.lanes())
    }
    fn disk_space(&self) -> Option<DiskSpace> {
        self.inner.disk_space()
    }
    async fn find_by_idempotency_key(
        &self,
        app: AppId,
        key: &IdempotencyKey,
    ) -> StoreResult<Option<(ResponseId, Option<Digest>)>> {
        self.read().find_by_idempotency_key(app, key).await
    }
    async fn find_app_by_key(&self, key: &ApiKey) -> StoreResult<Option<App>> {
        self.key_lookups.fetch_add(1, Ordering::SeqCst);
        self.hang().await?;
        self.read().find_app_by_key(key).await
    }
    async fn find_version(&self, version: FlowVersionId) -> StoreResult<Option<VersionState>> {
        self.hang().await?;
        self.read().find_version(version).await
    }
    async fn are_invited(
        &self,
        app: AppId,
        flow: FlowId,
        now: Timestamp,
        invitees: Vec<Invitee>,
    ) -> StoreResult<Vec<bool>> {
        self.read().are_invited(app, flow, now, invitees).await
    }
    async fn changes(&self, after: FeedPosition) -> StoreResult<Changes> {
        let began = self.tamper.get().map(|it| it.before_feed());
        let changes = self.inner.changes(after).await?;
        self.tamper.get().zip(began).inspect(|(it, began)| it.after_feed(*began));
        self.changed_apps.fetch_add(changes.apps.len(), Ordering::SeqCst);
        Ok(changes)
    }
    async fn changed(&self) {
        self.inner.changed().await;
    }
}

#[async_trait]
impl AdminStore for FaultyStore {
    async fn apply(&self, at: At, change: Change) -> StoreResult<()> {
        if let Some(tamper) = self.tamper.get() {
            return tamper.apply(&self.inner, at, change).await;
        }
        self.inner.apply(at, change).await?;
        match *self.mood.lock().unwrap() {
            Mood::LosingTrack => Err(StoreError::Unknown("sync failed".into())),
            _ => Ok(()),
        }
    }
    async fn find_app(&self, app: AppId) -> StoreResult<Option<App>> {
        self.hang().await?;
        self.read().find_app(app).await
    }
    async fn list_apps(&self, page: Page<AppId>) -> StoreResult<Vec<App>> {
        self.read().list_apps(page).await
    }
    async fn find_apps(&self, apps: &[AppId]) -> StoreResult<Vec<App>> {
        self.read().find_apps(apps).await
    }
    async fn list_keys(&self, apps: &[AppId]) -> StoreResult<Vec<KeyRow>> {
        self.read().list_keys(apps).await
    }
    async fn list_identity_keys(&self, app: AppId) -> StoreResult<Vec<IdentityKeyRow>> {
        self.read().list_identity_keys(app).await
    }
    async fn find_flow(&self, flow: FlowId) -> StoreResult<Option<FlowState>> {
        self.hang().await?;
        self.read().find_flow(flow).await
    }
    async fn list_flows(&self, query: &FlowQuery) -> StoreResult<Vec<FlowState>> {
        self.read().list_flows(query).await
    }
    async fn list_versions(
        &self,
        app: AppId,
        flow: FlowId,
        before: Option<u32>,
        limit: usize,
    ) -> StoreResult<Vec<VersionRow>> {
        let mut versions = self.read().list_versions(app, flow, before, limit).await?;
        if let Mood::DamagingVersion(number) = *self.mood.lock().unwrap() {
            let damaged = versions.iter_mut().filter(|it| it.number == number);
            damaged.for_each(|it| it.definition.truncate(1));
        }
        Ok(versions)
    }
    async fn find_token(&self, hash: &TokenHash) -> StoreResult<Option<TokenRow>> {
        self.read().find_token(hash).await
    }
    async fn list_tokens(&self) -> StoreResult<Vec<TokenRow>> {
        self.read().list_tokens().await
    }
    async fn list_audit(&self, query: &AuditQuery) -> StoreResult<Vec<AuditRow>> {
        self.read().list_audit(query).await
    }
    async fn list_audit_before(
        &self,
        app: AppId,
        ids: &[AuditId],
        limit: usize,
    ) -> StoreResult<Vec<AuditRow>> {
        self.read().list_audit_before(app, ids, limit).await
    }
    async fn find_actor_names(&self, actors: &[ActorId]) -> StoreResult<Vec<(ActorId, String)>> {
        self.read().find_actor_names(actors).await
    }
    async fn find_flow_names(
        &self,
        flows: &[(AppId, FlowId)],
    ) -> StoreResult<Vec<(FlowId, String)>> {
        self.read().find_flow_names(flows).await
    }
}

#[async_trait]
impl ResponseStore for FaultyStore {
    async fn list_responses(&self, query: &ResponseQuery) -> StoreResult<ResponsePage> {
        let mood = *self.mood.lock().unwrap();
        if let (Mood::HidingResponses(deadline), 2..) = (mood, query.limit) {
            tokio::time::sleep(deadline).await;
            return Err(StoreError::Failed("no answer within the deadline".into()));
        }
        self.read().list_responses(query).await
    }
    async fn count_responses(&self, query: &ResponseQuery) -> StoreResult<ResponseCount> {
        self.read().count_responses(query).await
    }
    async fn find_response(&self, response: ResponseId) -> StoreResult<Option<ResponseRow>> {
        self.read().find_response(response).await
    }
    async fn find_responses(
        &self,
        app: AppId,
        responses: &[ResponseId],
    ) -> StoreResult<Vec<ResponseRow>> {
        self.read().find_responses(app, responses).await
    }
    async fn newest_responses(
        &self,
        app: AppId,
        flows: &[FlowId],
    ) -> StoreResult<Vec<(FlowId, ResponseId)>> {
        self.read().newest_responses(app, flows).await
    }
    async fn list_responses_of(
        &self,
        app: AppId,
        respondent: RespondentId,
        page: Page<ResponseId>,
    ) -> StoreResult<Vec<ResponseRow>> {
        self.read().list_responses_of(app, respondent, page).await
    }
}

#[async_trait]
impl RespondentStore for FaultyStore {
    async fn find_respondent(&self, respondent: RespondentId) -> StoreResult<Option<Respondent>> {
        self.read().find_respondent(respondent).await
    }
    async fn find_app_of_respondent(&self, respondent: RespondentId) -> StoreResult<Option<AppId>> {
        self.read().find_app_of_respondent(respondent).await
    }
    async fn find_respondent_by(
        &self,
        app: AppId,
        known: &ProfileIdentity,
    ) -> StoreResult<Option<RespondentId>> {
        self.read().find_respondent_by(app, known).await
    }
    async fn list_respondents(
        &self,
        app: AppId,
        page: Page<RespondentId>,
    ) -> StoreResult<Vec<Respondent>> {
        self.read().list_respondents(app, page).await
    }
    async fn list_consents(
        &self,
        app: AppId,
        respondent: RespondentId,
        page: Page<ResponseId>,
    ) -> StoreResult<Vec<ConsentRow>> {
        self.read().list_consents(app, respondent, page).await
    }
    async fn erase(&self, erasure: Erasure) -> StoreResult<ErasedPart> {
        if let Some(tamper) = self.tamper.get() {
            return tamper.erase(&self.inner, erasure).await;
        }
        self.inner.erase(erasure).await
    }
    async fn find_invitation(
        &self,
        id: AssignmentId,
        likely: Option<AppId>,
    ) -> StoreResult<Option<InvitationRow>> {
        self.invitation_lookups.fetch_add(1, Ordering::SeqCst);
        self.read().find_invitation(id, likely).await
    }
    async fn list_invitations(&self, query: &InvitationQuery) -> StoreResult<Vec<InvitationRow>> {
        self.read().list_invitations(query).await
    }
    async fn list_invitations_of(
        &self,
        app: AppId,
        known: &[ProfileIdentity],
        page: Page<AssignmentId>,
    ) -> StoreResult<Vec<InvitationRow>> {
        self.read().list_invitations_of(app, known, page).await
    }
    async fn count_invitations(
        &self,
        app: AppId,
        flow: FlowId,
        now: Timestamp,
    ) -> StoreResult<InvitationCounts> {
        self.read().count_invitations(app, flow, now).await
    }
}

#[async_trait]
impl UpkeepStore for FaultyStore {
    async fn list_erasing(&self, limit: usize) -> StoreResult<Vec<RespondentRow>> {
        self.inner.list_erasing(limit).await
    }
    async fn time(&self) -> StoreResult<Option<Timestamp>> {
        self.inner.time().await
    }

    async fn list_retaining_apps(
        &self,
        now: Timestamp,
        page: Page<AppId>,
    ) -> StoreResult<Vec<RetainingApp>> {
        self.inner.list_retaining_apps(now, page).await
    }

    async fn list_expired_months(&self, now: Timestamp) -> StoreResult<Vec<ExpiredMonth>> {
        self.inner.list_expired_months(now).await
    }

    async fn drop_month(
        &self,
        month: ExpiredMonth,
        now: Timestamp,
        audit: Vec<AuditRow>,
    ) -> StoreResult<Option<u64>> {
        self.inner.drop_month(month, now, audit).await
    }

    async fn expire(&self, expiry: Expiry) -> StoreResult<Expired> {
        self.expiries.fetch_add(1, Ordering::SeqCst);
        match *self.mood.lock().unwrap() {
            Mood::FailingToExpire(app) if app == expiry.app_id => {
                return Err(StoreError::Failed("no answer within the deadline".into()));
            }
            _ => {}
        }
        let expired = self.inner.expire(expiry).await;
        self.tamper.get().inspect(|it| it.after_expiry(&expired));
        expired
    }
    async fn build_skip_index(
        &self,
        cursor: SkipIndexCursor,
        now: Timestamp,
    ) -> StoreResult<SkipIndexPart> {
        self.inner.build_skip_index(cursor, now).await
    }
    async fn compact_counts(
        &self,
        cursor: CompactionCursor,
        limit: usize,
    ) -> StoreResult<Compacted> {
        self.inner.compact_counts(cursor, limit).await
    }
    fn damage(&self) -> &Damage {
        self.inner.damage()
    }

    async fn check_files(&self) -> StoreResult<()> {
        self.inner.check_files().await
    }

    fn why_stopped(&self) -> Option<&str> {
        self.inner.why_stopped()
    }
    async fn check(&self) -> StoreResult<()> {
        self.checks.fetch_add(1, Ordering::SeqCst);
        match *self.mood.lock().unwrap() {
            Mood::LosingTrack => return Err(StoreError::Unknown("sync failed".into())),
            Mood::Failing => return Err(StoreError::Failed("disk full".into())),
            _ => {}
        }
        self.inner.check().await
    }
    async fn close(&self) {
        self.inner.close().await;
    }
}
