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
use super::response_keys::{NewKeys, Placed};
use super::response_row::{self, IntegerIds};
use super::transaction::{Finish, TransactionError};
use super::version_numbers::VersionNumbers;
use super::{
    admin_requests, assets, closing, counts, endpoints, events, invitations, mails, people, put,
    reports, short_paths, sinks, skip_index, test_responses, visits,
};
use crate::{App, IdempotencyKey, Record, ResponseRow};

/// With the parameters of [`response_row::bind`].
static PUT_RESPONSE: LazyLock<String> = LazyLock::new(|| {
    let columns: Vec<_> = response_row::columns().collect();
    let replaced: Vec<_> =
        columns.iter().skip(1).map(|name| format!("{name} = excluded.{name}")).collect();
    format!(
        "INSERT INTO responses ({}) VALUES ({}) \
         ON CONFLICT (response_key) DO UPDATE SET {}, counted = 0",
        columns.join(", "),
        vec!["?"; columns.len()].join(", "),
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
    let mut responses = Responses {
        put: connection.prepare_cached(&PUT_RESPONSE)?,
        keys: NewKeys::default(),
        numbers: VersionNumbers::default(),
    };
    for record in records {
        put(connection, &mut responses, record)?;
    }
    Ok(((), Finish::Commit))
}

/// The responses of one import.
struct Responses<'c> {
    put: CachedStatement<'c>,
    keys: NewKeys,
    numbers: VersionNumbers,
}

impl Responses<'_> {
    /// Stores a response, replacing an existing one with the same id.
    fn put(
        &mut self,
        connection: &Connection,
        row: &ResponseRow,
        idempotency_key: Option<&IdempotencyKey>,
    ) -> Result<()> {
        let (Placed::Free(key) | Placed::Taken(key)) =
            self.keys.place(connection, row.response_id)?;
        let integer_ids = IntegerIds { key, numbers: self.numbers.get_or_add(connection, row)? };
        response_row::bind(&mut self.put, 0, integer_ids, row, idempotency_key)?;
        self.put.raw_execute().map(|_| ())
    }
}

fn put(
    connection: &Connection,
    responses: &mut Responses,
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
            responses.put(connection, row, idempotency_key.as_ref())
        }
        Record::Invitation(row) => invitations::replace(connection, row),
        Record::VisitCount(row) => visits::replace(connection, row),
        Record::ClosingCounts(row) => closing::put(connection, row),
        Record::User(row) => people::put_user(connection, row),
        Record::Grant(row) => return people::put_grant(connection, row),
        Record::Report(row) => reports::put(connection, row),
        Record::ShortPath(row) => short_paths::put(connection, row),
        Record::Mail(row) => mails::replace(connection, row),
        Record::TestResponse(row) => test_responses::replace(connection, row),
        Record::Asset(row) => assets::put(connection, row),
        Record::SavedView(row) => people::put_saved_view(connection, row),
        Record::Event(row) => events::put(connection, row),
        Record::Endpoint(row) => endpoints::replace(connection, row),
        Record::Delivery(row) => {
            endpoints::put_deliveries(connection, std::slice::from_ref(&**row))
        }
        Record::SinkPosition(row) => sinks::put(connection, row),
        Record::AdminRequest(row) => admin_requests::replace(connection, row),
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
