//! Users, grants, links, saved views and sessions: writes and lookups.

use sluice_flow::id::{AppId, FlowId, UserId};
use sluice_flow::time::Timestamp;
use uuid::Uuid;

use super::codec::{self, Cells, GRANT, LINK, ReadCells as _, SAVED_VIEW, SESSION, USER};
use super::directory;
use super::failure::TransactionError;
use super::pool::{Params, Pool};
use super::put::or_nil;
use super::read::limit;
use super::transaction::Transaction;
use crate::{
    GrantRow, LinkRow, Page, PeopleWrite, SavedViewRow, SecondFactor, SecretHash, SessionHolder,
    SessionRow, StoreResult, User, UserKey, UserRow, joined,
};

fn user_and_grant(cells: &mut Cells) -> StoreResult<(UserRow, Option<GrantRow>)> {
    let row = codec::user(cells)?;
    let has_grant: bool = cells.take()?;
    Ok((row, has_grant.then(|| codec::grant(cells)).transpose()?))
}

pub(super) async fn revision(pool: &Pool) -> StoreResult<u64> {
    let found = pool.one("SELECT revision FROM people", &[], |cells| cells.revision()).await?;
    Ok(found.unwrap_or_default())
}

/// Increments the revision if it is still the expected one; waits for a concurrent change.
pub(super) async fn advance(
    transaction: &Transaction,
    expected: u64,
) -> Result<bool, TransactionError> {
    let sql = "UPDATE people SET revision = revision + 1 WHERE revision = $1";
    Ok(transaction.execute(sql, &[&expected.cast_signed()]).await? == 1)
}

pub(super) async fn find(pool: &Pool, key: &UserKey) -> StoreResult<Option<User>> {
    let found = |condition: &str| {
        format!(
            "SELECT {USER}, grants.role IS NOT NULL, {GRANT} FROM users \
             LEFT JOIN grants ON grants.user_id = users.user_id \
             WHERE {condition} ORDER BY grants.app_id"
        )
    };
    let rows = match key {
        UserKey::Id(id) => {
            pool.many(&found("users.user_id = $1"), &[&id.uuid()], user_and_grant).await
        }
        UserKey::Email(email) => {
            let email = email.to_ascii_lowercase();
            pool.many(&found("lower(users.email) = $1"), &[&email], user_and_grant).await
        }
        UserKey::Subject(it) => {
            let sql = found("users.issuer = $1 AND users.subject = $2");
            pool.many(&sql, &[&it.issuer, &it.subject], user_and_grant).await
        }
    }?;
    Ok(joined(rows).pop())
}

/// All users, or those with a grant for the app or for all apps.
pub(super) async fn list(
    pool: &Pool,
    app: Option<AppId>,
    page: Page<UserId>,
) -> StoreResult<Vec<User>> {
    let sql = format!(
        "SELECT {USER}, grants.role IS NOT NULL, {GRANT} FROM \
         (SELECT * FROM users WHERE user_id > $1 AND ($3::uuid IS NULL OR EXISTS \
         (SELECT FROM grants AS held WHERE held.user_id = users.user_id \
         AND held.app_id IN ($3, $4))) ORDER BY user_id LIMIT $2) AS users \
         LEFT JOIN grants ON grants.user_id = users.user_id \
         ORDER BY users.user_id, grants.app_id"
    );
    let after = page.after.map_or(Uuid::nil(), UserId::uuid);
    let params: Params = &[&after, &limit(page.limit), &app.map(AppId::uuid), &Uuid::nil()];
    Ok(joined(pool.many(&sql, params, user_and_grant).await?))
}

pub(super) async fn link(pool: &Pool, hash: &SecretHash) -> StoreResult<Option<LinkRow>> {
    let sql = format!("SELECT {LINK} FROM links WHERE hash = $1");
    pool.one(&sql, &[&hash.as_slice()], codec::link).await
}

pub(super) async fn session(pool: &Pool, hash: &SecretHash) -> StoreResult<Option<SessionRow>> {
    pool.one(
        &format!("SELECT {SESSION} FROM sessions WHERE hash = $1"),
        &[&hash.as_slice()],
        codec::session,
    )
    .await
}

pub(super) async fn sessions(
    pool: &Pool,
    user: UserId,
    epoch: u32,
    rows: usize,
) -> StoreResult<Vec<SessionRow>> {
    let sql = format!(
        "SELECT {SESSION} FROM sessions WHERE user_id = $1 AND epoch = $2 ORDER BY used_at DESC, hash LIMIT $3"
    );
    pool.many(&sql, &[&user.uuid(), &i64::from(epoch), &limit(rows)], codec::session).await
}

pub(super) async fn saved_views(
    pool: &Pool,
    flow: FlowId,
    user: UserId,
) -> StoreResult<Vec<SavedViewRow>> {
    let sql = format!(
        "SELECT {SAVED_VIEW} FROM saved_views \
         WHERE user_id = $1 AND flow_id = $2 ORDER BY name"
    );
    pool.many(&sql, &[&user.uuid(), &flow.uuid()], codec::saved_view).await
}

pub(super) async fn put(
    transaction: &Transaction,
    write: &PeopleWrite,
) -> Result<(), TransactionError> {
    match write {
        PeopleWrite::User(row) => put_user(transaction, row).await,
        PeopleWrite::Grant(row) => put_grant(transaction, row).await,
        PeopleWrite::Ungrant { user_id, app_id } => {
            let sql = "DELETE FROM grants WHERE app_id = $1 AND user_id = $2";
            done(transaction, sql, &[&or_nil(*app_id), &user_id.uuid()]).await
        }
        PeopleWrite::Link(row) => {
            remove_links(transaction, row.user_id, None).await?;
            add_link(transaction, row).await
        }
        PeopleWrite::AnotherLink { link, now } => {
            remove_links(transaction, link.user_id, Some(*now)).await?;
            add_link(transaction, link).await
        }
        PeopleWrite::Unlink(user) => remove_links(transaction, *user, None).await,
        PeopleWrite::SavedView(row) => put_saved_view(transaction, row).await,
        PeopleWrite::RemoveSavedView { app_id, flow_id, user_id, name } => {
            let sql = "DELETE FROM saved_views \
                 WHERE app_id = $1 AND flow_id = $2 AND user_id = $3 AND name = $4";
            let ids = (app_id.uuid(), flow_id.uuid(), user_id.uuid());
            done(transaction, sql, &[&ids.0, &ids.1, &ids.2, name]).await
        }
        PeopleWrite::Session(row) => put_session(transaction, row).await,
        PeopleWrite::Touch { hash, used_at, expires_at } => {
            let sql = "UPDATE sessions SET used_at = $2, expires_at = $3 WHERE hash = $1";
            let times = (used_at.as_millis(), expires_at.as_millis());
            done(transaction, sql, &[&hash.as_slice(), &times.0, &times.1]).await
        }
        PeopleWrite::Confirm { hash, confirmed_at } => {
            let sql = "UPDATE sessions SET confirmed_at = $2 WHERE hash = $1";
            done(transaction, sql, &[&hash.as_slice(), &confirmed_at.as_millis()]).await
        }
        PeopleWrite::EndOtherSessions { user_id, kept } => {
            let sql = "DELETE FROM sessions WHERE user_id = $1 AND hash <> $2";
            done(transaction, sql, &[&user_id.uuid(), &kept.as_slice()]).await
        }
        PeopleWrite::EndSession(hash) => {
            done(transaction, "DELETE FROM sessions WHERE hash = $1", &[&hash.as_slice()]).await
        }
        PeopleWrite::Sweep { before, limit: rows } => {
            let sql = "DELETE FROM sessions WHERE hash IN (SELECT hash FROM sessions \
                 WHERE expires_at < $1 ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED)";
            done(transaction, sql, &[&before.as_millis(), &limit(*rows)]).await
        }
    }
}

async fn done(
    transaction: &Transaction,
    sql: &str,
    params: Params<'_>,
) -> Result<(), TransactionError> {
    transaction.execute(sql, params).await.map(|_| ())
}

/// Removes the links of a user, or only those that have expired.
async fn remove_links(
    transaction: &Transaction,
    user: UserId,
    expired: Option<Timestamp>,
) -> Result<(), TransactionError> {
    let sql = "DELETE FROM links WHERE user_id = $1 AND ($2::bigint IS NULL OR expires_at <= $2)";
    done(transaction, sql, &[&user.uuid(), &expired.map(Timestamp::as_millis)]).await
}

async fn add_link(transaction: &Transaction, row: &LinkRow) -> Result<(), TransactionError> {
    let sql = "INSERT INTO links (user_id, hash, expires_at) VALUES ($1, $2, $3)";
    let (hash, until) = (row.hash.as_slice(), row.expires_at.as_millis());
    done(transaction, sql, &[&row.user_id.uuid(), &hash, &until]).await
}

pub(super) async fn put_user(
    transaction: &Transaction,
    row: &UserRow,
) -> Result<(), TransactionError> {
    let sql = "INSERT INTO users (user_id, email, name, password, issuer, subject, epoch, \
         created_at, disabled_at, totp_secret, totp_step, recovery_codes) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) \
         ON CONFLICT (user_id) DO UPDATE SET email = excluded.email, name = excluded.name, \
         password = excluded.password, issuer = excluded.issuer, subject = excluded.subject, \
         epoch = excluded.epoch, created_at = excluded.created_at, \
         disabled_at = excluded.disabled_at, totp_secret = excluded.totp_secret, \
         totp_step = excluded.totp_step, recovery_codes = excluded.recovery_codes";
    let subject = row.subject.as_ref();
    let subject = (subject.map(|it| &it.issuer), subject.map(|it| &it.subject));
    let factor = SecondFactor::columns(row.second_factor.as_ref());
    let epoch = i64::from(row.epoch);
    let times = (row.created_at.as_millis(), row.disabled_at.map(Timestamp::as_millis));
    let params: Params = &[
        &row.user_id.uuid(),
        &row.email,
        &row.name,
        &row.password,
        &subject.0,
        &subject.1,
        &epoch,
        &times.0,
        &times.1,
        &factor.0,
        &factor.1,
        &factor.2,
    ];
    done(transaction, sql, params).await
}

/// The app is checked explicitly and not by a foreign key, since the nil id means all apps.
pub(super) async fn put_grant(
    transaction: &Transaction,
    row: &GrantRow,
) -> Result<(), TransactionError> {
    directory::must_exist(transaction, row.app_id, "a grant").await?;
    let sql = "INSERT INTO grants (app_id, user_id, role) VALUES ($1, $2, $3) \
         ON CONFLICT (app_id, user_id) DO UPDATE SET role = excluded.role";
    let (app, role) = (or_nil(row.app_id), codec::variant_name(&row.role)?);
    done(transaction, sql, &[&app, &row.user_id.uuid(), &role]).await
}

pub(super) async fn put_saved_view(
    transaction: &Transaction,
    row: &SavedViewRow,
) -> Result<(), TransactionError> {
    let sql = "INSERT INTO saved_views (app_id, flow_id, user_id, name, query, is_default) \
         VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (app_id, flow_id, user_id, name) \
         DO UPDATE SET query = excluded.query, is_default = excluded.is_default";
    let ids = (row.app_id.uuid(), row.flow_id.uuid(), row.user_id.uuid());
    let params: Params = &[&ids.0, &ids.1, &ids.2, &row.name, &row.query, &row.is_default];
    done(transaction, sql, params).await
}

async fn put_session(transaction: &Transaction, row: &SessionRow) -> Result<(), TransactionError> {
    let sql = "INSERT INTO sessions (hash, user_id, epoch, token_hash, created_at, used_at, \
         expires_at, confirmed_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
    let (user, epoch, token) = match &row.holder {
        SessionHolder::User { user_id, epoch } => {
            (Some(user_id.uuid()), Some(i64::from(*epoch)), None)
        }
        SessionHolder::Token(hash) => (None, None, Some(hash.as_slice())),
    };
    let times = [row.created_at, row.used_at, row.expires_at, row.confirmed_at];
    let times = times.map(Timestamp::as_millis);
    let hash = row.hash.as_slice();
    let params: Params =
        &[&hash, &user, &epoch, &token, &times[0], &times[1], &times[2], &times[3]];
    done(transaction, sql, params).await
}
