//! The monthly partitions of responses, created ahead of time.
//!
//! An id begins with its time, so a month is a range of ids, and the primary key needs no separate
//! time. Creating a partition is best effort: if it fails, rows go into the default partition, and
//! the next day tries again. A month with rows in the default partition stays there. Retention
//! drops a month that no app keeps any more: [`super::expired_months`].

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use sluice_flow::time::{DAY_MILLIS, Timestamp};
use tokio_postgres::error::SqlState;
use uuid::Uuid;

use super::codec::Cells;
use super::failure::TransactionError;
use super::pool::Pool;
use super::schema::made_by_another;
use super::transaction::{Transaction, end};
use crate::{DEFAULT_ROWS_MAX, Partitions, StoreResult};

const DAY: Duration = Duration::from_millis(DAY_MILLIS.unsigned_abs());
/// This many months always have a partition: the current one and the two after it.
const MONTHS_AHEAD: usize = 3;
/// Imported records get partitions for months from here on; anything older is not a real time.
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

/// Creates the partitions of this month and the next two, now and every day.
pub(super) async fn keep_ahead(pool: Arc<Pool>) {
    loop {
        tokio::time::sleep(DAY).await;
        make_ahead(&pool).await;
    }
}

pub(super) async fn make_ahead(pool: &Arc<Pool>) {
    let months: Vec<_> = months_from(from_now(Duration::ZERO)).take(MONTHS_AHEAD).collect();
    make_for(pool, &months).await;
}

/// Creates the partitions for the times at which imported records were received.
pub(super) async fn make_for_records(pool: &Arc<Pool>, times: impl Iterator<Item = Timestamp>) {
    let latest = from_now(DAY * 31);
    let mut millis: Vec<_> = times.map(Timestamp::as_millis).collect();
    millis.retain(|millis| (EARLIEST_MILLIS..latest).contains(millis));
    make_for(pool, &millis).await;
}

/// The partitions as they are now.
pub(super) async fn status(pool: &Pool) -> StoreResult<Partitions> {
    let wanted: Vec<_> = months_from(from_now(Duration::ZERO)).take(MONTHS_AHEAD).collect();
    let absent = pool.many(ABSENT, &[&wanted], month).await?;
    let has = |start: &i64| absent.iter().all(|month| month.from != *start);
    let ahead = wanted.iter().take_while(|start| has(start)).count() as u64;
    // All but the default partition.
    let sql = "SELECT (SELECT count(*) - 1 FROM pg_inherits \
         WHERE inhparent = 'responses'::regclass), \
         (SELECT count(*) FROM (SELECT 1 FROM ONLY responses_default LIMIT $1) AS first)";
    let limit = i64::try_from(DEFAULT_ROWS_MAX).unwrap_or(i64::MAX);
    let counts = |cells: &mut Cells| Ok((cells.take::<i64>()?, cells.take::<i64>()?));
    let (months, default_rows) = pool.one(sql, &[&limit], counts).await?.unwrap_or_default();
    let (months, default_rows) = (months.max(0).unsigned_abs(), default_rows.unsigned_abs());
    Ok(Partitions { months, ahead, default_rows })
}

async fn make_for(pool: &Arc<Pool>, millis: &[i64]) {
    let months = match pool.many(ABSENT, &[&millis], month).await {
        Ok(months) => months,
        Err(error) => {
            tracing::warn!(%error, "cannot check for missing partitions");
            return;
        }
    };
    for month in months {
        match make(pool, &month).await {
            Ok(true) => tracing::info!(partition = month.name, "partition created"),
            Ok(false) => {
                let partition = month.name;
                tracing::warn!(partition, "no partition: the default one holds rows of this month");
            }
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

/// Creates a partition, unless the default partition has rows of its month: then the server would
/// refuse, but only after scanning all of that partition with every writer locked out.
async fn make(pool: &Arc<Pool>, month: &Month) -> StoreResult<bool> {
    let (from, to) = (first_id(month.from), first_id(month.to));
    let begun = "SELECT EXISTS (SELECT 1 FROM ONLY responses_default \
         WHERE response_id >= $1 AND response_id < $2)";
    if pool.one(begun, &[&from, &to], |cells| cells.take()).await? == Some(true) {
        return Ok(false);
    }
    let transaction = Transaction::begun(pool).await.map_err(TransactionError::of_statement)?;
    let body = async {
        // Inserts queue behind this lock, so it must neither wait long itself nor be held for long.
        transaction.execute("SET LOCAL lock_timeout = '2s'", &[]).await?;
        transaction.execute("SET LOCAL statement_timeout = '3s'", &[]).await?;
        let sql = format!(
            "CREATE TABLE IF NOT EXISTS {} PARTITION OF responses FOR VALUES FROM ('{from}') TO ('{to}')",
            month.name
        );
        transaction.execute(&sql, &[]).await
    };
    match body.await {
        Err(TransactionError::Pg(error)) if made_by_another(&error) || overlaps(&error) => {
            transaction.roll_back().await;
            Ok(true)
        }
        body => end(transaction, body).await.map(|_| true),
    }
}

/// Another node has just created the same partition.
fn overlaps(error: &tokio_postgres::Error) -> bool {
    error.code() == Some(&SqlState::INVALID_OBJECT_DEFINITION)
}

/// The starts of the month that contains this time and of all later ones, in milliseconds UTC,
/// without an end. They are counted from the epoch, since months differ in length.
fn months_from(millis: i64) -> impl Iterator<Item = i64> {
    let lengths = (1970..).flat_map(|year| (1..=12).map(move |month| days_of(year, month)));
    let mut next = 0;
    let months = lengths.map(move |days| {
        let first = next;
        next += days * DAY_MILLIS;
        (first, next)
    });
    months.skip_while(move |(_, next)| *next <= millis).map(|(first, _)| first)
}

fn days_of(year: i64, month: u8) -> i64 {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// The id that sorts before every id made in this millisecond.
pub(super) fn first_id(millis: i64) -> Uuid {
    Uuid::from_u128(u128::from(millis.max(0).unsigned_abs()) << 80)
}

fn from_now(ahead: Duration) -> i64 {
    let since = (SystemTime::now() + ahead).duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_month_is_skipped_on_its_last_days() {
        for (now, expected) in [
            // 2025-01-31 23:00 UTC.
            (1_738_364_400_000, [1_735_689_600_000, 1_738_368_000_000, 1_740_787_200_000]),
            // 2025-08-31 00:00 UTC.
            (1_756_598_400_000, [1_754_006_400_000, 1_756_684_800_000, 1_759_276_800_000]),
            // 2024-01-31 12:00 UTC.
            (1_706_702_400_000, [1_704_067_200_000, 1_706_745_600_000, 1_709_251_200_000]),
            // 2026-12-31 23:00 UTC.
            (1_798_758_000_000, [1_796_083_200_000, 1_798_761_600_000, 1_801_440_000_000]),
            // 2024-02-29 12:00 UTC.
            (1_709_208_000_000, [1_706_745_600_000, 1_709_251_200_000, 1_711_929_600_000]),
            // 2026-03-01 00:00 UTC.
            (1_772_323_200_000, [1_772_323_200_000, 1_775_001_600_000, 1_777_593_600_000]),
            // 2100-02-28 23:00 UTC.
            (4_107_538_800_000, [4_105_123_200_000, 4_107_542_400_000, 4_110_220_800_000]),
        ] {
            let months: Vec<_> = months_from(now).take(MONTHS_AHEAD).collect();
            assert_eq!(months, expected, "{now}");
        }
    }
}
