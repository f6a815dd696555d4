//! Drops whole months of responses that no app keeps any more.
//!
//! To drop a partition takes as long for a million responses as for one, and leaves nothing to
//! vacuum. It is possible if every app with responses in the month has a retention that ended after
//! the month; until then, and if tables are distributed, responses expire row by row
//! ([`super::expiry`]). Idempotency keys are deleted first, by ranges of time: a few rows at a time,
//! in the order in which they are stored. Everything else, including the audit entries, is written
//! in the transaction that drops the partition. Nothing waits for it longer than [`LOCK_WAIT`].

use std::sync::Arc;

use sluice_flow::id::AppId;
use sluice_flow::time::Timestamp;
use tokio_postgres::error::SqlState;
use uuid::Uuid;

use super::codec::Cells;
use super::failure::TransactionError;
use super::partitions::{DAY_MILLIS, first_id};
use super::pool::{Params, Pool};
use super::transaction::{Transaction, end};
use super::{counts, put};
use crate::{AuditRow, ExpiredMonth, StoreResult};

/// The span of ids whose keys are deleted in one transaction.
const KEYS_MILLIS: usize = 60 * 60 * 1000;
/// How long the drop waits for statements that use the responses, and others then wait for it.
const LOCK_WAIT: &str = "SET LOCAL lock_timeout = '1s'";

/// The partitions of months that ended before a time, oldest first.
const ENDED: &str = "SELECT name, from_millis, to_millis FROM ( \
     SELECT child.relname::text AS name, (extract(epoch FROM month) * 1000)::bigint AS from_millis, \
     (extract(epoch FROM month + interval '1 month') * 1000)::bigint AS to_millis \
     FROM pg_inherits JOIN pg_class AS child ON child.oid = pg_inherits.inhrelid, \
     LATERAL (SELECT to_date(substr(child.relname, 11), 'YYYY_MM')::timestamp AS month) AS months \
     WHERE pg_inherits.inhparent = 'responses'::regclass \
     AND child.relname ~ '^responses_[0-9]{4,}_[0-9]{2}$') AS partitions \
     WHERE to_millis <= $1 ORDER BY from_millis";

struct Partition {
    name: String,
    from: i64,
    to: i64,
}

fn partition(cells: &mut Cells) -> StoreResult<Partition> {
    Ok(Partition { name: cells.take()?, from: cells.take()?, to: cells.take()? })
}

/// The apps with responses in a partition, one lookup in its primary key for each, and whether they
/// keep responses from before `$2` at `$1`; those that do come alone.
fn apps_in(partition: &str, is_kept: bool) -> String {
    let kept = "(retention_days IS NULL OR $1::bigint - retention_days * 86400000 < $2::bigint)";
    let (condition, most) =
        if is_kept { (kept, "LIMIT 1") } else { ("$1::bigint >= $2::bigint", "") };
    format!(
        "WITH RECURSIVE found AS ((SELECT app_id FROM {partition} ORDER BY app_id LIMIT 1) \
         UNION ALL SELECT next.app_id FROM found CROSS JOIN LATERAL (SELECT app_id \
         FROM {partition} AS beyond WHERE beyond.app_id > found.app_id ORDER BY app_id LIMIT 1) \
         AS next) SELECT found.app_id FROM found LEFT JOIN app_directory AS app ON app.app_id = found.app_id \
         WHERE {condition} {most}"
    )
}

fn app_id(cells: &mut Cells) -> StoreResult<Uuid> {
    cells.take()
}

/// The months that can be dropped.
pub(super) async fn list(pool: &Pool, now: Timestamp) -> StoreResult<Vec<ExpiredMonth>> {
    let mut months = Vec::new();
    if pool.is_spread() {
        return Ok(months);
    }
    for Partition { name, from, to } in ended(pool, now).await? {
        let params: Params = &[&now.as_millis(), &to];
        if !pool.many_by_index(&apps_in(&name, true), params, app_id).await?.is_empty() {
            continue;
        }
        let apps = pool.many_by_index(&apps_in(&name, false), params, app_id).await?;
        let apps: Vec<_> = apps.into_iter().map(AppId::from_uuid).collect();
        if !apps.is_empty() {
            let (from, to) = (Timestamp::from_millis(from), Timestamp::from_millis(to));
            months.push(ExpiredMonth { from, to, apps });
        }
    }
    Ok(months)
}

async fn ended(pool: &Pool, now: Timestamp) -> StoreResult<Vec<Partition>> {
    pool.many(ENDED, &[&now.as_millis()], partition).await
}

/// Drops a month; returns the number of responses, or nothing if it cannot be dropped now.
pub(super) async fn drop_month(
    pool: &Arc<Pool>,
    month: &ExpiredMonth,
    now: Timestamp,
    audit: &[AuditRow],
) -> StoreResult<Option<u64>> {
    let mut ended = ended(pool, now).await?.into_iter();
    let Some(partition) = ended.find(|it| it.from == month.from.as_millis()) else {
        return Ok(None);
    };
    let apps: Vec<Uuid> = month.apps.iter().map(|app| app.uuid()).collect();
    free_keys(pool, &partition, &apps).await?;
    pool.may_commit()?;
    let transaction = Transaction::begun(pool).await.map_err(TransactionError::of_statement)?;
    match drop_in(&transaction, &partition, &apps, now, audit).await {
        Ok(None) => {
            transaction.roll_back().await;
            Ok(None)
        }
        Err(TransactionError::Pg(error)) if is_for_later(&error) => {
            transaction.roll_back().await;
            Ok(None)
        }
        body => end(transaction, body).await,
    }
}

/// The responses are in use for too long, or another node has just dropped the month.
fn is_for_later(error: &tokio_postgres::Error) -> bool {
    let code = error.code();
    code == Some(&SqlState::LOCK_NOT_AVAILABLE) || code == Some(&SqlState::UNDEFINED_TABLE)
}

async fn drop_in(
    transaction: &Transaction,
    partition: &Partition,
    apps: &[Uuid],
    now: Timestamp,
    audit: &[AuditRow],
) -> Result<Option<u64>, TransactionError> {
    let Partition { name, to, .. } = partition;
    let by_index =
        "SELECT set_config('enable_seqscan', 'off', true), set_config('jit', 'off', true)";
    transaction.query(by_index, &[]).await?;
    let days = [partition.from, *to].map(|millis| (millis / DAY_MILLIS) as i32);
    let mut responses = counts::forget_days_of(transaction, apps, days).await?;
    forget_blocks(transaction, apps, first_id(*to)).await?;
    // In the order in which the drop takes them. What was in progress has ended then.
    transaction.execute(LOCK_WAIT, &[]).await?;
    transaction.execute("LOCK TABLE ONLY responses IN ACCESS EXCLUSIVE MODE", &[]).await?;
    transaction.execute(&format!("LOCK TABLE {name} IN ACCESS EXCLUSIVE MODE"), &[]).await?;
    let params: Params = &[&now.as_millis(), to];
    let kept = transaction.query(&apps_in(name, true), params).await?;
    let found = transaction.query(&apps_in(name, false), params).await?;
    let found: StoreResult<Vec<Uuid>> = found.iter().map(|row| Cells::of(row).take()).collect();
    if !kept.is_empty() || !found?.iter().all(|app| apps.contains(app)) {
        return Ok(None);
    }
    responses += counts::forget_days_of(transaction, apps, days).await?;
    transaction.execute(&format!("DROP TABLE {name}"), &[]).await?;
    for entry in audit {
        put::audit(transaction, entry).await?;
    }
    Ok(Some(responses.max(0).unsigned_abs()))
}

/// Frees the keys of the responses of a month, also of those that were deleted before. If it is
/// interrupted, the partition still exists, and the next call repeats it.
async fn free_keys(pool: &Arc<Pool>, partition: &Partition, apps: &[Uuid]) -> StoreResult<()> {
    let sql = "DELETE FROM idempotency WHERE response_id >= $1 AND response_id < $2 \
         AND app_id = ANY($3)";
    for from in (partition.from..partition.to).step_by(KEYS_MILLIS) {
        let (first, end_id) = (first_id(from), first_id(from + KEYS_MILLIS as i64));
        pool.may_commit()?;
        let transaction = Transaction::begun(pool).await.map_err(TransactionError::of_statement)?;
        let body = async {
            transaction.execute("SET LOCAL enable_seqscan = off", &[]).await?;
            transaction.execute(sql, &[&first, &end_id, &apps]).await
        };
        let body = body.await;
        end(transaction, body).await?;
    }
    Ok(())
}

/// Deletes the blocks of these apps that end before an id, and clears those that begin before it.
async fn forget_blocks(
    transaction: &Transaction,
    apps: &[Uuid],
    before: Uuid,
) -> Result<(), TransactionError> {
    for sql in [
        "DELETE FROM response_blocks WHERE app_id = ANY($1) AND last_id < $2",
        "UPDATE response_blocks SET filter = NULL, generation = generation + 1 \
         WHERE app_id = ANY($1) AND first_id < $2",
    ] {
        transaction.execute(sql, &[&apps, &before]).await?;
    }
    Ok(())
}
