//! The first exchange of a commit: begins, locks the apps, and reads what determines which rows are
//! stored.
//!
//! A commit for all apps does not wait for the lock of an app that is being changed
//! ([`IfBusy::Skip`]): it leaves the app out, and its responses are committed separately.

use std::collections::HashMap;
use std::sync::LazyLock;

use futures_util::FutureExt;
use sluice_flow::id::AppId;
use sluice_flow::time::Timestamp;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::by_app::{AppColumn, ByApp};
use super::codec::{Cells, ReadCells as _};
use super::failure::TransactionError;
use super::final_exchange::{COPY, Copying, in_order};
use super::pool::Params;
use super::transaction::{BEGIN, SET_AND_QUEUE, SET_AND_TRY, Transaction};
use crate::{IfBusy, StoreError, StoreResult};

/// Columns of [`SET_AND_QUEUE`] and [`SET_AND_TRY`] before the result of the lock.
const SET_COLUMNS: usize = 5;
/// A separate statement after the lock, so that it sees what was committed while waiting for it.
const READ: &str = "SELECT app_id, public_revision FROM apps WHERE app_id = ANY($1)";
const READ_AND_LOCK: &str = "SELECT app_id, public_revision FROM apps WHERE app_id = $1 FOR SHARE";
/// Without waiting.
const READ_AND_TRY: &str =
    "SELECT app_id, public_revision FROM apps WHERE app_id = $1 FOR SHARE SKIP LOCKED";

/// The keys in use. The digest is absent if the response was deleted, or no longer has the content
/// that was sent with the key. Both lookups are subqueries that the planner cannot join otherwise:
/// a plan made while the tables are small would still read all keys of the app when they are large.
pub(super) static UNDER_KEYS: LazyLock<ByApp> = LazyLock::new(|| {
    let under = |given: &str, app: &str| {
        format!(
            "SELECT taken.* FROM {given} CROSS JOIN LATERAL ( \
             SELECT app_id, key, response_id, (SELECT digest FROM responses \
             WHERE responses.app_id = {app} \
             AND responses.response_id = idempotency.response_id \
             AND responses.idempotency_key = idempotency.key LIMIT 1) \
             FROM idempotency WHERE app_id = {app} AND key = given.key LIMIT 1) AS taken"
        )
    };
    ByApp {
        one: under("unnest($2::uuid[]) AS given (key)", "$1"),
        many: under("unnest($1::uuid[], $2::uuid[]) AS given (app, key)", "given.app"),
    }
});

/// The advisory lock number of an app's queue.
pub(super) fn queue_of(app: AppId) -> i64 {
    let bits = app.uuid().as_u128();
    ((bits >> 64) as u64 ^ bits as u64).cast_signed()
}

/// What to send with the first exchange.
#[derive(Clone, Copy)]
pub(super) enum BeginWith<'k> {
    Nothing,
    /// The lookup of these keys, and the start of a copy.
    Copy {
        apps: &'k AppColumn,
        keys: &'k [Uuid],
    },
}

/// A transaction that has begun.
pub(super) struct Begun {
    /// The public revision of each app that is locked; `None` if the app does not exist.
    pub(super) newest: HashMap<AppId, Option<u64>>,
    /// Whether the queue of each app is locked, if that was tried without waiting.
    locked: Vec<bool>,
    /// The keys that are in use.
    pub(super) found: Vec<Row>,
    pub(super) copy: Option<Copying>,
    /// The server's current time.
    pub(super) now: Timestamp,
}

/// Begins and locks. On a distributed database, which has no lock across all servers, the rows of
/// the apps are locked as well, in the given order.
pub(super) async fn begin(
    transaction: &Transaction,
    apps: &[AppId],
    if_busy: IfBusy,
    with: BeginWith<'_>,
) -> Result<Begun, TransactionError> {
    let is_spread = transaction.is_spread();
    let timeout = transaction.lock_timeout();
    // The few lookups of plain rows have the same plan for any values, but PostgreSQL would plan
    // those with arrays again each time, since it assumes longer arrays. All other statements
    // depend on how many rows an app has, and a cluster needs the values to choose the worker.
    let planned = match with {
        BeginWith::Copy { .. } => "force_generic_plan",
        BeginWith::Nothing => "auto",
    };
    let ids: Vec<Uuid> = apps.iter().map(|app| app.uuid()).collect();
    let numbers: Vec<i64> = apps.iter().map(|app| queue_of(*app)).collect();
    let (lock, read_and_lock) = match if_busy {
        IfBusy::Wait => (SET_AND_QUEUE, READ_AND_LOCK),
        IfBusy::Skip => (SET_AND_TRY, READ_AND_TRY),
    };
    let of_all: [&(dyn ToSql + Sync); 1] = [&ids];
    let of_each: Vec<[&(dyn ToSql + Sync); 1]> = ids.iter().map(|id| [id as _]).collect();
    let (read, reads) = match is_spread {
        true => (read_and_lock, of_each.iter().map(|params| &params[..]).collect()),
        false => (READ, vec![&of_all[..]]),
    };
    let sent = Sent { lock, lock_params: &[&numbers, &timeout, &planned], read, reads, with };
    let mut begun = sent.exchange(transaction).await?;
    let is_tried = if_busy == IfBusy::Skip;
    if is_tried && begun.locked.len() != apps.len() {
        let why = "a lock was not answered".to_owned();
        return Err(StoreError::Corrupt(why).into());
    }
    for (index, app) in apps.iter().enumerate() {
        // A row that could not be locked was not read.
        let is_busy =
            is_tried && (!begun.locked[index] || is_spread && !begun.newest.contains_key(app));
        if is_busy {
            begun.newest.remove(app);
        } else {
            begun.newest.entry(*app).or_insert(None);
        }
    }
    Ok(begun)
}

/// Locks the rows of apps, which is a write.
pub(super) async fn lock_rows(
    transaction: &Transaction,
    apps: impl Iterator<Item = AppId>,
) -> Result<(), TransactionError> {
    for app in apps {
        transaction.query(READ_AND_LOCK, &[&app.uuid()]).await?;
    }
    Ok(())
}

/// The statements of the exchange.
struct Sent<'s> {
    lock: &'s str,
    lock_params: Params<'s>,
    read: &'s str,
    /// The parameters of each read.
    reads: Vec<Params<'s>>,
    with: BeginWith<'s>,
}

impl Sent<'_> {
    /// Sends everything at once.
    async fn exchange(&self, transaction: &Transaction) -> Result<Begun, TransactionError> {
        let begin = transaction.prepare(BEGIN).await?;
        let lock = transaction.prepare(self.lock).await?;
        let read = transaction.prepare(self.read).await?;
        let look_up = transaction.prepare(UNDER_KEYS.form(transaction.is_spread())).await?;
        if let BeginWith::Copy { .. } = self.with {
            // Prepared now, so that it is sent without delay below.
            transaction.prepare(&COPY).await?;
        }
        let reads = self.reads.iter().map(|params| transaction.send(&read, params).boxed());
        // Each future sends its message when first polled, and they are polled from left to right.
        let (begun, locked, read, looked_up, copying) = tokio::join!(
            biased;
            transaction.send(&begin, &[]),
            transaction.send(&lock, self.lock_params),
            in_order(reads.collect()),
            async {
                match self.with {
                    BeginWith::Copy { apps, keys } if !keys.is_empty() => {
                        transaction.send(&look_up, &[apps.param(), &keys]).await
                    }
                    BeginWith::Copy { .. } | BeginWith::Nothing => Ok(Vec::new()),
                }
            },
            async {
                match self.with {
                    BeginWith::Copy { .. } => transaction.copy(&COPY).await.map(Some),
                    BeginWith::Nothing => Ok(None),
                }
            }
        );
        let refused = copying.is_err();
        let read: Result<Vec<_>, _> = read.into_iter().collect();
        let all = begun.and(locked).and_then(|locked| Ok((locked, read?, looked_up?, copying?)));
        // The first refusal wins; if the copy was refused too, the connection is out of step.
        let (locked, read, found, copying) =
            all.map_err(|error| if refused { error.out_of_step() } else { error })?;
        let mut newest = HashMap::new();
        for row in read.iter().flatten() {
            let mut cells = Cells::new(row);
            let app = cells.id(AppId::from_uuid)?;
            newest.insert(app, Some(cells.revision()?));
        }
        let (locked, now) = set(&locked, self.lock == SET_AND_TRY)?;
        Ok(Begun { newest, locked, found, copy: copying.map(Box::pin), now })
    }
}

/// Reads the row of [`SET_AND_QUEUE`] or [`SET_AND_TRY`]: which locks were taken, if that was
/// tried, and the server's current time.
fn set(rows: &[Row], is_tried: bool) -> StoreResult<(Vec<bool>, Timestamp)> {
    let Some(row) = rows.first() else {
        return Err(StoreError::Corrupt("a lock was not answered".to_owned()));
    };
    let locked = match is_tried {
        true => Cells::after(row, SET_COLUMNS).take()?,
        false => Vec::new(),
    };
    Ok((locked, Timestamp::from_millis(Cells::after(row, SET_COLUMNS + 1).take()?)))
}
