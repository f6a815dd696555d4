//! Apps and their keys, all from the directory: one node has them.

use sluice_flow::id::{ApiKey, AppId};
use uuid::Uuid;

use super::super::codec::{self, APP, IDENTITY_KEY, KEY, LISTED_APP};
use super::super::pool::Pool;
use super::limit;
use crate::{App, IdentityKeyRow, KeyRow, Page, StoreResult};

pub(in super::super) async fn by_key(pool: &Pool, key: &ApiKey) -> StoreResult<Option<App>> {
    let sql = format!(
        "SELECT {APP} FROM api_keys JOIN app_directory AS apps ON apps.app_id = api_keys.app_id \
         WHERE api_keys.api_key = $1 AND api_keys.revoked_at IS NULL"
    );
    pool.one(&sql, &[&key.as_str()], codec::app).await
}

pub(in super::super) async fn by_id(pool: &Pool, app: AppId) -> StoreResult<Option<App>> {
    let sql = format!("SELECT {APP} FROM app_directory AS apps WHERE app_id = $1");
    pool.one(&sql, &[&app.uuid()], codec::app).await
}

pub(in super::super) async fn list(pool: &Pool, page: Page<AppId>) -> StoreResult<Vec<App>> {
    let after = page.after.map_or(Uuid::nil(), AppId::uuid);
    let sql = format!(
        "SELECT {LISTED_APP} FROM app_directory AS apps WHERE app_id > $1 ORDER BY app_id LIMIT $2"
    );
    pool.many(&sql, &[&after, &limit(page.limit)], codec::app).await
}

pub(in super::super) async fn by_ids(pool: &Pool, apps: &[AppId]) -> StoreResult<Vec<App>> {
    let apps: Vec<Uuid> = apps.iter().map(|app| app.uuid()).collect();
    let sql = format!(
        "SELECT {LISTED_APP} FROM app_directory AS apps WHERE app_id = ANY($1) ORDER BY app_id"
    );
    pool.many(&sql, &[&apps], codec::app).await
}

pub(in super::super) async fn keys(pool: &Pool, apps: &[AppId]) -> StoreResult<Vec<KeyRow>> {
    let apps: Vec<Uuid> = apps.iter().map(|app| app.uuid()).collect();
    let sql = format!(
        "SELECT {KEY} FROM api_keys WHERE app_id = ANY($1) ORDER BY app_id, created_at, api_key"
    );
    pool.many(&sql, &[&apps], codec::key).await
}

pub(in super::super) async fn identity_keys(
    pool: &Pool,
    app: AppId,
) -> StoreResult<Vec<IdentityKeyRow>> {
    let sql = format!(
        "SELECT {IDENTITY_KEY} FROM identity_keys WHERE app_id = $1 ORDER BY created_at, kid"
    );
    pool.many(&sql, &[&app.uuid()], codec::identity_key).await
}
