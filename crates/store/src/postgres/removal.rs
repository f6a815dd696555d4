//! What goes: a response by itself, a respondent who is erased, what has been kept long enough.
//!
//! The idempotency key of a response that goes before its time stays taken, without digest or content.
//! An erasure holds the app like a change does, so that nobody is linked to a respondent who goes.
//!
//! The rows are gone with the COMMIT. Their bytes stay in the database's files until it has reused
//! or rewritten the pages (`VACUUM FULL`), and in its log until that is recycled: that is the operator's
//! to decide, since it locks the table.

use std::sync::Arc;

use sluice_flow::id::{AppId, RespondentId, ResponseId, v7};
use sluice_flow::time::Timestamp;
use uuid::Uuid;

use super::apply::{LOCK, QUEUE};
use super::codec::{self, Cells, RESPONSE};
use super::commit::queue_of;
use super::failure::Stop;
use super::pool::{Params, Pool};
use super::put;
use super::read::limit;
use super::transaction::{Transaction, end};
use super::{claims, invitations};
use crate::{Answers, Erasure, InvitationStep, Removed, ResponseRow, StoreResult, UsedKeyRow};

const MARK_KEYS: &str = "UPDATE idempotency SET digest = NULL WHERE app_id = $1 \
     AND (key, response_id) IN (SELECT * FROM unnest($2::bytea[], $3::uuid[]))";
const FREE_KEYS: &str = "DELETE FROM idempotency WHERE app_id = $1 \
     AND (key, response_id) IN (SELECT * FROM unnest($2::bytea[], $3::uuid[]))";

/// Deletes a response, and keeps its key taken; gives the app that it was of, if it was there.
pub(super) async fn response(
    transaction: &Transaction,
    response: ResponseId,
) -> Result<Option<AppId>, Stop> {
    let of_app = "SELECT app_id FROM responses WHERE response_id = $1";
    let rows = transaction.query(of_app, &[&response.uuid()]).await?;
    let Some(row) = rows.first() else { return Ok(None) };
    let app = Cells::of(row).id(AppId::from_uuid)?;
    delete(transaction, app, &[response.uuid()], MARK_KEYS).await?;
    Ok(Some(app))
}

/// Deletes responses of an app and does with their keys as told; says how many there were.
async fn delete(
    transaction: &Transaction,
    app: AppId,
    responses: &[Uuid],
    keys: &str,
) -> Result<u64, Stop> {
    let sql = "DELETE FROM responses WHERE app_id = $1 AND response_id = ANY($2) \
         RETURNING response_id, idempotency_key";
    let gone = transaction.query(sql, &[&app.uuid(), &responses]).await?;
    settle_keys(transaction, app, &gone, keys).await?;
    Ok(gone.len() as u64)
}

/// Marks or frees the keys of rows that are `(response_id, idempotency_key)`.
async fn settle_keys(
    transaction: &Transaction,
    app: AppId,
    rows: &[tokio_postgres::Row],
    sql: &str,
) -> Result<(), Stop> {
    let (mut held, mut by): (Vec<&[u8]>, Vec<Uuid>) = (Vec::new(), Vec::new());
    for row in rows {
        let mut cells = Cells::of(row);
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

pub(super) async fn put_used_key(t: &Transaction, row: &UsedKeyRow) -> Result<(), Stop> {
    let (app, response) = (row.app_id.uuid(), row.response_id.uuid());
    let old = "DELETE FROM idempotency WHERE app_id = $1 AND response_id = $2 AND digest IS NULL";
    t.execute(old, &[&app, &response]).await?;
    let sql = "INSERT INTO idempotency (app_id, key, response_id, digest) \
         VALUES ($1, $2, $3, NULL) ON CONFLICT (app_id, key) DO UPDATE SET \
         response_id = excluded.response_id, digest = NULL";
    t.execute(sql, &[&app, &row.key.as_slice(), &response]).await.map(|_| ())
}

/// One part of an erasure.
pub(super) async fn erase(pool: &Arc<Pool>, erasure: &Erasure) -> StoreResult<Removed> {
    pool.may_commit()?;
    let transaction = Transaction::begun(pool).await.map_err(Stop::of_statement)?;
    let body = erase_part(&transaction, erasure).await;
    end(transaction, body).await
}

async fn erase_part(transaction: &Transaction, erasure: &Erasure) -> Result<Removed, Stop> {
    let (app, respondent) = (erasure.app_id, erasure.respondent_id);
    hold(transaction, app).await?;
    let exists = "SELECT FROM respondents WHERE app_id = $1 AND respondent_id = $2";
    let ids = (app.uuid(), respondent.uuid());
    if transaction.query(exists, &[&ids.0, &ids.1]).await?.is_empty() {
        return Ok(Removed { done: true, ..Removed::default() });
    }
    let columns = codec::of_table("responses", RESPONSE);
    let linked = format!(
        "SELECT {columns} FROM consents JOIN responses ON responses.app_id = consents.app_id \
         AND responses.response_id = consents.response_id \
         WHERE consents.app_id = $1 AND consents.respondent_id = $2 \
         ORDER BY consents.response_id LIMIT $3"
    );
    let found = transaction.query(&linked, &[&ids.0, &ids.1, &limit(erasure.limit)]).await?;
    let rows: StoreResult<Vec<_>> =
        found.iter().map(|row| codec::response(&mut Cells::of(row))).collect();
    let rows = rows?;
    let responses: Vec<Uuid> = rows.iter().map(|row| row.response_id.uuid()).collect();
    invitations::forget_completed(transaction, app, &rows).await?;
    match erasure.answers {
        Answers::Delete => delete(transaction, app, &responses, MARK_KEYS).await.map(|_| ())?,
        Answers::Keep => unlink(transaction, app, &responses, rows).await?,
    }
    let consents = "DELETE FROM consents WHERE app_id = $1 AND response_id = ANY($2)";
    transaction.execute(consents, &[&ids.0, &responses]).await?;
    let mut removed = Removed { responses: responses.len() as u64, ..Removed::default() };
    if responses.len() < erasure.limit {
        let consents = "DELETE FROM consents WHERE app_id = $1 AND respondent_id = $2";
        transaction.execute(consents, &[&ids.0, &ids.1]).await?;
        forget_invitations(transaction, erasure).await?;
        removed.respondents = profiles(transaction, app, &[respondent.uuid()]).await?;
        removed.done = true;
        put::audit(transaction, &erasure.audit).await?;
    }
    Ok(removed)
}

/// Their invitations name nobody any more, and those that are open are withdrawn.
async fn forget_invitations(transaction: &Transaction, erasure: &Erasure) -> Result<(), Stop> {
    let sql = "SELECT type, value FROM identities WHERE app_id = $1 AND respondent_id = $2";
    let (app, respondent) = (erasure.app_id, erasure.respondent_id.uuid());
    for row in transaction.query(sql, &[&app.uuid(), &respondent]).await? {
        let known = claims::known(&mut Cells::of(&row))?;
        let step = InvitationStep::forget(app, known, erasure.audit.audit_id.made_at());
        invitations::step(transaction, &step).await?;
    }
    Ok(())
}

/// Waits until nothing else is written to the app, and keeps it so.
async fn hold(transaction: &Transaction, app: AppId) -> Result<(), Stop> {
    transaction.query(QUEUE, &[&queue_of(app)]).await?;
    transaction.query(LOCK, &[&app.uuid()]).await.map(|_| ())
}

/// Takes from rows all that connects them with a person, their keys included: the digest under which a
/// key was used is of what was sent.
async fn unlink(
    transaction: &Transaction,
    app: AppId,
    responses: &[Uuid],
    rows: Vec<ResponseRow>,
) -> Result<(), Stop> {
    let held = "SELECT response_id, idempotency_key FROM responses \
         WHERE app_id = $1 AND response_id = ANY($2)";
    let held = transaction.query(held, &[&app.uuid(), &responses]).await?;
    settle_keys(transaction, app, &held, MARK_KEYS).await?;
    let digests: Vec<_> = rows.into_iter().map(|row| row.unlinked().digest).collect();
    let digests: Vec<&[u8]> = digests.iter().map(|it| it.as_slice()).collect();
    let sql = "UPDATE responses SET identities = NULL, identity_verified = false, \
         respondent_id = NULL, flow_assignment_id = NULL, idempotency_key = NULL, \
         digest = given.digest FROM unnest($2::uuid[], $3::bytea[]) AS given (id, digest) \
         WHERE app_id = $1 AND response_id = given.id";
    transaction.execute(sql, &[&app.uuid(), &responses, &digests]).await.map(|_| ())
}

/// Removes profiles and what is known of them; says how many there were.
async fn profiles(transaction: &Transaction, app: AppId, whose: &[Uuid]) -> Result<u64, Stop> {
    let known = "DELETE FROM identities WHERE app_id = $1 AND respondent_id = ANY($2)";
    transaction.execute(known, &[&app.uuid(), &whose]).await?;
    let sql = "DELETE FROM respondents WHERE app_id = $1 AND respondent_id = ANY($2)";
    transaction.execute(sql, &[&app.uuid(), &whose]).await
}

/// One part of an expiry: responses first, then what was kept beside them.
pub(super) async fn expire(
    pool: &Arc<Pool>,
    app: AppId,
    before: Timestamp,
    rows: usize,
) -> StoreResult<Removed> {
    pool.may_commit()?;
    let first = first_at(before);
    let transaction = Transaction::begun(pool).await.map_err(Stop::of_statement)?;
    let body = expire_responses(&transaction, app, first, rows).await;
    let responses = end(transaction, body).await?;
    if responses >= rows as u64 {
        return Ok(Removed { responses, ..Removed::default() });
    }
    let transaction = Transaction::begun(pool).await.map_err(Stop::of_statement)?;
    let body = expire_rest(&transaction, app, before, rows).await;
    let (respondents, done) = end(transaction, body).await?;
    Ok(Removed { responses, respondents, done })
}

async fn expire_responses(
    transaction: &Transaction,
    app: AppId,
    first: Uuid,
    rows: usize,
) -> Result<u64, Stop> {
    let old = "SELECT response_id FROM responses WHERE app_id = $1 AND response_id < $2 \
         ORDER BY response_id LIMIT $3";
    let old = transaction.query(old, &[&app.uuid(), &first, &limit(rows)]).await?;
    let old: StoreResult<Vec<Uuid>> = old.iter().map(|row| Cells::of(row).take()).collect();
    delete(transaction, app, &old?, FREE_KEYS).await
}

/// The least id of a response that was received at this time.
fn first_at(time: Timestamp) -> Uuid {
    Uuid::from_u128(v7(time, 0, 0).as_u128() >> 80 << 80)
}

/// The profiles that were removed, and whether nothing is left. Those who are still invited stay.
async fn expire_rest(
    transaction: &Transaction,
    app: AppId,
    before: Timestamp,
    rows: usize,
) -> Result<(u64, bool), Stop> {
    hold(transaction, app).await?;
    let (app_id, first) = (app.uuid(), first_at(before));
    let consents = format!(
        "DELETE FROM consents WHERE app_id = $1 AND response_id IN (SELECT response_id \
         FROM consents WHERE app_id = $1 AND response_id < $2 AND NOT {} \
         ORDER BY response_id LIMIT $3) RETURNING respondent_id",
        invitations::is_of_an_invitee()
    );
    let params: Params = &[&app_id, &first, &limit(rows), &before.as_millis()];
    let gone = transaction.query(&consents, params).await?;
    let whose: StoreResult<Vec<_>> =
        gone.iter().map(|row| Cells::of(row).id(RespondentId::from_uuid)).collect();
    let mut whose: Vec<Uuid> = whose?.into_iter().map(RespondentId::uuid).collect();
    whose.sort();
    whose.dedup();
    let unwanted = unwanted(transaction, app, &whose).await?;
    let respondents = profiles(transaction, app, &unwanted).await?;
    let keys = "DELETE FROM idempotency WHERE app_id = $1 AND digest IS NULL AND response_id IN \
         (SELECT response_id FROM idempotency WHERE app_id = $1 AND digest IS NULL \
         AND response_id < $2 ORDER BY response_id LIMIT $3)";
    let keys = transaction.execute(keys, &[&app_id, &first, &limit(rows)]).await?;
    let done = gone.len() < rows && keys < rows as u64;
    if done {
        let ended = InvitationStep::ForgetEnded { app, before };
        invitations::step(transaction, &ended).await?;
    }
    Ok((respondents, done))
}

/// Those of these profiles for which nothing is left that they are kept for.
async fn unwanted(
    transaction: &Transaction,
    app: AppId,
    whose: &[Uuid],
) -> Result<Vec<Uuid>, Stop> {
    let sql = "SELECT given.id FROM unnest($2::uuid[]) AS given (id) WHERE NOT EXISTS \
         (SELECT FROM consents WHERE app_id = $1 AND respondent_id = given.id)";
    let rows = transaction.query(sql, &[&app.uuid(), &whose]).await?;
    let unwanted: StoreResult<Vec<Uuid>> = rows.iter().map(|row| Cells::of(row).take()).collect();
    Ok(unwanted?)
}
