//! What the instance knows about all apps: their settings, and the app of a flow or version.
//!
//! On a distributed database the directory is on the coordinator and the rest of an app on its
//! worker. A change of both is one two-phase commit, but the coordinator shows its part before the
//! worker does. So a reader that has seen a change in the directory, or in the change feed beside
//! it, may still find the app as it was. [`current`] reads the app until it is at least as new as
//! the directory: nothing older than the position of the feed is ever cached. On a single server
//! both parts become visible at once, and the first read is always new enough.

use std::time::Duration;

use sluice_flow::id::AppId;
use tokio::time::Instant;
use uuid::Uuid;

use super::codec::{Cells, ReadCells as _};
use super::failure::TransactionError;
use super::pool::{Params, Pool};
use super::transaction::Transaction;
use crate::{StoreError, StoreResult};

/// How long to wait for a worker to show what it has agreed to commit. Usually milliseconds; if the
/// worker fails in between, until Citus recovers the transaction.
const VISIBLE_WITHIN: Duration = Duration::from_secs(2);
/// The pause between two reads, doubling from the minimum to the maximum.
const PAUSE_MIN: Duration = Duration::from_millis(2);
const PAUSE_MAX: Duration = Duration::from_millis(100);

/// The app of an id, and its public revision in the directory.
pub(super) struct Owner {
    pub(super) app: Uuid,
    public_revision: u64,
}

/// The app of a flow or version; `None` if there is no such flow or version.
pub(super) async fn owner(pool: &Pool, id: Uuid) -> StoreResult<Option<Owner>> {
    let sql = "SELECT app_directory.app_id, app_directory.public_revision FROM id_directory \
         JOIN app_directory ON app_directory.app_id = id_directory.app_id WHERE id_directory.id = $1";
    pool.one(sql, &[&id], |cells: &mut Cells| {
        Ok(Owner { app: cells.take()?, public_revision: cells.revision()? })
    })
    .await
}

/// Records the app of a flow or version, which never changes.
pub(super) async fn put_owner(
    transaction: &Transaction,
    id: Uuid,
    app: Uuid,
) -> Result<(), TransactionError> {
    let sql = "INSERT INTO id_directory (id, app_id) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING";
    transaction.execute(sql, &[&id, &app]).await.map(|_| ())
}

/// Fails if `what` names an app that does not exist. Apps are never removed.
pub(super) async fn must_exist(
    transaction: &Transaction,
    app: Option<AppId>,
    what: &str,
) -> Result<(), TransactionError> {
    let Some(app) = app else { return Ok(()) };
    let sql = "SELECT FROM app_directory WHERE app_id = $1";
    match transaction.query(sql, &[&app.uuid()]).await?.is_empty() {
        true => {
            Err(StoreError::Failed(format!("{what} names an app that does not exist").into())
                .into())
        }
        false => Ok(()),
    }
}

/// Reads one row of an app in a state that is not older than the directory's; `revision` is the
/// public revision of the app in what was read. On one server both are always of one commit, so a
/// row that is absent is not waited for. A worker may be late; it has no such row if it does not
/// show one after it has shown the revision: the id may be that of another kind.
pub(super) async fn current<T>(
    pool: &Pool,
    owner: &Owner,
    (sql, params): (&str, Params<'_>),
    read: fn(&mut Cells) -> StoreResult<T>,
    revision: fn(&T) -> u64,
) -> StoreResult<Option<T>> {
    let deadline = Instant::now() + VISIBLE_WITHIN;
    let (mut pause, mut is_up_to_date) = (PAUSE_MIN, false);
    loop {
        let found = pool.one(sql, params, read).await?;
        let is_current = |it: &T| revision(it) >= owner.public_revision;
        if !pool.is_spread() || found.as_ref().map_or(is_up_to_date, is_current) {
            return Ok(found);
        }
        if Instant::now() >= deadline {
            return Err(StoreError::Failed("a change of the app is not visible yet".into()));
        }
        if found.is_none() && !is_up_to_date {
            is_up_to_date = shown(pool, owner.app).await? >= Some(owner.public_revision);
            if is_up_to_date {
                continue;
            }
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(PAUSE_MAX);
    }
}

/// The public revision of an app that its worker shows.
async fn shown(pool: &Pool, app: Uuid) -> StoreResult<Option<u64>> {
    let sql = "SELECT public_revision FROM apps WHERE app_id = $1";
    pool.one(sql, &[&app], |cells: &mut Cells| cells.revision()).await
}
