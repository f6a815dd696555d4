//! The roles of the store; each method delegates to the module with its SQL.

use async_trait::async_trait;
use sluice_flow::id::{
    ApiKey, AppId, AssignmentId, AuditId, FlowId, FlowVersionId, RespondentId, ResponseId, UserId,
};
use sluice_flow::invitation::Invitee;
use sluice_flow::respondent::ProfileIdentity;
use sluice_flow::time::{Day, Timestamp};

use super::read::{apps, flows, instance, respondents, responses};
use super::{SqliteStore, commit, counts, expiry, invitations, people, recount, skip_index};
use crate::counting::DAMAGED_DAYS_MAX;
use crate::listing::Scan;
use crate::{
    ActorId, AdminStore, AfterCommit, App, At, AuditQuery, AuditRow, Change, Changes, Compacted,
    CompactionCursor, ConsentRow, CountStore, CountsQuery, Damage, DayTotal, Digest, DiskSpace,
    ErasedPart, Erasure, Expired, ExpiredMonth, Expiry, FeedPosition, FlowCounts, FlowQuery,
    FlowState, IdempotencyKey, IdentityKeyRow, IfBusy, IntakeStore, InvitationCounts,
    InvitationQuery, InvitationRow, KeyRow, Lanes, LinkRow, NewResponse, Page, Respondent,
    RespondentRow, RespondentStore, ResponseCount, ResponsePage, ResponseQuery, ResponseRow,
    ResponseStore, RetainingApp, SavedViewRow, SecretHash, SessionRow, SkipIndexCursor,
    SkipIndexPart, StoreError, StoreResult, TokenHash, TokenRow, UpkeepStore, User, UserKey,
    UserStore, VersionRow, VersionState,
};

#[async_trait]
impl IntakeStore for SqliteStore {
    fn commit_then(&self, responses: Vec<NewResponse>, _: IfBusy, then: AfterCommit) {
        self.writer.commit(responses, then);
    }

    fn lanes(&self) -> Lanes {
        Lanes { count: 1, by_app: false }
    }

    fn disk_space(&self) -> Option<DiskSpace> {
        self.reserve.space()
    }

    async fn find_by_idempotency_key(
        &self,
        app: AppId,
        key: &IdempotencyKey,
    ) -> StoreResult<Option<(ResponseId, Option<Digest>)>> {
        let key = *key;
        self.readers.read(move |it| commit::find_by_idempotency_key(it, app, &key)).await
    }

    async fn find_app_by_key(&self, key: &ApiKey) -> StoreResult<Option<App>> {
        let key = key.clone();
        self.readers.read(move |it| apps::by_key(it, &key)).await
    }

    async fn find_version(&self, version: FlowVersionId) -> StoreResult<Option<VersionState>> {
        self.readers.read(move |it| flows::version(it, version)).await
    }

    async fn are_invited(
        &self,
        app: AppId,
        flow: FlowId,
        now: Timestamp,
        invitees: Vec<Invitee>,
    ) -> StoreResult<Vec<bool>> {
        self.readers.read(move |it| invitations::are_invited(it, app, flow, now, &invitees)).await
    }

    async fn changes(&self, after: FeedPosition) -> StoreResult<Changes> {
        self.readers.read(move |it| instance::changes(it, after)).await
    }

    async fn changed(&self) {
        std::future::pending::<()>().await;
    }
}

#[async_trait]
impl AdminStore for SqliteStore {
    async fn apply(&self, at: At, change: Change) -> StoreResult<()> {
        self.writer.apply(at, change).await
    }

    async fn find_app(&self, app: AppId) -> StoreResult<Option<App>> {
        self.readers.read(move |it| apps::by_id(it, app)).await
    }

    async fn list_apps(&self, page: Page<AppId>) -> StoreResult<Vec<App>> {
        self.readers.read(move |it| apps::list(it, page)).await
    }

    async fn find_apps(&self, apps: &[AppId]) -> StoreResult<Vec<App>> {
        let wanted = apps.to_vec();
        self.readers.read(move |it| apps::by_ids(it, wanted)).await
    }

    async fn list_keys(&self, apps: &[AppId]) -> StoreResult<Vec<KeyRow>> {
        let wanted = apps.to_vec();
        self.readers.read(move |it| apps::keys(it, &wanted)).await
    }

    async fn list_identity_keys(&self, app: AppId) -> StoreResult<Vec<IdentityKeyRow>> {
        self.readers.read(move |it| apps::identity_keys(it, app)).await
    }

    async fn find_flow(&self, flow: FlowId) -> StoreResult<Option<FlowState>> {
        self.readers.read(move |it| flows::flow(it, flow)).await
    }

    async fn list_flows(&self, query: &FlowQuery) -> StoreResult<Vec<FlowState>> {
        let query = query.clone();
        self.readers.read(move |it| flows::flows(it, &query)).await
    }

    async fn list_versions(
        &self,
        app: AppId,
        flow: FlowId,
        before: Option<u32>,
        limit: usize,
    ) -> StoreResult<Vec<VersionRow>> {
        self.readers.read(move |it| flows::versions(it, app, flow, before, limit)).await
    }

    async fn find_token(&self, hash: &TokenHash) -> StoreResult<Option<TokenRow>> {
        let hash = *hash;
        self.readers.read(move |it| instance::token(it, &hash)).await
    }

    async fn list_tokens(&self) -> StoreResult<Vec<TokenRow>> {
        self.readers.read(instance::tokens).await
    }

    async fn list_audit(&self, query: &AuditQuery) -> StoreResult<Vec<AuditRow>> {
        let query = *query;
        self.readers.read(move |it| instance::audit(it, query)).await
    }

    async fn list_audit_before(
        &self,
        app: AppId,
        ids: &[AuditId],
        limit: usize,
    ) -> StoreResult<Vec<AuditRow>> {
        let wanted = ids.to_vec();
        self.readers.read(move |it| instance::audit_before(it, app, &wanted, limit)).await
    }

    async fn find_actor_names(&self, actors: &[ActorId]) -> StoreResult<Vec<(ActorId, String)>> {
        let wanted = actors.to_vec();
        self.readers.read(move |it| instance::actor_names(it, wanted)).await
    }

    async fn find_flow_names(
        &self,
        flows: &[(AppId, FlowId)],
    ) -> StoreResult<Vec<(FlowId, String)>> {
        let wanted = flows.to_vec();
        self.readers.read(move |it| instance::flow_names(it, wanted)).await
    }
}

#[async_trait]
impl ResponseStore for SqliteStore {
    async fn list_responses(&self, query: &ResponseQuery) -> StoreResult<ResponsePage> {
        let mut scan = Scan::new(query);
        while scan.slice(responses::SLICE_ROWS).is_some() {
            scan = self.readers.read(move |it| responses::step(it, scan)).await?;
        }
        Ok(scan.page())
    }

    async fn count_responses(&self, query: &ResponseQuery) -> StoreResult<ResponseCount> {
        let mut scan = Scan::new(query);
        while scan.slice(responses::SLICE_ROWS).is_some() {
            scan = self.readers.read(move |it| responses::step_counting(it, scan)).await?;
        }
        Ok(scan.count())
    }

    async fn find_response(&self, response: ResponseId) -> StoreResult<Option<ResponseRow>> {
        self.readers.read(move |it| responses::find(it, response)).await
    }

    async fn find_responses(
        &self,
        app: AppId,
        responses: &[ResponseId],
    ) -> StoreResult<Vec<ResponseRow>> {
        let wanted = responses.to_vec();
        self.readers.read(move |it| responses::by_ids(it, app, wanted)).await
    }

    async fn newest_responses(
        &self,
        app: AppId,
        flows: &[FlowId],
    ) -> StoreResult<Vec<(FlowId, ResponseId)>> {
        let flows = flows.to_vec();
        self.readers.read(move |it| responses::newest(it, app, &flows)).await
    }

    async fn list_responses_of(
        &self,
        app: AppId,
        respondent: RespondentId,
        page: Page<ResponseId>,
    ) -> StoreResult<Vec<ResponseRow>> {
        self.readers.read(move |it| respondents::responses(it, app, respondent, page)).await
    }
}

#[async_trait]
impl RespondentStore for SqliteStore {
    async fn find_respondent(&self, respondent: RespondentId) -> StoreResult<Option<Respondent>> {
        self.readers.read(move |it| respondents::by_id(it, respondent)).await
    }

    async fn find_app_of_respondent(&self, respondent: RespondentId) -> StoreResult<Option<AppId>> {
        self.readers.read(move |it| respondents::app_of(it, respondent)).await
    }

    async fn find_respondent_by(
        &self,
        app: AppId,
        known: &ProfileIdentity,
    ) -> StoreResult<Option<RespondentId>> {
        let known = known.clone();
        self.readers.read(move |it| respondents::by_identity(it, app, &known)).await
    }

    async fn list_respondents(
        &self,
        app: AppId,
        page: Page<RespondentId>,
    ) -> StoreResult<Vec<Respondent>> {
        self.readers.read(move |it| respondents::list(it, app, page)).await
    }

    async fn list_consents(
        &self,
        app: AppId,
        respondent: RespondentId,
        page: Page<ResponseId>,
    ) -> StoreResult<Vec<ConsentRow>> {
        self.readers.read(move |it| respondents::consents(it, app, respondent, page)).await
    }

    async fn erase(&self, erasure: Erasure) -> StoreResult<ErasedPart> {
        self.writer.erase(erasure).await
    }

    async fn find_invitation(
        &self,
        id: AssignmentId,
        _likely: Option<AppId>,
    ) -> StoreResult<Option<InvitationRow>> {
        self.readers.read(move |it| invitations::by_id(it, id)).await
    }

    async fn list_invitations(&self, query: &InvitationQuery) -> StoreResult<Vec<InvitationRow>> {
        let query = *query;
        self.readers.read(move |it| invitations::list(it, query)).await
    }

    async fn list_invitations_of(
        &self,
        app: AppId,
        known: &[ProfileIdentity],
        page: Page<AssignmentId>,
    ) -> StoreResult<Vec<InvitationRow>> {
        let known = known.to_vec();
        self.readers.read(move |it| invitations::of_person(it, app, &known, page)).await
    }

    async fn count_invitations(
        &self,
        app: AppId,
        flow: FlowId,
        now: Timestamp,
    ) -> StoreResult<InvitationCounts> {
        self.readers.read(move |it| invitations::count(it, app, flow, now)).await
    }
}

#[async_trait]
impl UserStore for SqliteStore {
    async fn people_revision(&self) -> StoreResult<u64> {
        self.readers.read(people::revision).await
    }

    async fn find_user(&self, key: &UserKey) -> StoreResult<Option<User>> {
        let key = key.clone();
        self.readers.read(move |it| people::find(it, &key)).await
    }

    async fn list_users(&self, app: Option<AppId>, page: Page<UserId>) -> StoreResult<Vec<User>> {
        self.readers.read(move |it| people::list(it, app, page)).await
    }

    async fn find_link(&self, hash: &SecretHash) -> StoreResult<Option<LinkRow>> {
        let hash = *hash;
        self.readers.read(move |it| people::link(it, &hash)).await
    }

    async fn find_session(&self, hash: &SecretHash) -> StoreResult<Option<SessionRow>> {
        let hash = *hash;
        self.readers.read(move |it| people::session(it, &hash)).await
    }

    async fn list_sessions(
        &self,
        user: UserId,
        epoch: u32,
        limit: usize,
    ) -> StoreResult<Vec<SessionRow>> {
        self.readers.read(move |it| people::sessions(it, user, epoch, limit)).await
    }

    async fn list_saved_views(&self, flow: FlowId, user: UserId) -> StoreResult<Vec<SavedViewRow>> {
        self.readers.read(move |it| people::saved_views(it, flow, user)).await
    }
}

#[async_trait]
impl CountStore for SqliteStore {
    async fn read_counts(
        &self,
        app: AppId,
        flow: FlowId,
        query: &CountsQuery,
    ) -> StoreResult<FlowCounts> {
        for _ in 0..DAMAGED_DAYS_MAX {
            let asked = query.clone();
            let read = self.readers.read(move |it| counts::read(it, app, flow, &asked)).await?;
            match read {
                Ok(counts) => return Ok(counts),
                Err(damaged) => {
                    self.writer.rebuild_damaged_day((app, flow), damaged, query.clone()).await?;
                }
            }
        }
        Err(StoreError::Corrupt("counts of too many days are damaged".to_owned()))
    }

    async fn count_by_day(&self, app: AppId, from: Option<Day>) -> StoreResult<Vec<DayTotal>> {
        self.readers.read(move |it| counts::totals(it, app, from)).await
    }

    async fn count_by_version(
        &self,
        app: AppId,
        flow: FlowId,
    ) -> StoreResult<Vec<(FlowVersionId, i64)>> {
        self.readers.read(move |it| counts::by_version(it, app, flow)).await
    }

    async fn recount(&self, app: AppId, flow: FlowId) -> StoreResult<u64> {
        let mut responses = 0;
        for day in self.readers.read(move |it| recount::days(it, app, flow)).await? {
            responses += self.writer.recount((app, flow), day).await?;
        }
        Ok(responses)
    }
}

/// Responses that the writer counts in one job.
const SCAN_ROWS: usize = 500;

#[async_trait]
impl UpkeepStore for SqliteStore {
    async fn list_erasing(&self, limit: usize) -> StoreResult<Vec<RespondentRow>> {
        self.readers.read(move |it| respondents::erasing(it, limit)).await
    }

    async fn time(&self) -> StoreResult<Option<Timestamp>> {
        Ok(None)
    }

    async fn list_retaining_apps(
        &self,
        now: Timestamp,
        page: Page<AppId>,
    ) -> StoreResult<Vec<RetainingApp>> {
        self.readers.read(move |it| expiry::retaining_apps(it, now, page)).await
    }

    async fn list_expired_months(&self, _: Timestamp) -> StoreResult<Vec<ExpiredMonth>> {
        Ok(Vec::new())
    }

    async fn drop_month(
        &self,
        _: ExpiredMonth,
        _: Timestamp,
        _: Vec<AuditRow>,
    ) -> StoreResult<Option<u64>> {
        Ok(None)
    }

    async fn expire(&self, expiry: Expiry) -> StoreResult<Expired> {
        self.writer.expire(expiry).await
    }

    async fn build_skip_index(
        &self,
        cursor: SkipIndexCursor,
        now: Timestamp,
    ) -> StoreResult<SkipIndexPart> {
        let work = self.readers.read(move |it| skip_index::work(it, cursor, now)).await?;
        let Some(flow) = work.flow else { return Ok(SkipIndexPart { made: 0, next: None }) };
        let made = SkipIndexPart::at(cursor, flow, work.filled.len(), work.created.len());
        if !work.is_empty() {
            self.writer.write_skip_index(work).await?;
        }
        Ok(made)
    }

    async fn compact_counts(
        &self,
        cursor: CompactionCursor,
        limit: usize,
    ) -> StoreResult<Compacted> {
        let (flows, scans) = self.readers.read(move |it| counts::to_compact(it, cursor)).await?;
        let (mut folded, mut scanned, mut is_left) = (0, 0, scans);
        for &flow in &flows {
            match self.writer.fold_counts(flow).await {
                Ok((deltas, is_all)) => {
                    folded += deltas;
                    is_left |= !is_all;
                }
                // A flow that cannot be counted must not block the others.
                Err(StoreError::Corrupt(why) | StoreError::Damaged(why)) => {
                    tracing::warn!(flow = %flow.1, why, "cannot count the responses of a flow");
                }
                Err(error) => return Err(error),
            }
        }
        while scans && scanned < limit as u64 {
            // In several jobs, so that submissions get their turn in between.
            let rows = SCAN_ROWS.min(limit - scanned as usize);
            let read = self.writer.scan_counts(rows).await?;
            scanned += read;
            if read < rows as u64 {
                break;
            }
        }
        Ok(Compacted::after(cursor, &flows, is_left, (folded, scanned)))
    }

    fn damage(&self) -> &Damage {
        &self.damage
    }

    async fn check(&self) -> StoreResult<()> {
        self.writer.check().await
    }

    async fn check_files(&self) -> StoreResult<()> {
        self.writer.check_files().await
    }

    fn why_stopped(&self) -> Option<&str> {
        self.writer.why_stopped()
    }

    async fn close(&self) {
        // The last connection to close writes the log back, so the writer's must be last.
        self.readers.close().await;
        self.writer.close().await;
    }
}
