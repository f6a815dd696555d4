//! What goes: a response by itself, a respondent who is erased, what has been kept long enough.
//!
//! The idempotency key of a response that goes before its time stays taken, without digest or content.
//! Every connection overwrites what it deletes (`secure_delete`), and after a removal the writer empties
//! the log, so that nothing of it is left in the files.

use rusqlite::{Connection, OptionalExtension, Result, params};
use sluice_flow::id::{AppId, RespondentId, ResponseId, v7};
use sluice_flow::time::Timestamp;

use super::apply::put_audit;
use super::codec::{self, Cells, IDENTITY, RESPONSE, bytes};
use super::invitations;
use super::transaction::{Stop, Then};
use crate::{Answers, Erasure, InvitationStep, Removed, ResponseRow, UsedKeyRow};

/// Deletes a response, and keeps its key taken; gives the app that it was of, if it was there.
pub(super) fn response(connection: &Connection, response: ResponseId) -> Result<Option<AppId>> {
    let sql = "DELETE FROM responses WHERE response_id = ?1 RETURNING app_id, idempotency_key";
    let gone = connection
        .prepare_cached(sql)?
        .query_row([bytes!(response)], |row| {
            let mut cells = Cells::of(row);
            Ok((cells.id(AppId::from_uuid)?, cells.take::<Option<[u8; 32]>>()?))
        })
        .optional()?;
    let Some((app_id, key)) = gone else { return Ok(None) };
    if let Some(key) = key {
        put_used_key(connection, &UsedKeyRow { app_id, response_id: response, key })?;
    }
    Ok(Some(app_id))
}

pub(super) fn put_used_key(connection: &Connection, row: &UsedKeyRow) -> Result<()> {
    let sql = "INSERT INTO used_keys (app_id, response_id, key) VALUES (?1, ?2, ?3) \
         ON CONFLICT (app_id, response_id) DO UPDATE SET key = excluded.key";
    let params = params![bytes!(row.app_id), bytes!(row.response_id), row.key];
    connection.prepare_cached(sql)?.execute(params).map(|_| ())
}

/// One part of an erasure.
pub(super) fn erase(connection: &Connection, erasure: &Erasure) -> Result<(Removed, Then), Stop> {
    let Erasure { app_id, respondent_id, answers, .. } = erasure;
    let exists = "SELECT 1 FROM respondents WHERE app_id = ?1 AND respondent_id = ?2";
    let ids = params![bytes!(app_id), bytes!(respondent_id)];
    if !connection.prepare_cached(exists)?.exists(ids)? {
        return Ok((Removed { done: true, ..Removed::default() }, Then::Forget));
    }
    let rows = linked(connection, *app_id, *respondent_id, erasure.limit)?;
    let mut removed = Removed { responses: rows.len() as u64, ..Removed::default() };
    for row in &rows {
        invitations::forget_completed(connection, row)?;
        match answers {
            Answers::Delete => {
                response(connection, row.response_id)?;
            }
            Answers::Keep => unlink(connection, row)?,
        }
        forget_consent(connection, *app_id, row.response_id)?;
    }
    if rows.len() < erasure.limit {
        let consents = "DELETE FROM consents WHERE app_id = ?1 AND respondent_id = ?2";
        connection.prepare_cached(consents)?.execute(ids)?;
        forget_invitations(connection, erasure)?;
        removed.respondents = profile(connection, *app_id, *respondent_id)?;
        removed.done = true;
        put_audit(connection, &erasure.audit)?;
    }
    Ok((removed, Then::Commit))
}

/// Their invitations name nobody any more, and those that are open are withdrawn.
fn forget_invitations(connection: &Connection, erasure: &Erasure) -> Result<()> {
    let sql = format!("SELECT {IDENTITY} FROM identities WHERE app_id = ?1 AND respondent_id = ?2");
    let ids = params![bytes!(erasure.app_id), bytes!(erasure.respondent_id)];
    let known = connection
        .prepare_cached(&sql)?
        .query_map(ids, |row| codec::identity(&mut Cells::of(row)))?
        .collect::<Result<Vec<_>>>()?;
    for row in known {
        let step = InvitationStep::forget(row.app_id, row.known, erasure.audit.audit_id.made_at());
        invitations::step(connection, &step)?;
    }
    Ok(())
}

fn linked(
    connection: &Connection,
    app: AppId,
    respondent: RespondentId,
    limit: usize,
) -> Result<Vec<ResponseRow>> {
    let columns = codec::of_table("responses", RESPONSE);
    let sql = format!(
        "SELECT {columns} FROM consents CROSS JOIN responses \
         ON responses.response_id = consents.response_id \
         WHERE consents.app_id = ?1 AND consents.respondent_id = ?2 \
         ORDER BY consents.response_id LIMIT ?3"
    );
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    connection
        .prepare_cached(&sql)?
        .query_map(params![bytes!(app), bytes!(respondent), limit], |row| {
            codec::response(&mut Cells::of(row))
        })?
        .collect()
}

/// Takes from a row all that connects it with a person, its key included: the digest under which the
/// key was used is of what was sent.
fn unlink(connection: &Connection, row: &ResponseRow) -> Result<()> {
    let key: Option<[u8; 32]> = connection
        .prepare_cached("SELECT idempotency_key FROM responses WHERE response_id = ?1")?
        .query_row([bytes!(row.response_id)], |row| row.get(0))?;
    let (app_id, response_id) = (row.app_id, row.response_id);
    let row = row.clone().unlinked();
    let sql = "UPDATE responses SET identities = NULL, identity_verified = 0, \
         respondent_id = NULL, flow_assignment_id = NULL, idempotency_key = NULL, digest = ?2 \
         WHERE response_id = ?1";
    connection.prepare_cached(sql)?.execute(params![bytes!(response_id), row.digest])?;
    match key {
        Some(key) => put_used_key(connection, &UsedKeyRow { app_id, response_id, key }),
        None => Ok(()),
    }
}

fn forget_consent(connection: &Connection, app: AppId, response: ResponseId) -> Result<()> {
    connection
        .prepare_cached("DELETE FROM consents WHERE app_id = ?1 AND response_id = ?2")?
        .execute(params![bytes!(app), bytes!(response)])
        .map(|_| ())
}

/// Removes a profile and what is known of it; says whether it was there.
fn profile(connection: &Connection, app: AppId, respondent: RespondentId) -> Result<u64> {
    let ids = params![bytes!(app), bytes!(respondent)];
    connection
        .prepare_cached("DELETE FROM identities WHERE app_id = ?1 AND respondent_id = ?2")?
        .execute(ids)?;
    let sql = "DELETE FROM respondents WHERE app_id = ?1 AND respondent_id = ?2";
    Ok(connection.prepare_cached(sql)?.execute(ids)? as u64)
}

/// One part of an expiry: responses first, then what was kept beside them.
pub(super) fn expire(
    connection: &Connection,
    app: AppId,
    before: Timestamp,
    limit: usize,
) -> Result<(Removed, Then), Stop> {
    let first = first_at(before);
    let rows = i64::try_from(limit).unwrap_or(i64::MAX);
    // The flows come first, so that the index by flow is walked; there is none by app alone.
    let responses = "DELETE FROM responses WHERE rowid IN (SELECT responses.rowid \
         FROM flows CROSS JOIN responses ON responses.app_id = flows.app_id \
         AND responses.flow_id = flows.flow_id \
         WHERE flows.app_id = ?1 AND responses.response_id < ?2 LIMIT ?3)";
    let params = params![bytes!(app), first, rows];
    let responses = connection.prepare_cached(responses)?.execute(params)?;
    let mut removed = Removed { responses: responses as u64, ..Removed::default() };
    if responses < limit {
        let left = expire_consents(connection, app, before, rows)?;
        removed.respondents = left.1;
        let keys = "DELETE FROM used_keys WHERE app_id = ?1 AND response_id IN (SELECT response_id \
             FROM used_keys WHERE app_id = ?1 AND response_id < ?2 LIMIT ?3)";
        let keys = connection.prepare_cached(keys)?.execute(params)?;
        removed.done = left.0 < limit && keys < limit;
    }
    if removed.done {
        invitations::step(connection, &InvitationStep::ForgetEnded { app, before })?;
    }
    Ok((removed, Then::Commit))
}

/// The least id of a response that was received at this time.
fn first_at(time: Timestamp) -> [u8; 16] {
    (v7(time, 0, 0).as_u128() >> 80 << 80).to_be_bytes()
}

/// Removes consents, and the respondents that have none left: how many of each. Those of somebody who is
/// still invited stay.
fn expire_consents(
    connection: &Connection,
    app: AppId,
    before: Timestamp,
    rows: i64,
) -> Result<(usize, u64)> {
    let sql = format!(
        "DELETE FROM consents WHERE app_id = ?1 AND response_id IN (SELECT response_id \
         FROM consents WHERE app_id = ?1 AND response_id < ?2 AND NOT {} LIMIT ?3) \
         RETURNING respondent_id",
        invitations::is_of_an_invitee()
    );
    let params = params![bytes!(app), first_at(before), rows, before.as_millis()];
    let mut whose = connection
        .prepare_cached(&sql)?
        .query_map(params, |row| Cells::of(row).id(RespondentId::from_uuid))?
        .collect::<Result<Vec<_>>>()?;
    let consents = whose.len();
    whose.sort();
    whose.dedup();
    let mut respondents = 0;
    for respondent in whose {
        if !is_wanted(connection, app, respondent)? {
            respondents += profile(connection, app, respondent)?;
        }
    }
    Ok((consents, respondents))
}

/// Whether anything is left for which a profile is kept.
fn is_wanted(connection: &Connection, app: AppId, respondent: RespondentId) -> Result<bool> {
    let sql = "SELECT 1 FROM consents WHERE app_id = ?1 AND respondent_id = ?2";
    connection.prepare_cached(sql)?.exists(params![bytes!(app), bytes!(respondent)])
}
