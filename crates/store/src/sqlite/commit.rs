//! Many responses in one transaction: the main road's only write.

use std::collections::HashMap;

use rusqlite::{CachedStatement, Connection, OptionalExtension, Result, params};
use sluice_flow::id::{AppId, ResponseId};
use sluice_flow::submission::Admission;

use super::claims;
use super::codec::{Cells, bytes};
use super::transaction::{Stop, Then};
use crate::{Digest, IdempotencyKey, NewResponse, Outcome, ResponseRow};

const STORE: &str = "INSERT INTO responses (app_id, flow_id, flow_version_id, response_id, \
     admitted, answers, identities, identity_verified, respondent_id, tags, context, \
     flow_assignment_id, digest, idempotency_key) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14) \
     ON CONFLICT (app_id, idempotency_key) WHERE idempotency_key IS NOT NULL DO NOTHING";

const UNDER_KEY: &str = "SELECT response_id, digest FROM responses WHERE app_id = ?1 AND idempotency_key = ?2 \
     UNION ALL SELECT response_id, NULL FROM used_keys WHERE app_id = ?1 AND key = ?2";
const IS_USED: &str = "SELECT 1 FROM used_keys WHERE app_id = ?1 AND key = ?2";

/// Writes what can be written and says, in order, what became of each.
pub(super) fn responses(
    connection: &Connection,
    responses: &[NewResponse],
) -> Result<(Vec<Outcome>, Then), Stop> {
    let mut insert = connection.prepare_cached(STORE)?;
    let mut revisions = HashMap::new();
    let mut outcomes = Vec::with_capacity(responses.len());
    for response in responses {
        let app = response.row.app_id;
        let newest = match revisions.get(&app) {
            Some(newest) => *newest,
            None => *revisions.entry(app).or_insert(public_revision(connection, app)?),
        };
        let fresh = newest == Some(response.public_revision);
        outcomes.push(one(connection, &mut insert, response, fresh)?);
    }
    let then = match outcomes.contains(&Outcome::Stored) {
        true => Then::Commit,
        false => Then::Forget,
    };
    Ok((outcomes, then))
}

fn one(
    connection: &Connection,
    insert: &mut CachedStatement,
    response: &NewResponse,
    fresh: bool,
) -> Result<Outcome> {
    if fresh && !is_used(connection, response)? && store(connection, insert, response)? {
        return Ok(Outcome::Stored);
    }
    let taken = match &response.idempotency_key {
        Some(key) => find_by_idempotency_key(connection, response.row.app_id, key)?,
        None => None,
    };
    Ok(match taken {
        // Only the use of the key is known: what is sent again cannot be told from what was sent.
        Some((id, None)) => Outcome::Replayed(id),
        Some((id, Some(digest))) if digest == response.row.digest => Outcome::Replayed(id),
        Some(_) => Outcome::KeyReused,
        None => Outcome::Stale,
    })
}

/// Whether the key is of a response that was deleted or erased.
fn is_used(connection: &Connection, response: &NewResponse) -> Result<bool> {
    let Some(key) = &response.idempotency_key else { return Ok(false) };
    connection.prepare_cached(IS_USED)?.exists(params![bytes!(response.row.app_id), key])
}

/// Whether the row was stored; it is not where its idempotency key is taken.
fn store(
    connection: &Connection,
    insert: &mut CachedStatement,
    response: &NewResponse,
) -> Result<bool> {
    let (row, key) = (&response.row, response.idempotency_key.as_ref());
    let Some(claim) = &response.claim else { return Ok(put(insert, row, key)? == 1) };
    // The key is looked at first, so that nobody is made known by a response that is not stored.
    let taken = match key {
        Some(key) => find_by_idempotency_key(connection, row.app_id, key)?.is_some(),
        None => false,
    };
    if taken {
        return Ok(false);
    }
    let respondent = claims::settle(connection, row.app_id, claim)?;
    let row = ResponseRow { respondent_id: Some(respondent), ..row.clone() };
    claims::put_consent(connection, &claims::consent_of(&row, respondent))?;
    Ok(put(insert, &row, key)? == 1)
}

/// Runs a statement that takes the columns of a response in the order of [`STORE`].
pub(super) fn put(
    insert: &mut CachedStatement,
    row: &ResponseRow,
    idempotency_key: Option<&IdempotencyKey>,
) -> Result<usize> {
    insert.execute(params![
        bytes!(row.app_id),
        bytes!(row.flow_id),
        bytes!(row.flow_version_id),
        bytes!(row.response_id),
        row.admission == Admission::Admitted,
        row.answers,
        row.identities,
        row.identity_verified,
        row.respondent_id.map(|id| bytes!(id)),
        row.tags,
        row.context,
        row.flow_assignment_id,
        row.digest,
        idempotency_key,
    ])
}

fn public_revision(connection: &Connection, app: AppId) -> Result<Option<u64>> {
    connection
        .prepare_cached("SELECT public_revision FROM apps WHERE app_id = ?1")?
        .query_row([bytes!(app)], |row| Cells::of(row).revision())
        .optional()
}

/// The response that a key was used for, and its digest.
pub(super) fn find_by_idempotency_key(
    connection: &Connection,
    app: AppId,
    key: &IdempotencyKey,
) -> Result<Option<(ResponseId, Option<Digest>)>> {
    connection
        .prepare_cached(UNDER_KEY)?
        .query_row(params![bytes!(app), key], |row| {
            let mut cells = Cells::of(row);
            Ok((cells.id(ResponseId::from_uuid)?, cells.take()?))
        })
        .optional()
}
