//! Writes one row to its table: inserted, or replacing the row with the same id.
//!
//! A replacement uses only values of the new row, as a distributed database requires. The revisions
//! of an app are not part of its row here: [`super::apply`] updates them. A flow or version is also
//! recorded in the [`directory`], where it is found by its id.

use sluice_flow::id::AppId;
use sluice_flow::time::Timestamp;
use uuid::Uuid;

use super::codec;
use super::directory;
use super::failure::TransactionError;
use super::pool::Params;
use super::transaction::Transaction;
use crate::pictures::DesignColumns;
use crate::{AppRow, AuditRow, FlowRow, GraceCap, IdentityKeyRow, KeyRow, TokenRow, VersionRow};

type Done<T = ()> = Result<T, TransactionError>;

pub(super) async fn app(transaction: &Transaction, row: &AppRow) -> Done {
    let listed = "INSERT INTO app_directory (app_id, name, identity_verification, allowed_origins, \
         grace_window_seconds, token_lifetime_seconds, created_at, retention_days, hosted, \
         calls_per_second, bytes_per_day, hosted_with_pictures) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) \
         ON CONFLICT (app_id) DO UPDATE SET name = excluded.name, \
         identity_verification = excluded.identity_verification, \
         allowed_origins = excluded.allowed_origins, \
         grace_window_seconds = excluded.grace_window_seconds, \
         token_lifetime_seconds = excluded.token_lifetime_seconds, \
         created_at = excluded.created_at, retention_days = excluded.retention_days, \
         hosted = excluded.hosted, calls_per_second = excluded.calls_per_second, \
         bytes_per_day = excluded.bytes_per_day, \
         hosted_with_pictures = excluded.hosted_with_pictures";
    let verification = codec::variant_name(&row.identity_verification)?;
    let origins = codec::json(&row.allowed_origins)?;
    let grace = row.grace_window_seconds.map(i64::from);
    let lifetime = row.token_lifetime_seconds.map(i64::from);
    let created_at = row.created_at.as_millis();
    let app = row.app_id.uuid();
    let days = row.retention_days.map(i64::from);
    let hosted = DesignColumns::new(row.hosted.as_ref());
    let calls = row.limits.calls_per_second.map(i64::from);
    let bytes = row.limits.bytes_per_day.map(u64::cast_signed);
    let params: Params = &[
        &app,
        &row.name,
        &verification,
        &origins,
        &grace,
        &lifetime,
        &created_at,
        &days,
        &hosted.without_pictures,
        &calls,
        &bytes,
        &hosted.whole,
    ];
    transaction.execute(listed, params).await?;
    let sql = "INSERT INTO apps (app_id, grace_window_seconds) VALUES ($1, $2) \
         ON CONFLICT (app_id) DO UPDATE SET grace_window_seconds = excluded.grace_window_seconds";
    transaction.execute(sql, &[&app, &grace]).await.map(|_| ())
}

/// The revisions of an app in the directory, equal to those in `apps`.
pub(super) async fn listed_revisions(
    transaction: &Transaction,
    app: AppId,
    (revision, public_revision): (i64, i64),
) -> Done {
    let sql = "UPDATE app_directory SET revision = $2, public_revision = $3 WHERE app_id = $1";
    let params: Params = &[&app.uuid(), &revision, &public_revision];
    transaction.execute(sql, params).await.map(|_| ())
}

pub(super) async fn key(transaction: &Transaction, row: &KeyRow) -> Done {
    let sql = "INSERT INTO api_keys (app_id, api_key, created_at, revoked_at) \
         VALUES ($1, $2, $3, $4) ON CONFLICT (app_id, api_key) DO UPDATE SET \
         created_at = excluded.created_at, revoked_at = excluded.revoked_at";
    let (app, key) = (row.app_id.uuid(), row.api_key.as_str());
    let times = (row.created_at.as_millis(), millis(row.revoked_at));
    transaction.execute(sql, &[&app, &key, &times.0, &times.1]).await.map(|_| ())
}

pub(super) async fn identity_key(transaction: &Transaction, row: &IdentityKeyRow) -> Done {
    let sql = "INSERT INTO identity_keys (app_id, kid, kind, material, issuer, created_at, \
         revoked_at) VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (app_id, kid) DO UPDATE SET \
         kind = excluded.kind, material = excluded.material, issuer = excluded.issuer, \
         created_at = excluded.created_at, revoked_at = excluded.revoked_at";
    let (app, kind) = (row.app_id.uuid(), codec::variant_name(&row.kind)?);
    let times = (row.created_at.as_millis(), millis(row.revoked_at));
    let params: Params = &[&app, &row.kid, &kind, &row.material, &row.issuer, &times.0, &times.1];
    transaction.execute(sql, params).await.map(|_| ())
}

pub(super) async fn flow(transaction: &Transaction, row: &FlowRow) -> Done {
    let sql = "INSERT INTO flows (app_id, flow_id, kind, name, live_starts_at, live_ends_at, \
         grace_window_seconds, created_at, archived_at, closing, labels, design, \
         design_with_pictures, test_links, invitation_email, flow_key) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16) \
         ON CONFLICT (app_id, flow_id) DO UPDATE SET kind = excluded.kind, name = excluded.name, \
         live_starts_at = excluded.live_starts_at, live_ends_at = excluded.live_ends_at, \
         grace_window_seconds = excluded.grace_window_seconds, created_at = excluded.created_at, \
         archived_at = excluded.archived_at, closing = excluded.closing, \
         labels = excluded.labels, design = excluded.design, \
         design_with_pictures = excluded.design_with_pictures, test_links = excluded.test_links, \
         invitation_email = excluded.invitation_email, flow_key = excluded.flow_key";
    let (app, flow, kind) =
        (row.app_id.uuid(), row.flow_id.uuid(), codec::variant_name(&row.kind)?);
    let live = (millis(row.live.starts_at), millis(row.live.ends_at));
    let grace = row.grace_window_seconds.map(i64::from);
    let times = (row.created_at.as_millis(), millis(row.archived_at));
    let design = DesignColumns::new(row.design.as_ref());
    let has_labels = !row.labels.is_empty();
    let labels = has_labels.then(|| codec::json(&row.labels)).transpose()?;
    let params: Params = &[
        &app,
        &flow,
        &kind,
        &row.name,
        &live.0,
        &live.1,
        &grace,
        &times.0,
        &times.1,
        &row.closing,
        &labels,
        &design.without_pictures,
        &design.whole,
        &i64::from(row.test_links),
        &row.invitation_email,
        &row.key,
    ];
    transaction.execute(sql, params).await?;
    directory::put_owner(transaction, flow, app).await
}

pub(super) async fn version(transaction: &Transaction, row: &VersionRow) -> Done {
    let sql = "INSERT INTO versions (app_id, flow_id, flow_version_id, number, published_at, \
         superseded_at, grace_ends_at, retired_at, created_at, updated_at, definition) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) \
         ON CONFLICT (app_id, flow_version_id) DO UPDATE SET flow_id = excluded.flow_id, \
         number = excluded.number, published_at = excluded.published_at, \
         superseded_at = excluded.superseded_at, grace_ends_at = excluded.grace_ends_at, \
         retired_at = excluded.retired_at, created_at = excluded.created_at, \
         updated_at = excluded.updated_at, definition = excluded.definition";
    let ids = (row.app_id.uuid(), row.flow_id.uuid(), row.flow_version_id.uuid());
    let number = i64::from(row.number);
    let times = [
        row.times.published_at,
        row.times.superseded_at,
        row.times.grace_ends_at,
        row.times.retired_at,
        Some(row.created_at),
        Some(row.updated_at),
    ]
    .map(millis);
    let params: Params = &[
        &ids.0,
        &ids.1,
        &ids.2,
        &number,
        &times[0],
        &times[1],
        &times[2],
        &times[3],
        &times[4],
        &times[5],
        &row.definition,
    ];
    transaction.execute(sql, params).await?;
    directory::put_owner(transaction, ids.2, ids.0).await
}

/// An update of the flow's versions; a cap has no row.
pub(super) async fn grace_cap(transaction: &Transaction, cap: &GraceCap) -> Done {
    let sql = "UPDATE versions SET grace_ends_at = $3 \
         WHERE app_id = $1 AND flow_id = $2 AND number > 0 AND grace_ends_at > $3";
    let (app, flow) = (cap.app_id.uuid(), cap.flow_id.uuid());
    transaction.execute(sql, &[&app, &flow, &cap.ends_at.as_millis()]).await.map(|_| ())
}

/// The app is checked explicitly and not by a foreign key, since the nil id means no app.
pub(super) async fn token(transaction: &Transaction, row: &TokenRow) -> Done {
    directory::must_exist(transaction, row.app_id, "a token").await?;
    let moved = "DELETE FROM tokens WHERE token_id = $1 AND app_id <> $2";
    let sql = "INSERT INTO tokens (app_id, token_id, name, hash, scopes, created_at, expires_at, \
         revoked_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) \
         ON CONFLICT (app_id, token_id) DO UPDATE SET name = excluded.name, hash = excluded.hash, \
         scopes = excluded.scopes, created_at = excluded.created_at, \
         expires_at = excluded.expires_at, revoked_at = excluded.revoked_at";
    let (app, token) = (or_nil(row.app_id), row.token_id.uuid());
    let scopes = codec::json(&row.scopes)?;
    let times = [Some(row.created_at), row.expires_at, row.revoked_at].map(millis);
    let hash = row.hash.as_slice();
    transaction.execute(moved, &[&token, &app]).await?;
    let params: Params =
        &[&app, &token, &row.name, &hash, &scopes, &times[0], &times[1], &times[2]];
    transaction.execute(sql, params).await.map(|_| ())
}

pub(super) async fn audit(transaction: &Transaction, row: &AuditRow) -> Done {
    let sql = "INSERT INTO audit (app_id, audit_id, actor, action, subject, detail) \
         VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (app_id, audit_id) DO UPDATE SET \
         actor = excluded.actor, action = excluded.action, subject = excluded.subject, \
         detail = excluded.detail";
    let (app, audit) = (or_nil(row.app_id), row.audit_id.uuid());
    let params: Params = &[&app, &audit, &row.actor, &row.action, &row.subject, &row.detail];
    transaction.execute(sql, params).await.map(|_| ())
}

pub(super) fn or_nil(app: Option<AppId>) -> Uuid {
    app.map_or(Uuid::nil(), AppId::uuid)
}

fn millis(time: Option<Timestamp>) -> Option<i64> {
    time.map(Timestamp::as_millis)
}
