//! Removal on request: a single response, and a person who is erased.
//!
//! The idempotency key of a response that is removed this way stays used, without digest or
//! content. Every connection overwrites what it deletes (`secure_delete`), and after a removal the
//! writer empties the log, so that nothing of it is left in the files.

use std::sync::LazyLock;

use rusqlite::{Connection, Result, params};
use sluice_flow::id::{AppId, RespondentId, ResponseId};
use sluice_flow::respondent::ProfileIdentity;

use super::claims::put_respondent;
use super::codec::{self, Cells, IDENTITY, RESPONDENT, RESPONSE, bytes};
use super::counts::Going;
use super::log_gate::Entered;
use super::read::{limit, many, one, respondents, responses};
use super::response_row::{self, IntegerIds};
use super::transaction::{Finish, TransactionError};
use super::version_numbers::{Numbers, RESPONSES};
use super::{endpoints, events, invitations, put, response_keys};
use crate::codec::rewritten_columns;
use crate::endpoint::events_of;
use crate::event::EventIds;
use crate::{
    AnswersOnErasure, ErasedPart, Erasure, ErasureMark, ErasureTarget, IdempotencyKey,
    InvitationRow, Page, RespondentRow, ResponseRow, UsedKeyRow,
};

/// Replaces a response; with the parameters of [`response_row::bind`], the first of which is its
/// key.
static REWRITE: LazyLock<String> = LazyLock::new(|| {
    let set: Vec<_> =
        rewritten_columns().map(|(index, name)| format!("{name} = ?{}", index + 1)).collect();
    let (set, key) = (set.join(", "), response_row::PARAMETERS);
    format!("UPDATE responses SET {set}, idempotency_key = ?{key} WHERE response_key = ?1")
});

/// Deletes a response, keeps its key used, and removes it from its invitation; returns its app if
/// the response existed.
pub(super) fn response(
    connection: &Connection,
    response: ResponseId,
    going: &mut Going,
) -> Result<Option<AppId>> {
    let Some(key) = response_keys::find(connection, response)? else { return Ok(None) };
    let sql = format!(
        "SELECT {RESPONSE}, idempotency_key, counted FROM {RESPONSES} WHERE response_key = ?1"
    );
    let (row, at_once) = connection.prepare_cached(&sql)?.query_row([key], |row| {
        let mut cells = Cells::new(row);
        let row = codec::response(&mut cells)?;
        keep_used(connection, &row, cells.take()?)?;
        Ok((row, cells.take()?))
    })?;
    delete(connection, key)?;
    let app_id = row.app_id;
    invitations::unname(connection, app_id, row.flow_assignment_id.as_deref(), response)?;
    going.note(connection, &row, at_once, None)?;
    endpoints::forget_replies(connection, app_id, &events_of(response))?;
    Ok(Some(app_id))
}

pub(super) fn delete(connection: &Connection, key: i64) -> Result<()> {
    let sql = "DELETE FROM responses WHERE response_key = ?1";
    connection.prepare_cached(sql)?.execute([key]).map(|_| ())
}

/// Keeps the key of a response that is removed or loses content; it is given as it is stored.
fn keep_used(
    connection: &Connection,
    row: &ResponseRow,
    stored: Option<IdempotencyKey>,
) -> Result<()> {
    let ResponseRow { app_id, response_id, .. } = *row;
    let Some(key) = stored.map(|stored| response_row::key_in_app(app_id, stored)) else {
        return Ok(());
    };
    put_used_key(connection, &UsedKeyRow { app_id, response_id, key })
}

pub(super) fn put_used_key(connection: &Connection, row: &UsedKeyRow) -> Result<()> {
    let sql = "INSERT INTO used_keys (app_id, response_id, key) VALUES (?1, ?2, ?3) \
         ON CONFLICT (app_id, response_id) DO UPDATE SET key = excluded.key";
    let params = params![bytes!(row.app_id), bytes!(row.response_id), row.key];
    connection.prepare_cached(sql)?.execute(params).map(|_| ())
}

/// One batch of an erasure.
pub(super) fn erase(
    connection: &Connection,
    erasure: &Erasure,
    entered: &Entered,
) -> Result<(ErasedPart, Finish), TransactionError> {
    let mut ids = EventIds::new(entered.current(erasure.audit.audit_id.made_at()));
    match erasure.target {
        ErasureTarget::Respondent(id) => erase_respondent(connection, erasure, id, &mut ids),
        ErasureTarget::Invitee(ref known) => {
            let (mut removed, mut going) = (ErasedPart::default(), Going::default());
            let mark = erasure.mark(None, &[]);
            let mut part = ErasureBatch { erasure, mark: &mark, room: erasure.limit };
            let is_done = part.forget_invitations(connection, known, &mut removed, &mut going)?;
            events::add_deleted(connection, going.deleted(), &mut ids)?;
            going.settle(connection)?;
            removed.done = is_done;
            if removed == (ErasedPart { done: true, ..ErasedPart::default() }) {
                return Ok((removed, Finish::RollBack));
            }
            put::audit(connection, &erasure.audit)?;
            Ok((removed, Finish::Commit))
        }
    }
}

/// First the identities of the respondent, then the responses, then the profile.
fn erase_respondent(
    connection: &Connection,
    erasure: &Erasure,
    id: RespondentId,
    ids: &mut EventIds,
) -> Result<(ErasedPart, Finish), TransactionError> {
    let app = erasure.app_id;
    let sql =
        format!("SELECT {RESPONDENT} FROM respondents WHERE app_id = ?1 AND respondent_id = ?2");
    let found = one(connection, &sql, params![bytes!(app), bytes!(id)], codec::respondent)?;
    let Some(row) = found else {
        return Ok((ErasedPart { done: true, ..ErasedPart::default() }, Finish::RollBack));
    };
    let found = identities(connection, erasure, id)?;
    let mark = erasure.mark(row.erasing.as_ref(), &found);
    let (mut removed, mut going) = (ErasedPart::default(), Going::default());
    let mut part = ErasureBatch { erasure, mark: &mark, room: erasure.limit };
    removed.done = part.forget_identities(connection, &found, &mut removed, &mut going)?
        && part.forget_responses(connection, id, &mut removed, &mut going)?;
    events::add_deleted(connection, going.deleted(), ids)?;
    going.settle(connection)?;
    if row.erasing.as_ref().map(|it| it.answers) != Some(mark.answers) {
        put::audit(connection, &erasure.audit)?;
    }
    if removed.done {
        removed.respondents = profile(connection, app, id)?;
        events::add_erased(connection, app, id, &mark, ids)?;
    } else if row.erasing.as_ref() != Some(&mark) {
        put_respondent(connection, &RespondentRow { erasing: Some(mark), ..row })?;
    }
    Ok((removed, Finish::Commit))
}

/// The first identities of a respondent, the user id before the addresses.
fn identities(
    connection: &Connection,
    erasure: &Erasure,
    id: RespondentId,
) -> Result<Vec<ProfileIdentity>> {
    let sql = format!(
        "SELECT {IDENTITY} FROM identities \
         WHERE app_id = ?1 AND respondent_id = ?2 AND type = 'userId' UNION ALL \
         SELECT {IDENTITY} FROM identities \
         WHERE app_id = ?1 AND respondent_id = ?2 AND type <> 'userId' LIMIT ?3"
    );
    let params = params![bytes!(erasure.app_id), bytes!(id), limit(erasure.identities_read())];
    let rows = many(connection, &sql, params, codec::identity)?;
    Ok(rows.into_iter().map(|row| row.known).collect())
}

/// What one batch may still take.
struct ErasureBatch<'e> {
    erasure: &'e Erasure,
    mark: &'e ErasureMark,
    room: usize,
}

impl ErasureBatch<'_> {
    /// Removes the first of these identities, and the respondent from the invitations with them;
    /// returns whether none is left.
    fn forget_identities(
        &mut self,
        connection: &Connection,
        found: &[ProfileIdentity],
        removed: &mut ErasedPart,
        going: &mut Going,
    ) -> Result<bool> {
        let app = bytes!(self.erasure.app_id);
        let sql = "DELETE FROM identities WHERE app_id = ?1 AND type = ?2 AND value = ?3";
        for known in found.iter().take(self.erasure.limit) {
            if !self.forget_invitations(connection, known, removed, going)? {
                return Ok(false);
            }
            let params = params![app, known.kind.as_str(), known.value];
            connection.prepare_cached(sql)?.execute(params)?;
        }
        Ok(found.len() < self.erasure.limit)
    }

    /// Removes a person from the invitations with this identity; returns whether none is left.
    fn forget_invitations(
        &mut self,
        connection: &Connection,
        known: &ProfileIdentity,
        removed: &mut ErasedPart,
        going: &mut Going,
    ) -> Result<bool> {
        let page = Page { after: None, limit: self.room };
        let (app, known) = (self.erasure.app_id, std::slice::from_ref(known));
        let theirs = invitations::of_person(connection, app, known, page)?;
        for row in &theirs {
            removed.responses += self.forget_invitation(connection, row, going)?;
        }
        removed.invitations += theirs.len() as u64;
        self.room -= theirs.len();
        Ok(self.room > 0)
    }

    /// Unlinks the oldest responses from the person, and removes the consents; returns whether none
    /// is left.
    fn forget_responses(
        &self,
        connection: &Connection,
        id: RespondentId,
        removed: &mut ErasedPart,
        going: &mut Going,
    ) -> Result<bool> {
        let app = self.erasure.app_id;
        let page = Page { after: None, limit: self.room };
        let consents = respondents::consents(connection, app, id, page)?;
        for consent in &consents {
            // It may have been deleted individually.
            if let Some(row) = responses::by_id(connection, consent.response_id)? {
                removed.responses += 1;
                removed.invitations += invitations::forget_completed(connection, &row)? as u64;
                forget_answers(connection, &row, self.mark, going)?;
            }
            forget_consent(connection, app, consent.response_id)?;
        }
        Ok(consents.len() < self.room)
    }

    /// Removes a person from one of their invitations and unlinks what was sent through it; returns
    /// how many of the responses were theirs. One of another respondent only loses the assignment.
    fn forget_invitation(
        &self,
        connection: &Connection,
        row: &InvitationRow,
        going: &mut Going,
    ) -> Result<u64> {
        let Erasure { target, audit, .. } = self.erasure;
        invitations::forget(connection, row, audit.audit_id.made_at())?;
        let Some(id) = row.response_id else { return Ok(0) };
        let Some(response) = responses::by_id(connection, id)? else { return Ok(0) };
        let is_theirs = match response.respondent_id {
            Some(whose) => *target == ErasureTarget::Respondent(whose),
            None => true,
        };
        if is_theirs {
            forget_answers(connection, &response, self.mark, going)?;
            forget_consent(connection, response.app_id, response.response_id)?;
        } else {
            let (app_id, events) = (response.app_id, events_of(response.response_id));
            rewrite(connection, &response.unassigned())?;
            endpoints::forget_replies(connection, app_id, &events)?;
        }
        Ok(u64::from(is_theirs))
    }
}

/// Deletes a response of a respondent, or keeps it without the person.
fn forget_answers(
    connection: &Connection,
    row: &ResponseRow,
    mark: &ErasureMark,
    going: &mut Going,
) -> Result<()> {
    match mark.answers {
        AnswersOnErasure::Delete => {
            response(connection, row.response_id, going)?;
        }
        AnswersOnErasure::Keep => {
            let kept = row.clone().unlinked(&mark.identities);
            let at_once = rewrite(connection, &kept)?;
            going.note(connection, row, at_once, Some(&kept))?;
            let events = events_of(row.response_id);
            endpoints::forget_replies(connection, row.app_id, &events)?;
        }
    }
    Ok(())
}

/// Replaces a row with a version that identifies the sender less. Its key stays used, but without a
/// digest: the row no longer has the content that was sent with the key. Returns whether the row
/// was counted when it was stored.
fn rewrite(connection: &Connection, row: &ResponseRow) -> Result<bool> {
    let key = response_keys::find(connection, row.response_id)?;
    let sql = "SELECT response_key, flow_number, version_number, idempotency_key, counted \
         FROM responses WHERE response_key = ?1";
    let (integer_ids, used, at_once) = connection.prepare_cached(sql)?.query_row([key], |row| {
        let numbers = Numbers { flow: row.get(1)?, version: row.get(2)? };
        Ok((IntegerIds { key: row.get(0)?, numbers }, row.get(3)?, row.get(4)?))
    })?;
    let mut rewrite = connection.prepare_cached(&REWRITE)?;
    response_row::bind(&mut rewrite, 0, integer_ids, row, None)?;
    rewrite.raw_execute()?;
    keep_used(connection, row, used)?;
    Ok(at_once)
}

fn forget_consent(connection: &Connection, app: AppId, response: ResponseId) -> Result<()> {
    connection
        .prepare_cached("DELETE FROM consents WHERE app_id = ?1 AND response_id = ?2")?
        .execute(params![bytes!(app), bytes!(response)])
        .map(|_| ())
}

/// Removes a profile with its identities; returns whether it existed.
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
