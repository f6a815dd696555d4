//! The connections, lent for one unit of work at a time, with our own deadlines.
//!
//! A connection returns to the pool only if its work ended cleanly. In every other case, including
//! a dropped future and a panic, it is closed, and the server rolls back.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use deadpool::Runtime;
use deadpool::managed::{Hook, HookError, Object, Pool as Inner, PoolError};
use sluice_flow::id::AppId;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Row, Statement};

use super::block_horizon::BlockHorizon;
use super::citus::{self, Workers};
use super::codec::Cells;
use super::connect::{ConnectError, Options};
use super::failure::{RedactedError, TransactionError};
use super::link::Connector;
use super::session::{Session, Sessions};
use super::stall::Stall;
use crate::{Damage, PoolStatus, StoreError, StoreResult, WorkerStatus};

/// Deadline of the test of a connection that was idle.
const RECYCLE_DEADLINE: Duration = Duration::from_secs(1);
/// How long the readiness check waits for the workers; within its own deadline.
const WORKERS_ASKED: Duration = Duration::from_secs(1);
/// More concurrent units of work than there will ever be.
const WORK_MAX: u32 = 1 << 20;
/// Begins a transaction that only reads, along indexes. What has no index and must be sorted counts
/// as expensive, so the server would compile it.
const BEGIN_BY_INDEX: &str = "BEGIN READ ONLY; SET LOCAL enable_seqscan = off; \
     SET LOCAL enable_sort = off; SET LOCAL jit = off; SET LOCAL plan_cache_mode = force_custom_plan";

pub(super) type Params<'a> = &'a [&'a (dyn ToSql + Sync)];
/// A parameter of a statement that is assembled at run time.
pub(super) type BoxedParam = Box<dyn ToSql + Sync + Send>;

pub(super) fn param_refs(params: &[BoxedParam]) -> Vec<&(dyn ToSql + Sync)> {
    params.iter().map(|param| &**param as _).collect()
}

#[derive(Debug)]
pub(super) struct Pool {
    inner: Inner<Sessions>,
    options: Options,
    /// Present if tables are distributed with Citus.
    workers: Option<Arc<Workers>>,
    /// One permit for each unit of work in progress; closing takes them all.
    gate: Arc<Semaphore>,
    stall: Stall,
    block_horizon: BlockHorizon,
    damage: Arc<Damage>,
}

impl Pool {
    pub(super) fn new(
        connector: Connector,
        options: Options,
        workers: Option<Arc<Workers>>,
        damage: Arc<Damage>,
    ) -> Result<Self, ConnectError> {
        let longest = connector.longest() + Duration::from_millis(200);
        let builder = Inner::builder(Sessions(connector))
            .max_size(options.connections_max.max(options.lanes + 1))
            .wait_timeout(Some(options.checkout_deadline))
            .create_timeout(Some(longest))
            .recycle_timeout(Some(RECYCLE_DEADLINE))
            .runtime(Runtime::Tokio1);
        let builder = match &workers {
            Some(workers) => builder.post_create(worker_check(Arc::clone(workers), &options)),
            None => builder,
        };
        let inner =
            builder.build().map_err(|error| ConnectError::Url { reason: error.to_string() })?;
        let gate = Arc::new(Semaphore::new(WORK_MAX as usize));
        let (stall, block_horizon) = (Stall::default(), BlockHorizon::default());
        Ok(Self { inner, options, workers, gate, stall, block_horizon, damage })
    }

    pub(super) fn options(&self) -> &Options {
        &self.options
    }

    pub(super) fn status(&self) -> PoolStatus {
        let found = self.inner.status();
        PoolStatus {
            in_use: found.size.saturating_sub(found.available),
            idle: found.available,
            waiting: found.waiting,
            max: found.max_size,
        }
    }

    /// What the workers answered last, if tables are distributed with Citus.
    pub(super) fn worker_status(&self) -> Option<WorkerStatus> {
        self.workers.as_ref().map(|workers| workers.status())
    }

    /// Whether tables may be distributed over several servers, where locks of one server are not
    /// enough, and where a write of several apps is a two-phase commit.
    pub(super) fn is_spread(&self) -> bool {
        self.options.distributed || self.is_citus()
    }

    /// Whether tables are distributed with Citus.
    pub(super) fn is_citus(&self) -> bool {
        self.workers.is_some()
    }

    /// The number of the worker that has an app, if tables are distributed with Citus.
    pub(super) fn worker_of(&self, app: AppId) -> Option<u32> {
        self.workers.as_ref()?.worker_of(app)
    }

    /// Asks the workers of a distributed database whether they can store.
    pub(super) async fn check_workers(&self) -> StoreResult<()> {
        let Some(workers) = &self.workers else { return Ok(()) };
        self.ask(workers, WORKERS_ASKED).await;
        workers.check()
    }

    /// Asks the workers periodically.
    pub(super) async fn keep_asking(self: Arc<Self>, workers: Arc<Workers>) {
        loop {
            tokio::time::sleep(workers.interval()).await;
            self.ask(&workers, self.options.statement_deadline).await;
        }
    }

    /// Asks the workers now. If there is no answer in time, what they answered last still counts.
    async fn ask(&self, workers: &Workers, deadline: Duration) {
        let Ok(mut lease) = self.lease().await else { return };
        if let Ok(Ok(())) = timeout(deadline, citus::ask(&lease, workers)).await {
            lease.settle(None);
        }
    }

    pub(super) fn must_be_open(&self) -> StoreResult<()> {
        match self.gate.is_closed() {
            true => Err(StoreError::Closed),
            false => Ok(()),
        }
    }

    pub(super) fn stall(&self) -> &Stall {
        &self.stall
    }

    /// How far the blocks of the skip index may reach.
    pub(super) fn block_horizon(&self) -> &BlockHorizon {
        &self.block_horizon
    }

    /// The damage that was found in the database.
    pub(super) fn damage(&self) -> &Damage {
        &self.damage
    }

    /// Refuses work that ends in a COMMIT while commits are not confirmed, see [`super::stall`], or
    /// while a worker would not keep them.
    pub(super) fn may_commit(&self) -> StoreResult<()> {
        if let Some(weak) = self.workers.as_ref().and_then(|workers| workers.weak()) {
            return Err(StoreError::Failed(weak.to_string().into()));
        }
        match self.stall.lets_through() {
            true => Ok(()),
            false => Err(StoreError::Failed("commits are not being confirmed; not tried".into())),
        }
    }

    /// Keeps the store open for one unit of work.
    pub(super) async fn enter(&self) -> StoreResult<OwnedSemaphorePermit> {
        Arc::clone(&self.gate).acquire_owned().await.map_err(|_| StoreError::Closed)
    }

    pub(super) async fn lease(&self) -> StoreResult<Lease> {
        let permit = self.enter().await?;
        match self.inner.get().await {
            Ok(object) => Ok(Lease {
                object: Some(object),
                clean: false,
                permit: Some(permit),
                damage: Arc::clone(&self.damage),
            }),
            Err(PoolError::Closed) => Err(StoreError::Closed),
            Err(PoolError::Backend(error)) => {
                Err(StoreError::Failed(Box::new(RedactedError::new(&error))))
            }
            Err(error) => Err(StoreError::Failed(Box::new(error))),
        }
    }

    /// The rows of one statement, read at one instant.
    pub(super) async fn many<T>(
        &self,
        sql: &str,
        params: Params<'_>,
        read: fn(&mut Cells) -> StoreResult<T>,
    ) -> StoreResult<Vec<T>> {
        self.rows(sql, params, false).await?.iter().map(|row| read(&mut Cells::new(row))).collect()
    }

    /// As [`Self::many`], but the planner prefers an index to reading or sorting a whole table,
    /// whatever it assumes about the table: for tables that grow and shrink faster than their
    /// statistics.
    pub(super) async fn many_by_index<T>(
        &self,
        sql: &str,
        params: Params<'_>,
        read: fn(&mut Cells) -> StoreResult<T>,
    ) -> StoreResult<Vec<T>> {
        self.rows(sql, params, true).await?.iter().map(|row| read(&mut Cells::new(row))).collect()
    }

    /// For any type that is read from the rows, so that it is compiled once.
    async fn rows(&self, sql: &str, params: Params<'_>, by_index: bool) -> StoreResult<Vec<Row>> {
        let mut lease = self.lease().await?;
        let query = async {
            match by_index {
                true => lease.query_by_index(sql, params).await,
                false => lease.query(sql, params).await,
            }
        };
        let rows = within(self.options.statement_deadline, "answer", query).await;
        lease.settle(rows.as_ref().err());
        rows.map_err(TransactionError::of_statement)
    }

    /// The first row of a statement that returns at most one, or several of which any is suitable.
    pub(super) async fn one<T>(
        &self,
        sql: &str,
        params: Params<'_>,
        read: fn(&mut Cells) -> StoreResult<T>,
    ) -> StoreResult<Option<T>> {
        Ok(self.many(sql, params, read).await?.into_iter().next())
    }

    /// Waits for the work in progress, then closes every connection.
    pub(super) async fn close(&self) {
        if let Ok(_all) = self.gate.acquire_many(WORK_MAX).await {
            self.gate.close();
        }
        self.inner.close();
    }
}

/// Checks the workers with every new connection: it may have been lost because one was replaced.
fn worker_check(workers: Arc<Workers>, options: &Options) -> Hook<Sessions> {
    let deadline = options.connect_deadline;
    Hook::async_fn(move |session: &mut Session, _| {
        let workers = Arc::clone(&workers);
        Box::pin(async move {
            citus::set_up(session, &workers, deadline).await.map_err(HookError::message)
        })
    })
}

/// A connection from the pool, for one unit of work.
#[derive(Debug)]
pub(super) struct Lease {
    /// Absent only while it is dropped.
    object: Option<Object<Sessions>>,
    /// Whether it may return to the pool.
    clean: bool,
    /// Absent once the work is given up; then closing does not wait for it.
    permit: Option<OwnedSemaphorePermit>,
    damage: Arc<Damage>,
}

impl Lease {
    pub(super) async fn query(
        &self,
        sql: &str,
        params: Params<'_>,
    ) -> Result<Vec<Row>, TransactionError> {
        let statement = self.prepare_cached(sql).await?;
        Ok(self.send(&statement, params).await?)
    }

    /// In a transaction with settings for the planner, all in one exchange.
    async fn query_by_index(
        &self,
        sql: &str,
        params: Params<'_>,
    ) -> Result<Vec<Row>, TransactionError> {
        let statement = self.prepare_cached(sql).await?;
        // Each future sends its message when first polled, and they are polled from left to right.
        let (begun, rows, ended) = tokio::join!(
            biased;
            self.batch_execute(BEGIN_BY_INDEX),
            self.send(&statement, params),
            self.batch_execute("COMMIT"),
        );
        begun?;
        let rows = rows?;
        ended?;
        Ok(rows)
    }

    pub(super) async fn send(
        &self,
        statement: &Statement,
        params: Params<'_>,
    ) -> Result<Vec<Row>, tokio_postgres::Error> {
        tokio_postgres::Client::query(self, statement, params).await
    }

    /// Hands over the permit that closing waits for, so that it does not wait for the connection.
    pub(super) fn take_permit(&mut self) -> Option<OwnedSemaphorePermit> {
        self.permit.take()
    }

    /// Records that the work has ended, and with which error if any: this decides whether the
    /// connection may be used again, and notes damage that the server reports.
    pub(super) fn settle(&mut self, error: Option<&TransactionError>) {
        if let Some(error) = error {
            error.note_damage(&self.damage);
        }
        self.clean = !error.is_some_and(TransactionError::ends_connection);
    }
}

impl Deref for Lease {
    type Target = Session;

    #[expect(clippy::expect_used, reason = "it is taken out only when the lease is dropped")]
    fn deref(&self) -> &Session {
        self.object.as_ref().expect("a lease has its connection until it is dropped")
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(object) = self.object.take()
            && !self.clean
        {
            drop(Object::take(object));
        }
    }
}

/// Waits for a future no longer than a deadline.
pub(super) async fn within<T>(
    deadline: Duration,
    what: &'static str,
    work: impl Future<Output = Result<T, TransactionError>>,
) -> Result<T, TransactionError> {
    timeout(deadline, work).await.unwrap_or(Err(TransactionError::Deadline(what)))
}
