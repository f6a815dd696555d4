//! What goes when it is asked for: a response by itself, and a person who is erased.
//!
//! The idempotency key of a response that goes before its time stays taken, without digest or content.
//! Every connection overwrites what it deletes (`secure_delete`), and after a removal the writer empties
//! the log, so that nothing of it is left in the files.

use rusqlite::{Connection, OptionalExtension, Result, params};
use sluice_flow::id::{AppId, RespondentId, ResponseId};
use sluice_flow::respondent::Known;

use super::apply::put_audit;
use super::codec::{self, Cells, IDENTITY, RESPONSE, bytes};
use super::counts::Going;
use super::invitations;
use super::read::{many, responses};
use super::transaction::{Stop, Then};
use crate::{Answers, Erasure, InvitationRow, Page, Person, Removed, ResponseRow, UsedKeyRow};

/// Deletes a response, keeps its key taken, and takes it out of its invitation; gives the app that it was
/// of, if it was there.
pub(super) fn response(
    connection: &Connection,
    response: ResponseId,
    going: &mut Going,
) -> Result<Option<AppId>> {
    let sql = format!(
        "DELETE FROM responses WHERE response_id = ?1 RETURNING {RESPONSE}, counted, idempotency_key"
    );
    let gone = connection
        .prepare_cached(&sql)?
        .query_row([bytes!(response)], |row| {
            let mut cells = Cells::of(row);
            let row = codec::response(&mut cells)?;
            Ok((row, cells.take()?, cells.take::<Option<[u8; 32]>>()?))
        })
        .optional()?;
    let Some((row, at_once, key)) = gone else { return Ok(None) };
    let app_id = row.app_id;
    if let Some(key) = key {
        put_used_key(connection, &UsedKeyRow { app_id, response_id: response, key })?;
    }
    invitations::unname(connection, app_id, row.flow_assignment_id.as_deref(), response)?;
    going.note(connection, &row, at_once, None)?;
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
    let app = erasure.app_id;
    let Some(known) = known_of(connection, app, &erasure.person)? else {
        return Ok((Removed { done: true, ..Removed::default() }, Then::Forget));
    };
    let (mut removed, mut going) = (Removed::default(), Going::default());
    let rows = match erasure.person {
        Person::Respondent(id) => linked(connection, app, id, erasure.limit)?,
        Person::Invitee(_) => Vec::new(),
    };
    for row in &rows {
        removed.invitations += invitations::forget_completed(connection, row)? as u64;
        forget_answers(connection, row, erasure.answers, &mut going)?;
    }
    removed.responses = rows.len() as u64;
    let room = erasure.limit - rows.len();
    let page = Page { after: None, limit: room };
    let theirs = invitations::of_person(connection, app, &known, page)?;
    for row in &theirs {
        removed.responses += forget_invitation(connection, row, erasure, &mut going)?;
    }
    going.settle(connection)?;
    removed.invitations += theirs.len() as u64;
    if theirs.len() < room {
        removed.done = true;
        if let Person::Respondent(id) = erasure.person {
            let consents = "DELETE FROM consents WHERE app_id = ?1 AND respondent_id = ?2";
            connection.prepare_cached(consents)?.execute(params![bytes!(app), bytes!(id)])?;
            removed.respondents = profile(connection, app, id)?;
        }
    }
    if removed == (Removed { done: true, ..Removed::default() }) {
        return Ok((removed, Then::Forget));
    }
    put_audit(connection, &erasure.audit)?;
    Ok((removed, Then::Commit))
}

/// What is known of a person; none where there is no such profile.
fn known_of(connection: &Connection, app: AppId, person: &Person) -> Result<Option<Vec<Known>>> {
    let respondent = match person {
        Person::Respondent(id) => bytes!(id),
        Person::Invitee(known) => return Ok(Some(vec![known.clone()])),
    };
    let ids = params![bytes!(app), respondent];
    let exists = "SELECT 1 FROM respondents WHERE app_id = ?1 AND respondent_id = ?2";
    if !connection.prepare_cached(exists)?.exists(ids)? {
        return Ok(None);
    }
    let sql = format!("SELECT {IDENTITY} FROM identities WHERE app_id = ?1 AND respondent_id = ?2");
    let rows = many(connection, &sql, ids, codec::identity)?;
    Ok(Some(rows.into_iter().map(|row| row.known).collect()))
}

/// Takes a person out of an invitation of theirs and out of what came through it; says how many responses of
/// theirs that were. One that is somebody else's loses the assignment alone.
fn forget_invitation(
    connection: &Connection,
    row: &InvitationRow,
    erasure: &Erasure,
    going: &mut Going,
) -> Result<u64> {
    invitations::forget(connection, row, erasure.audit.audit_id.made_at())?;
    let Some(id) = row.response_id else { return Ok(0) };
    let Some(response) = responses::by_id(connection, id)? else { return Ok(0) };
    let is_theirs = match response.respondent_id {
        Some(whose) => erasure.person == Person::Respondent(whose),
        None => true,
    };
    if is_theirs {
        forget_answers(connection, &response, erasure.answers, going)?;
    } else {
        rewrite(connection, &response.unassigned())?;
    }
    Ok(u64::from(is_theirs))
}

/// Deletes a response of somebody, or leaves it without them.
fn forget_answers(
    connection: &Connection,
    row: &ResponseRow,
    answers: Answers,
    going: &mut Going,
) -> Result<()> {
    match answers {
        Answers::Delete => {
            response(connection, row.response_id, going)?;
        }
        Answers::Keep => {
            let kept = row.clone().unlinked();
            let at_once = rewrite(connection, &kept)?;
            going.note(connection, row, at_once, Some(&kept))?;
        }
    }
    forget_consent(connection, row.app_id, row.response_id)
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

/// Puts a row in that says less of who it is of. Its key stays taken without it: the digest under which the
/// key was used is of what was sent. Says whether the row was counted when it was stored.
fn rewrite(connection: &Connection, row: &ResponseRow) -> Result<bool> {
    let (app_id, response_id) = (row.app_id, row.response_id);
    let (key, at_once): (Option<[u8; 32]>, bool) = connection
        .prepare_cached("SELECT idempotency_key, counted FROM responses WHERE response_id = ?1")?
        .query_row([bytes!(response_id)], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let sql = "UPDATE responses SET identities = ?2, identity_verified = ?3, respondent_id = ?4, \
         flow_assignment_id = ?5, digest = ?6, tags = ?7, context = ?8, idempotency_key = NULL \
         WHERE response_id = ?1";
    connection.prepare_cached(sql)?.execute(params![
        bytes!(response_id),
        row.identities,
        row.identity_verified,
        row.respondent_id.map(|id| bytes!(id)),
        row.flow_assignment_id,
        row.digest,
        row.tags,
        row.context,
    ])?;
    if let Some(key) = key {
        put_used_key(connection, &UsedKeyRow { app_id, response_id, key })?;
    }
    Ok(at_once)
}

fn forget_consent(connection: &Connection, app: AppId, response: ResponseId) -> Result<()> {
    connection
        .prepare_cached("DELETE FROM consents WHERE app_id = ?1 AND response_id = ?2")?
        .execute(params![bytes!(app), bytes!(response)])
        .map(|_| ())
}

/// Removes a profile and what is known of it; says whether it was there.
pub(super) fn profile(
    connection: &Connection,
    app: AppId,
    respondent: RespondentId,
) -> Result<u64> {
    let ids = params![bytes!(app), bytes!(respondent)];
    connection
        .prepare_cached("DELETE FROM identities WHERE app_id = ?1 AND respondent_id = ?2")?
        .execute(ids)?;
    let sql = "DELETE FROM respondents WHERE app_id = ?1 AND respondent_id = ?2";
    Ok(connection.prepare_cached(sql)?.execute(ids)? as u64)
}
