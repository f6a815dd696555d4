//! One change: its rows, and the revisions and feed position that announce it.
//!
//! The revisions and the feed are updated only here. An app's public revision *is* the feed
//! position of its last public change, so "what changed after" is one index range.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use rusqlite::{Connection, OptionalExtension, Result, params};
use sluice_flow::id::AppId;
use sluice_flow::time::Timestamp;

use super::codec::{self, Cells, ReadCells as _, bytes};
use super::counts::Going;
use super::invitations;
use super::people;
use super::removal;
use super::transaction::{Finish, TransactionError};
use crate::{
    AppRow, At, AuditRow, Change, FlowRow, GraceCap, IdentityKeyRow, KeyRow, StoreError, TokenRow,
    VersionRow, Write,
};

/// Writes the rows that `change` makes, provided that the app has not changed; returns whether they
/// removed anything.
pub(super) fn change(
    connection: &Connection,
    at: At,
    change: Change,
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
    for write in &writes {
        if let Some(app) = put(connection, write, &mut going)? {
            touched.note(app, write.is_public());
        }
    }
    going.settle(connection)?;
    touched.advance(connection)?;
    let removes = writes.iter().any(|write| matches!(write, Write::DeleteResponse(_)));
    Ok((removes, Finish::Commit))
}

fn is_empty(connection: &Connection, sql: &str) -> Result<bool> {
    connection.query_row(sql, [], |row| row.get(0))
}

fn revision(connection: &Connection, app: AppId) -> Result<Option<u64>> {
    connection
        .prepare_cached("SELECT revision FROM apps WHERE app_id = ?1")?
        .query_row([bytes!(app)], |row| Cells::of(row).revision())
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
) -> Result<Option<AppId>, TransactionError> {
    let app = match write {
        Write::App(row) => put_app(connection, row).map(|()| Some(row.app_id)),
        Write::Key(row) => put_key(connection, row).map(|()| Some(row.app_id)),
        Write::IdentityKey(row) => put_identity_key(connection, row).map(|()| Some(row.app_id)),
        Write::Flow(row) => put_flow(connection, row).map(|()| Some(row.app_id)),
        Write::Version(row) => put_version(connection, row).map(|()| Some(row.app_id)),
        Write::CapGrace(cap) => cap_grace(connection, cap).map(|()| Some(cap.app_id)),
        Write::Token(row) => put_token(connection, row).map(|()| None),
        Write::Audit(row) => put_audit(connection, row).map(|()| None),
        Write::DeleteResponse(response) => removal::response(connection, *response, going),
        Write::Invitations(rows) => {
            rows.iter().try_for_each(|row| invitations::add(connection, row))?;
            Ok(rows.first().map(|row| row.app_id))
        }
        Write::Invitation(step) => invitations::step(connection, step),
        Write::People(write) => return people::put(connection, write).map(|()| None),
    };
    Ok(app?)
}

pub(super) fn put_app(connection: &Connection, row: &AppRow) -> Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO apps (app_id, name, identity_verification, allowed_origins, \
             grace_window_seconds, token_lifetime_seconds, created_at, retention_days, hosted, \
             calls_per_second, bytes_per_day) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11) \
             ON CONFLICT (app_id) DO UPDATE SET name = excluded.name, \
             identity_verification = excluded.identity_verification, \
             allowed_origins = excluded.allowed_origins, \
             grace_window_seconds = excluded.grace_window_seconds, \
             token_lifetime_seconds = excluded.token_lifetime_seconds, \
             created_at = excluded.created_at, retention_days = excluded.retention_days, \
             hosted = excluded.hosted, calls_per_second = excluded.calls_per_second, \
             bytes_per_day = excluded.bytes_per_day",
        )?
        .execute(params![
            bytes!(row.app_id),
            row.name,
            codec::variant_name(&row.identity_verification)?,
            codec::json(&row.allowed_origins)?,
            row.grace_window_seconds,
            row.token_lifetime_seconds,
            row.created_at.as_millis(),
            row.retention_days,
            row.hosted,
            row.limits.calls_per_second,
            row.limits.bytes_per_day.map(u64::cast_signed),
        ])
        .map(|_| ())
}

pub(super) fn put_key(connection: &Connection, row: &KeyRow) -> Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO api_keys (app_id, api_key, created_at, revoked_at) \
             VALUES (?1, ?2, ?3, ?4) ON CONFLICT (app_id, api_key) DO UPDATE SET \
             created_at = excluded.created_at, revoked_at = excluded.revoked_at",
        )?
        .execute(params![
            bytes!(row.app_id),
            row.api_key.as_str(),
            row.created_at.as_millis(),
            millis(row.revoked_at),
        ])
        .map(|_| ())
}

pub(super) fn put_identity_key(connection: &Connection, row: &IdentityKeyRow) -> Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO identity_keys (app_id, kid, kind, material, issuer, created_at, \
             revoked_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) \
             ON CONFLICT (app_id, kid) DO UPDATE SET kind = excluded.kind, \
             material = excluded.material, issuer = excluded.issuer, \
             created_at = excluded.created_at, revoked_at = excluded.revoked_at",
        )?
        .execute(params![
            bytes!(row.app_id),
            row.kid,
            codec::variant_name(&row.kind)?,
            row.material,
            row.issuer,
            row.created_at.as_millis(),
            millis(row.revoked_at),
        ])
        .map(|_| ())
}

pub(super) fn put_flow(connection: &Connection, row: &FlowRow) -> Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO flows (app_id, flow_id, kind, name, live_starts_at, live_ends_at, \
             grace_window_seconds, created_at, archived_at) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) \
             ON CONFLICT (app_id, flow_id) DO UPDATE SET kind = excluded.kind, \
             name = excluded.name, live_starts_at = excluded.live_starts_at, \
             live_ends_at = excluded.live_ends_at, \
             grace_window_seconds = excluded.grace_window_seconds, \
             created_at = excluded.created_at, archived_at = excluded.archived_at",
        )?
        .execute(params![
            bytes!(row.app_id),
            bytes!(row.flow_id),
            codec::variant_name(&row.kind)?,
            row.name,
            millis(row.live.starts_at),
            millis(row.live.ends_at),
            row.grace_window_seconds,
            row.created_at.as_millis(),
            millis(row.archived_at),
        ])
        .map(|_| ())
}

pub(super) fn put_version(connection: &Connection, row: &VersionRow) -> Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO versions (app_id, flow_id, flow_version_id, number, published_at, \
             superseded_at, grace_ends_at, retired_at, created_at, updated_at, definition) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11) \
             ON CONFLICT (app_id, flow_version_id) DO UPDATE SET flow_id = excluded.flow_id, \
             number = excluded.number, published_at = excluded.published_at, \
             superseded_at = excluded.superseded_at, grace_ends_at = excluded.grace_ends_at, \
             retired_at = excluded.retired_at, created_at = excluded.created_at, \
             updated_at = excluded.updated_at, definition = excluded.definition",
        )?
        .execute(params![
            bytes!(row.app_id),
            bytes!(row.flow_id),
            bytes!(row.flow_version_id),
            row.number,
            millis(row.times.published_at),
            millis(row.times.superseded_at),
            millis(row.times.grace_ends_at),
            millis(row.times.retired_at),
            row.created_at.as_millis(),
            row.updated_at.as_millis(),
            row.definition,
        ])
        .map(|_| ())
}

fn cap_grace(connection: &Connection, cap: &GraceCap) -> Result<()> {
    connection
        .prepare_cached(
            "UPDATE versions SET grace_ends_at = ?3 \
             WHERE app_id = ?1 AND flow_id = ?2 AND number > 0 AND grace_ends_at > ?3",
        )?
        .execute(params![bytes!(cap.app_id), bytes!(cap.flow_id), cap.ends_at.as_millis()])
        .map(|_| ())
}

pub(super) fn put_token(connection: &Connection, row: &TokenRow) -> Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO tokens (token_id, name, hash, scopes, app_id, created_at, expires_at, \
             revoked_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) \
             ON CONFLICT (token_id) DO UPDATE SET name = excluded.name, hash = excluded.hash, \
             scopes = excluded.scopes, app_id = excluded.app_id, \
             created_at = excluded.created_at, expires_at = excluded.expires_at, \
             revoked_at = excluded.revoked_at",
        )?
        .execute(params![
            bytes!(row.token_id),
            row.name,
            row.hash,
            codec::json(&row.scopes)?,
            row.app_id.map(|id| bytes!(id)),
            row.created_at.as_millis(),
            millis(row.expires_at),
            millis(row.revoked_at),
        ])
        .map(|_| ())
}

pub(super) fn put_audit(connection: &Connection, row: &AuditRow) -> Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO audit (audit_id, app_id, actor, action, subject, detail) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (audit_id) DO UPDATE SET \
             app_id = excluded.app_id, actor = excluded.actor, action = excluded.action, \
             subject = excluded.subject, detail = excluded.detail",
        )?
        .execute(params![
            bytes!(row.audit_id),
            row.app_id.map(|id| bytes!(id)),
            row.actor,
            row.action,
            row.subject,
            row.detail,
        ])
        .map(|_| ())
}

fn millis(time: Option<Timestamp>) -> Option<i64> {
    time.map(Timestamp::as_millis)
}
