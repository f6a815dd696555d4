//! Removal on request: a single response, and a person who is erased.
//!
//! The idempotency key of a response that is removed this way stays used, without digest or
//! content: its row in `idempotency` stays, and `used_keys` remembers it for retention. An erasure
//! locks the app like a change does, so that no response is linked to a respondent who is being
//! removed.
//!
//! The rows are gone with the COMMIT. Their bytes stay in the database files until the pages are
//! reused or rewritten (`VACUUM FULL`), and in the write-ahead log until that is recycled.
//! Rewriting locks the table, so it is left to the operator.

use std::collections::HashMap;
use std::sync::Arc;

use sluice_flow::id::{AppId, RespondentId, ResponseId};
use sluice_flow::respondent::ProfileIdentity;
use uuid::Uuid;

use super::codec::{self, Cells, RESPONDENT, RESPONSE, ReadCells as _};
use super::columns::{Columns, given};
use super::counts::{self, Gone};
use super::failure::TransactionError;
use super::first_exchange::queue_of;
use super::pool::{Params, Pool};
use super::put;
use super::read::limit;
use super::transaction::{LOCK, QUEUE, Transaction, end};
use super::{claims, endpoints, events, invitations};
use crate::codec::rewritten_columns;
use crate::endpoint::events_of;
use crate::{
    AnswersOnErasure, ErasedPart, Erasure, ErasureMark, ErasureTarget, EventRow, InvitationRow,
    RespondentRow, ResponseRow, StoreResult, UsedKeyRow,
};

/// `apps` is joined for its one row, so that a distributed database knows the app of the rows.
const MARK_KEYS: &str = "INSERT INTO used_keys (app_id, key, response_id) \
     SELECT apps.app_id, given.* FROM apps, unnest($2::uuid[], $3::uuid[]) AS given \
     WHERE apps.app_id = $1 ON CONFLICT DO NOTHING";
/// A key that now belongs to another response is left alone.
pub(super) const FREE_KEYS: &str = "DELETE FROM idempotency \
     USING unnest($2::uuid[], $3::uuid[]) AS gone (key, response_id) WHERE idempotency.app_id = $1 \
     AND idempotency.key = gone.key AND idempotency.response_id = gone.response_id";

/// Deletes a response, keeps its key used, and removes it from its invitation; returns its app if
/// the response existed. If the change has locked an app, the response belongs to it.
pub(super) async fn response(
    transaction: &Transaction,
    response: ResponseId,
    locked: Option<AppId>,
) -> Result<Option<AppId>, TransactionError> {
    let found = "SELECT app_id, flow_id, flow_assignment_id FROM responses WHERE response_id = $1";
    let rows = match locked {
        Some(app) => {
            let of_app = format!("{found} AND app_id = $2");
            transaction.query(&of_app, &[&response.uuid(), &app.uuid()]).await?
        }
        None => transaction.query(found, &[&response.uuid()]).await?,
    };
    let Some(row) = rows.first() else { return Ok(None) };
    let mut cells = Cells::new(row);
    let (app, flow) = (cells.id(AppId::from_uuid)?, cells.take()?);
    invitations::unname(transaction, app, cells.take()?, response).await?;
    delete(transaction, app, &[(flow, response.uuid())], MARK_KEYS).await?;
    endpoints::forget_replies(transaction, app, &events_of(response)).await?;
    Ok(Some(app))
}

/// Finds responses by their primary key; `$2` are their flows and `$3` their ids.
pub(super) const BY_PRIMARY_KEY: &str = "unnest($2::uuid[], $3::uuid[]) AS wanted (flow, response) \
     WHERE responses.app_id = $1 AND responses.flow_id = wanted.flow \
     AND responses.response_id = wanted.response";

/// The flow and the id of a response.
pub(super) type ResponseKey = (Uuid, Uuid);

fn key_of(row: &ResponseRow) -> ResponseKey {
    (row.flow_id.uuid(), row.response_id.uuid())
}

/// Deletes responses of an app, releases or keeps their keys as requested, and returns the number
/// of responses.
pub(super) async fn delete(
    transaction: &Transaction,
    app: AppId,
    responses: &[ResponseKey],
    keys: &str,
) -> Result<u64, TransactionError> {
    let sql = format!(
        "DELETE FROM responses USING {BY_PRIMARY_KEY} \
         RETURNING response_id, idempotency_key, counted, {RESPONSE}"
    );
    let (flows, ids): (Vec<Uuid>, Vec<Uuid>) = responses.iter().copied().unzip();
    let rows = transaction.query(&sql, &[&app.uuid(), &flows, &ids]).await?;
    settle_keys(transaction, app, &rows, keys).await?;
    let mut gone = Vec::with_capacity(rows.len());
    for row in &rows {
        let mut cells = Cells::after(row, 2);
        let at_once = cells.take()?;
        gone.push(Gone { row: codec::response(&mut cells)?, at_once, stays: None });
    }
    counts::take_away(transaction, app, &gone).await?;
    Ok(gone.len() as u64)
}

/// Marks or frees the keys of rows that begin with `(response_id, idempotency_key)`.
pub(super) async fn settle_keys(
    transaction: &Transaction,
    app: AppId,
    rows: &[tokio_postgres::Row],
    sql: &str,
) -> Result<(), TransactionError> {
    let (mut held, mut by): (Vec<Uuid>, Vec<Uuid>) = (Vec::new(), Vec::new());
    for row in rows {
        let mut cells = Cells::new(row);
        let response = cells.take()?;
        if let Some(key) = cells.take()? {
            held.push(key);
            by.push(response);
        }
    }
    if !held.is_empty() {
        transaction.execute(sql, &[&app.uuid(), &held, &by]).await?;
    }
    Ok(())
}

pub(super) async fn put_used_key(
    t: &Transaction,
    row: &UsedKeyRow,
) -> Result<(), TransactionError> {
    let (app, response) = (row.app_id.uuid(), row.response_id.uuid());
    let key = Uuid::from_bytes(row.key);
    let old = "DELETE FROM idempotency USING used_keys AS used WHERE used.app_id = $1 \
         AND used.response_id = $2 AND idempotency.app_id = $1 AND idempotency.key = used.key \
         AND idempotency.response_id = used.response_id";
    t.execute(old, &[&app, &response]).await?;
    for sql in [
        "INSERT INTO idempotency (app_id, key, response_id) VALUES ($1, $2, $3) \
         ON CONFLICT (app_id, key) DO UPDATE SET response_id = excluded.response_id",
        "INSERT INTO used_keys (app_id, key, response_id) VALUES ($1, $2, $3) \
         ON CONFLICT (app_id, response_id) DO UPDATE SET key = excluded.key",
    ] {
        t.execute(sql, &[&app, &key, &response]).await?;
    }
    Ok(())
}

/// One batch of an erasure.
pub(super) async fn erase(pool: &Arc<Pool>, erasure: &Erasure) -> StoreResult<ErasedPart> {
    pool.may_commit()?;
    let transaction = Transaction::begun(pool).await.map_err(TransactionError::of_statement)?;
    let body = erase_part(&transaction, erasure).await;
    let removed = end(transaction, body).await?;
    if removed.done {
        counts::fold_removals(pool, erasure.app_id).await;
    }
    Ok(removed)
}

async fn erase_part(
    transaction: &Transaction,
    erasure: &Erasure,
) -> Result<ErasedPart, TransactionError> {
    hold(transaction, erasure.app_id).await?;
    let mut removed = ErasedPart::default();
    match erasure.target {
        ErasureTarget::Respondent(id) => erase_respondent(transaction, erasure, id).await,
        ErasureTarget::Invitee(ref known) => {
            let mark = erasure.mark(None, &[]);
            let mut part = ErasureBatch { erasure, mark: &mark, room: erasure.limit };
            let known = std::slice::from_ref(known);
            removed.done = part.forget_invitations(transaction, known, &mut removed).await?;
            if removed != (ErasedPart { done: true, ..ErasedPart::default() }) {
                put::audit(transaction, &erasure.audit).await?;
            }
            Ok(removed)
        }
    }
}

/// First the identities of the respondent, then the responses, then the profile.
async fn erase_respondent(
    transaction: &Transaction,
    erasure: &Erasure,
    id: RespondentId,
) -> Result<ErasedPart, TransactionError> {
    let app = erasure.app_id;
    let sql =
        format!("SELECT {RESPONDENT} FROM respondents WHERE app_id = $1 AND respondent_id = $2");
    let found = transaction.query(&sql, &[&app.uuid(), &id.uuid()]).await?;
    let Some(row) = found.first() else {
        return Ok(ErasedPart { done: true, ..ErasedPart::default() });
    };
    let row = codec::respondent(&mut Cells::new(row))?;
    let found = identities(transaction, erasure, id).await?;
    let mark = erasure.mark(row.erasing.as_ref(), &found);
    let mut removed = ErasedPart::default();
    let mut part = ErasureBatch { erasure, mark: &mark, room: erasure.limit };
    removed.done = part.forget_identities(transaction, &found, &mut removed).await?
        && part.forget_responses(transaction, id, &mut removed).await?;
    if row.erasing.as_ref().map(|it| it.answers) != Some(mark.answers) {
        put::audit(transaction, &erasure.audit).await?;
    }
    if removed.done {
        removed.respondents = profiles(transaction, app, &[id.uuid()]).await?;
        let event_id = events::ids(transaction).await?.next(id.uuid());
        let event = EventRow::erased(app, id, mark.answers, event_id);
        events::put(transaction, &event).await?;
    } else if row.erasing.as_ref() != Some(&mark) {
        let row = RespondentRow { erasing: Some(mark), ..row };
        claims::put_respondent(transaction, &row).await?;
    }
    Ok(removed)
}

/// The first identities of a respondent, the user id before the addresses.
async fn identities(
    transaction: &Transaction,
    erasure: &Erasure,
    id: RespondentId,
) -> Result<Vec<ProfileIdentity>, TransactionError> {
    let sql = "SELECT type, value FROM identities \
         WHERE app_id = $1 AND respondent_id = $2 AND type = 'userId' UNION ALL \
         SELECT type, value FROM identities \
         WHERE app_id = $1 AND respondent_id = $2 AND type <> 'userId' LIMIT $3";
    let params: Params = &[&erasure.app_id.uuid(), &id.uuid(), &limit(erasure.identities_read())];
    let found = transaction.query(sql, params).await?;
    let known: StoreResult<Vec<ProfileIdentity>> =
        found.iter().map(|row| claims::known(&mut Cells::new(row))).collect();
    Ok(known?)
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
    async fn forget_identities(
        &mut self,
        transaction: &Transaction,
        found: &[ProfileIdentity],
        removed: &mut ErasedPart,
    ) -> Result<bool, TransactionError> {
        let (app, most) = (self.erasure.app_id.uuid(), self.erasure.limit);
        let known = &found[..found.len().min(most)];
        if known.is_empty() {
            return Ok(true);
        }
        if !self.forget_invitations(transaction, known, removed).await? {
            return Ok(false);
        }
        let sql = "DELETE FROM identities USING unnest($2::text[], $3::text[]) \
             AS given (type, value) WHERE app_id = $1 \
             AND identities.type = given.type AND identities.value = given.value";
        let (types, values) = claims::columns(known.iter());
        transaction.execute(sql, &[&app, &types, &values]).await?;
        Ok(found.len() < most)
    }

    /// Removes a person from the invitations with one of these; returns whether none is left.
    async fn forget_invitations(
        &mut self,
        transaction: &Transaction,
        known: &[ProfileIdentity],
        removed: &mut ErasedPart,
    ) -> Result<bool, TransactionError> {
        let app = self.erasure.app_id;
        let theirs = invitations::first_of_person(transaction, app, known, self.room).await?;
        removed.responses += self.forget_given(transaction, &theirs).await?;
        let at = self.erasure.audit.audit_id.made_at();
        removed.invitations += invitations::forget(transaction, app, &theirs, at).await?;
        self.room -= theirs.len();
        Ok(self.room > 0)
    }

    /// Unlinks the oldest responses from the person, and removes the consents; returns whether none
    /// is left.
    async fn forget_responses(
        &self,
        transaction: &Transaction,
        id: RespondentId,
        removed: &mut ErasedPart,
    ) -> Result<bool, TransactionError> {
        let app = self.erasure.app_id;
        let sql = "SELECT flow_id, response_id FROM consents WHERE app_id = $1 \
             AND respondent_id = $2 ORDER BY response_id LIMIT $3";
        let params: Params = &[&app.uuid(), &id.uuid(), &limit(self.room)];
        let consents = transaction.query(sql, params).await?;
        let mut given = Vec::with_capacity(consents.len());
        for row in &consents {
            let mut cells = Cells::new(row);
            given.push((cells.take()?, cells.take()?));
        }
        // Some may have been deleted individually.
        let rows = stored(transaction, app, &given).await?;
        let ids: Vec<Uuid> = given.iter().map(|(_, response)| *response).collect();
        removed.responses += rows.len() as u64;
        removed.invitations += invitations::forget_completed(transaction, app, &rows).await?;
        forget_answers(transaction, app, rows, self.mark).await?;
        forget_consents(transaction, app, &ids).await?;
        Ok(ids.len() < self.room)
    }

    /// Unlinks what was sent through a person's invitations; returns how many of the responses were
    /// theirs. Those of another respondent only lose the assignment.
    async fn forget_given(
        &self,
        transaction: &Transaction,
        theirs: &[InvitationRow],
    ) -> Result<u64, TransactionError> {
        let given = |it: &InvitationRow| Some((it.flow_id.uuid(), it.response_id?.uuid()));
        let given: Vec<ResponseKey> = theirs.iter().filter_map(given).collect();
        if given.is_empty() {
            return Ok(0);
        }
        let app = self.erasure.app_id;
        let is_theirs = |row: &ResponseRow| match row.respondent_id {
            Some(whose) => self.erasure.target == ErasureTarget::Respondent(whose),
            None => true,
        };
        let rows = stored(transaction, app, &given).await?;
        let (own, others): (Vec<_>, Vec<_>) = rows.into_iter().partition(is_theirs);
        let ids: Vec<Uuid> = own.iter().map(|row| row.response_id.uuid()).collect();
        forget_answers(transaction, app, own, self.mark).await?;
        forget_consents(transaction, app, &ids).await?;
        if !others.is_empty() {
            let events: Vec<_> = others.iter().flat_map(|row| events_of(row.response_id)).collect();
            endpoints::forget_replies(transaction, app, &events).await?;
        }
        let others = others.into_iter().map(|row| (row.clone(), row.unassigned())).collect();
        rewrite(transaction, app, others).await?;
        Ok(ids.len() as u64)
    }
}

/// The responses among these that are stored.
async fn stored(
    transaction: &Transaction,
    app: AppId,
    responses: &[ResponseKey],
) -> Result<Vec<ResponseRow>, TransactionError> {
    let sql = format!("SELECT {RESPONSE} FROM responses, {BY_PRIMARY_KEY}");
    let (flows, ids): (Vec<Uuid>, Vec<Uuid>) = responses.iter().copied().unzip();
    let found = transaction.query(&sql, &[&app.uuid(), &flows, &ids]).await?;
    let rows: StoreResult<Vec<ResponseRow>> =
        found.iter().map(|row| codec::response(&mut Cells::new(row))).collect();
    Ok(rows?)
}

async fn forget_consents(
    transaction: &Transaction,
    app: AppId,
    ids: &[Uuid],
) -> Result<(), TransactionError> {
    let sql = "DELETE FROM consents WHERE app_id = $1 AND response_id = ANY($2)";
    transaction.execute(sql, &[&app.uuid(), &ids]).await.map(|_| ())
}

/// Deletes responses of a respondent, or keeps them without the person.
async fn forget_answers(
    transaction: &Transaction,
    app: AppId,
    rows: Vec<ResponseRow>,
    mark: &ErasureMark,
) -> Result<(), TransactionError> {
    if rows.is_empty() {
        return Ok(());
    }
    let events: Vec<_> = rows.iter().flat_map(|row| events_of(row.response_id)).collect();
    endpoints::forget_replies(transaction, app, &events).await?;
    match mark.answers {
        AnswersOnErasure::Delete => {
            let keys: Vec<ResponseKey> = rows.iter().map(key_of).collect();
            delete(transaction, app, &keys, MARK_KEYS).await?;
            let mut ids = events::ids(transaction).await?;
            for row in rows {
                let gone = (app, row.flow_id, row.response_id);
                let event = EventRow::deleted(gone, ids.next(row.response_id.uuid()));
                events::put(transaction, &event).await?;
            }
        }
        AnswersOnErasure::Keep => {
            let unlinked = |row: ResponseRow| (row.clone(), row.unlinked(&mark.identities));
            let rows = rows.into_iter().map(unlinked).collect();
            rewrite(transaction, app, rows).await?;
        }
    }
    Ok(())
}

/// Waits until nothing else writes to the app, and keeps it locked.
pub(super) async fn hold(transaction: &Transaction, app: AppId) -> Result<(), TransactionError> {
    transaction.query(QUEUE, &[&queue_of(app)]).await?;
    transaction.query(LOCK, &[&app.uuid()]).await.map(|_| ())
}

/// Replaces rows with versions that identify the sender less. Their keys stay used, but without a
/// digest: a row no longer has the content that was sent with its key.
async fn rewrite(
    transaction: &Transaction,
    app: AppId,
    rows: Vec<(ResponseRow, ResponseRow)>,
) -> Result<(), TransactionError> {
    if rows.is_empty() {
        return Ok(());
    }
    let (before, rows): (Vec<_>, Vec<_>) = rows.into_iter().unzip();
    let (flows, ids): (Vec<Uuid>, Vec<Uuid>) = rows.iter().map(key_of).unzip();
    let held = format!(
        "SELECT response_id, idempotency_key, counted FROM responses, {BY_PRIMARY_KEY} \
         ORDER BY response_id FOR UPDATE OF responses"
    );
    let held = transaction.query(&held, &[&app.uuid(), &flows, &ids]).await?;
    settle_keys(transaction, app, &held, MARK_KEYS).await?;
    recount(transaction, app, &held, before, &rows).await?;
    let set: Vec<_> =
        rewritten_columns().map(|(_, name)| format!("{name} = given.{name}")).collect();
    let sql = format!(
        "UPDATE responses SET {}, idempotency_key = given.idempotency_key FROM {} \
         WHERE responses.app_id = $1 AND responses.flow_id = given.flow_id \
         AND responses.response_id = given.response_id",
        set.join(", "),
        given()
    );
    let rows: Vec<_> = rows.iter().map(|row| (row, None)).collect();
    let columns = Columns::new(app, &rows);
    transaction.execute(&sql, &columns.params()).await.map(|_| ())
}

/// Recounts rows that lost some content. `held` are the rows that still exist; after the first two
/// columns, each has whether it was counted when it was stored.
async fn recount(
    transaction: &Transaction,
    app: AppId,
    held: &[tokio_postgres::Row],
    before: Vec<ResponseRow>,
    after: &[ResponseRow],
) -> Result<(), TransactionError> {
    let mut at_once: HashMap<Uuid, bool> = HashMap::new();
    for row in held {
        at_once.insert(Cells::new(row).take()?, Cells::after(row, 2).take()?);
    }
    let changed = before.into_iter().zip(after).filter_map(|(row, stays)| {
        let at_once = *at_once.get(&row.response_id.uuid())?;
        Some(Gone { row, at_once, stays: Some(stays.clone()) })
    });
    counts::take_away(transaction, app, &changed.collect::<Vec<_>>()).await
}

/// Removes profiles with their identities; returns the number of profiles.
pub(super) async fn profiles(
    transaction: &Transaction,
    app: AppId,
    whose: &[Uuid],
) -> Result<u64, TransactionError> {
    let known = "DELETE FROM identities WHERE app_id = $1 AND respondent_id = ANY($2)";
    transaction.execute(known, &[&app.uuid(), &whose]).await?;
    let sql = "DELETE FROM respondents WHERE app_id = $1 AND respondent_id = ANY($2)";
    transaction.execute(sql, &[&app.uuid(), &whose]).await
}
