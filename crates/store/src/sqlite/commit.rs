//! Stores many responses in one transaction: the only write on the hot path.

use std::collections::HashMap;
use std::sync::LazyLock;

use rusqlite::{CachedStatement, Connection, OptionalExtension, Result, params};
use sluice_flow::id::{AppId, ResponseId};
use uuid::Uuid;

use super::claims;
use super::codec::{Cells, ReadCells as _, bytes};
use super::transaction::{Finish, TransactionError};
use super::{counts, invitations};
use crate::codec::{COLUMNS, Get, RESPONSE};
use crate::{Digest, IdempotencyKey, NewResponse, Outcome, ResponseRow};

/// The columns of a row and its idempotency key.
const PARAMETERS: usize = COLUMNS.len() + 1;

/// How many rows one statement inserts: rows are split into the largest of these sizes.
///
/// Every run of a statement opens its tables and seeks in them, which costs as much as a row;
/// consecutive rows of one statement are appended to each index without a search.
const PIECES: [usize; 3] = [32, 8, 1];

static STORE_PIECES: LazyLock<[String; PIECES.len()]> = LazyLock::new(|| {
    PIECES.map(|rows| {
        // Rows stored here are counted in the same transaction.
        let row = format!("({}, 1)", ["?"; PARAMETERS].join(", "));
        let rows = vec![row; rows].join(", ");
        format!("INSERT INTO responses ({RESPONSE}, idempotency_key, counted) VALUES {rows}")
    })
});

static STORE_UNDER_KEY: LazyLock<String> = LazyLock::new(|| {
    format!(
        "{} ON CONFLICT (app_id, idempotency_key) WHERE idempotency_key IS NOT NULL DO NOTHING",
        STORE_PIECES[PIECES.len() - 1]
    )
});

const UNDER_KEY: &str = "SELECT response_id, digest FROM responses \
     WHERE app_id = ?1 AND idempotency_key = ?2 \
     UNION ALL SELECT response_id, NULL FROM used_keys WHERE app_id = ?1 AND key = ?2";
const IS_USED: &str = "SELECT 1 FROM used_keys WHERE app_id = ?1 AND key = ?2";

/// Stores the responses that can be stored and returns the outcome of each, in order.
pub(super) fn responses(
    connection: &Connection,
    responses: &[NewResponse],
) -> Result<(Vec<Outcome>, Finish), TransactionError> {
    let mut revisions = HashMap::new();
    let mut plain = Vec::with_capacity(responses.len());
    let mut outcomes = Vec::with_capacity(responses.len());
    for response in responses {
        let app = response.row.app_id;
        let newest = match revisions.get(&app) {
            Some(newest) => *newest,
            None => *revisions.entry(app).or_insert(public_revision(connection, app)?),
        };
        let fresh = newest == Some(response.public_revision);
        outcomes.push(match (&response.idempotency_key, &response.claim) {
            _ if fresh && response.invitation.is_some() => invited(connection, response)?,
            (None, None) if fresh => {
                plain.push(&response.row);
                Outcome::Stored
            }
            (None, None) => Outcome::Stale,
            (key, _) => judged(connection, response, key.as_ref(), fresh)?,
        });
    }
    store(connection, &plain)?;
    counts::add(connection, responses, &outcomes)?;
    let then = match outcomes.contains(&Outcome::Stored) {
        true => Finish::Commit,
        false => Finish::RollBack,
    };
    Ok((outcomes, then))
}

/// Stores rows without a key to conflict with.
fn store(connection: &Connection, mut rows: &[&ResponseRow]) -> Result<()> {
    for (count, sql) in PIECES.into_iter().zip(STORE_PIECES.iter()) {
        if rows.len() < count {
            continue;
        }
        let mut insert = connection.prepare_cached(sql)?;
        while let Some((piece, rest)) = rows.split_at_checked(count) {
            for (index, row) in piece.iter().enumerate() {
                bind(&mut insert, index * PARAMETERS, row, None)?;
            }
            insert.raw_execute()?;
            rows = rest;
        }
    }
    Ok(())
}

/// The key is checked first: a retry finds its own invitation used.
fn invited(connection: &Connection, response: &NewResponse) -> Result<Outcome> {
    if let Some(answered) = answered(connection, response)? {
        return Ok(answered);
    }
    if !invitations::complete(connection, response)? {
        return Ok(Outcome::Uninvited);
    }
    store_linked(connection, response)?;
    Ok(Outcome::Stored)
}

/// Stores a row with a key or a claim, if its key is free.
fn judged(
    connection: &Connection,
    response: &NewResponse,
    key: Option<&IdempotencyKey>,
    fresh: bool,
) -> Result<Outcome> {
    let row = &response.row;
    if fresh && response.claim.is_none() && !is_used(connection, row.app_id, key)? {
        let mut insert = connection.prepare_cached(&STORE_UNDER_KEY)?;
        if put(&mut insert, row, key)? == 1 {
            return Ok(Outcome::Stored);
        }
    }
    Ok(match answered(connection, response)? {
        Some(answered) => answered,
        None if !fresh => Outcome::Stale,
        None => {
            store_linked(connection, response)?;
            Outcome::Stored
        }
    })
}

/// The outcome of a row whose key is in use.
fn answered(connection: &Connection, response: &NewResponse) -> Result<Option<Outcome>> {
    let Some(key) = &response.idempotency_key else { return Ok(None) };
    let taken = find_by_idempotency_key(connection, response.row.app_id, key)?;
    Ok(taken.map(|(id, digest)| match digest {
        // Only the use of the key is known: a retry cannot be distinguished from a different
        // submission.
        None => Outcome::Replayed(id),
        Some(digest) if digest == response.row.digest => Outcome::Replayed(id),
        Some(_) => Outcome::KeyReused,
    }))
}

/// Whether the key belongs to a response that was deleted or erased.
fn is_used(connection: &Connection, app: AppId, key: Option<&IdempotencyKey>) -> Result<bool> {
    let Some(key) = key else { return Ok(false) };
    connection.prepare_cached(IS_USED)?.exists(params![bytes!(app), key])
}

/// Stores a row with a free key, and links it to its respondent.
fn store_linked(connection: &Connection, response: &NewResponse) -> Result<()> {
    let mut row = response.row.clone();
    if let Some(claim) = &response.claim {
        let respondent = claims::settle(connection, row.app_id, claim)?;
        claims::put_consent(connection, &claims::consent_of(&row, respondent))?;
        row.respondent_id = Some(respondent);
    }
    let mut insert = connection.prepare_cached(&STORE_PIECES[PIECES.len() - 1])?;
    put(&mut insert, &row, response.idempotency_key.as_ref()).map(|_| ())
}

/// Runs a statement that takes one response: [`COLUMNS`] and the idempotency key.
pub(super) fn put(
    insert: &mut CachedStatement,
    row: &ResponseRow,
    idempotency_key: Option<&IdempotencyKey>,
) -> Result<usize> {
    bind(insert, 0, row, idempotency_key)?;
    insert.raw_execute()
}

/// Binds a response to the parameters after the first `before`.
fn bind(
    insert: &mut CachedStatement,
    before: usize,
    row: &ResponseRow,
    idempotency_key: Option<&IdempotencyKey>,
) -> Result<()> {
    for (index, column) in COLUMNS.iter().enumerate() {
        let at = before + index + 1;
        match column.get {
            Get::Id(get) => insert.raw_bind_parameter(at, get(row).map(Uuid::into_bytes)),
            Get::Flag(get) => insert.raw_bind_parameter(at, get(row)),
            Get::Text(get) => insert.raw_bind_parameter(at, get(row)),
        }?;
    }
    insert.raw_bind_parameter(before + PARAMETERS, idempotency_key)
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
