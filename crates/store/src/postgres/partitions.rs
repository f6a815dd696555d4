//! The partitions of responses: one a month, made ahead of time.
//!
//! An id begins with its time, so a month is a range of ids, and the primary key needs no time beside
//! it. Making a partition is best effort: where it fails, rows go into the default partition, and the
//! next day tries again. A month of which the default partition holds rows already stays there.
//! Dropping a partition is how old responses will go, all of a month at once.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use sluice_flow::time::Timestamp;
use tokio_postgres::error::SqlState;
use uuid::Uuid;

use super::codec::Cells;
use super::failure::Stop;
use super::pool::Pool;
use super::schema::made_by_another;
use super::transaction::{Transaction, end};
use crate::StoreResult;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// So far ahead there is always a partition: this month's and the two after it.
const AHEAD: [Duration; 3] = [Duration::ZERO, DAY.saturating_mul(31), DAY.saturating_mul(62)];
/// The months of records that are put in get partitions from here on; what is older is no real time.
const EARLIEST_MILLIS: i64 = 946_684_800_000;

struct Month {
    name: String,
    from: i64,
    to: i64,
}

/// The months of these times that have no partition.
const ABSENT: &str = "SELECT name, from_millis, to_millis FROM ( \
     SELECT DISTINCT to_char(month, '\"responses_\"YYYY_MM') AS name, \
     (extract(epoch FROM month) * 1000)::bigint AS from_millis, \
     (extract(epoch FROM month + interval '1 month') * 1000)::bigint AS to_millis \
     FROM unnest($1::bigint[]) AS given (millis), LATERAL date_trunc('month', \
     to_timestamp(given.millis / 1000.0) AT TIME ZONE 'UTC') AS month) AS months \
     WHERE to_regclass(name) IS NULL ORDER BY name";

/// Makes the partitions of this month and the next two, now and every day, for ever.
pub(super) async fn keep_ahead(pool: Arc<Pool>) {
    loop {
        tokio::time::sleep(DAY).await;
        make_ahead(&pool).await;
    }
}

pub(super) async fn make_ahead(pool: &Arc<Pool>) {
    make_for(pool, &AHEAD.map(from_now)).await;
}

/// Makes the partitions for times at which records that are put in were received.
pub(super) async fn make_for_records(pool: &Arc<Pool>, times: impl Iterator<Item = Timestamp>) {
    let latest = from_now(DAY * 31);
    let mut millis: Vec<_> = times.map(Timestamp::as_millis).collect();
    millis.retain(|millis| (EARLIEST_MILLIS..latest).contains(millis));
    make_for(pool, &millis).await;
}

async fn make_for(pool: &Arc<Pool>, millis: &[i64]) {
    let months = match pool.many(ABSENT, &[&millis], month).await {
        Ok(months) => months,
        Err(error) => {
            tracing::warn!(%error, "cannot look for missing partitions");
            return;
        }
    };
    for month in months {
        match make(pool, &month).await {
            Ok(()) => tracing::info!(partition = month.name, "partition made"),
            Err(error) => {
                let source = std::error::Error::source(&error).map(ToString::to_string);
                let partition = month.name;
                tracing::warn!(partition, %error, source, "no partition: the default one is used");
            }
        }
    }
}

fn month(cells: &mut Cells) -> StoreResult<Month> {
    Ok(Month { name: cells.take()?, from: cells.take()?, to: cells.take()? })
}

async fn make(pool: &Arc<Pool>, month: &Month) -> StoreResult<()> {
    let transaction = Transaction::begun(pool).await.map_err(Stop::of_statement)?;
    let body = async {
        // Inserts wait behind this lock, so it may not wait long itself.
        transaction.execute("SET LOCAL lock_timeout = '3s'", &[]).await?;
        let (from, to) = (first_id(month.from), first_id(month.to));
        let sql = format!(
            "CREATE TABLE IF NOT EXISTS {} PARTITION OF responses FOR VALUES FROM ('{from}') TO ('{to}')",
            month.name
        );
        transaction.execute(&sql, &[]).await
    };
    match body.await {
        Err(Stop::Pg(error)) if made_by_another(&error) || overlaps(&error) => {
            transaction.roll_back().await;
            Ok(())
        }
        body => end(transaction, body).await.map(|_| ()),
    }
}

/// Another node made the same partition a moment ago.
fn overlaps(error: &tokio_postgres::Error) -> bool {
    error.code() == Some(&SqlState::INVALID_OBJECT_DEFINITION)
}

/// Drops every partition whose month ended before `time`, with the idempotency keys of its responses,
/// and says how many. Responses of the month that `time` lies in stay.
pub(super) async fn drop_before(pool: &Arc<Pool>, time: Timestamp) -> StoreResult<usize> {
    let ended = "SELECT child.relname::text FROM pg_inherits \
         JOIN pg_class AS child ON child.oid = pg_inherits.inhrelid \
         WHERE pg_inherits.inhparent = 'responses'::regclass \
         AND child.relname ~ '^responses_[0-9]{4,}_[0-9]{2}$' \
         AND child.relname < to_char(to_timestamp($1::bigint / 1000.0) AT TIME ZONE 'UTC', \
         '\"responses_\"YYYY_MM') ORDER BY 1";
    let names: Vec<String> = pool.many(ended, &[&time.as_millis()], |cells| cells.take()).await?;
    for name in &names {
        let transaction = Transaction::begun(pool).await.map_err(Stop::of_statement)?;
        let body = async {
            let keys = format!(
                "DELETE FROM idempotency USING {name} AS gone WHERE idempotency.app_id = gone.app_id \
                 AND idempotency.key = gone.idempotency_key"
            );
            transaction.execute(&keys, &[]).await?;
            transaction.execute(&format!("DROP TABLE {name}"), &[]).await
        };
        let body = body.await;
        end(transaction, body).await?;
    }
    Ok(names.len())
}

/// The id that sorts before every one made in this millisecond.
fn first_id(millis: i64) -> Uuid {
    Uuid::from_u128(u128::from(millis.max(0).unsigned_abs()) << 80)
}

fn from_now(ahead: Duration) -> i64 {
    let since = (SystemTime::now() + ahead).duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
