//! One write transaction: on a separate connection, and either committed, rolled back or in doubt.
//!
//! Nothing is acknowledged before COMMIT has succeeded. A COMMIT is never cancelled: at its
//! deadline the outcome is in doubt and the connection is given up, while the server may still
//! finish it; [`super::stall`] decides about other commits meanwhile. Dropping the value at any
//! point ends the connection and with it the transaction.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::{FutureExt, SinkExt, TryFutureExt};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_postgres::{CopyInSink, Row, Statement};

use super::failure::TransactionError;
use super::pool::{Lease, Params, Pool, within};
use crate::{StoreError, StoreResult};

/// Overrides the role's defaults: a locked row is read in its current state, not as it was when the
/// transaction began. The settings that a COMMIT depends on are set for the transaction itself, in
/// the same exchange: behind a pooler that assigns sessions per transaction, this may not be the
/// session that was set up.
macro_rules! begin {
    () => {
        "BEGIN ISOLATION LEVEL READ COMMITTED"
    };
}
macro_rules! set {
    () => {
        "SELECT set_config('synchronous_commit', CASE current_setting('synchronous_commit') \
         WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, true), \
         set_config('client_min_messages', 'warning', true)"
    };
}
const BEGIN_AND_SET: &str = concat!(begin!(), "; ", set!());
/// Everything that such a transaction reads is of one instant; a write by another transaction since
/// then is a lost race.
const BEGIN_AT_ONE_INSTANT: &str = concat!("BEGIN ISOLATION LEVEL REPEATABLE READ; ", set!());

/// The same as two statements for callers that prepare them, so that the server need not parse them
/// again.
pub(super) const BEGIN: &str = begin!();
/// The settings of a commit, its lock, and the server's current time. Lookups in the transaction
/// use an index even if their plan was made when the tables were small. `$2` is
/// [`Transaction::lock_timeout`], `$3` how its statements are planned.
macro_rules! set_and {
    ($lock:literal) => {
        concat!(
            set!(),
            ", set_config('enable_seqscan', 'off', true), set_config('lock_timeout', $2, true), \
             set_config('plan_cache_mode', $3, true), ",
            $lock,
            ", (extract(epoch FROM clock_timestamp()) * 1000)::bigint"
        )
    };
}
/// Fair against changes, see [`super::commit`]; `$1` are the numbers of the apps' queues, in the
/// order in which all commits lock them.
pub(super) const SET_AND_QUEUE: &str = set_and!(
    "(SELECT count(pg_advisory_xact_lock_shared(number)) FROM unnest($1::bigint[]) AS number)"
);
/// The same without waiting: whether each app is locked. It fails also while a change waits, so it
/// is fair as well.
pub(super) const SET_AND_TRY: &str = set_and!(
    "ARRAY(SELECT pg_try_advisory_xact_lock_shared(number) FROM unnest($1::bigint[]) AS number)"
);

/// Waits until nothing else writes to an app; `$1` is the number of its queue.
pub(super) const QUEUE: &str = "SELECT pg_advisory_xact_lock($1)";
/// Locks an app's row and reads its revision.
pub(super) const LOCK: &str = "SELECT revision FROM apps WHERE app_id = $1 FOR UPDATE";

/// How long a connection with a hanging COMMIT is kept.
const HANGING_MAX: Duration = Duration::from_secs(120);

#[derive(Debug)]
pub(super) struct Transaction {
    pool: Arc<Pool>,
    lease: Lease,
}

impl Transaction {
    /// How long a commit may wait for a lock, as a setting. It ends well before the deadline for
    /// COMMIT: the rows are sent with it, and a key that another transaction holds must not leave
    /// them in doubt.
    pub(super) fn lock_timeout(&self) -> String {
        format!("{}ms", (self.pool.options().commit_deadline.as_millis() * 2 / 5).max(1))
    }

    /// A connection for a transaction that has not begun.
    pub(super) async fn on(pool: &Arc<Pool>) -> Result<Self, TransactionError> {
        Ok(Self { pool: Arc::clone(pool), lease: pool.lease().await? })
    }

    async fn begin(&self, sql: &str) -> Result<(), TransactionError> {
        self.within(async { Ok(self.lease.batch_execute(sql).await?) }).await
    }

    pub(super) async fn begun(pool: &Arc<Pool>) -> Result<Self, TransactionError> {
        let transaction = Self::on(pool).await?;
        transaction.begin(BEGIN_AND_SET).await?;
        transaction.limit_lock_waits().await?;
        Ok(transaction)
    }

    pub(super) async fn begun_at_one_instant(pool: &Arc<Pool>) -> Result<Self, TransactionError> {
        let transaction = Self::on(pool).await?;
        transaction.begin(BEGIN_AT_ONE_INSTANT).await?;
        transaction.limit_lock_waits().await?;
        Ok(transaction)
    }

    /// A setting of a session does not reach the workers of a cluster; SET LOCAL does: Citus sends
    /// it to a worker with the BEGIN there.
    async fn limit_lock_waits(&self) -> Result<(), TransactionError> {
        match self.pool.is_citus() {
            true => self.begin("SET LOCAL lock_timeout = '15s'").await,
            false => Ok(()),
        }
    }

    /// Whether tables may be distributed over several servers.
    pub(super) fn is_spread(&self) -> bool {
        self.pool.is_spread()
    }

    /// Costs one exchange per connection the first time; free afterwards.
    pub(super) async fn prepare(&self, sql: &str) -> Result<Statement, TransactionError> {
        self.within(async { Ok(self.lease.prepare_cached(sql).await?) }).await
    }

    /// Sent as soon as it is polled.
    pub(super) async fn send(
        &self,
        statement: &Statement,
        params: Params<'_>,
    ) -> Result<Vec<Row>, TransactionError> {
        self.within(async { Ok(self.lease.send(statement, params).await?) }).await
    }

    /// Starts to copy into a table; sent as soon as it is polled, if it was prepared before.
    ///
    /// If it is refused, the driver still sends the end of a copy that never started, and the
    /// server answers that too: then the connection has one answer too many.
    pub(super) async fn copy(&self, sql: &str) -> Result<CopyInSink<Bytes>, TransactionError> {
        let statement = self.prepare(sql).await?;
        let begun = self.within(async { Ok(self.lease.copy_in(&statement).await?) }).await;
        begun.map_err(TransactionError::out_of_step)
    }

    /// Sends the rest of a copy, and waits until it has ended.
    pub(super) async fn end_copy(
        &self,
        mut copy: Pin<Box<CopyInSink<Bytes>>>,
        rest: Bytes,
    ) -> Result<(), TransactionError> {
        self.within(async {
            copy.feed(rest).await?;
            copy.as_mut().finish().await?;
            Ok(())
        })
        .await
    }

    pub(super) async fn query(
        &self,
        sql: &str,
        params: Params<'_>,
    ) -> Result<Vec<Row>, TransactionError> {
        self.within(self.lease.query(sql, params)).await
    }

    /// Runs a statement and returns how many rows it affected.
    pub(super) async fn execute(
        &self,
        sql: &str,
        params: Params<'_>,
    ) -> Result<u64, TransactionError> {
        let statement = self.prepare(sql).await?;
        self.within(async { Ok(self.lease.execute(&statement, params).await?) }).await
    }

    /// After `Ok`, everything is on stable storage, and on the synchronous standby if there is one.
    pub(super) async fn commit(self) -> Result<(), NotCommitted> {
        self.end_with(|lease| {
            let committed = lease.batch_execute("COMMIT");
            committed.map_err(|error| NotCommitted::At(error.into())).boxed()
        })
        .await
    }

    /// Runs what ends the transaction with a COMMIT, to its end even if the caller stops waiting.
    pub(super) async fn end_with(
        self,
        last: impl FnOnce(&Lease) -> BoxFuture<'_, Result<(), NotCommitted>> + Send + 'static,
    ) -> Result<(), NotCommitted> {
        let Self { pool, mut lease } = self;
        // Held until this returns; closing does not wait for a COMMIT that was given up.
        let _permit = lease.take_permit();
        let mut committing = tokio::spawn(async move {
            let result = last(&lease).await;
            lease.settle(result.as_ref().err().map(NotCommitted::error));
            result
        });
        match timeout(pool.options().commit_deadline, &mut committing).await {
            Ok(Ok(Ok(()))) => {
                pool.stall().end();
                Ok(())
            }
            Ok(Ok(Err(failure))) => Err(failure),
            Ok(Err(panicked)) => Err(NotCommitted::At(TransactionError::Answer(
                StoreError::InDoubt(Box::new(panicked)),
            ))),
            Err(_) => {
                pool.stall().begin();
                tokio::spawn(watch_stalled_commit(pool, committing));
                Err(NotCommitted::At(TransactionError::Deadline("confirmation of a commit")))
            }
        }
    }

    /// Rolls back. A connection on which that fails is closed, which has the same effect.
    pub(super) async fn roll_back(mut self) {
        let result = self.within(async { Ok(self.lease.batch_execute("ROLLBACK").await?) }).await;
        self.lease.settle(result.as_ref().err());
    }

    /// Rolls back after `error`, if the connection still can.
    pub(super) async fn abort(self, error: TransactionError) -> TransactionError {
        if !error.ends_connection() {
            self.roll_back().await;
        }
        error
    }

    /// Every statement of a transaction passes here, except for those of [`Self::end_with`].
    async fn within<T>(
        &self,
        work: impl Future<Output = Result<T, TransactionError>>,
    ) -> Result<T, TransactionError> {
        let result = within(self.pool.options().statement_deadline, "answer", work).await;
        result.inspect_err(|error| error.note_damage(self.pool.damage()))
    }
}

/// Waits for a COMMIT that was given up, only to detect when the stall is over.
async fn watch_stalled_commit(
    pool: Arc<Pool>,
    mut committing: JoinHandle<Result<(), NotCommitted>>,
) {
    if timeout(HANGING_MAX, &mut committing).await.is_err() {
        // Aborting the task drops the connection.
        committing.abort();
    }
    pool.stall().end();
}

/// A transaction whose COMMIT did not succeed.
#[derive(Debug)]
pub(super) enum NotCommitted {
    /// Something before COMMIT was refused, so nothing is stored.
    Before(TransactionError),
    /// COMMIT was sent, and failed with this.
    At(TransactionError),
}

impl NotCommitted {
    /// The transaction was rolled back because of another one, and can be retried. After COMMIT was
    /// sent, only a plain error proves that: a retry of a write that was stored after all would
    /// store it twice.
    pub(super) fn lost_a_race(&self) -> bool {
        match self {
            Self::Before(error) => error.lost_a_race(),
            Self::At(error) => error.lost_a_race() && error.is_plain(),
        }
    }

    /// For a transaction that has only read.
    pub(super) fn nothing_written(self) -> StoreError {
        match self {
            Self::Before(error) | Self::At(error) => error.of_statement(),
        }
    }

    fn error(&self) -> &TransactionError {
        match self {
            Self::Before(error) | Self::At(error) => error,
        }
    }
}

impl From<NotCommitted> for StoreError {
    fn from(failure: NotCommitted) -> Self {
        match failure {
            NotCommitted::Before(error) => error.of_statement(),
            NotCommitted::At(error) => error.of_commit(),
        }
    }
}

/// Commits if the body succeeded, and rolls back otherwise.
pub(super) async fn end<T>(
    transaction: Transaction,
    body: Result<T, TransactionError>,
) -> StoreResult<T> {
    match body {
        Ok(value) => {
            transaction.commit().await?;
            Ok(value)
        }
        Err(error) => Err(transaction.abort(error).await.of_statement()),
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt;
    use tokio_postgres::{Config, Error, NoTls};

    use super::*;

    /// An error as a server reports it.
    async fn reported(severity: &str, code: &str) -> Error {
        let (ours, mut theirs) = tokio::io::duplex(1024);
        let fields = format!("S{severity}\0V{severity}\0C{code}\0Mno\0\0");
        let length = u32::try_from(fields.len() + 4).unwrap();
        let message = [&b"E"[..], &length.to_be_bytes(), fields.as_bytes()].concat();
        theirs.write_all(&message).await.unwrap();
        let connected = Config::new().user("sluice").connect_raw(ours, NoTls).await;
        connected.err().expect("the server refuses")
    }

    #[tokio::test]
    async fn only_a_plain_error_at_commit_is_a_lost_race() {
        for (severity, code, is_lost_before, is_lost_at) in [
            ("ERROR", "40001", true, true),
            ("ERROR", "40P01", true, true),
            ("FATAL", "40001", true, false),
            ("PANIC", "40P01", true, false),
            ("ERROR", "53100", false, false),
        ] {
            let before = NotCommitted::Before(reported(severity, code).await.into());
            assert_eq!(before.lost_a_race(), is_lost_before, "{severity} {code}");
            let at = NotCommitted::At(reported(severity, code).await.into());
            assert_eq!(at.lost_a_race(), is_lost_at, "{severity} {code}");
            let out_of_step = TransactionError::from(reported(severity, code).await).out_of_step();
            assert_eq!(NotCommitted::At(out_of_step).lost_a_race(), is_lost_at);
        }
    }

    #[tokio::test]
    async fn an_error_that_ends_the_session_at_commit_leaves_the_outcome_unknown() {
        let at = NotCommitted::At(reported("FATAL", "40001").await.into());
        assert!(matches!(StoreError::from(at), StoreError::InDoubt(_)));
        let before = NotCommitted::Before(reported("FATAL", "40001").await.into());
        assert!(matches!(StoreError::from(before), StoreError::Failed(_)));
        let refused = NotCommitted::At(reported("ERROR", "40001").await.into());
        assert!(matches!(StoreError::from(refused), StoreError::Failed(_)));
    }
}
