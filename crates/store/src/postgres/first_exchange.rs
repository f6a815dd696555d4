//! The first exchange of a commit: begins, locks the apps, and reads what decides about the rows.
//!
//! A commit for all apps does not wait for the lock of an app that is being changed
//! ([`IfBusy::Skip`]): it leaves the app out, and its responses are committed separately.

use std::collections::HashMap;
use std::sync::LazyLock;

use sluice_flow::id::AppId;
use sluice_flow::time::Timestamp;
use tokio_postgres::Row;
use uuid::Uuid;

use super::by_app::{AppColumn, ByApp};
use super::codec::{Cells, ReadCells as _};
use super::failure::TransactionError;
use super::final_exchange::{COPY, Copying};
use super::pool::Params;
use super::transaction::{BEGIN, SET_AND_QUEUE, SET_AND_TRY, Transaction};
use crate::{IfBusy, StoreError};

/// Columns of [`SET_AND_QUEUE`] and [`SET_AND_TRY`] before the result of the lock.
const SET_COLUMNS: usize = 4;
/// For the apps after the first; see [`SET_AND_QUEUE`].
const QUEUE: &str =
    "SELECT pg_advisory_xact_lock_shared(number) FROM unnest($1::bigint[]) AS number";
/// A separate statement after the lock, so that it sees what was committed while waiting for it.
const READ: &str = "SELECT app_id, public_revision FROM apps WHERE app_id = ANY($1)";
const READ_AND_LOCK: &str = "SELECT app_id, public_revision FROM apps WHERE app_id = $1 FOR SHARE";

/// The keys in use. The digest is absent if the response was deleted, or no longer has the content
/// that was sent with the key. Both lookups are subqueries that the planner cannot join otherwise: a
/// plan made while the tables are small would still read all keys of the app when they are large.
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
pub(super) enum With<'k> {
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
    /// The keys that are in use.
    pub(super) found: Vec<Row>,
    pub(super) copy: Option<Copying>,
    /// The server's current time.
    pub(super) now: Timestamp,
}

/// Begins and locks. On a distributed database, which has no lock of its own over all servers, the
/// rows of the apps are locked as well, in the given order.
pub(super) async fn begin(
    transaction: &Transaction,
    apps: &[AppId],
    if_busy: IfBusy,
    with: With<'_>,
) -> Result<Begun, TransactionError> {
    let timeout = transaction.lock_timeout();
    let now = Timestamp::from_millis(0);
    let newest = apps.iter().map(|app| (*app, None)).collect();
    let mut begun = Begun { newest, found: Vec::new(), copy: None, now };
    if transaction.is_spread() {
        for (index, app) in apps.iter().enumerate() {
            let (numbers, id) = (vec![queue_of(*app)], app.uuid());
            let (lock, params): (_, Params<'_>) = match index {
                0 => (SET_AND_QUEUE, &[&numbers, &timeout]),
                _ => (QUEUE, &[&numbers]),
            };
            let sent = Sent { begins: index == 0, lock, read: READ_AND_LOCK, with: With::Nothing };
            sent.exchange(transaction, params, &[&id], &mut begun).await?;
        }
        return Ok(begun);
    }
    let ids: Vec<Uuid> = apps.iter().map(|app| app.uuid()).collect();
    let numbers: Vec<i64> = apps.iter().map(|app| queue_of(*app)).collect();
    let lock = match if_busy {
        IfBusy::Wait => SET_AND_QUEUE,
        IfBusy::Skip => SET_AND_TRY,
    };
    let sent = Sent { begins: true, lock, read: READ, with };
    let set = sent.exchange(transaction, &[&numbers, &timeout], &[&ids], &mut begun).await?;
    if if_busy == IfBusy::Skip {
        let set = set.as_ref().map(|row| Cells::after(row, SET_COLUMNS).take()).transpose()?;
        let locked: Vec<bool> = set.unwrap_or_default();
        if locked.len() != apps.len() {
            let why = "a lock was not answered".to_owned();
            return Err(StoreError::Corrupt(why).into());
        }
        for (app, _) in apps.iter().zip(locked).filter(|(_, is_locked)| !is_locked) {
            begun.newest.remove(app);
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

/// The statements of one exchange.
struct Sent<'s> {
    begins: bool,
    lock: &'s str,
    read: &'s str,
    with: With<'s>,
}

impl Sent<'_> {
    /// Sends everything at once, and returns the row of the lock.
    async fn exchange(
        &self,
        transaction: &Transaction,
        lock_params: Params<'_>,
        read_params: Params<'_>,
        result: &mut Begun,
    ) -> Result<Option<Row>, TransactionError> {
        let begin = transaction.prepare(BEGIN).await?;
        let lock = transaction.prepare(self.lock).await?;
        let read = transaction.prepare(self.read).await?;
        let look_up = transaction.prepare(UNDER_KEYS.form(transaction.is_spread())).await?;
        if let With::Copy { .. } = self.with {
            // Prepared now, so that it is sent without delay below.
            transaction.prepare(&COPY).await?;
        }
        // Each future sends its message when first polled, and they are polled from left to right.
        let (begun, locked, read, looked_up, copying) = tokio::join!(
            biased;
            async {
                match self.begins {
                    true => transaction.send(&begin, &[]).await.map(drop),
                    false => Ok(()),
                }
            },
            transaction.send(&lock, lock_params),
            transaction.send(&read, read_params),
            async {
                match self.with {
                    With::Copy { apps, keys } if !keys.is_empty() => {
                        transaction.send(&look_up, &[apps.param(), &keys]).await
                    }
                    With::Copy { .. } | With::Nothing => Ok(Vec::new()),
                }
            },
            async {
                match self.with {
                    With::Copy { .. } => transaction.copy(&COPY).await.map(Some),
                    With::Nothing => Ok(None),
                }
            }
        );
        let refused = copying.is_err();
        let all = begun.and(locked).and_then(|locked| Ok((locked, read?, looked_up?, copying?)));
        // The first refusal wins; if the copy was refused too, the connection is out of step.
        let (locked, read, looked_up, copying) =
            all.map_err(|error| if refused { error.out_of_step() } else { error })?;
        for row in &read {
            let mut cells = Cells::of(row);
            let app = cells.id(AppId::from_uuid)?;
            result.newest.insert(app, Some(cells.revision()?));
        }
        result.found = looked_up;
        result.copy = copying.map(Box::pin);
        let locked = locked.into_iter().next();
        if let (true, Some(row)) = (self.begins, &locked) {
            result.now = Timestamp::from_millis(Cells::after(row, SET_COLUMNS + 1).take()?);
        }
        Ok(locked)
    }
}
