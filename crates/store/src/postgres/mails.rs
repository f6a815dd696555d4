//! E-mails to send. A table of the instance, so that a server asks one place what is due.

use async_trait::async_trait;
use sluice_flow::id::{AppId, AssignmentId, FlowId, MailId, UserId};
use sluice_flow::time::Timestamp;
use uuid::Uuid;

use super::PgStore;
use super::codec::{self, MAIL, ReadCells as _};
use super::failure::TransactionError;
use super::pool::Params;
use super::read::limit;
use super::transaction::Transaction;
use crate::{
    AddressHash, MailLane, MailRow, MailStore, MailWrite, PACE_SKEW_MINUTES, StoreError,
    StoreResult,
};

#[async_trait]
impl MailStore for PgStore {
    async fn list_due_mails(
        &self,
        lane: MailLane,
        now: Timestamp,
        rows: usize,
    ) -> StoreResult<Vec<MailRow>> {
        let kind = lane.condition();
        let sql = format!(
            "SELECT {MAIL} FROM mails WHERE {kind} AND next_at <= $1 \
             ORDER BY next_at, mail_id LIMIT $2"
        );
        self.pool.many(&sql, &[&now.as_millis(), &limit(rows)], codec::mail).await
    }

    async fn list_due_invitations(
        &self,
        app: AppId,
        now: Timestamp,
        rows: usize,
    ) -> StoreResult<Vec<MailRow>> {
        let sql = format!(
            "SELECT {MAIL} FROM mails WHERE app_id = $1 AND kind = 'invitation' AND next_at <= $2 \
             ORDER BY next_at, mail_id LIMIT $3"
        );
        let params: Params = &[&app.uuid(), &now.as_millis(), &limit(rows)];
        self.pool.many(&sql, params, codec::mail).await
    }

    async fn list_apps_with_due_invitations(
        &self,
        now: Timestamp,
        after: Option<AppId>,
        rows: usize,
    ) -> StoreResult<Vec<AppId>> {
        // From app to app, by the index: each has one or many e-mails.
        let sql = "WITH RECURSIVE waiting(app_id) AS ( \
             (SELECT app_id FROM mails WHERE kind = 'invitation' AND next_at IS NOT NULL \
             AND app_id > $1 ORDER BY app_id LIMIT 1) \
             UNION ALL SELECT (SELECT next.app_id FROM mails AS next \
             WHERE next.kind = 'invitation' AND next.next_at IS NOT NULL \
             AND next.app_id > waiting.app_id ORDER BY next.app_id LIMIT 1) \
             FROM waiting WHERE waiting.app_id IS NOT NULL) \
             SELECT app_id FROM waiting WHERE app_id IS NOT NULL AND EXISTS (SELECT FROM mails \
             WHERE mails.app_id = waiting.app_id AND mails.kind = 'invitation' \
             AND mails.next_at <= $2) LIMIT $3";
        let after = after.map_or(Uuid::nil(), AppId::uuid);
        let params: Params = &[&after, &now.as_millis(), &limit(rows)];
        self.pool.many(sql, params, |cells| cells.id(AppId::from_uuid)).await
    }

    async fn count_due_mails(&self, now: Timestamp) -> StoreResult<u64> {
        let sql = "SELECT count(*) FROM mails WHERE next_at <= $1";
        let count: Option<i64> = self.pool.one(sql, &[&now.as_millis()], |it| it.take()).await?;
        Ok(count.unwrap_or_default().unsigned_abs())
    }

    async fn list_waiting_mails(
        &self,
        made_before: Timestamp,
        now: Timestamp,
        after: Option<MailId>,
        rows: usize,
    ) -> StoreResult<Vec<MailRow>> {
        let sql = format!(
            "SELECT {MAIL} FROM mails WHERE mail_id > $1 AND created_at < $2 \
             AND next_at IS NOT NULL AND (next_at <= $3 OR attempts > 0) \
             ORDER BY mail_id LIMIT $4"
        );
        let after = after.map_or(Uuid::nil(), MailId::uuid);
        let params: Params = &[&after, &made_before.as_millis(), &now.as_millis(), &limit(rows)];
        self.pool.many(&sql, params, codec::mail).await
    }

    async fn find_mail(&self, mail: MailId) -> StoreResult<Option<MailRow>> {
        let sql = format!("SELECT {MAIL} FROM mails WHERE mail_id = $1");
        self.pool.one(&sql, &[&mail.uuid()], codec::mail).await
    }

    async fn list_mails_of(
        &self,
        app: AppId,
        invitations: &[AssignmentId],
    ) -> StoreResult<Vec<MailRow>> {
        let sql = format!("SELECT {MAIL} FROM mails WHERE app_id = $1 AND assignment_id = ANY($2)");
        let ids: Vec<Uuid> = invitations.iter().map(|id| id.uuid()).collect();
        self.pool.many(&sql, &[&app.uuid(), &ids], codec::mail).await
    }

    async fn list_mails_to(&self, user: UserId, flow: Option<FlowId>) -> StoreResult<Vec<MailRow>> {
        let sql = format!(
            "SELECT {MAIL} FROM mails WHERE user_id = $1 \
             AND flow_id IS NOT DISTINCT FROM $2 ORDER BY mail_id"
        );
        self.pool.many(&sql, &[&user.uuid(), &flow.map(FlowId::uuid)], codec::mail).await
    }

    async fn list_newest_mails_to(&self, user: UserId, rows: usize) -> StoreResult<Vec<MailRow>> {
        let sql = format!(
            "SELECT {MAIL} FROM mails WHERE user_id = $1 \
             ORDER BY created_at DESC, mail_id DESC LIMIT $2"
        );
        self.pool.many(&sql, &[&user.uuid(), &limit(rows)], codec::mail).await
    }

    async fn outbound_held_at(&self) -> StoreResult<Option<Timestamp>> {
        let sql = "SELECT held_at FROM outbound WHERE held_at IS NOT NULL LIMIT 1";
        self.pool.one(sql, &[], |cells| Ok(Timestamp::from_millis(cells.take()?))).await
    }

    async fn is_unsubscribed(&self, app: AppId, address: &AddressHash) -> StoreResult<bool> {
        let sql = format!("SELECT {MAIL} FROM mails WHERE app_id = $1 AND address = $2 LIMIT 1");
        let found = self.pool.one(&sql, &[&app.uuid(), &address.as_slice()], codec::mail).await?;
        Ok(found.is_some())
    }
}

/// Of the invitations that wait, the one that has waited longest.
const REOPEN_ONE: &str = "UPDATE mails SET next_at = $3, revision = revision + 1, ended = NULL \
     WHERE app_id = $1 AND mail_id = (SELECT mail_id FROM mails WHERE app_id = $1 \
     AND flow_id = $2 AND kind = 'invitation' AND ended = 'closed' \
     ORDER BY created_at, mail_id LIMIT 1) AND ended = 'closed'";

pub(super) async fn change(
    transaction: &Transaction,
    write: &MailWrite,
) -> Result<(), TransactionError> {
    match write {
        MailWrite::Add(rows) => put(transaction, rows, "NOTHING").await,
        MailWrite::Claim { read, until } => {
            let sql = "UPDATE mails SET next_at = $4, attempts = attempts + 1, \
                 revision = revision + 1 WHERE app_id = $1 AND mail_id = $2 AND revision = $3";
            let (app, revision) = (app_of(read.app_id), i64::from(read.revision));
            let params: Params = &[&app, &read.mail_id.uuid(), &revision, &until.as_millis()];
            must_be_written(transaction.execute(sql, params).await?)
        }
        MailWrite::Pace { minute, max } => {
            let sql = "UPDATE mail_pace SET \
                 sent = CASE WHEN $1 BETWEEN minute - $3 AND minute THEN sent + 1 ELSE 1 END, \
                 minute = CASE WHEN $1 BETWEEN minute - $3 AND minute THEN minute ELSE $1 END \
                 WHERE sent < $2 OR NOT $1 BETWEEN minute - $3 AND minute";
            let params: Params = &[minute, &i64::from(*max), &PACE_SKEW_MINUTES];
            must_be_written(transaction.execute(sql, params).await?)
        }
        MailWrite::Settle { row, revision } => {
            // Changed in place: a statement that waits for this one sees the row as it is then.
            let sql = "SELECT FROM mails WHERE app_id = $1 AND mail_id = $2 AND revision = $3 \
                 FOR UPDATE";
            let app = app_of(row.app_id);
            let params: Params = &[&app, &row.mail_id.uuid(), &i64::from(*revision)];
            must_be_written(transaction.query(sql, params).await?.len() as u64)?;
            replace(transaction, &MailRow { revision: revision + 1, ..row.clone() }).await
        }
        MailWrite::Unsubscribe { app_id, mail_id, address } => {
            let sql = "UPDATE mails SET ended = 'unsubscribed', next_at = NULL, address = $3, \
                 revision = revision + 1 WHERE app_id = $1 AND mail_id = $2";
            let params: Params = &[&app_id.uuid(), &mail_id.uuid(), &address.as_slice()];
            transaction.execute(sql, params).await.map(|_| ())
        }
        MailWrite::Remind { app_id, flow_id, after_millis, count } => {
            let sql = "UPDATE mails SET revision = revision + 1, next_at = CASE \
                 WHEN attempts > 0 THEN next_at WHEN sent < $4 THEN sent_at + $3 END \
                 WHERE app_id = $1 AND flow_id = $2 AND kind = 'invitation' \
                 AND (sent > 0 OR attempts > 0) AND ended IS NULL";
            let params: Params =
                &[&app_id.uuid(), &flow_id.uuid(), after_millis, &i64::from(*count)];
            transaction.execute(sql, params).await.map(|_| ())
        }
        MailWrite::Reschedule { app_id, flow_id, from, to } => {
            let sql = "UPDATE mails SET next_at = $4, revision = revision + 1 \
                 WHERE app_id = $1 AND flow_id = $2 AND kind = 'invitation' AND next_at = $3 \
                 AND attempts = 0 AND ended IS NULL";
            let times = (from.as_millis(), to.as_millis());
            let params: Params = &[&app_id.uuid(), &flow_id.uuid(), &times.0, &times.1];
            transaction.execute(sql, params).await.map(|_| ())
        }
        MailWrite::Reopen { app_id, flow_id, at } => {
            let sql = "UPDATE mails SET next_at = $3, revision = revision + 1, \
                 ended = CASE WHEN $3::bigint IS NULL THEN 'stopped' END \
                 WHERE app_id = $1 AND flow_id = $2 AND kind = 'invitation' AND ended = 'closed'";
            let at = at.map(Timestamp::as_millis);
            let params: Params = &[&app_id.uuid(), &flow_id.uuid(), &at];
            transaction.execute(sql, params).await.map(|_| ())
        }
        MailWrite::ReopenOne { app_id, flow_id, at } => {
            let params: Params = &[&app_id.uuid(), &flow_id.uuid(), &at.as_millis()];
            transaction.execute(REOPEN_ONE, params).await.map(|_| ())
        }
        MailWrite::Remove(app, mail) => {
            let sql = "DELETE FROM mails WHERE app_id = $1 AND mail_id = $2";
            transaction.execute(sql, &[&app_of(*app), &mail.uuid()]).await.map(|_| ())
        }
    }
}

/// Holds what is sent, or releases it.
pub(super) async fn hold(
    transaction: &Transaction,
    at: Option<Timestamp>,
) -> Result<(), TransactionError> {
    let sql = "UPDATE outbound SET held_at = $1";
    transaction.execute(sql, &[&at.map(Timestamp::as_millis)]).await.map(|_| ())
}

fn must_be_written(rows: u64) -> Result<(), TransactionError> {
    match rows {
        0 => Err(StoreError::Conflict.into()),
        _ => Ok(()),
    }
}

/// Stores a row, replacing an existing one.
pub(super) async fn replace(
    transaction: &Transaction,
    row: &MailRow,
) -> Result<(), TransactionError> {
    let replaced = MAIL.split(", ").skip(2).map(|name| format!("{name} = excluded.{name}"));
    let replaced = format!("UPDATE SET {}", replaced.collect::<Vec<_>>().join(", "));
    put(transaction, std::slice::from_ref(row), &replaced).await
}

/// Inserts rows in one statement: a file of people has many.
async fn put(
    transaction: &Transaction,
    rows: &[MailRow],
    if_exists: &str,
) -> Result<(), TransactionError> {
    let sql = format!(
        "INSERT INTO mails ({MAIL}) SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::text[], \
         $4::uuid[], $5::uuid[], $6::uuid[], $7::text[], $8::bigint[], $9::bigint[], \
         $10::bigint[], $11::bigint[], $12::bigint[], $13::text[], $14::text[], $15::bytea[], \
         $16::bigint[]) \
         ON CONFLICT (app_id, mail_id) DO {if_exists}"
    );
    let column = |value: fn(&MailRow) -> Option<Uuid>| rows.iter().map(value).collect::<Vec<_>>();
    let times = |value: fn(&MailRow) -> Option<Timestamp>| {
        rows.iter().map(|row| value(row).map(Timestamp::as_millis)).collect::<Vec<_>>()
    };
    let numbers = |value: fn(&MailRow) -> u32| {
        rows.iter().map(|row| i64::from(value(row))).collect::<Vec<_>>()
    };
    let kinds = rows.iter().map(|row| codec::variant_name(&row.kind));
    let kinds = kinds.collect::<Result<Vec<_>, _>>()?;
    let ended = rows.iter().map(|row| row.ended.as_ref().map(codec::variant_name).transpose());
    let ended = ended.collect::<Result<Vec<_>, _>>()?;
    let details: Vec<_> = rows.iter().map(|row| row.detail.as_deref()).collect();
    let replies: Vec<_> = rows.iter().map(|row| row.reply.as_deref()).collect();
    let addresses: Vec<_> =
        rows.iter().map(|row| row.address.as_ref().map(<[u8; 32]>::as_slice)).collect();
    let params: Params = &[
        &column(|row| Some(app_of(row.app_id))),
        &column(|row| Some(row.mail_id.uuid())),
        &kinds,
        &column(|row| row.flow_id.map(FlowId::uuid)),
        &column(|row| row.assignment_id.map(AssignmentId::uuid)),
        &column(|row| row.user_id.map(UserId::uuid)),
        &details,
        &times(|row| Some(row.created_at)),
        &numbers(|row| row.sent),
        &times(|row| row.sent_at),
        &numbers(|row| row.attempts),
        &times(|row| row.next_at),
        &ended,
        &replies,
        &addresses,
        &numbers(|row| row.revision),
    ];
    transaction.execute(&sql, params).await.map(|_| ())
}

fn app_of(app: Option<AppId>) -> Uuid {
    app.map_or(Uuid::nil(), AppId::uuid)
}
