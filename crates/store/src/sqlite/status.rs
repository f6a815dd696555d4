//! What operators see of the store.

use async_trait::async_trait;
use rusqlite::{Connection, params};
use sluice_flow::time::Timestamp;

use super::SqliteStore;
use crate::{MailBacklog, Partitions, StatusStore, StoreResult, StoreStatus, SyncTimes};

#[async_trait]
impl StatusStore for SqliteStore {
    fn status(&self) -> StoreStatus {
        StoreStatus {
            kind: "sqlite",
            has_partitions: false,
            pool: self.readers.status(),
            log_syncs: log_syncs(),
            workers: None,
        }
    }

    async fn partitions(&self) -> StoreResult<Option<Partitions>> {
        Ok(None)
    }

    async fn mail_backlog(&self, now: Timestamp) -> StoreResult<MailBacklog> {
        let read = move |it: &Connection| {
            let sql = "SELECT count(*) FILTER (WHERE next_at <= ?1), \
                 count(*) FILTER (WHERE next_at > ?1 AND attempts > 0), \
                 min(next_at) FILTER (WHERE next_at <= ?1) FROM mails WHERE next_at IS NOT NULL";
            it.prepare_cached(sql)?.query_row(params![now.as_millis()], |row| {
                Ok(MailBacklog {
                    due: row.get::<_, i64>(0)?.unsigned_abs(),
                    retrying: row.get::<_, i64>(1)?.unsigned_abs(),
                    due_since: row.get::<_, Option<i64>>(2)?.map(Timestamp::from_millis),
                })
            })
        };
        self.readers.read(read).await
    }
}

#[cfg(unix)]
fn log_syncs() -> Option<SyncTimes> {
    let (counts, sum_nanos) = sluice_vfs::sync_times();
    Some(SyncTimes { counts: counts.to_vec(), bounds_nanos: &sluice_vfs::BOUNDS_NANOS, sum_nanos })
}

#[cfg(not(unix))]
fn log_syncs() -> Option<SyncTimes> {
    None
}
