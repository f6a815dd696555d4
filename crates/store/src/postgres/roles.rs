//! The roles of the store; each method delegates to the module with its SQL.

use std::sync::Arc;

use async_trait::async_trait;
use sluice_flow::id::{
    ApiKey, AppId, AssignmentId, AuditId, FlowId, FlowVersionId, RespondentId, ResponseId, UserId,
};
use sluice_flow::invitation::Invitee;
use sluice_flow::respondent::ProfileIdentity;
use sluice_flow::time::{Day, Timestamp};

use super::read::{self, apps, flows, instance, respondents, responses};
use super::{
    PgStore, apply, commit, counts, expired_months, expiry, import_records, invitations,
    page_check, people, probe, recount, removal, skip_index, to_the_end, view,
};
use crate::counting::DAMAGED_DAYS_MAX;
use crate::{
    ActorId, AdminStore, AfterCommit, App, At, AuditQuery, AuditRow, Change, Changes, Compacted,
    CompactionCursor, ConsentRow, CountStore, CountsQuery, Damage, DayTotal, Digest, DiskSpace,
    ErasedPart, Erasure, Expired, ExpiredMonth, Expiry, FeedPosition, FlowCounts, FlowQuery,
    FlowState, IdempotencyKey, IdentityKeyRow, IfBusy, IntakeStore, InvitationCounts,
    InvitationQuery, InvitationRow, KeyRow, Lanes, LinkRow, MovingStore, NewResponse, Page,
    PageCheck, Record, RecordCursor, RecordPage, Respondent, RespondentRow, RespondentStore,
    ResponseCount, ResponsePage, ResponseQuery, ResponseRow, ResponseStore, RetainingApp,
    SavedViewRow, SecretHash, SessionRow, SkipIndexCursor, SkipIndexPart, StoreError, StoreResult,
    StoreView, TokenHash, TokenRow, UpkeepStore, User, UserKey, UserStore, VersionRow,
    VersionState,
};

#[async_trait]
impl IntakeStore for PgStore {
    fn commit_then(&self, responses: Vec<NewResponse>, if_busy: IfBusy, then: AfterCommit) {
        let (pool, damage) = (Arc::clone(&self.pool), Arc::clone(&self.damage));
        tokio::spawn(async move {
            drop(then(match damage.refuse() {
                Ok(()) => commit::responses(&pool, responses, if_busy).await,
                Err(damaged) => Err(damaged),
            }));
        });
    }

    fn lanes(&self) -> Lanes {
        Lanes { count: self.pool.options().lanes.max(1), by_app: self.pool.is_spread() }
    }

    fn server_of(&self, app: AppId) -> Option<u32> {
        self.pool.worker_of(app)
    }

    fn disk_space(&self) -> Option<DiskSpace> {
        None
    }

    async fn find_by_idempotency_key(
        &self,
        app: AppId,
        key: &IdempotencyKey,
    ) -> StoreResult<Option<(ResponseId, Option<Digest>)>> {
        commit::find_by_idempotency_key(&self.pool, app, key).await
    }

    async fn find_app_by_key(&self, key: &ApiKey) -> StoreResult<Option<App>> {
        apps::by_key(&self.pool, key).await
    }

    async fn find_version(&self, version: FlowVersionId) -> StoreResult<Option<VersionState>> {
        flows::version(&self.pool, version).await
    }

    async fn are_invited(
        &self,
        app: AppId,
        flow: FlowId,
        now: Timestamp,
        invitees: Vec<Invitee>,
    ) -> StoreResult<Vec<bool>> {
        invitations::are_invited(&self.pool, app, flow, now, &invitees).await
    }

    async fn changes(&self, after: FeedPosition) -> StoreResult<Changes> {
        instance::changes(&self.pool, after).await
    }

    async fn changed(&self) {
        match self.listens {
            true => self.changed.notified().await,
            false => std::future::pending().await,
        }
    }
}

#[async_trait]
impl AdminStore for PgStore {
    async fn apply(&self, at: At, change: Change) -> StoreResult<()> {
        let pool = Arc::clone(&self.pool);
        to_the_end(async move { apply::change(&pool, at, change).await }).await
    }

    async fn find_app(&self, app: AppId) -> StoreResult<Option<App>> {
        apps::by_id(&self.pool, app).await
    }

    async fn list_apps(&self, page: Page<AppId>) -> StoreResult<Vec<App>> {
        apps::list(&self.pool, page).await
    }

    async fn find_apps(&self, apps: &[AppId]) -> StoreResult<Vec<App>> {
        apps::by_ids(&self.pool, apps).await
    }

    async fn list_keys(&self, apps: &[AppId]) -> StoreResult<Vec<KeyRow>> {
        apps::keys(&self.pool, apps).await
    }

    async fn list_identity_keys(&self, app: AppId) -> StoreResult<Vec<IdentityKeyRow>> {
        apps::identity_keys(&self.pool, app).await
    }

    async fn find_flow(&self, flow: FlowId) -> StoreResult<Option<FlowState>> {
        flows::flow(&self.pool, flow).await
    }

    async fn list_flows(&self, query: &FlowQuery) -> StoreResult<Vec<FlowState>> {
        flows::flows(&self.pool, query).await
    }

    async fn list_versions(
        &self,
        app: AppId,
        flow: FlowId,
        before: Option<u32>,
        limit: usize,
    ) -> StoreResult<Vec<VersionRow>> {
        flows::versions(&self.pool, app, flow, before, limit).await
    }

    async fn find_token(&self, hash: &TokenHash) -> StoreResult<Option<TokenRow>> {
        instance::token(&self.pool, hash).await
    }

    async fn list_tokens(&self) -> StoreResult<Vec<TokenRow>> {
        instance::tokens(&self.pool).await
    }

    async fn list_audit(&self, query: &AuditQuery) -> StoreResult<Vec<AuditRow>> {
        instance::audit(&self.pool, *query).await
    }

    async fn list_audit_before(
        &self,
        app: AppId,
        ids: &[AuditId],
        limit: usize,
    ) -> StoreResult<Vec<AuditRow>> {
        instance::audit_before(&self.pool, app, ids, limit).await
    }

    async fn find_actor_names(&self, actors: &[ActorId]) -> StoreResult<Vec<(ActorId, String)>> {
        instance::actor_names(&self.pool, actors).await
    }

    async fn find_flow_names(
        &self,
        flows: &[(AppId, FlowId)],
    ) -> StoreResult<Vec<(FlowId, String)>> {
        instance::flow_names(&self.pool, flows).await
    }
}

#[async_trait]
impl ResponseStore for PgStore {
    async fn list_responses(&self, query: &ResponseQuery) -> StoreResult<ResponsePage> {
        responses::list(&self.pool, query).await
    }

    async fn count_responses(&self, query: &ResponseQuery) -> StoreResult<ResponseCount> {
        responses::count(&self.pool, query).await
    }

    async fn find_response(&self, response: ResponseId) -> StoreResult<Option<ResponseRow>> {
        responses::by_id(&self.pool, response).await
    }

    async fn find_responses(
        &self,
        app: AppId,
        responses: &[ResponseId],
    ) -> StoreResult<Vec<ResponseRow>> {
        responses::by_ids(&self.pool, app, responses).await
    }

    async fn newest_responses(
        &self,
        app: AppId,
        flows: &[FlowId],
    ) -> StoreResult<Vec<(FlowId, ResponseId)>> {
        responses::newest(&self.pool, app, flows).await
    }

    async fn list_responses_of(
        &self,
        app: AppId,
        respondent: RespondentId,
        page: Page<ResponseId>,
    ) -> StoreResult<Vec<ResponseRow>> {
        respondents::responses(&self.pool, app, respondent, page).await
    }
}

#[async_trait]
impl RespondentStore for PgStore {
    async fn find_respondent(&self, respondent: RespondentId) -> StoreResult<Option<Respondent>> {
        respondents::by_id(&self.pool, respondent).await
    }

    async fn find_app_of_respondent(&self, respondent: RespondentId) -> StoreResult<Option<AppId>> {
        respondents::app_of(&self.pool, respondent).await
    }

    async fn find_respondent_by(
        &self,
        app: AppId,
        known: &ProfileIdentity,
    ) -> StoreResult<Option<RespondentId>> {
        respondents::by_identity(&self.pool, app, known).await
    }

    async fn list_respondents(
        &self,
        app: AppId,
        page: Page<RespondentId>,
    ) -> StoreResult<Vec<Respondent>> {
        respondents::list(&self.pool, app, page).await
    }

    async fn list_consents(
        &self,
        app: AppId,
        respondent: RespondentId,
        page: Page<ResponseId>,
    ) -> StoreResult<Vec<ConsentRow>> {
        respondents::consents(&self.pool, app, respondent, page).await
    }

    async fn erase(&self, erasure: Erasure) -> StoreResult<ErasedPart> {
        let pool = Arc::clone(&self.pool);
        to_the_end(async move { removal::erase(&pool, &erasure).await }).await
    }

    async fn find_invitation(
        &self,
        id: AssignmentId,
        likely: Option<AppId>,
    ) -> StoreResult<Option<InvitationRow>> {
        invitations::by_id(&self.pool, id, likely).await
    }

    async fn list_invitations(&self, query: &InvitationQuery) -> StoreResult<Vec<InvitationRow>> {
        invitations::list(&self.pool, *query).await
    }

    async fn list_invitations_of(
        &self,
        app: AppId,
        known: &[ProfileIdentity],
        page: Page<AssignmentId>,
    ) -> StoreResult<Vec<InvitationRow>> {
        invitations::of_person(&self.pool, app, known, page).await
    }

    async fn count_invitations(
        &self,
        app: AppId,
        flow: FlowId,
        now: Timestamp,
    ) -> StoreResult<InvitationCounts> {
        invitations::count(&self.pool, app, flow, now).await
    }
}

#[async_trait]
impl UserStore for PgStore {
    async fn people_revision(&self) -> StoreResult<u64> {
        people::revision(&self.pool).await
    }

    async fn find_user(&self, key: &UserKey) -> StoreResult<Option<User>> {
        people::find(&self.pool, key).await
    }

    async fn list_users(&self, app: Option<AppId>, page: Page<UserId>) -> StoreResult<Vec<User>> {
        people::list(&self.pool, app, page).await
    }

    async fn find_link(&self, hash: &SecretHash) -> StoreResult<Option<LinkRow>> {
        people::link(&self.pool, hash).await
    }

    async fn find_session(&self, hash: &SecretHash) -> StoreResult<Option<SessionRow>> {
        people::session(&self.pool, hash).await
    }

    async fn list_sessions(
        &self,
        user: UserId,
        epoch: u32,
        limit: usize,
    ) -> StoreResult<Vec<SessionRow>> {
        people::sessions(&self.pool, user, epoch, limit).await
    }

    async fn list_saved_views(&self, flow: FlowId, user: UserId) -> StoreResult<Vec<SavedViewRow>> {
        people::saved_views(&self.pool, flow, user).await
    }
}

#[async_trait]
impl CountStore for PgStore {
    async fn read_counts(
        &self,
        app: AppId,
        flow: FlowId,
        query: &CountsQuery,
    ) -> StoreResult<FlowCounts> {
        for _ in 0..DAMAGED_DAYS_MAX {
            match read::counts::of_flow(&self.pool, app, flow, query).await? {
                Ok(counts) => return Ok(counts),
                Err(damaged) => {
                    let pool = Arc::clone(&self.pool);
                    to_the_end(
                        async move { recount::damaged_day(&pool, app, flow, damaged).await },
                    )
                    .await?;
                }
            }
        }
        Err(StoreError::Corrupt("counts of too many days are damaged".to_owned()))
    }

    async fn count_by_day(&self, app: AppId, from: Option<Day>) -> StoreResult<Vec<DayTotal>> {
        read::counts::totals(&self.pool, app, from).await
    }

    async fn count_by_version(
        &self,
        app: AppId,
        flow: FlowId,
    ) -> StoreResult<Vec<(FlowVersionId, i64)>> {
        read::counts::by_version(&self.pool, app, flow).await
    }

    async fn recount(&self, app: AppId, flow: FlowId) -> StoreResult<u64> {
        let pool = Arc::clone(&self.pool);
        to_the_end(async move { recount::flow(&pool, app, flow).await }).await
    }
}

#[async_trait]
impl UpkeepStore for PgStore {
    async fn list_erasing(&self, limit: usize) -> StoreResult<Vec<RespondentRow>> {
        respondents::erasing(&self.pool, limit).await
    }

    async fn time(&self) -> StoreResult<Option<Timestamp>> {
        let sql = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint";
        let now =
            self.pool.one(sql, &[], |cells| Ok(Timestamp::from_millis(cells.take()?))).await?;
        if let Some(now) = now {
            self.pool.block_horizon().note(now);
        }
        Ok(now)
    }

    async fn list_retaining_apps(
        &self,
        now: Timestamp,
        page: Page<AppId>,
    ) -> StoreResult<Vec<RetainingApp>> {
        expiry::retaining_apps(&self.pool, now, page).await
    }

    async fn list_expired_months(&self, now: Timestamp) -> StoreResult<Vec<ExpiredMonth>> {
        expired_months::list(&self.pool, now).await
    }

    async fn drop_month(
        &self,
        month: ExpiredMonth,
        now: Timestamp,
        audit: Vec<AuditRow>,
    ) -> StoreResult<Option<u64>> {
        let pool = Arc::clone(&self.pool);
        let dropping = async move { expired_months::drop_month(&pool, &month, now, &audit).await };
        to_the_end(dropping).await
    }

    async fn expire(&self, expiry: Expiry) -> StoreResult<Expired> {
        let pool = Arc::clone(&self.pool);
        to_the_end(async move { expiry::part(&pool, &expiry).await }).await
    }

    async fn build_skip_index(
        &self,
        cursor: SkipIndexCursor,
        now: Timestamp,
    ) -> StoreResult<SkipIndexPart> {
        skip_index::make(&self.pool, cursor, now).await
    }

    async fn compact_counts(
        &self,
        cursor: CompactionCursor,
        limit: usize,
    ) -> StoreResult<Compacted> {
        let pool = Arc::clone(&self.pool);
        to_the_end(async move { counts::compact(&pool, cursor, limit).await }).await
    }

    fn damage(&self) -> &Damage {
        &self.damage
    }

    async fn check(&self) -> StoreResult<()> {
        self.damage.refuse()?;
        probe::check(&self.pool).await
    }

    async fn close(&self) {
        for task in &self.tasks {
            task.abort();
        }
        self.remembering.finish().await;
        self.pool.close().await;
    }
}

#[async_trait]
impl MovingStore for PgStore {
    async fn export_records(
        &self,
        after: Option<&RecordCursor>,
        limit: usize,
    ) -> StoreResult<Vec<Record>> {
        read::export::page(&self.pool, after, limit).await
    }

    async fn read_records(&self, after: &RecordCursor, limit: usize) -> StoreResult<RecordPage> {
        read::export::read_table(&self.pool, after, limit).await
    }

    async fn import_records(&self, records: Vec<Record>) -> StoreResult<()> {
        let pool = Arc::clone(&self.pool);
        to_the_end(async move { import_records::records(&pool, records).await }).await
    }

    async fn open_view(&self) -> StoreResult<Box<dyn StoreView>> {
        Ok(Box::new(view::View::open(&self.pool).await?))
    }

    async fn check_pages(&self) -> StoreResult<PageCheck> {
        page_check::check_pages(&self.pool).await
    }
}
