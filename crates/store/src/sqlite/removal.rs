//! Removal on request: a single response, and a person who is erased.
//!
//! The idempotency key of a response that is removed this way stays used, without digest or
//! content. Every connection overwrites what it deletes (`secure_delete`), and after a removal the
//! writer empties the log, so that nothing of it is left in the files.

use std::sync::LazyLock;

use rusqlite::{Connection, OptionalExtension, Result, params};
use sluice_flow::id::{AppId, RespondentId, ResponseId};
use sluice_flow::respondent::Known;

use super::apply::put_audit;
use super::claims::put_respondent;
use super::codec::{self, Cells, IDENTITY, RESPONDENT, RESPONSE, bytes};
use super::counts::Going;
use super::read::{limit, many, one, respondents, responses};
use super::transaction::{Finish, TransactionError};
use super::{commit, invitations};
use crate::codec::{COLUMNS, rewritten_columns};
use crate::{
    Answers, ErasedPart, Erasure, ErasureMark, IdempotencyKey, InvitationRow, Page, Person,
    RespondentRow, ResponseRow, UsedKeyRow,
};

/// Replaces a response; with the parameters of [`commit::put`].
static REWRITE: LazyLock<String> = LazyLock::new(|| {
    let set: Vec<_> =
        rewritten_columns().map(|(index, name)| format!("{name} = ?{}", index + 1)).collect();
    let key = COLUMNS.len() + 1;
    let id = COLUMNS.iter().position(|column| column.name == "response_id").map(|index| index + 1);
    format!(
        "UPDATE responses SET {}, idempotency_key = ?{key} WHERE response_id = ?{}",
        set.join(", "),
        id.unwrap_or_default()
    )
});

/// Deletes a response, keeps its key used, and removes it from its invitation; returns its app if
/// the response existed.
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
            Ok((row, cells.take()?, cells.take::<Option<IdempotencyKey>>()?))
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

/// One batch of an erasure.
pub(super) fn erase(
    connection: &Connection,
    erasure: &Erasure,
) -> Result<(ErasedPart, Finish), TransactionError> {
    match erasure.person {
        Person::Respondent(id) => erase_respondent(connection, erasure, id),
        Person::Invitee(ref known) => {
            let (mut removed, mut going) = (ErasedPart::default(), Going::default());
            let mark = erasure.mark(None, &[]);
            let mut part = ErasureBatch { erasure, mark: &mark, room: erasure.limit };
            let is_done = part.forget_invitations(connection, known, &mut removed, &mut going)?;
            going.settle(connection)?;
            removed.done = is_done;
            if removed == (ErasedPart { done: true, ..ErasedPart::default() }) {
                return Ok((removed, Finish::RollBack));
            }
            put_audit(connection, &erasure.audit)?;
            Ok((removed, Finish::Commit))
        }
    }
}

/// First the identities of the respondent, then the responses, then the profile.
fn erase_respondent(
    connection: &Connection,
    erasure: &Erasure,
    id: RespondentId,
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
    going.settle(connection)?;
    if row.erasing.as_ref().map(|it| it.answers) != Some(mark.answers) {
        put_audit(connection, &erasure.audit)?;
    }
    if removed.done {
        removed.respondents = profile(connection, app, id)?;
    } else if row.erasing.as_ref() != Some(&mark) {
        put_respondent(connection, &RespondentRow { erasing: Some(mark), ..row })?;
    }
    Ok((removed, Finish::Commit))
}

/// The first identities of a respondent, the user id before the addresses.
fn identities(connection: &Connection, erasure: &Erasure, id: RespondentId) -> Result<Vec<Known>> {
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
        found: &[Known],
        removed: &mut ErasedPart,
        going: &mut Going,
    ) -> Result<bool> {
        let app = bytes!(self.erasure.app_id);
        let sql = "DELETE FROM identities WHERE app_id = ?1 AND type = ?2 AND value = ?3";
        for known in found.iter().take(self.erasure.limit) {
            if !self.forget_invitations(connection, known, removed, going)? {
                return Ok(false);
            }
            let params = params![app, known.of.as_str(), known.value];
            connection.prepare_cached(sql)?.execute(params)?;
        }
        Ok(found.len() < self.erasure.limit)
    }

    /// Removes a person from the invitations with this identity; returns whether none is left.
    fn forget_invitations(
        &mut self,
        connection: &Connection,
        known: &Known,
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
        let Erasure { person, audit, .. } = self.erasure;
        invitations::forget(connection, row, audit.audit_id.made_at())?;
        let Some(id) = row.response_id else { return Ok(0) };
        let Some(response) = responses::by_id(connection, id)? else { return Ok(0) };
        let is_theirs = match response.respondent_id {
            Some(whose) => *person == Person::Respondent(whose),
            None => true,
        };
        if is_theirs {
            forget_answers(connection, &response, self.mark, going)?;
            forget_consent(connection, response.app_id, response.response_id)?;
        } else {
            rewrite(connection, &response.unassigned())?;
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
        Answers::Delete => {
            response(connection, row.response_id, going)?;
        }
        Answers::Keep => {
            let kept = row.clone().unlinked(&mark.identities);
            let at_once = rewrite(connection, &kept)?;
            going.note(connection, row, at_once, Some(&kept))?;
        }
    }
    Ok(())
}

/// Replaces a row with a version that identifies the sender less. Its key stays used, but without a
/// digest: the row no longer has the content that was sent with the key. Returns whether the row
/// was counted when it was stored.
fn rewrite(connection: &Connection, row: &ResponseRow) -> Result<bool> {
    let (app_id, response_id) = (row.app_id, row.response_id);
    let (key, at_once): (Option<IdempotencyKey>, bool) = connection
        .prepare_cached("SELECT idempotency_key, counted FROM responses WHERE response_id = ?1")?
        .query_row([bytes!(response_id)], |row| Ok((row.get(0)?, row.get(1)?)))?;
    commit::put(&mut connection.prepare_cached(&REWRITE)?, row, None)?;
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
