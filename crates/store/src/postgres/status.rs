//! What operators see of the store.

use async_trait::async_trait;
use sluice_flow::time::Timestamp;

use super::codec::Cells;
use super::{PgStore, partitions};
use crate::{MailBacklog, Partitions, StatusStore, StoreResult, StoreStatus};

#[async_trait]
impl StatusStore for PgStore {
    fn status(&self) -> StoreStatus {
        StoreStatus {
            kind: "postgres",
            has_partitions: true,
            pool: self.pool.status(),
            log_syncs: None,
            workers: self.pool.worker_status(),
        }
    }

    async fn partitions(&self) -> StoreResult<Option<Partitions>> {
        partitions::status(&self.pool).await.map(Some)
    }

    async fn mail_backlog(&self, now: Timestamp) -> StoreResult<MailBacklog> {
        let sql = "SELECT count(*) FILTER (WHERE next_at <= $1), \
             count(*) FILTER (WHERE next_at > $1 AND attempts > 0), \
             min(next_at) FILTER (WHERE next_at <= $1) FROM mails WHERE next_at IS NOT NULL";
        let backlog = |cells: &mut Cells| {
            let (due, retrying): (i64, i64) = (cells.take()?, cells.take()?);
            let due_since: Option<i64> = cells.take()?;
            Ok(MailBacklog {
                due: due.unsigned_abs(),
                retrying: retrying.unsigned_abs(),
                due_since: due_since.map(Timestamp::from_millis),
            })
        };
        Ok(self.pool.one(sql, &[&now.as_millis()], backlog).await?.unwrap_or_default())
    }
}
