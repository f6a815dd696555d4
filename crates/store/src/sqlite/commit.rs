//! Stores many responses in one transaction: the only write on the hot path.
//!
//! Rows are inserted at the end, many per statement. Before that they only need to be in the table
//! if a later row of the same call has the same idempotency key, or belongs between stored rows.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::sync::LazyLock;

use rusqlite::{Connection, OptionalExtension, Result, ToSql, ffi, params};
use sluice_flow::id::{AppId, ResponseId};

use super::claims;
use super::closing;
use super::codec::{Cells, ReadCells as _, bytes};
use super::response_keys::{NewKeys, Placed};
use super::response_row::{self, IntegerIds, PARAMETERS, key_in_app};
use super::transaction::{Finish, TransactionError};
use super::version_numbers::VersionNumbers;
use super::{counts, invitations};
use crate::room::Room;
use crate::{Digest, IdempotencyKey, NewResponse, Outcome, ResponseRow};

/// How many rows one statement inserts: rows are split into the largest of these sizes.
///
/// Every run of a statement opens its tables and seeks in them, which costs as much as a row;
/// consecutive rows of one statement are appended to the table without a search.
const PIECES: [usize; 3] = [32, 8, 1];

/// No conflict is expected: ids and keys have been looked up. With OR ROLLBACK, SQLite keeps no
/// journal to undo only the statement.
static STORE_PIECES: LazyLock<[String; PIECES.len()]> = LazyLock::new(|| {
    let columns = response_row::columns().collect::<Vec<_>>().join(", ");
    PIECES.map(|rows| {
        // Rows stored here are counted in the same transaction.
        let row = format!("({}, 1)", ["?"; PARAMETERS].join(", "));
        let rows = vec![row; rows].join(", ");
        format!("INSERT OR ROLLBACK INTO responses ({columns}, counted) VALUES {rows}")
    })
});

/// Read from the index alone: nearly every key is new.
const IS_TAKEN: &str = "SELECT 1 FROM responses WHERE idempotency_key = ?1";
const IS_USED: &str = "SELECT 1 FROM used_keys WHERE app_id = ?1 AND key = ?2";
const UNDER_KEY: &str = "SELECT response_id, digest FROM responses WHERE idempotency_key = ?1 \
     UNION ALL SELECT response_id, NULL FROM used_keys WHERE app_id = ?2 AND key = ?3";

/// Stores the responses that can be stored and returns the outcome of each, in order.
pub(super) fn responses(
    connection: &Connection,
    responses: &[NewResponse],
) -> Result<(Vec<Outcome>, Finish), TransactionError> {
    let mut batch = Batch::new(connection, responses.len());
    let outcomes =
        responses.iter().map(|response| batch.judge(response)).collect::<Result<Vec<_>>>()?;
    batch.insert()?;
    closing::write(connection, batch.room)?;
    counts::add(connection, responses, &outcomes)?;
    let then = match outcomes.contains(&Outcome::Stored) {
        true => Finish::Commit,
        false => Finish::RollBack,
    };
    Ok((outcomes, then))
}

/// The rows of one call.
struct Batch<'c, 'r> {
    connection: &'c Connection,
    revisions: BTreeMap<AppId, Option<u64>>,
    numbers: VersionNumbers,
    keys: NewKeys,
    /// Rows that are not inserted yet.
    waiting: Vec<(IntegerIds, Cow<'r, ResponseRow>, Option<&'r IdempotencyKey>)>,
    waiting_keys: HashSet<&'r IdempotencyKey>,
    /// Whether there are keys of removed responses; read if a row has a key.
    has_used_keys: Option<bool>,
    /// The room in flows that limit their responses.
    room: Room,
}

impl<'c, 'r> Batch<'c, 'r> {
    fn new(connection: &'c Connection, rows: usize) -> Self {
        Self {
            connection,
            revisions: BTreeMap::new(),
            numbers: VersionNumbers::default(),
            keys: NewKeys::default(),
            waiting: Vec::with_capacity(rows),
            waiting_keys: HashSet::new(),
            has_used_keys: None,
            room: Room::default(),
        }
    }

    /// The key is checked first: a retry finds its own invitation used, and gets its answer at any
    /// revision.
    fn judge(&mut self, response: &'r NewResponse) -> Result<Outcome> {
        if let Some(answered) = self.answered(response)? {
            return Ok(answered);
        }
        let app = response.row.app_id;
        let newest = match self.revisions.get(&app) {
            Some(newest) => *newest,
            None => *self.revisions.entry(app).or_insert(public_revision(self.connection, app)?),
        };
        if newest != Some(response.public_revision) {
            return Ok(Outcome::Stale);
        }
        closing::learn(self.connection, &mut self.room, response)?;
        if let Some(full) = self.room.full(response) {
            return Ok(Outcome::Full(full));
        }
        if response.invitation.is_some() && !invitations::complete(self.connection, response)? {
            return Ok(Outcome::Uninvited);
        }
        self.room.take(response);
        self.store(response)?;
        Ok(Outcome::Stored)
    }

    /// The outcome of a row whose key is in use.
    fn answered(&mut self, response: &NewResponse) -> Result<Option<Outcome>> {
        let Some(key) = &response.idempotency_key else { return Ok(None) };
        if self.waiting_keys.contains(key) {
            self.insert()?;
        }
        if !self.is_taken(response.row.app_id, key)? {
            return Ok(None);
        }
        let taken = find_by_idempotency_key(self.connection, response.row.app_id, key)?;
        Ok(taken.map(|(id, digest)| match digest {
            // Only the use of the key is known: a retry cannot be distinguished from a different
            // submission.
            None => Outcome::Replayed(id),
            Some(digest) if digest == response.row.digest => Outcome::Replayed(id),
            Some(_) => Outcome::KeyReused,
        }))
    }

    fn is_taken(&mut self, app: AppId, key: &IdempotencyKey) -> Result<bool> {
        let is_taken =
            |sql: &str, params: &[&dyn ToSql]| self.connection.prepare_cached(sql)?.exists(params);
        let has_used_keys = match self.has_used_keys {
            Some(known) => known,
            None => is_taken("SELECT 1 FROM used_keys LIMIT 1", &[])?,
        };
        self.has_used_keys = Some(has_used_keys);
        Ok(is_taken(IS_TAKEN, &[&key_in_app(app, *key)])?
            || has_used_keys && is_taken(IS_USED, &[&bytes!(app), key])?)
    }

    /// Adds a row to those that wait, and links it to its respondent.
    fn store(&mut self, response: &'r NewResponse) -> Result<()> {
        let mut row = Cow::Borrowed(&response.row);
        if let Some(claim) = &response.claim {
            let respondent = claims::settle(self.connection, row.app_id, claim)?;
            claims::put_consent(self.connection, &claims::consent_of(&row, respondent))?;
            row.to_mut().respondent_id = Some(respondent);
        }
        let integer_ids = IntegerIds {
            key: self.key_of(row.response_id)?,
            numbers: self.numbers.get_or_add(self.connection, &row)?,
        };
        let key = response.idempotency_key.as_ref();
        self.waiting_keys.extend(key);
        self.waiting.push((integer_ids, row, key));
        Ok(())
    }

    fn key_of(&mut self, id: ResponseId) -> Result<i64> {
        if let Some(key) = self.keys.next(id) {
            return Ok(key);
        }
        self.insert()?;
        match self.keys.place(self.connection, id)? {
            Placed::Free(key) => Ok(key),
            Placed::Taken(_) => Err(id_in_use()),
        }
    }

    /// Inserts the rows that wait.
    fn insert(&mut self) -> Result<()> {
        let mut rows = self.waiting.as_slice();
        for (count, sql) in PIECES.into_iter().zip(STORE_PIECES.iter()) {
            if rows.len() < count {
                continue;
            }
            let mut insert = self.connection.prepare_cached(sql)?;
            while let Some((piece, rest)) = rows.split_at_checked(count) {
                for (index, (integer_ids, row, key)) in piece.iter().enumerate() {
                    response_row::bind(&mut insert, index * PARAMETERS, *integer_ids, row, *key)?;
                }
                insert.raw_execute()?;
                rows = rest;
            }
        }
        self.waiting.clear();
        self.waiting_keys.clear();
        Ok(())
    }
}

/// As SQLite reports it for a unique column.
fn id_in_use() -> rusqlite::Error {
    let why = "a response with this id is stored".to_owned();
    rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_CONSTRAINT_UNIQUE), Some(why))
}

fn public_revision(connection: &Connection, app: AppId) -> Result<Option<u64>> {
    connection
        .prepare_cached("SELECT public_revision FROM apps WHERE app_id = ?1")?
        .query_row([bytes!(app)], |row| Cells::new(row).revision())
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
        .query_row(params![key_in_app(app, *key), bytes!(app), key], |row| {
            let mut cells = Cells::new(row);
            Ok((cells.id(ResponseId::from_uuid)?, cells.take()?))
        })
        .optional()
}
