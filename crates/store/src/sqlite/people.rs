//! Users, grants, links, saved views and sessions: writes and lookups.

use rusqlite::{Connection, Result, params};
use sluice_flow::id::{AppId, FlowId, UserId};
use sluice_flow::time::Timestamp;

use super::codec::{self, Cells, GRANT, LINK, ReadCells as _, SAVED_VIEW, SESSION, USER, bytes};
use super::read::{limit, many, one};
use super::transaction::TransactionError;
use crate::{
    GrantRow, LinkRow, Page, PeopleWrite, SavedViewRow, SecondFactor, SecretHash, SessionHolder,
    SessionRow, StoreError, User, UserKey, UserRow, joined,
};

/// The app id of a grant for all apps.
const NO_APP: [u8; 16] = [0; 16];

fn user_and_grant(cells: &mut Cells) -> Result<(UserRow, Option<GrantRow>)> {
    let row = codec::user(cells)?;
    let has_grant: bool = cells.take()?;
    Ok((row, has_grant.then(|| codec::grant(cells)).transpose()?))
}

pub(super) fn revision(connection: &Connection) -> Result<u64> {
    let found = one(connection, "SELECT revision FROM people", [], |cells| cells.revision())?;
    Ok(found.unwrap_or_default())
}

/// Increments the revision if it is still the expected one.
pub(super) fn advance(connection: &Connection, expected: u64) -> Result<bool> {
    connection
        .prepare_cached("UPDATE people SET revision = revision + 1 WHERE revision = ?1")?
        .execute([expected.cast_signed()])
        .map(|rows| rows == 1)
}

pub(super) fn find(connection: &Connection, key: &UserKey) -> Result<Option<User>> {
    let found = |condition: &str| {
        format!(
            "SELECT {USER}, grants.role IS NOT NULL, {GRANT} FROM users \
             LEFT JOIN grants ON grants.user_id = users.user_id \
             WHERE {condition} ORDER BY grants.app_id"
        )
    };
    let rows = match key {
        UserKey::Id(id) => {
            many(connection, &found("users.user_id = ?1"), [bytes!(id)], user_and_grant)
        }
        UserKey::Email(email) => {
            many(connection, &found("users.email = ?1"), [email], user_and_grant)
        }
        UserKey::Subject(it) => many(
            connection,
            &found("users.issuer = ?1 AND users.subject = ?2"),
            [&it.issuer, &it.subject],
            user_and_grant,
        ),
    }?;
    Ok(joined(rows).pop())
}

/// All users, or those with a grant for the app or for all apps.
pub(super) fn list(
    connection: &Connection,
    app: Option<AppId>,
    page: Page<UserId>,
) -> Result<Vec<User>> {
    let of_app = match app {
        Some(_) => {
            "AND EXISTS (SELECT 1 FROM grants AS held WHERE held.user_id = users.user_id \
             AND held.app_id IN (?3, zeroblob(16)))"
        }
        None => "AND ?3 IS NULL",
    };
    let sql = format!(
        "SELECT {USER}, grants.role IS NOT NULL, {GRANT} FROM \
         (SELECT * FROM users WHERE user_id > ?1 {of_app} ORDER BY user_id LIMIT ?2) AS users \
         LEFT JOIN grants ON grants.user_id = users.user_id \
         ORDER BY users.user_id, grants.app_id"
    );
    let after = page.after.map_or(NO_APP, |id| bytes!(id));
    let params = params![after, limit(page.limit), app.map(|id| bytes!(id))];
    Ok(joined(many(connection, &sql, params, user_and_grant)?))
}

pub(super) fn link(connection: &Connection, hash: &SecretHash) -> Result<Option<LinkRow>> {
    one(connection, &format!("SELECT {LINK} FROM links WHERE hash = ?1"), [hash], codec::link)
}

pub(super) fn session(connection: &Connection, hash: &SecretHash) -> Result<Option<SessionRow>> {
    one(
        connection,
        &format!("SELECT {SESSION} FROM sessions WHERE hash = ?1"),
        [hash],
        codec::session,
    )
}

pub(super) fn sessions(
    connection: &Connection,
    user: UserId,
    epoch: u32,
    rows: usize,
) -> Result<Vec<SessionRow>> {
    let sql = format!(
        "SELECT {SESSION} FROM sessions WHERE user_id = ?1 AND epoch = ?2 ORDER BY used_at DESC, hash LIMIT ?3"
    );
    many(connection, &sql, params![bytes!(user), epoch, limit(rows)], codec::session)
}

pub(super) fn saved_views(
    connection: &Connection,
    flow: FlowId,
    user: UserId,
) -> Result<Vec<SavedViewRow>> {
    let sql = format!(
        "SELECT {SAVED_VIEW} FROM saved_views \
         WHERE user_id = ?1 AND flow_id = ?2 ORDER BY name"
    );
    many(connection, &sql, params![bytes!(user), bytes!(flow)], codec::saved_view)
}

pub(super) fn put(connection: &Connection, write: &PeopleWrite) -> Result<(), TransactionError> {
    match write {
        PeopleWrite::User(row) => put_user(connection, row)?,
        PeopleWrite::Grant(row) => put_grant(connection, row)?,
        PeopleWrite::Ungrant { user_id, app_id } => {
            connection
                .prepare_cached("DELETE FROM grants WHERE app_id = ?1 AND user_id = ?2")?
                .execute(params![or_none(*app_id), bytes!(user_id)])?;
        }
        PeopleWrite::Link(row) => {
            remove_links(connection, row.user_id, None)?;
            add_link(connection, row)?;
        }
        PeopleWrite::AnotherLink { link, now } => {
            remove_links(connection, link.user_id, Some(*now))?;
            add_link(connection, link)?;
        }
        PeopleWrite::Unlink(user) => remove_links(connection, *user, None)?,
        PeopleWrite::SavedView(row) => put_saved_view(connection, row)?,
        PeopleWrite::RemoveSavedView { app_id, flow_id, user_id, name } => {
            connection
                .prepare_cached(
                    "DELETE FROM saved_views \
                     WHERE app_id = ?1 AND flow_id = ?2 AND user_id = ?3 AND name = ?4",
                )?
                .execute(params![bytes!(app_id), bytes!(flow_id), bytes!(user_id), name])?;
        }
        PeopleWrite::Session(row) => put_session(connection, row)?,
        PeopleWrite::Touch { hash, used_at, expires_at } => {
            connection
                .prepare_cached(
                    "UPDATE sessions SET used_at = ?2, expires_at = ?3 WHERE hash = ?1",
                )?
                .execute(params![hash, used_at.as_millis(), expires_at.as_millis()])?;
        }
        PeopleWrite::Confirm { hash, confirmed_at } => {
            connection
                .prepare_cached("UPDATE sessions SET confirmed_at = ?2 WHERE hash = ?1")?
                .execute(params![hash, confirmed_at.as_millis()])?;
        }
        PeopleWrite::EndOtherSessions { user_id, kept } => {
            connection
                .prepare_cached("DELETE FROM sessions WHERE user_id = ?1 AND hash <> ?2")?
                .execute(params![bytes!(user_id), kept])?;
        }
        PeopleWrite::EndSession(hash) => {
            connection.prepare_cached("DELETE FROM sessions WHERE hash = ?1")?.execute([hash])?;
        }
        PeopleWrite::Sweep { before, limit: rows } => {
            connection
                .prepare_cached(
                    "DELETE FROM sessions WHERE hash IN (SELECT hash FROM sessions \
                     WHERE expires_at < ?1 ORDER BY expires_at LIMIT ?2)",
                )?
                .execute(params![before.as_millis(), limit(*rows)])?;
        }
    }
    Ok(())
}

/// Removes the links of a user, or only those that have expired.
fn remove_links(connection: &Connection, user: UserId, expired: Option<Timestamp>) -> Result<()> {
    let sql = "DELETE FROM links WHERE user_id = ?1 AND (?2 IS NULL OR expires_at <= ?2)";
    let params = params![bytes!(user), expired.map(Timestamp::as_millis)];
    connection.prepare_cached(sql)?.execute(params).map(|_| ())
}

fn add_link(connection: &Connection, row: &LinkRow) -> Result<()> {
    let sql = "INSERT INTO links (user_id, hash, expires_at) VALUES (?1, ?2, ?3)";
    let params = params![bytes!(row.user_id), row.hash, row.expires_at.as_millis()];
    connection.prepare_cached(sql)?.execute(params).map(|_| ())
}

pub(super) fn put_user(connection: &Connection, row: &UserRow) -> Result<()> {
    let (sealed, used_step, recovery) = SecondFactor::columns(row.second_factor.as_ref());
    connection
        .prepare_cached(
            "INSERT INTO users (user_id, email, name, password, issuer, subject, epoch, \
             created_at, disabled_at, totp_secret, totp_step, recovery_codes) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12) \
             ON CONFLICT (user_id) DO UPDATE SET email = excluded.email, name = excluded.name, \
             password = excluded.password, issuer = excluded.issuer, \
             subject = excluded.subject, epoch = excluded.epoch, \
             created_at = excluded.created_at, disabled_at = excluded.disabled_at, \
             totp_secret = excluded.totp_secret, totp_step = excluded.totp_step, \
             recovery_codes = excluded.recovery_codes",
        )?
        .execute(params![
            bytes!(row.user_id),
            row.email,
            row.name,
            row.password,
            row.subject.as_ref().map(|it| &it.issuer),
            row.subject.as_ref().map(|it| &it.subject),
            row.epoch,
            row.created_at.as_millis(),
            row.disabled_at.map(Timestamp::as_millis),
            sealed,
            used_step,
            recovery,
        ])
        .map(|_| ())
}

/// The app is checked explicitly and not by a foreign key, since the nil id means all apps.
pub(super) fn put_grant(connection: &Connection, row: &GrantRow) -> Result<(), TransactionError> {
    let written = connection
        .prepare_cached(
            "INSERT INTO grants (app_id, user_id, role) SELECT ?1, ?2, ?3 \
             WHERE ?1 = zeroblob(16) OR EXISTS (SELECT 1 FROM apps WHERE app_id = ?1) \
             ON CONFLICT (app_id, user_id) DO UPDATE SET role = excluded.role",
        )?
        .execute(params![
            or_none(row.app_id),
            bytes!(row.user_id),
            codec::variant_name(&row.role)?
        ])?;
    match written {
        0 => Err(TransactionError::Answer(StoreError::Failed(
            "a grant names an app that does not exist".into(),
        ))),
        _ => Ok(()),
    }
}

pub(super) fn put_saved_view(connection: &Connection, row: &SavedViewRow) -> Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO saved_views (app_id, flow_id, user_id, name, query, is_default) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (app_id, flow_id, user_id, name) \
             DO UPDATE SET query = excluded.query, is_default = excluded.is_default",
        )?
        .execute(params![
            bytes!(row.app_id),
            bytes!(row.flow_id),
            bytes!(row.user_id),
            row.name,
            row.query,
            row.is_default,
        ])
        .map(|_| ())
}

fn put_session(connection: &Connection, row: &SessionRow) -> Result<()> {
    let (user, epoch, token) = match row.holder {
        SessionHolder::User { user_id, epoch } => (Some(bytes!(user_id)), Some(epoch), None),
        SessionHolder::Token(hash) => (None, None, Some(hash)),
    };
    connection
        .prepare_cached(
            "INSERT INTO sessions (hash, user_id, epoch, token_hash, created_at, used_at, \
             expires_at, confirmed_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        )?
        .execute(params![
            row.hash,
            user,
            epoch,
            token,
            row.created_at.as_millis(),
            row.used_at.as_millis(),
            row.expires_at.as_millis(),
            row.confirmed_at.as_millis(),
        ])
        .map(|_| ())
}

fn or_none(app: Option<AppId>) -> [u8; 16] {
    app.map_or(NO_APP, |id| bytes!(id))
}
