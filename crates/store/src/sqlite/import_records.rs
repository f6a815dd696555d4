//! Imports records of another database unchanged.
//!
//! Revisions are taken from the record, not incremented: a response judged against the other
//! database can be stored here. The feed is advanced, so that the next public change gets a new
//! position.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use rusqlite::{CachedStatement, Connection, Result, params};

use super::claims::{put_consent, put_identity, put_respondent};
use super::codec::bytes;
use super::removal::put_used_key;
use super::transaction::{Finish, TransactionError};
use super::{commit, counts, invitations, people, put, skip_index};
use crate::codec::{COLUMNS, RESPONSE};
use crate::{App, Record};

/// With the parameters of [`commit::put`].
static PUT_RESPONSE: LazyLock<String> = LazyLock::new(|| {
    let values = vec!["?"; COLUMNS.len() + 1].join(", ");
    let names = COLUMNS.iter().map(|column| column.name).filter(|name| *name != "response_id");
    let replaced: Vec<_> = names.map(|name| format!("{name} = excluded.{name}")).collect();
    format!(
        "INSERT INTO responses ({RESPONSE}, idempotency_key) VALUES ({values}) \
         ON CONFLICT (response_id) DO UPDATE SET {}, \
         idempotency_key = excluded.idempotency_key, counted = 0",
        replaced.join(", ")
    )
});

pub(super) fn records(
    connection: &Connection,
    records: &[Record],
) -> Result<((), Finish), TransactionError> {
    if records.is_empty() {
        return Ok(((), Finish::RollBack));
    }
    let flows = records.iter().filter_map(|record| match record {
        Record::Response { row, .. } => Some((row.app_id, row.flow_id)),
        _ => None,
    });
    for (app, flow) in flows.collect::<BTreeSet<_>>() {
        counts::begin_scan(connection, app, flow)?;
        skip_index::forget(connection, app, flow)?;
    }
    let mut put_response = connection.prepare_cached(&PUT_RESPONSE)?;
    for record in records {
        put(connection, &mut put_response, record)?;
    }
    Ok(((), Finish::Commit))
}

fn put(
    connection: &Connection,
    put_response: &mut CachedStatement,
    record: &Record,
) -> Result<(), TransactionError> {
    let put = match record {
        Record::App(app) => put_app_at_its_revisions(connection, app),
        Record::Key(row) => put::key(connection, row),
        Record::IdentityKey(row) => put::identity_key(connection, row),
        Record::Flow(row) => put::flow(connection, row),
        Record::Version(row) => put::version(connection, row),
        Record::Token(row) => put::token(connection, row),
        Record::Audit(row) => put::audit(connection, row),
        Record::Respondent(row) => put_respondent(connection, row),
        Record::Identity(row) => put_identity(connection, row),
        Record::Consent(row) => put_consent(connection, row),
        Record::UsedKey(row) => put_used_key(connection, row),
        Record::Response { row, idempotency_key } => {
            commit::put(put_response, row, idempotency_key.as_ref()).map(|_| ())
        }
        Record::Invitation(row) => invitations::replace(connection, row),
        Record::User(row) => people::put_user(connection, row),
        Record::Grant(row) => return people::put_grant(connection, row),
    };
    Ok(put?)
}

fn put_app_at_its_revisions(connection: &Connection, app: &App) -> Result<()> {
    put::app(connection, &app.row)?;
    let public_revision = app.public_revision.cast_signed();
    connection
        .prepare_cached("UPDATE apps SET revision = ?2, public_revision = ?3 WHERE app_id = ?1")?
        .execute(params![bytes!(app.row.app_id), app.revision.cast_signed(), public_revision])?;
    connection
        .prepare_cached("UPDATE feed SET position = max(position, ?1)")?
        .execute([public_revision])
        .map(|_| ())
}
