//! Administrators' requests with an idempotency key. A table of the instance: a request is claimed
//! before it is known which app it is about.

use async_trait::async_trait;
use sluice_flow::time::Timestamp;
use uuid::Uuid;

use super::PgStore;
use super::codec::{self, ADMIN_REQUEST, Cells};
use super::failure::TransactionError;
use super::pool::Params;
use super::read::limit;
use super::transaction::{Transaction, end};
use crate::{
    AdminRequestRow, AdminRequestStore, AdminRequestUse, AdminRequestWrite, StoreError, StoreResult,
};

#[async_trait]
impl AdminRequestStore for PgStore {
    async fn find_admin_request(&self, request: Uuid) -> StoreResult<Option<AdminRequestRow>> {
        let sql = format!("SELECT {ADMIN_REQUEST} FROM admin_requests WHERE request_id = $1");
        self.pool.one(&sql, &[&request], codec::admin_request).await
    }

    async fn admin_request_use(
        &self,
        holder: &str,
        now: Timestamp,
    ) -> StoreResult<AdminRequestUse> {
        let sql = "SELECT count(*), coalesce(sum(octet_length(reply)), 0)::bigint \
             FROM admin_requests WHERE holder = $1 AND expires_at > $2";
        let read = |cells: &mut Cells| {
            let (count, bytes): (i64, i64) = (cells.take()?, cells.take()?);
            let (count, reply_bytes) = (count.unsigned_abs(), bytes.unsigned_abs());
            Ok(AdminRequestUse { count, reply_bytes })
        };
        let used = self.pool.one(sql, &[&holder, &now.as_millis()], read).await?;
        Ok(used.unwrap_or_default())
    }

    async fn expire_admin_requests(&self, now: Timestamp, rows: usize) -> StoreResult<usize> {
        self.pool.may_commit()?;
        let transaction =
            Transaction::begun(&self.pool).await.map_err(TransactionError::of_statement)?;
        // Of two servers that do this at once, each removes other rows.
        let sql = "DELETE FROM admin_requests WHERE request_id IN (SELECT request_id \
             FROM admin_requests WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2 \
             FOR UPDATE SKIP LOCKED)";
        let gone = transaction.execute(sql, &[&now.as_millis(), &limit(rows)]).await;
        let gone = gone.map(|rows| usize::try_from(rows).unwrap_or(usize::MAX));
        end(transaction, gone).await
    }
}

pub(super) async fn change(
    transaction: &Transaction,
    write: &AdminRequestWrite,
) -> Result<(), TransactionError> {
    let written = match write {
        AdminRequestWrite::Claim(row) => {
            let expired = "WHERE admin_requests.expires_at <= excluded.claimed_at";
            insert(transaction, row, expired).await?
        }
        AdminRequestWrite::TakeOver { row, from } => {
            let sql = "UPDATE admin_requests SET claim = $3, claimed_at = $4, expires_at = $5, \
                 holder = $6, fingerprint = $7 WHERE request_id = $1 AND claim = $2 \
                 AND applied_at IS NULL AND reply IS NULL";
            let times = (row.claimed_at.as_millis(), row.expires_at.as_millis());
            let params: Params = &[
                &row.request_id,
                from,
                &row.claim,
                &times.0,
                &times.1,
                &row.holder,
                &row.fingerprint.as_slice(),
            ];
            transaction.execute(sql, params).await?
        }
        AdminRequestWrite::Apply { request_id, claim, at } => {
            let sql = "UPDATE admin_requests SET applied_at = $3 \
                 WHERE request_id = $1 AND claim = $2";
            transaction.execute(sql, &[request_id, claim, &at.as_millis()]).await?
        }
        AdminRequestWrite::Finish { request_id, claim, reply } => {
            let sql = "UPDATE admin_requests SET reply = $3 WHERE request_id = $1 AND claim = $2";
            let params: Params = &[request_id, claim, &reply.as_slice()];
            return transaction.execute(sql, params).await.map(|_| ());
        }
        AdminRequestWrite::Release { request_id, claim } => {
            let sql = "DELETE FROM admin_requests WHERE request_id = $1 AND claim = $2 \
                 AND applied_at IS NULL";
            return transaction.execute(sql, &[request_id, claim]).await.map(|_| ());
        }
    };
    match written {
        0 => Err(StoreError::Conflict.into()),
        _ => Ok(()),
    }
}

/// Stores a row of an import, replacing an existing one.
pub(super) async fn replace(
    transaction: &Transaction,
    row: &AdminRequestRow,
) -> Result<(), TransactionError> {
    insert(transaction, row, "").await.map(|_| ())
}

/// Replaces an existing row only under this condition.
async fn insert(
    transaction: &Transaction,
    row: &AdminRequestRow,
    condition: &str,
) -> Result<u64, TransactionError> {
    let sql = format!(
        "INSERT INTO admin_requests ({ADMIN_REQUEST}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) \
         ON CONFLICT (request_id) DO UPDATE SET holder = excluded.holder, \
         fingerprint = excluded.fingerprint, claim = excluded.claim, \
         claimed_at = excluded.claimed_at, applied_at = excluded.applied_at, \
         expires_at = excluded.expires_at, reply = excluded.reply {condition}"
    );
    let params: Params = &[
        &row.request_id,
        &row.holder,
        &row.fingerprint.as_slice(),
        &row.claim,
        &row.claimed_at.as_millis(),
        &row.applied_at.map(Timestamp::as_millis),
        &row.expires_at.as_millis(),
        &row.reply,
    ];
    transaction.execute(&sql, params).await
}
