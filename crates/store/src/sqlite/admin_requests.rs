//! Administrators' requests with an idempotency key.

use async_trait::async_trait;
use rusqlite::{Connection, Result, params};
use sluice_flow::time::Timestamp;
use uuid::Uuid;

use super::SqliteStore;
use super::codec::{self, ADMIN_REQUEST};
use super::read::{limit, one};
use super::transaction::{Finish, TransactionError};
use crate::{
    AdminRequestRow, AdminRequestStore, AdminRequestUse, AdminRequestWrite, StoreError, StoreResult,
};

#[async_trait]
impl AdminRequestStore for SqliteStore {
    async fn find_admin_request(&self, request: Uuid) -> StoreResult<Option<AdminRequestRow>> {
        let sql = format!("SELECT {ADMIN_REQUEST} FROM admin_requests WHERE request_id = ?1");
        let read =
            move |it: &Connection| one(it, &sql, [request.into_bytes()], codec::admin_request);
        self.readers.read(read).await
    }

    async fn admin_request_use(
        &self,
        holder: &str,
        now: Timestamp,
    ) -> StoreResult<AdminRequestUse> {
        let holder = holder.to_owned();
        let read = move |it: &Connection| {
            let sql = "SELECT count(*), coalesce(sum(length(reply)), 0) FROM admin_requests \
                 WHERE holder = ?1 AND expires_at > ?2";
            let mut used = it.prepare_cached(sql)?;
            used.query_row(params![holder, now.as_millis()], |row| {
                let (count, bytes): (i64, i64) = (row.get(0)?, row.get(1)?);
                let (count, reply_bytes) = (count.unsigned_abs(), bytes.unsigned_abs());
                Ok(AdminRequestUse { count, reply_bytes })
            })
        };
        self.readers.read(read).await
    }

    async fn expire_admin_requests(&self, now: Timestamp, rows: usize) -> StoreResult<usize> {
        self.writer.run(move |it| expire(it, now, rows)).await
    }
}

fn expire(
    connection: &Connection,
    now: Timestamp,
    rows: usize,
) -> Result<(usize, Finish), TransactionError> {
    let sql = "DELETE FROM admin_requests WHERE request_id IN (SELECT request_id \
         FROM admin_requests WHERE expires_at <= ?1 ORDER BY expires_at LIMIT ?2)";
    let params = params![now.as_millis(), limit(rows)];
    Ok(match connection.prepare_cached(sql)?.execute(params)? {
        0 => (0, Finish::RollBack),
        gone => (gone, Finish::Commit),
    })
}

pub(super) fn change(
    connection: &Connection,
    write: &AdminRequestWrite,
) -> std::result::Result<(), TransactionError> {
    let written = match write {
        AdminRequestWrite::Claim(row) => {
            insert(connection, row, "WHERE admin_requests.expires_at <= excluded.claimed_at")?
        }
        AdminRequestWrite::TakeOver { row, from } => {
            let sql = "UPDATE admin_requests SET claim = ?3, claimed_at = ?4, expires_at = ?5, \
                 holder = ?6, fingerprint = ?7 WHERE request_id = ?1 AND claim = ?2 \
                 AND applied_at IS NULL AND reply IS NULL";
            connection.prepare_cached(sql)?.execute(params![
                row.request_id.into_bytes(),
                from.into_bytes(),
                row.claim.into_bytes(),
                row.claimed_at.as_millis(),
                row.expires_at.as_millis(),
                row.holder,
                row.fingerprint,
            ])?
        }
        AdminRequestWrite::Apply { request_id, claim, at } => {
            let sql = "UPDATE admin_requests SET applied_at = ?3 \
                 WHERE request_id = ?1 AND claim = ?2";
            let params = params![request_id.into_bytes(), claim.into_bytes(), at.as_millis()];
            connection.prepare_cached(sql)?.execute(params)?
        }
        AdminRequestWrite::Finish { request_id, claim, reply } => {
            let sql = "UPDATE admin_requests SET reply = ?3 WHERE request_id = ?1 AND claim = ?2";
            let params = params![request_id.into_bytes(), claim.into_bytes(), reply];
            connection.prepare_cached(sql)?.execute(params)?;
            return Ok(());
        }
        AdminRequestWrite::Release { request_id, claim } => {
            let sql = "DELETE FROM admin_requests WHERE request_id = ?1 AND claim = ?2 \
                 AND applied_at IS NULL";
            let params = params![request_id.into_bytes(), claim.into_bytes()];
            connection.prepare_cached(sql)?.execute(params)?;
            return Ok(());
        }
    };
    match written {
        0 => Err(TransactionError::Answer(StoreError::Conflict)),
        _ => Ok(()),
    }
}

/// Stores a row of an import, replacing an existing one.
pub(super) fn replace(connection: &Connection, row: &AdminRequestRow) -> Result<()> {
    insert(connection, row, "").map(|_| ())
}

/// Replaces an existing row only under this condition.
fn insert(connection: &Connection, row: &AdminRequestRow, condition: &str) -> Result<usize> {
    let sql = format!(
        "INSERT INTO admin_requests ({ADMIN_REQUEST}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) \
         ON CONFLICT (request_id) DO UPDATE SET holder = excluded.holder, \
         fingerprint = excluded.fingerprint, claim = excluded.claim, \
         claimed_at = excluded.claimed_at, applied_at = excluded.applied_at, \
         expires_at = excluded.expires_at, reply = excluded.reply {condition}"
    );
    connection.prepare_cached(&sql)?.execute(params![
        row.request_id.into_bytes(),
        row.holder,
        row.fingerprint,
        row.claim.into_bytes(),
        row.claimed_at.as_millis(),
        row.applied_at.map(Timestamp::as_millis),
        row.expires_at.as_millis(),
        row.reply,
    ])
}
