//! Drops whole months of responses that no app keeps any more.
//!
//! A month is dropped if every app with responses in it has a retention that ended after the month;
//! until then, and if tables are distributed, responses expire row by row ([`super::expiry`]).
//! First, one short transaction detaches the partition from the table, with the counts and the
//! audit entries: its responses then exist for nobody. After that, without a lock on the table,
//! their idempotency keys are freed, the filters of the skip index that were built from them are
//! cleared, and the detached table is dropped. If this is interrupted, the next run finds the
//! detached table by its name and finishes; two nodes may do this at once.

use std::sync::Arc;

use sluice_flow::id::AppId;
use sluice_flow::time::{DAY_MILLIS, Timestamp};
use tokio_postgres::error::SqlState;
use uuid::Uuid;

use super::codec::Cells;
use super::failure::TransactionError;
use super::partitions::first_id;
use super::pool::{Params, Pool};
use super::removal::FREE_KEYS;
use super::skip_index::UNFILL;
use super::transaction::{Transaction, end};
use super::{counts, put};
use crate::{AuditRow, ExpiredMonth, StoreResult};

/// A table without statistics yet must not be read in full.
const LIMITS: &str = "SELECT set_config('lock_timeout', '500ms', true), \
     set_config('statement_timeout', '5s', true), set_config('enable_seqscan', 'off', true), \
     set_config('jit', 'off', true)";
/// Submissions queue behind the lock on the table: no statement may take long from here on.
const LIMITS_UNDER_LOCK: &str = "SELECT set_config('statement_timeout', '500ms', true)";
/// Apps that keep their setting until the end of the transaction.
const KEEP_SETTINGS: &str =
    "SELECT FROM app_directory WHERE app_id = ANY($1) ORDER BY app_id FOR SHARE";
/// Apps whose counts are deleted by one statement.
const APPS_PER_STATEMENT: usize = 100;
/// Responses whose keys are freed in one transaction.
const KEYS_PER_PART: i64 = 5_000;

/// A month that has ended, and the table with its responses.
struct Month {
    table: String,
    is_detached: bool,
    from: i64,
    to: i64,
}

impl Month {
    /// The first day, and the first day after it.
    fn days(&self) -> [i32; 2] {
        [self.from, self.to].map(|millis| (millis / DAY_MILLIS) as i32)
    }
}

/// The months that ended a day before this time, detached ones first.
const ENDED: &str = "SELECT name, is_detached, from_millis, to_millis FROM ( \
     SELECT relname::text AS name, inhparent IS NULL AS is_detached, \
     (extract(epoch FROM month) * 1000)::bigint AS from_millis, \
     (extract(epoch FROM month + interval '1 month') * 1000)::bigint AS to_millis \
     FROM pg_class LEFT JOIN pg_inherits ON inhrelid = pg_class.oid, LATERAL (SELECT CASE \
     WHEN relname !~ '^(expired_)?responses_[0-9]{4,}_(0[1-9]|1[0-2])$' THEN NULL \
     ELSE to_date(substring(relname FROM '[0-9]+_[0-9]+$'), 'YYYY_MM')::timestamp END) \
     AS months (month) WHERE relkind = 'r' AND relnamespace = \
     (SELECT relnamespace FROM pg_class WHERE oid = 'responses'::regclass) \
     AND CASE WHEN relname ~ '^expired_' THEN inhparent IS NULL \
     ELSE inhparent = 'responses'::regclass END) AS months \
     WHERE to_millis + 86400000 <= $1 ORDER BY is_detached DESC, from_millis";

async fn ended(pool: &Pool, now: Timestamp) -> StoreResult<Vec<Month>> {
    let read = |cells: &mut Cells| {
        let (table, is_detached) = (cells.take()?, cells.take()?);
        Ok(Month { table, is_detached, from: cells.take()?, to: cells.take()? })
    };
    pool.many(ENDED, &[&now.as_millis()], read).await
}

/// The apps with responses in a table, one lookup in its primary key for each.
fn apps_in(table: &str) -> String {
    format!(
        "WITH RECURSIVE found AS ((SELECT app_id FROM {table} ORDER BY app_id LIMIT 1) \
         UNION ALL SELECT next.app_id FROM found CROSS JOIN LATERAL (SELECT app_id \
         FROM {table} AS beyond WHERE beyond.app_id > found.app_id ORDER BY app_id LIMIT 1) \
         AS next) SELECT found.app_id FROM found"
    )
}

/// One of them that keeps responses from before `$2` at `$1`.
fn keeping_app_in(table: &str) -> String {
    format!(
        "{} LEFT JOIN app_directory USING (app_id) WHERE retention_days IS NULL \
         OR $1::bigint - retention_days * {DAY_MILLIS} < $2::bigint LIMIT 1",
        apps_in(table)
    )
}

/// A response outside of a month (`$1` is its first id, `$2` the first after it): the partition was
/// not created by this service.
fn stranger_in(table: &str) -> String {
    format!(
        "SELECT response_id FROM ((SELECT response_id FROM {table} ORDER BY response_id LIMIT 1) \
         UNION ALL (SELECT response_id FROM {table} ORDER BY response_id DESC LIMIT 1)) AS ends \
         WHERE response_id < $1 OR response_id >= $2"
    )
}

fn app_id(cells: &mut Cells) -> StoreResult<AppId> {
    Ok(AppId::from_uuid(cells.take()?))
}

/// The months that can be dropped, or have to be finished.
pub(super) async fn list(pool: &Pool, now: Timestamp) -> StoreResult<Vec<ExpiredMonth>> {
    let mut months = Vec::new();
    if pool.is_spread() {
        return Ok(months);
    }
    for month in ended(pool, now).await? {
        if !month.is_detached && is_kept(pool, &month, now).await? {
            continue;
        }
        let apps = pool.many_by_index(&apps_in(&month.table), &[], app_id).await?;
        let [from, to] = [month.from, month.to].map(Timestamp::from_millis);
        months.push(ExpiredMonth { from, to, apps });
    }
    Ok(months)
}

async fn is_kept(pool: &Pool, month: &Month, now: Timestamp) -> StoreResult<bool> {
    let params: Params = &[&now.as_millis(), &month.to];
    let keeping = pool.many_by_index(&keeping_app_in(&month.table), params, app_id).await?;
    let ids: Params = &[&first_id(month.from), &first_id(month.to)];
    let strangers =
        pool.many_by_index(&stranger_in(&month.table), ids, |cells| cells.take::<Uuid>()).await?;
    Ok(!keeping.is_empty() || !strangers.is_empty())
}

/// Drops a month; returns the number of responses, or nothing if it cannot be dropped now.
pub(super) async fn drop_month(
    pool: &Arc<Pool>,
    expired: &ExpiredMonth,
    now: Timestamp,
    audit: &[AuditRow],
) -> StoreResult<Option<u64>> {
    let mut months = ended(pool, now).await?.into_iter();
    let Some(month) = months.find(|it| it.from == expired.from.as_millis()) else {
        return Ok(None);
    };
    let apps: Vec<Uuid> = expired.apps.iter().map(|app| app.uuid()).collect();
    let detached = match month.is_detached {
        true => Some(month.table.clone()),
        false => detach(pool, &month, &apps, now, audit).await?,
    };
    let Some(table) = detached else { return Ok(None) };
    match clear(pool, &month, &apps, &table).await {
        Ok(responses) => Ok(Some(responses)),
        Err(error) => {
            let is_left = "SELECT to_regclass($1) IS NOT NULL";
            match pool.one(is_left, &[&table], |cells| cells.take()).await? {
                // Another node has finished this.
                Some(false) => Ok(None),
                _ => Err(error),
            }
        }
    }
}

/// Removes a detached month; returns the number of its responses.
async fn clear(pool: &Arc<Pool>, month: &Month, apps: &[Uuid], table: &str) -> StoreResult<u64> {
    // Removals that ended while the month was detached have changed its counts again.
    let forget = async |transaction: &Transaction| forget_days(transaction, month, apps).await;
    in_transaction(pool, forget).await?;
    let responses = free_keys(pool, table).await?;
    let drop_table = async |transaction: &Transaction| {
        transaction.execute(&format!("DROP TABLE {table}"), &[]).await.map(|_| ())
    };
    in_transaction(pool, drop_table).await?;
    Ok(responses)
}

async fn in_transaction<T>(
    pool: &Arc<Pool>,
    body: impl AsyncFnOnce(&Transaction) -> Result<T, TransactionError>,
) -> StoreResult<T> {
    pool.may_commit()?;
    let transaction = Transaction::begun(pool).await.map_err(TransactionError::of_statement)?;
    let body = body(&transaction).await;
    end(transaction, body).await
}

/// Takes a month out of the table; returns the name that its table has now, or nothing if an app
/// keeps some of it, or the responses are in use for too long.
async fn detach(
    pool: &Arc<Pool>,
    month: &Month,
    apps: &[Uuid],
    now: Timestamp,
    audit: &[AuditRow],
) -> StoreResult<Option<String>> {
    pool.may_commit()?;
    let transaction = Transaction::begun(pool).await.map_err(TransactionError::of_statement)?;
    match detach_in(&transaction, month, apps, now, audit).await {
        Ok(None) => {
            transaction.roll_back().await;
            Ok(None)
        }
        Err(TransactionError::Pg(error)) if is_in_use(&error) => {
            transaction.roll_back().await;
            Ok(None)
        }
        body => end(transaction, body).await,
    }
}

fn is_in_use(error: &tokio_postgres::Error) -> bool {
    let codes =
        [SqlState::LOCK_NOT_AVAILABLE, SqlState::QUERY_CANCELED, SqlState::T_R_DEADLOCK_DETECTED];
    error.code().is_some_and(|code| codes.contains(code))
}

async fn detach_in(
    transaction: &Transaction,
    month: &Month,
    apps: &[Uuid],
    now: Timestamp,
    audit: &[AuditRow],
) -> Result<Option<String>, TransactionError> {
    let Month { table, from, to, .. } = month;
    transaction.query(LIMITS, &[]).await?;
    transaction.query(KEEP_SETTINGS, &[&apps]).await?;
    forget_days(transaction, month, apps).await?;
    for entry in audit {
        put::audit(transaction, entry).await?;
    }
    for table in ["ONLY responses", table] {
        transaction.execute(&format!("LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE"), &[]).await?;
    }
    transaction.query(LIMITS_UNDER_LOCK, &[]).await?;
    let kept = transaction.query(&keeping_app_in(table), &[&now.as_millis(), to]).await?;
    let strangers: Params = &[&first_id(*from), &first_id(*to)];
    let strangers = transaction.query(&stranger_in(table), strangers).await?;
    let found = transaction.query(&apps_in(table), &[]).await?;
    let found: StoreResult<Vec<Uuid>> = found.iter().map(|row| Cells::new(row).take()).collect();
    let is_as_expected = found?.iter().all(|app| apps.contains(app));
    if !kept.is_empty() || !strangers.is_empty() || !is_as_expected {
        return Ok(None);
    }
    let detached = format!("expired_{table}");
    for sql in [
        format!("ALTER TABLE responses DETACH PARTITION {table}"),
        format!("ALTER TABLE {table} RENAME TO {detached}"),
    ] {
        transaction.execute(&sql, &[]).await?;
    }
    Ok(Some(detached))
}

/// Deletes the counts of a month, some apps at a time: each statement has its own limit of time.
async fn forget_days(
    transaction: &Transaction,
    month: &Month,
    apps: &[Uuid],
) -> Result<(), TransactionError> {
    for some in apps.chunks(APPS_PER_STATEMENT) {
        counts::forget_days(transaction, some, month.days()).await?;
    }
    Ok(())
}

/// Frees the keys of the responses in a detached table and clears the filters built from them, part
/// by part; returns the number of responses.
async fn free_keys(pool: &Arc<Pool>, table: &str) -> StoreResult<u64> {
    let part = format!(
        "SELECT app_id, flow_id, response_id, idempotency_key FROM {table} \
         WHERE (app_id, flow_id, response_id) > ($1, $2, $3) \
         ORDER BY app_id, flow_id, response_id LIMIT $4"
    );
    let (mut after, mut responses) = ([Uuid::nil(); 3], 0);
    loop {
        let params: Params = &[&after[0], &after[1], &after[2], &KEYS_PER_PART];
        let rows = pool.many_by_index(&part, params, key_holder).await?;
        let Some(last) = rows.last() else { return Ok(responses) };
        after = [last.app, last.flow, last.response];
        responses += rows.len() as u64;
        let free = async |transaction: &Transaction| {
            for of_app in rows.chunk_by(|one, next| one.app == next.app) {
                let held = of_app.iter().filter_map(|it| Some((it.key?, it.response)));
                let (keys, responses): (Vec<_>, Vec<_>) = held.unzip();
                transaction.execute(FREE_KEYS, &[&of_app[0].app, &keys, &responses]).await?;
                let of_flows = of_app.iter().map(|it| (it.flow, it.response));
                let (flows, responses): (Vec<_>, Vec<_>) = of_flows.unzip();
                transaction.execute(UNFILL, &[&of_app[0].app, &flows, &responses]).await?;
            }
            Ok(())
        };
        in_transaction(pool, free).await?;
    }
}

/// A response and the key that it may hold.
struct KeyHolder {
    app: Uuid,
    flow: Uuid,
    response: Uuid,
    key: Option<Uuid>,
}

fn key_holder(cells: &mut Cells) -> StoreResult<KeyHolder> {
    let (app, flow) = (cells.take()?, cells.take()?);
    Ok(KeyHolder { app, flow, response: cells.take()?, key: cells.take()? })
}
