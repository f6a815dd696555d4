//! Writes one row to its table: inserted, or replacing the row with the same id.
//!
//! The revisions of an app are not part of its row here: [`super::apply`] updates them.

use rusqlite::{Connection, Result, params};
use sluice_flow::time::Timestamp;

use super::codec::{self, bytes};
use crate::pictures::DesignColumns;
use crate::{AppRow, AuditRow, FlowRow, GraceCap, IdentityKeyRow, KeyRow, TokenRow, VersionRow};

pub(super) fn app(connection: &Connection, row: &AppRow) -> Result<()> {
    let hosted = DesignColumns::new(row.hosted.as_ref());
    connection
        .prepare_cached(
            "INSERT INTO apps (app_id, name, identity_verification, allowed_origins, \
             grace_window_seconds, token_lifetime_seconds, created_at, retention_days, hosted, \
             calls_per_second, bytes_per_day, hosted_with_pictures) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12) \
             ON CONFLICT (app_id) DO UPDATE SET name = excluded.name, \
             identity_verification = excluded.identity_verification, \
             allowed_origins = excluded.allowed_origins, \
             grace_window_seconds = excluded.grace_window_seconds, \
             token_lifetime_seconds = excluded.token_lifetime_seconds, \
             created_at = excluded.created_at, retention_days = excluded.retention_days, \
             hosted = excluded.hosted, calls_per_second = excluded.calls_per_second, \
             bytes_per_day = excluded.bytes_per_day, \
             hosted_with_pictures = excluded.hosted_with_pictures",
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
            hosted.without_pictures,
            row.limits.calls_per_second,
            row.limits.bytes_per_day.map(u64::cast_signed),
            hosted.whole,
        ])
        .map(|_| ())
}

pub(super) fn key(connection: &Connection, row: &KeyRow) -> Result<()> {
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

pub(super) fn identity_key(connection: &Connection, row: &IdentityKeyRow) -> Result<()> {
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

pub(super) fn flow(connection: &Connection, row: &FlowRow) -> Result<()> {
    let design = DesignColumns::new(row.design.as_ref());
    let has_labels = !row.labels.is_empty();
    let labels = has_labels.then(|| codec::json(&row.labels)).transpose()?;
    connection
        .prepare_cached(
            "INSERT INTO flows (app_id, flow_id, kind, name, live_starts_at, live_ends_at, \
             grace_window_seconds, created_at, archived_at, closing, labels, design, \
             design_with_pictures, test_links, invitation_email, flow_key) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16) \
             ON CONFLICT (app_id, flow_id) DO UPDATE SET kind = excluded.kind, \
             name = excluded.name, live_starts_at = excluded.live_starts_at, \
             live_ends_at = excluded.live_ends_at, \
             grace_window_seconds = excluded.grace_window_seconds, \
             created_at = excluded.created_at, archived_at = excluded.archived_at, \
             closing = excluded.closing, labels = excluded.labels, design = excluded.design, \
             design_with_pictures = excluded.design_with_pictures, \
             test_links = excluded.test_links, \
             invitation_email = excluded.invitation_email, flow_key = excluded.flow_key",
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
            row.closing,
            labels,
            design.without_pictures,
            design.whole,
            row.test_links,
            row.invitation_email,
            row.key,
        ])
        .map(|_| ())
}

pub(super) fn version(connection: &Connection, row: &VersionRow) -> Result<()> {
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

pub(super) fn grace_cap(connection: &Connection, cap: &GraceCap) -> Result<()> {
    connection
        .prepare_cached(
            "UPDATE versions SET grace_ends_at = ?3 \
             WHERE app_id = ?1 AND flow_id = ?2 AND number > 0 AND grace_ends_at > ?3",
        )?
        .execute(params![bytes!(cap.app_id), bytes!(cap.flow_id), cap.ends_at.as_millis()])
        .map(|_| ())
}

pub(super) fn token(connection: &Connection, row: &TokenRow) -> Result<()> {
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

pub(super) fn audit(connection: &Connection, row: &AuditRow) -> Result<()> {
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
