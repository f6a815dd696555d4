//! Marks of the whole database that outlive a process.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::task::JoinHandle;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Error};

use super::connect::{self, ConnectError};
use super::failure::{RedactedError, TransactionError};
use super::link::Connector;
use super::pool::Pool;
use super::transaction::{Transaction, end};
use crate::{Damage, DamageMark, StoreError, StoreResult};

/// A backup is being restored into the database.
const RESTORING: &str = "restoring";
/// Damage was found in the database.
const DAMAGED: &str = "damaged";
/// The pause between two attempts to write a mark.
const RETRY_PAUSE: Duration = Duration::from_secs(5);
/// How long closing waits for a mark to be written.
const FINISH_DEADLINE: Duration = Duration::from_secs(10);

/// Refuses a database that holds a part of a backup. Returns the damage that was found in it
/// before, if any.
pub(super) async fn read(
    client: &Client,
    connector: &Connector,
    deadline: Duration,
) -> Result<Option<DamageMark>, ConnectError> {
    let sql = "SELECT name, detail, noted_at::text FROM marks";
    let found = connect::answered(deadline, client.query(sql, &[])).await?;
    let found = found.map_err(|error| unreachable(connector, &error))?;
    let mark = |name: &str| found.iter().find(|row| row.get::<_, &str>(0) == name);
    match mark(RESTORING) {
        Some(_) => Err(ConnectError::Restoring { place: connector.place() }),
        None => Ok(mark(DAMAGED).map(|row| DamageMark { what: row.get(1), stamp: row.get(2) })),
    }
}

/// Removes the mark of damage, unless damage was found again since it was read.
pub(super) async fn forget_damage(
    client: &Client,
    connector: &Connector,
    deadline: Duration,
    mark: &DamageMark,
) -> Result<bool, ConnectError> {
    let sql = "WITH removed AS ( \
         DELETE FROM marks WHERE name = $1 AND noted_at = $2::text::timestamp RETURNING 1) \
         SELECT EXISTS (SELECT FROM removed) OR NOT EXISTS (SELECT FROM marks WHERE name = $1)";
    let values: [&(dyn ToSql + Sync); 2] = [&DAMAGED, &mark.stamp];
    let removed = connect::answered(deadline, client.query_one(sql, &values)).await?;
    removed.map(|row| row.get(0)).map_err(|error| unreachable(connector, &error))
}

fn unreachable(connector: &Connector, error: &Error) -> ConnectError {
    let reason = RedactedError::new(error).to_string();
    ConnectError::Unreachable { place: connector.place(), reason }
}

/// Damage that outlives the process: it is sent to the task that writes it.
#[derive(Debug, Default)]
pub(super) struct Remembering {
    sender: Arc<Mutex<Option<Sender<String>>>>,
    task: Mutex<Option<JoinHandle<()>>>,
}

impl Remembering {
    pub(super) fn new(mark: Option<DamageMark>) -> (Arc<Damage>, Self, Receiver<String>) {
        let (sender, found) = mpsc::channel(1);
        let sender = Arc::new(Mutex::new(Some(sender)));
        let to = Arc::clone(&sender);
        let remember = move |what: &str| {
            if let Some(sender) = &*lock(&to) {
                // While one waits to be written, a second adds nothing.
                drop(sender.try_send(what.to_owned()));
            }
        };
        let damage = Arc::new(Damage::new(mark, remember));
        (damage, Self { sender, task: Mutex::default() }, found)
    }

    pub(super) fn start(&self, pool: Arc<Pool>, found: Receiver<String>) {
        *lock(&self.task) = Some(tokio::spawn(remember(pool, found)));
    }

    /// Waits until what was found is written, but not for long.
    pub(super) async fn finish(&self) {
        drop(lock(&self.sender).take());
        let task = lock(&self.task).take();
        let Some(mut task) = task else { return };
        if tokio::time::timeout(FINISH_DEADLINE, &mut task).await.is_err() {
            task.abort();
        }
    }

    pub(super) fn abort(&self) {
        if let Some(task) = lock(&self.task).take() {
            task.abort();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes marks of damage, until the store is closed.
async fn remember(pool: Arc<Pool>, mut found: Receiver<String>) {
    while let Some(what) = found.recv().await {
        while let Err(error) = put_damaged(&pool, &what).await {
            if matches!(error, StoreError::Closed) {
                return;
            }
            tracing::error!(%error, "cannot save the damage marker: do not restart");
            tokio::time::sleep(RETRY_PAUSE).await;
        }
    }
}

/// Writes the mark of damage, durably. If it is there already, it gets a new time: a check that
/// began before then does not remove it.
async fn put_damaged(pool: &Arc<Pool>, what: &str) -> StoreResult<()> {
    let sql = "INSERT INTO marks (name, detail) VALUES ($1, $2) \
         ON CONFLICT (name) DO UPDATE SET noted_at = DEFAULT";
    execute(pool, sql, &[&DAMAGED, &what]).await.map(drop)
}

/// Writes the mark of a restore, durably. Returns false if it is there already.
pub(super) async fn put_restoring(pool: &Arc<Pool>) -> StoreResult<bool> {
    let sql = "INSERT INTO marks (name, detail) VALUES ($1, '') ON CONFLICT (name) DO NOTHING";
    Ok(execute(pool, sql, &[&RESTORING]).await? > 0)
}

pub(super) async fn remove_restoring(pool: &Arc<Pool>) -> StoreResult<()> {
    execute(pool, "DELETE FROM marks WHERE name = $1", &[&RESTORING]).await.map(drop)
}

async fn execute(pool: &Arc<Pool>, sql: &str, values: &[&(dyn ToSql + Sync)]) -> StoreResult<u64> {
    let transaction = Transaction::begun(pool).await.map_err(TransactionError::of_statement)?;
    let rows = transaction.execute(sql, values).await;
    end(transaction, rows).await
}
