//! E-mails to send.

use async_trait::async_trait;
use rusqlite::{Connection, Result, params};
use sluice_flow::id::{AppId, AssignmentId, FlowId, MailId, UserId};
use sluice_flow::time::Timestamp;

use super::SqliteStore;
use super::codec::{self, MAIL, ReadCells as _, bytes};
use super::read::{limit, many, one};
use super::transaction::TransactionError;
use crate::{
    AddressHash, MailLane, MailRow, MailStore, MailWrite, PACE_SKEW_MINUTES, StoreError,
    StoreResult,
};

const NO_APP: [u8; 16] = [0; 16];

#[async_trait]
impl MailStore for SqliteStore {
    async fn list_due_mails(
        &self,
        lane: MailLane,
        now: Timestamp,
        rows: usize,
    ) -> StoreResult<Vec<MailRow>> {
        let kind = lane.condition();
        let sql = format!(
            "SELECT {MAIL} FROM mails WHERE {kind} AND next_at <= ?1 \
             ORDER BY next_at, mail_id LIMIT ?2"
        );
        let read = move |it: &Connection| {
            many(it, &sql, params![now.as_millis(), limit(rows)], codec::mail)
        };
        self.readers.read(read).await
    }

    async fn list_due_invitations(
        &self,
        app: AppId,
        now: Timestamp,
        rows: usize,
    ) -> StoreResult<Vec<MailRow>> {
        let sql = format!(
            "SELECT {MAIL} FROM mails WHERE app_id = ?1 AND kind = 'invitation' AND next_at <= ?2 \
             ORDER BY next_at, mail_id LIMIT ?3"
        );
        let read = move |it: &Connection| {
            many(it, &sql, params![bytes!(app), now.as_millis(), limit(rows)], codec::mail)
        };
        self.readers.read(read).await
    }

    async fn list_apps_with_due_invitations(
        &self,
        now: Timestamp,
        after: Option<AppId>,
        rows: usize,
    ) -> StoreResult<Vec<AppId>> {
        // From app to app, by the index: each has one or many e-mails.
        let sql = "WITH RECURSIVE waiting(app_id) AS ( \
             SELECT min(app_id) FROM mails \
             WHERE kind = 'invitation' AND next_at IS NOT NULL AND app_id > ?1 \
             UNION ALL SELECT (SELECT min(next.app_id) FROM mails AS next \
             WHERE next.kind = 'invitation' AND next.next_at IS NOT NULL \
             AND next.app_id > waiting.app_id) FROM waiting WHERE waiting.app_id IS NOT NULL) \
             SELECT app_id FROM waiting WHERE app_id IS NOT NULL AND EXISTS (SELECT 1 FROM mails \
             WHERE mails.app_id = waiting.app_id AND mails.kind = 'invitation' \
             AND mails.next_at <= ?2) LIMIT ?3";
        let after = after.map_or(NO_APP, |app| bytes!(app));
        let read = move |it: &Connection| {
            many(it, sql, params![after, now.as_millis(), limit(rows)], |cells| {
                cells.id(AppId::from_uuid)
            })
        };
        self.readers.read(read).await
    }

    async fn count_due_mails(&self, now: Timestamp) -> StoreResult<u64> {
        let read = move |it: &Connection| {
            let sql = "SELECT count(*) FROM mails WHERE next_at <= ?1";
            it.prepare_cached(sql)?.query_row([now.as_millis()], |row| row.get::<_, i64>(0))
        };
        Ok(self.readers.read(read).await?.unsigned_abs())
    }

    async fn list_waiting_mails(
        &self,
        made_before: Timestamp,
        now: Timestamp,
        after: Option<MailId>,
        rows: usize,
    ) -> StoreResult<Vec<MailRow>> {
        let sql = format!(
            "SELECT {MAIL} FROM mails WHERE mail_id > ?1 AND created_at < ?2 \
             AND next_at IS NOT NULL AND (next_at <= ?3 OR attempts > 0) \
             ORDER BY mail_id LIMIT ?4"
        );
        let after = after.map_or(NO_APP, |id| bytes!(id));
        let times = (made_before.as_millis(), now.as_millis());
        let read = move |it: &Connection| {
            many(it, &sql, params![after, times.0, times.1, limit(rows)], codec::mail)
        };
        self.readers.read(read).await
    }

    async fn find_mail(&self, mail: MailId) -> StoreResult<Option<MailRow>> {
        let sql = format!("SELECT {MAIL} FROM mails WHERE mail_id = ?1");
        self.readers.read(move |it| one(it, &sql, [bytes!(mail)], codec::mail)).await
    }

    async fn list_mails_of(
        &self,
        app: AppId,
        invitations: &[AssignmentId],
    ) -> StoreResult<Vec<MailRow>> {
        let invitations = invitations.to_vec();
        self.readers.read(move |it| of_invitations(it, app, &invitations)).await
    }

    async fn list_mails_to(&self, user: UserId, flow: Option<FlowId>) -> StoreResult<Vec<MailRow>> {
        let sql = format!(
            "SELECT {MAIL} FROM mails WHERE user_id = ?1 AND flow_id IS ?2 ORDER BY mail_id"
        );
        let flow = flow.map(|flow| bytes!(flow));
        self.readers.read(move |it| many(it, &sql, params![bytes!(user), flow], codec::mail)).await
    }

    async fn list_newest_mails_to(&self, user: UserId, rows: usize) -> StoreResult<Vec<MailRow>> {
        let sql = format!(
            "SELECT {MAIL} FROM mails WHERE user_id = ?1 \
             ORDER BY created_at DESC, mail_id DESC LIMIT ?2"
        );
        let read =
            move |it: &Connection| many(it, &sql, params![bytes!(user), limit(rows)], codec::mail);
        self.readers.read(read).await
    }

    async fn outbound_held_at(&self) -> StoreResult<Option<Timestamp>> {
        let read = |it: &Connection| {
            let mut held = it.prepare_cached("SELECT held_at FROM outbound")?;
            held.query_row([], |row| row.get::<_, Option<i64>>(0))
        };
        Ok(self.readers.read(read).await?.map(Timestamp::from_millis))
    }

    async fn is_unsubscribed(&self, app: AppId, address: &AddressHash) -> StoreResult<bool> {
        let address = *address;
        let read = move |it: &Connection| {
            let sql = "SELECT EXISTS (SELECT 1 FROM mails WHERE app_id = ?1 AND address = ?2)";
            it.prepare_cached(sql)?.query_row(params![bytes!(app), address], |row| row.get(0))
        };
        self.readers.read(read).await
    }
}

fn of_invitations(
    connection: &Connection,
    app: AppId,
    invitations: &[AssignmentId],
) -> Result<Vec<MailRow>> {
    let sql = format!("SELECT {MAIL} FROM mails WHERE app_id = ?1 AND assignment_id = ?2");
    let mut found = Vec::new();
    for invitation in invitations {
        let params = params![bytes!(app), bytes!(invitation)];
        found.extend(many(connection, &sql, params, codec::mail)?);
    }
    Ok(found)
}

/// Of the invitations that wait, the one that has waited longest.
const REOPEN_ONE: &str = "UPDATE mails SET next_at = ?3, revision = revision + 1, ended = NULL \
     WHERE app_id = ?1 AND mail_id = (SELECT mail_id FROM mails WHERE app_id = ?1 \
     AND flow_id = ?2 AND kind = 'invitation' AND ended = 'closed' \
     ORDER BY created_at, mail_id LIMIT 1)";

pub(super) fn change(
    connection: &Connection,
    write: &MailWrite,
) -> std::result::Result<(), TransactionError> {
    match write {
        MailWrite::Add(rows) => {
            rows.iter().try_for_each(|row| insert(connection, row, "NOTHING"))?;
        }
        MailWrite::Claim { read, until } => {
            let sql = "UPDATE mails SET next_at = ?4, attempts = attempts + 1, \
                 revision = revision + 1 WHERE app_id = ?1 AND mail_id = ?2 AND revision = ?3";
            let claimed = connection.prepare_cached(sql)?.execute(params![
                app_of(read.app_id),
                bytes!(read.mail_id),
                read.revision,
                until.as_millis(),
            ])?;
            must_be_written(claimed)?;
        }
        MailWrite::Pace { minute, max } => {
            let sql = "UPDATE mail_pace SET \
                 sent = CASE WHEN ?1 BETWEEN minute - ?3 AND minute THEN sent + 1 ELSE 1 END, \
                 minute = CASE WHEN ?1 BETWEEN minute - ?3 AND minute THEN minute ELSE ?1 END \
                 WHERE sent < ?2 OR NOT ?1 BETWEEN minute - ?3 AND minute";
            let params = params![minute, max, PACE_SKEW_MINUTES];
            must_be_written(connection.prepare_cached(sql)?.execute(params)?)?;
        }
        MailWrite::Settle { row, revision } => {
            let sql = "DELETE FROM mails WHERE app_id = ?1 AND mail_id = ?2 AND revision = ?3";
            let params = params![app_of(row.app_id), bytes!(row.mail_id), revision];
            must_be_written(connection.prepare_cached(sql)?.execute(params)?)?;
            insert(connection, &MailRow { revision: revision + 1, ..row.clone() }, "NOTHING")?;
        }
        MailWrite::Unsubscribe { app_id, mail_id, address } => {
            let sql = "UPDATE mails SET ended = 'unsubscribed', next_at = NULL, address = ?3, \
                 revision = revision + 1 WHERE app_id = ?1 AND mail_id = ?2";
            let params = params![bytes!(app_id), bytes!(mail_id), address];
            connection.prepare_cached(sql)?.execute(params)?;
        }
        MailWrite::Remind { app_id, flow_id, after_millis, count } => {
            let sql = "UPDATE mails SET revision = revision + 1, next_at = CASE \
                 WHEN attempts > 0 THEN next_at WHEN sent < ?4 THEN sent_at + ?3 END \
                 WHERE app_id = ?1 AND flow_id = ?2 AND kind = 'invitation' \
                 AND (sent > 0 OR attempts > 0) AND ended IS NULL";
            let params = params![bytes!(app_id), bytes!(flow_id), after_millis, count];
            connection.prepare_cached(sql)?.execute(params)?;
        }
        MailWrite::Reschedule { app_id, flow_id, from, to } => {
            let sql = "UPDATE mails SET next_at = ?4, revision = revision + 1 \
                 WHERE app_id = ?1 AND flow_id = ?2 AND kind = 'invitation' AND next_at = ?3 \
                 AND attempts = 0 AND ended IS NULL";
            let times = (from.as_millis(), to.as_millis());
            let params = params![bytes!(app_id), bytes!(flow_id), times.0, times.1];
            connection.prepare_cached(sql)?.execute(params)?;
        }
        MailWrite::Reopen { app_id, flow_id, at } => {
            let sql = "UPDATE mails SET next_at = ?3, revision = revision + 1, \
                 ended = CASE WHEN ?3 IS NULL THEN 'stopped' END \
                 WHERE app_id = ?1 AND flow_id = ?2 AND kind = 'invitation' AND ended = 'closed'";
            let at = at.map(Timestamp::as_millis);
            let params = params![bytes!(app_id), bytes!(flow_id), at];
            connection.prepare_cached(sql)?.execute(params)?;
        }
        MailWrite::ReopenOne { app_id, flow_id, at } => {
            let params = params![bytes!(app_id), bytes!(flow_id), at.as_millis()];
            connection.prepare_cached(REOPEN_ONE)?.execute(params)?;
        }
        MailWrite::Remove(app, mail) => {
            let sql = "DELETE FROM mails WHERE app_id = ?1 AND mail_id = ?2";
            connection.prepare_cached(sql)?.execute(params![app_of(*app), bytes!(mail)])?;
        }
    }
    Ok(())
}

/// Holds what is sent, or releases it.
pub(super) fn hold(connection: &Connection, at: Option<Timestamp>) -> Result<()> {
    let at = at.map(Timestamp::as_millis);
    connection.execute("UPDATE outbound SET held_at = ?1", [at]).map(|_| ())
}

fn must_be_written(rows: usize) -> std::result::Result<(), TransactionError> {
    match rows {
        0 => Err(TransactionError::Answer(StoreError::Conflict)),
        _ => Ok(()),
    }
}

/// Stores a row of an import, replacing an existing one.
pub(super) fn replace(connection: &Connection, row: &MailRow) -> Result<()> {
    let replaced = MAIL.split(", ").skip(2).map(|name| format!("{name} = excluded.{name}"));
    let replaced = format!("UPDATE SET {}", replaced.collect::<Vec<_>>().join(", "));
    insert(connection, row, &replaced)
}

fn insert(connection: &Connection, row: &MailRow, if_exists: &str) -> Result<()> {
    let sql = format!(
        "INSERT INTO mails ({MAIL}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, \
         ?13, ?14, ?15, ?16) ON CONFLICT (app_id, mail_id) DO {if_exists}"
    );
    connection
        .prepare_cached(&sql)?
        .execute(params![
            app_of(row.app_id),
            bytes!(row.mail_id),
            codec::variant_name(&row.kind)?,
            row.flow_id.map(|id| bytes!(id)),
            row.assignment_id.map(|id| bytes!(id)),
            row.user_id.map(|id| bytes!(id)),
            row.detail,
            row.created_at.as_millis(),
            row.sent,
            row.sent_at.map(Timestamp::as_millis),
            row.attempts,
            row.next_at.map(Timestamp::as_millis),
            row.ended.as_ref().map(codec::variant_name).transpose()?,
            row.reply,
            row.address,
            row.revision,
        ])
        .map(|_| ())
}

fn app_of(app: Option<AppId>) -> [u8; 16] {
    app.map_or(NO_APP, |app| bytes!(app))
}
