//! Apps and their keys.

use rusqlite::{Connection, Result, params};
use sluice_flow::id::{ApiKey, AppId};

use super::super::codec::{self, APP, IDENTITY_KEY, KEY, LISTED_APP, bytes};
use super::{limit, many, one};
use crate::{App, IdentityKeyRow, KeyRow, Page};

pub(in super::super) fn by_key(connection: &Connection, key: &ApiKey) -> Result<Option<App>> {
    let sql = format!(
        "SELECT {APP} FROM api_keys JOIN apps USING (app_id) \
         WHERE api_key = ?1 AND revoked_at IS NULL"
    );
    one(connection, &sql, [key.as_str()], codec::app)
}

pub(in super::super) fn by_id(connection: &Connection, app: AppId) -> Result<Option<App>> {
    one(connection, &format!("SELECT {APP} FROM apps WHERE app_id = ?1"), [bytes!(app)], codec::app)
}

pub(in super::super) fn list(connection: &Connection, page: Page<AppId>) -> Result<Vec<App>> {
    let after = page.after.map(|id| bytes!(id)).unwrap_or_default();
    let sql = format!("SELECT {LISTED_APP} FROM apps WHERE app_id > ?1 ORDER BY app_id LIMIT ?2");
    many(connection, &sql, params![after, limit(page.limit)], codec::app)
}

pub(in super::super) fn by_ids(connection: &Connection, mut apps: Vec<AppId>) -> Result<Vec<App>> {
    apps.sort_unstable();
    apps.dedup();
    let instant = connection.unchecked_transaction()?;
    let sql = format!("SELECT {LISTED_APP} FROM apps WHERE app_id = ?1");
    let found = apps.into_iter().map(|app| one(&instant, &sql, [bytes!(app)], codec::app));
    found.filter_map(Result::transpose).collect()
}

pub(in super::super) fn keys(connection: &Connection, apps: &[AppId]) -> Result<Vec<KeyRow>> {
    let instant = connection.unchecked_transaction()?;
    let sql = format!("SELECT {KEY} FROM api_keys WHERE app_id = ?1 ORDER BY created_at, api_key");
    let mut keys = Vec::new();
    for app in apps {
        keys.extend(many(&instant, &sql, [bytes!(app)], codec::key)?);
    }
    Ok(keys)
}

pub(in super::super) fn identity_keys(
    connection: &Connection,
    app: AppId,
) -> Result<Vec<IdentityKeyRow>> {
    let sql = format!(
        "SELECT {IDENTITY_KEY} FROM identity_keys WHERE app_id = ?1 ORDER BY created_at, kid"
    );
    many(connection, &sql, [bytes!(app)], codec::identity_key)
}
