//! Many responses in one transaction: the main road's only write.

use std::collections::HashMap;

use rusqlite::{CachedStatement, Connection, OptionalExtension, Result, params};
use sluice_flow::id::{AppId, ResponseId};
use sluice_flow::submission::Admission;

use super::codec::{Cells, bytes};
use super::invitations;
use super::transaction::{Stop, Then};
use crate::{Digest, IdempotencyKey, NewResponse, Outcome, ResponseRow};

const STORE: &str = "INSERT INTO responses (app_id, flow_id, flow_version_id, response_id, \
     admitted, answers, identities, identity_verified, respondent_id, tags, context, \
     flow_assignment_id, digest, idempotency_key) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14) \
     ON CONFLICT (app_id, idempotency_key) WHERE idempotency_key IS NOT NULL DO NOTHING";

const UNDER_KEY: &str =
    "SELECT response_id, digest FROM responses WHERE app_id = ?1 AND idempotency_key = ?2";

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
    // Where there is an invitation the key comes first: a retry finds its own invitation used.
    if fresh && response.invitation.is_none() && store(insert, response)? {
        return Ok(Outcome::Stored);
    }
    let taken = match &response.idempotency_key {
        Some(key) => find_by_idempotency_key(connection, response.row.app_id, key)?,
        None => None,
    };
    Ok(match taken {
        Some((id, digest)) if digest == response.row.digest => Outcome::Replayed(id),
        Some(_) => Outcome::KeyReused,
        None => match response.invitation.filter(|_| fresh) {
            Some(invited) if invitations::complete(connection, &response.row, invited)? => {
                match store(insert, response)? {
                    true => Outcome::Stored,
                    false => return Err(rusqlite::Error::StatementChangedRows(0)),
                }
            }
            Some(_) => Outcome::Uninvited,
            None => Outcome::Stale,
        },
    })
}

/// Whether the row was stored; it is not where its idempotency key is taken.
fn store(insert: &mut CachedStatement, response: &NewResponse) -> Result<bool> {
    let written = put(insert, &response.row, response.idempotency_key.as_ref())?;
    Ok(written == 1)
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
) -> Result<Option<(ResponseId, Digest)>> {
    connection
        .prepare_cached(UNDER_KEY)?
        .query_row(params![bytes!(app), key], |row| {
            let mut cells = Cells::of(row);
            Ok((cells.id(ResponseId::from_uuid)?, cells.take()?))
        })
        .optional()
}
