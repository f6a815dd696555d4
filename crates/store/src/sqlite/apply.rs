//! One change: its rows, and the revisions and feed position that announce it.
//!
//! The revisions and the feed are updated only here. An app's public revision *is* the feed
//! position of its last public change, so "what changed after" is one index range.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use rusqlite::{Connection, OptionalExtension, Result, params};
use sluice_flow::id::AppId;

use super::admin_requests;
use super::assets;
use super::closing;
use super::codec::{Cells, ReadCells as _, bytes};
use super::counts::Going;
use super::endpoints;
use super::events;
use super::invitations;
use super::log_gate::Entered;
use super::mails;
use super::people;
use super::put;
use super::removal;
use super::reports;
use super::short_paths;
use super::test_responses;
use super::transaction::{Finish, TransactionError};
use crate::{At, Change, StoreError, TestWrite, Write};

/// Writes the rows that `change` makes, provided that the app has not changed; returns whether they
/// removed anything.
pub(super) fn change(
    connection: &Connection,
    at: At,
    change: Change,
    entered: &Entered,
) -> Result<(bool, Finish), TransactionError> {
    let mut touched = TouchedApps::default();
    let as_expected = match at {
        At::App { app, expected } => {
            touched.note(app, false);
            revision(connection, app)? == Some(expected)
        }
        At::Instance => true,
        At::FirstApp => is_empty(connection, "SELECT NOT EXISTS (SELECT 1 FROM apps)")?,
        At::FirstToken => is_empty(connection, "SELECT NOT EXISTS (SELECT 1 FROM tokens)")?,
        At::People { expected } => people::advance(connection, expected)?,
    };
    if !as_expected {
        return Err(TransactionError::Answer(StoreError::Conflict));
    }
    // The change is the caller's code; a panic in it must not stop this thread.
    let writes = catch_unwind(AssertUnwindSafe(|| change.rows()))
        .map_err(|_| TransactionError::Answer(StoreError::Failed("the change panicked".into())))?;
    if writes.is_empty() {
        return Ok((false, Finish::RollBack));
    }
    let mut going = Going::default();
    let mut removes = false;
    for write in &writes {
        if let Some(app) = put(connection, write, &mut going, entered)? {
            touched.note(app, write.is_public());
        }
        removes |= match write {
            Write::DeleteResponse(_) | Write::DeleteAsset(..) => true,
            // Those beyond the newest make room. Nobody asked to have them erased.
            Write::Test(TestWrite::Add { .. }) => false,
            Write::Test(TestWrite::Expire { forms, .. }) => !forms.is_empty(),
            Write::Test(_) => connection.changes() > 0,
            _ => false,
        };
    }
    going.settle(connection)?;
    touched.advance(connection)?;
    Ok((removes, Finish::Commit))
}

fn is_empty(connection: &Connection, sql: &str) -> Result<bool> {
    connection.query_row(sql, [], |row| row.get(0))
}

fn revision(connection: &Connection, app: AppId) -> Result<Option<u64>> {
    connection
        .prepare_cached("SELECT revision FROM apps WHERE app_id = ?1")?
        .query_row([bytes!(app)], |row| Cells::new(row).revision())
        .optional()
}

/// The apps that a change touches, and whether the public API can see it.
#[derive(Debug, Default)]
struct TouchedApps(BTreeMap<AppId, bool>);

impl TouchedApps {
    fn note(&mut self, app: AppId, public: bool) {
        *self.0.entry(app).or_default() |= public;
    }

    fn advance(self, connection: &Connection) -> Result<()> {
        let position = match self.0.values().any(|public| *public) {
            true => Some(next_position(connection)?),
            false => None,
        };
        let mut advance = connection.prepare_cached(
            "UPDATE apps SET revision = revision + 1, \
             public_revision = coalesce(?2, public_revision) WHERE app_id = ?1",
        )?;
        for (app, public) in self.0 {
            advance.execute(params![bytes!(app), position.filter(|_| public)])?;
        }
        Ok(())
    }
}

fn next_position(connection: &Connection) -> Result<i64> {
    connection
        .prepare_cached("UPDATE feed SET position = position + 1 RETURNING position")?
        .query_row([], |row| row.get(0))
}

/// Writes one row; returns the app whose state it belongs to, if any.
fn put(
    connection: &Connection,
    write: &Write,
    going: &mut Going,
    entered: &Entered,
) -> Result<Option<AppId>, TransactionError> {
    let app = match write {
        Write::App(row) => put::app(connection, row).map(|()| Some(row.app_id)),
        Write::Key(row) => put::key(connection, row).map(|()| Some(row.app_id)),
        Write::IdentityKey(row) => put::identity_key(connection, row).map(|()| Some(row.app_id)),
        Write::Flow(row) => put::flow(connection, row).map(|()| Some(row.app_id)),
        Write::Version(row) => put::version(connection, row).map(|()| Some(row.app_id)),
        Write::CapGrace(cap) => put::grace_cap(connection, cap).map(|()| Some(cap.app_id)),
        Write::Token(row) => put::token(connection, row).map(|()| None),
        Write::Audit(row) => put::audit(connection, row).map(|()| None),
        Write::DeleteResponse(response) => removal::response(connection, *response, going),
        Write::Invitations(rows) => {
            rows.iter().try_for_each(|row| invitations::add(connection, row))?;
            Ok(rows.first().map(|row| row.app_id))
        }
        Write::Invitation(step) => return invitations::step(connection, step),
        Write::Report(row) => reports::put(connection, row).map(|()| Some(row.app_id)),
        Write::DeleteReport(app, report) => {
            reports::delete(connection, *app, *report).map(|()| Some(*app))
        }
        Write::Closing(write) => closing::change(connection, write),
        Write::ShortPath(row) => short_paths::put(connection, row).map(|()| Some(row.app_id)),
        Write::DeleteShortPath(app, flow) => {
            short_paths::delete(connection, *app, *flow).map(|()| Some(*app))
        }
        Write::Test(write) => test_responses::change(connection, write).map(|()| None),
        Write::Mail(write) => return mails::change(connection, write).map(|()| None),
        Write::AdminRequest(write) => {
            return admin_requests::change(connection, write).map(|()| None);
        }
        Write::HoldOutbound(at) => mails::hold(connection, *at).map(|()| None),
        Write::Asset(row) => assets::put(connection, row).map(|()| Some(row.app_id)),
        Write::DeleteAsset(app, asset) => {
            assets::delete(connection, *app, *asset).map(|()| Some(*app))
        }
        // Like an audit entry, it changes nothing of the app.
        Write::Event(row) => events::add(connection, row, entered).map(|()| None),
        Write::Endpoint(write) => endpoints::change(connection, write).map(Some),
        Write::People(write) => return people::put(connection, write).map(|()| None),
    };
    Ok(app?)
}
