//! Writes one response: the columns of its row, and their parameters.

use rusqlite::{CachedStatement, Result};
use sluice_flow::id::AppId;
use uuid::Uuid;

use super::version_numbers::Numbers;
use crate::codec::{COLUMNS, Column, Get};
use crate::{IdempotencyKey, ResponseRow};

/// The columns that replace the ids at the beginning of [`COLUMNS`]: `version_numbers` has those.
const NUMBERS: [&str; 3] = ["response_key", "flow_number", "version_number"];
/// The columns of [`COLUMNS`] that a row contains itself.
const OWN: &[Column] = COLUMNS.split_at(NUMBERS.len()).1;
/// A row and its idempotency key. All columns of [`COLUMNS`] have their position there.
pub(super) const PARAMETERS: usize = COLUMNS.len() + 1;

/// The names of the columns in the order of the parameters.
pub(super) fn columns() -> impl Iterator<Item = &'static str> {
    let own = OWN.iter().map(|column| column.name);
    NUMBERS.into_iter().chain(own).chain(["idempotency_key"])
}

/// What a row has in place of its ids: its key, and the numbers of its flow and version.
#[derive(Debug, Clone, Copy)]
pub(super) struct IntegerIds {
    pub(super) key: i64,
    pub(super) numbers: Numbers,
}

/// Binds a response to the parameters after the first `before`.
pub(super) fn bind(
    statement: &mut CachedStatement,
    before: usize,
    integer_ids: IntegerIds,
    row: &ResponseRow,
    idempotency_key: Option<&IdempotencyKey>,
) -> Result<()> {
    let mut at = before;
    for number in [integer_ids.key, integer_ids.numbers.flow, integer_ids.numbers.version] {
        at += 1;
        statement.raw_bind_parameter(at, number)?;
    }
    for column in OWN {
        at += 1;
        match column.get {
            Get::Id(get) => statement.raw_bind_parameter(at, get(row).map(Uuid::into_bytes)),
            Get::Flag(get) => statement.raw_bind_parameter(at, get(row)),
            Get::Text(get) => statement.raw_bind_parameter(at, get(row)),
        }?;
    }
    let key = idempotency_key.map(|key| key_in_app(row.app_id, *key));
    statement.raw_bind_parameter(at + 1, key)
}

/// The form in which a key is stored, and back: combined with the id of its app. So keys of
/// different apps differ, and an index over the keys alone distinguishes them.
pub(super) fn key_in_app(app: AppId, mut key: IdempotencyKey) -> IdempotencyKey {
    for (byte, of_app) in key.iter_mut().zip(app.uuid().as_bytes()) {
        *byte ^= of_app;
    }
    key
}
