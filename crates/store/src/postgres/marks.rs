//! Marks of the whole database that outlive a process.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::task::JoinHandle;
use tokio_postgres::{Client, Error};

use super::connect::{self, ConnectError};
use super::failure::{RedactedError, TransactionError};
use super::link::Connector;
use super::pool::Pool;
use super::transaction::{Transaction, end};
use crate::{Damage, StoreError, StoreResult};

/// A backup is being restored into the database.
pub(super) const RESTORING: &str = "restoring";
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
) -> Result<Option<String>, ConnectError> {
    let sql = "SELECT name, detail FROM marks";
    let found = connect::answered(deadline, client.query(sql, &[])).await?;
    let found = found.map_err(|error| unreachable(connector, &error))?;
    let detail = |name: &str| {
        let row = found.iter().find(|row| row.get::<_, &str>(0) == name);
        row.map(|row| row.get::<_, String>(1))
    };
    match detail(RESTORING) {
        Some(_) => Err(ConnectError::Restoring { place: connector.place() }),
        None => Ok(detail(DAMAGED)),
    }
}

/// Removes the mark of damage.
pub(super) async fn forget_damage(
    client: &Client,
    connector: &Connector,
    deadline: Duration,
) -> Result<(), ConnectError> {
    let removed = client.execute("DELETE FROM marks WHERE name = $1", &[&DAMAGED]);
    let removed = connect::answered(deadline, removed).await?;
    removed.map(drop).map_err(|error| unreachable(connector, &error))
}

fn unreachable(connector: &Connector, error: &Error) -> ConnectError {
    let reason = RedactedError::new(error).to_string();
    ConnectError::Unreachable { place: connector.place(), reason }
}

/// Damage that outlives the process: what is found goes to the task that writes it.
#[derive(Debug, Default)]
pub(super) struct Remembering {
    sender: Arc<Mutex<Option<Sender<String>>>>,
    task: Mutex<Option<JoinHandle<()>>>,
}

impl Remembering {
    pub(super) fn new(found_before: Option<String>) -> (Arc<Damage>, Self, Receiver<String>) {
        let (sender, found) = mpsc::channel(1);
        let sender = Arc::new(Mutex::new(Some(sender)));
        let to = Arc::clone(&sender);
        let remember = move |what: &str| {
            if let Some(sender) = &*lock(&to) {
                // While one waits to be written, a second adds nothing.
                drop(sender.try_send(what.to_owned()));
            }
        };
        let damage = Arc::new(Damage::new(found_before, remember));
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
        while let Err(error) = put(&pool, DAMAGED, &what).await {
            if matches!(error, StoreError::Closed) {
                return;
            }
            tracing::error!(%error, "the damage cannot be remembered: do not restart");
            tokio::time::sleep(RETRY_PAUSE).await;
        }
    }
}

/// Puts a mark, durably. Returns false if it is there already.
pub(super) async fn put(pool: &Arc<Pool>, name: &str, detail: &str) -> StoreResult<bool> {
    let sql = "INSERT INTO marks (name, detail) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING";
    let transaction = Transaction::begun(pool).await.map_err(TransactionError::of_statement)?;
    let rows = transaction.execute(sql, &[&name, &detail]).await;
    Ok(end(transaction, rows).await? > 0)
}

pub(super) async fn remove(pool: &Arc<Pool>, name: &str) -> StoreResult<()> {
    let transaction = Transaction::begun(pool).await.map_err(TransactionError::of_statement)?;
    let removed = transaction.execute("DELETE FROM marks WHERE name = $1", &[&name]).await;
    end(transaction, removed).await.map(drop)
}
