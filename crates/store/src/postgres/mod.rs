//! PostgreSQL: any number of nodes over one database, or over a cluster that looks like one.
//!
//! Reading order: [`ConnectError`] (what can go wrong at the start), `dsn`, `tls` and `link` (one
//! connection, and the settings that the durability rests on), `migrations/` (the tables), `pool` and
//! `transaction` (deadlines, and what is in doubt), `stall`, `commit` and `apply` (what is written), `read/`.
//!
//! Writes run on tasks of their own, so that a caller who goes away interrupts nothing. After an
//! outcome in doubt the store goes on: the next write is on another connection, and the database itself
//! decided about the last. Deliberately absent: anything that asks for a superuser, an extension, a
//! sequence or a trigger.

mod apply;
mod blocks;
mod claims;
mod codec;
mod columns;
mod commit;
mod connect;
mod copy;
mod counts;
mod dsn;
mod expiry;
mod failure;
mod invitations;
mod last;
mod link;
mod listen;
mod partitions;
mod people;
mod pool;
mod put;
mod read;
mod recount;
mod removal;
mod schema;
mod stall;
mod tls;
mod tls_stream;
mod transaction;
mod write_in;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use sluice_flow::id::{
    ApiKey, AppId, AssignmentId, FlowId, FlowVersionId, RespondentId, ResponseId, UserId,
};
use sluice_flow::invitation::Invitee;
use sluice_flow::respondent::Known;
use sluice_flow::time::{Day, Timestamp};
use tokio::sync::Notify;
use tokio::task::AbortHandle;

use crate::counting::DAMAGED_DAYS_MAX;
use crate::{
    App, At, AuditQuery, AuditRow, BlockPlace, Blocked, Change, Changes, ConsentRow, CountsQuery,
    DayTotal, Digest, Erasure, Expired, Expiry, FeedPosition, FlowCounts, FlowQuery, FlowState,
    IdempotencyKey, IdentityKeyRow, InvitationCounts, InvitationQuery, InvitationRow, KeyRow,
    LinkRow, NewResponse, Outcome, Page, Place, Record, Removed, Respondent, RespondentRow,
    ResponseCount, ResponsePage, ResponseQuery, ResponseRow, SecretHash, SessionRow, Store,
    StoreError, StoreResult, Tended, TokenHash, TokenRow, User, UserKey, VersionRow, VersionState,
};
use failure::Stop;
use pool::Pool;
use read::{apps, flows, instance, respondents, responses};
use transaction::Transaction;

pub use connect::{ConnectError, Options};

/// How long readiness may take.
const CHECK_DEADLINE: Duration = Duration::from_secs(2);

/// A store in a PostgreSQL database.
#[derive(Debug)]
pub struct PgStore {
    pool: Arc<Pool>,
    changed: Arc<Notify>,
    listens: bool,
    /// What runs beside the work: listening, and making partitions.
    tasks: Vec<AbortHandle>,
}

impl PgStore {
    /// Connects to the database of `postgres://user:password@host/database`, and brings its schema up
    /// to date where needed. Several hosts, separated by commas, are tried in turn. TLS is used where
    /// the server offers it and demanded with `sslmode=require`; the certificate is always verified,
    /// against the system's roots or those of `sslrootcert=FILE`.
    ///
    /// A server that lets us in and then hangs is given up after `statement_deadline`, a migration and
    /// the wait for another node's excepted: these last as long as the server answers beside them.
    pub async fn connect(url: &str, options: Options) -> Result<Self, ConnectError> {
        let connector = link::Connector::to(url, options.connect_deadline)?;
        let deadline = options.statement_deadline;
        let (mut client, _driver) = connect::first(&connector, deadline).await?;
        schema::bring_up_to_date(&mut client, &connector, deadline).await?;
        let spread = options.distributed || connect::is_spread(&client, deadline).await?;
        drop(client);
        let listens = options.listen;
        let pool = Arc::new(Pool::new(connector.clone(), options, spread)?);
        // Best effort, as on every day that follows: a start does not wait longer for it.
        let _late = tokio::time::timeout(deadline, partitions::make_ahead(&pool)).await;
        let changed = Arc::new(Notify::new());
        let mut tasks =
            vec![tokio::spawn(partitions::keep_ahead(Arc::clone(&pool))).abort_handle()];
        if listens {
            let listening = listen::listen(connector, Arc::clone(&changed));
            tasks.push(tokio::spawn(listening).abort_handle());
        }
        Ok(Self { pool, changed, listens, tasks })
    }

    /// Connects for reading alone. Nothing is made and no schema is brought up to date: a database that
    /// has none, or an older one, is refused. The sessions are read-only, so that the server refuses
    /// whatever would write.
    pub async fn connect_to_read(url: &str, options: Options) -> Result<Self, ConnectError> {
        let connector = link::Connector::to(url, options.connect_deadline)?.for_reading();
        let (client, _driver) = connect::first(&connector, options.statement_deadline).await?;
        schema::must_be_current(&client, connector.place(), options.statement_deadline).await?;
        drop(client);
        let pool = Arc::new(Pool::new(connector, options, false)?);
        Ok(Self { pool, changed: Arc::new(Notify::new()), listens: false, tasks: Vec::new() })
    }

    /// Drops the partitions of months that ended before `time`: their responses are gone at once, with
    /// their idempotency keys. Says how many partitions there were.
    pub async fn drop_partitions_before(&self, time: Timestamp) -> StoreResult<usize> {
        partitions::drop_before(&self.pool, time).await
    }

    /// Writes and takes back: a server that is away, full or read-only shows here.
    async fn probe(&self) -> Result<(), Stop> {
        let transaction = Transaction::begun(&self.pool).await?;
        match transaction.execute("INSERT INTO probe (filler) VALUES ('')", &[]).await {
            Ok(_) => {
                transaction.roll_back().await;
                Ok(())
            }
            Err(stop) => Err(transaction.stop(stop).await),
        }
    }
}

impl Drop for PgStore {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

/// Runs a write to its end, whether or not its caller still waits.
async fn to_the_end<T: Send + 'static>(
    write: impl Future<Output = StoreResult<T>> + Send + 'static,
) -> StoreResult<T> {
    let ended = tokio::spawn(write).await;
    ended.unwrap_or_else(|error| Err(StoreError::InDoubt(Box::new(error))))
}

#[async_trait]
impl Store for PgStore {
    async fn commit(&self, responses: Vec<NewResponse>) -> StoreResult<Vec<Outcome>> {
        let pool = Arc::clone(&self.pool);
        to_the_end(async move { commit::responses(&pool, responses).await }).await
    }

    fn lanes(&self) -> usize {
        self.pool.options().lanes
    }

    async fn find_by_idempotency_key(
        &self,
        app: AppId,
        key: &IdempotencyKey,
    ) -> StoreResult<Option<(ResponseId, Option<Digest>)>> {
        commit::find_by_idempotency_key(&self.pool, app, key).await
    }

    async fn apply(&self, at: At, change: Change) -> StoreResult<()> {
        let pool = Arc::clone(&self.pool);
        to_the_end(async move { apply::change(&pool, at, change).await }).await
    }

    async fn find_app_by_key(&self, key: &ApiKey) -> StoreResult<Option<App>> {
        apps::by_key(&self.pool, key).await
    }

    async fn find_app(&self, app: AppId) -> StoreResult<Option<App>> {
        apps::by_id(&self.pool, app).await
    }

    async fn list_apps(&self, page: Page<AppId>) -> StoreResult<Vec<App>> {
        apps::list(&self.pool, page).await
    }

    async fn list_keys(&self, app: AppId) -> StoreResult<Vec<KeyRow>> {
        apps::keys(&self.pool, app).await
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

    async fn find_version(&self, version: FlowVersionId) -> StoreResult<Option<VersionState>> {
        flows::version(&self.pool, version).await
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

    async fn list_responses(&self, query: &ResponseQuery) -> StoreResult<ResponsePage> {
        responses::list(&self.pool, query).await
    }

    async fn count_responses(&self, query: &ResponseQuery) -> StoreResult<ResponseCount> {
        responses::count(&self.pool, query).await
    }

    async fn find_response(&self, response: ResponseId) -> StoreResult<Option<ResponseRow>> {
        responses::by_id(&self.pool, response).await
    }

    async fn find_respondent(&self, respondent: RespondentId) -> StoreResult<Option<Respondent>> {
        respondents::by_id(&self.pool, respondent).await
    }

    async fn find_app_of_respondent(&self, respondent: RespondentId) -> StoreResult<Option<AppId>> {
        respondents::app_of(&self.pool, respondent).await
    }

    async fn find_respondent_by(
        &self,
        app: AppId,
        known: &Known,
    ) -> StoreResult<Option<RespondentId>> {
        respondents::by_known(&self.pool, app, known).await
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

    async fn list_responses_of(
        &self,
        app: AppId,
        respondent: RespondentId,
        page: Page<ResponseId>,
    ) -> StoreResult<Vec<ResponseRow>> {
        respondents::responses(&self.pool, app, respondent, page).await
    }

    async fn erase(&self, erasure: Erasure) -> StoreResult<Removed> {
        let pool = Arc::clone(&self.pool);
        to_the_end(async move { removal::erase(&pool, &erasure).await }).await
    }

    async fn list_erasing(&self, limit: usize) -> StoreResult<Vec<RespondentRow>> {
        respondents::erasing(&self.pool, limit).await
    }

    async fn expire(&self, expiry: Expiry) -> StoreResult<Expired> {
        let pool = Arc::clone(&self.pool);
        to_the_end(async move { expiry::part(&pool, &expiry).await }).await
    }

    async fn make_blocks(&self, place: BlockPlace, now: Timestamp) -> StoreResult<Blocked> {
        blocks::make(&self.pool, place, now).await
    }

    async fn find_invitation(&self, id: AssignmentId) -> StoreResult<Option<InvitationRow>> {
        invitations::by_id(&self.pool, id).await
    }

    async fn list_invitations(&self, query: &InvitationQuery) -> StoreResult<Vec<InvitationRow>> {
        invitations::list(&self.pool, *query).await
    }

    async fn list_invitations_of(
        &self,
        app: AppId,
        known: &[Known],
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

    async fn are_invited(
        &self,
        app: AppId,
        flow: FlowId,
        now: Timestamp,
        invitees: Vec<Invitee>,
    ) -> StoreResult<Vec<bool>> {
        invitations::are_invited(&self.pool, app, flow, now, &invitees).await
    }

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

    async fn count_by_day(&self, app: AppId, from: Option<Day>) -> StoreResult<Vec<DayTotal>> {
        read::counts::totals(&self.pool, app, from).await
    }

    async fn tend_counts(&self, limit: usize) -> StoreResult<Tended> {
        let pool = Arc::clone(&self.pool);
        to_the_end(async move { counts::tend(&pool, limit).await }).await
    }

    async fn find_token(&self, hash: &TokenHash) -> StoreResult<Option<TokenRow>> {
        instance::token(&self.pool, hash).await
    }

    async fn list_tokens(&self) -> StoreResult<Vec<TokenRow>> {
        instance::tokens(&self.pool).await
    }

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

    async fn list_audit(&self, query: &AuditQuery) -> StoreResult<Vec<AuditRow>> {
        instance::audit(&self.pool, *query).await
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

    async fn read_out(&self, after: Option<&Place>, limit: usize) -> StoreResult<Vec<Record>> {
        read::out::page(&self.pool, after, limit).await
    }

    async fn write_in(&self, records: Vec<Record>) -> StoreResult<()> {
        let pool = Arc::clone(&self.pool);
        to_the_end(async move { write_in::records(&pool, records).await }).await
    }

    async fn check(&self) -> StoreResult<()> {
        let probed = pool::within(CHECK_DEADLINE, "answer", self.probe()).await;
        probed.map_err(Stop::of_statement)?;
        match self.pool.stall().lasts() {
            true => Err(StoreError::Failed(
                "a commit was not confirmed in time; is a synchronous standby away?".into(),
            )),
            false => Ok(()),
        }
    }

    async fn close(&self) {
        for task in &self.tasks {
            task.abort();
        }
        self.pool.close().await;
    }
}
