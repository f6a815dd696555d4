//! Assets.

use async_trait::async_trait;
use rusqlite::{Connection, Result, params};
use sluice_flow::id::{AppId, AssetId};

use super::SqliteStore;
use super::codec::{self, ASSET, ASSET_INFO, VERSION, bytes};
use super::read::{many, one};
use crate::{AssetInfo, AssetRow, AssetStore, StoreResult, VersionRow};

#[async_trait]
impl AssetStore for SqliteStore {
    async fn find_asset(&self, asset: AssetId) -> StoreResult<Option<AssetRow>> {
        self.readers.read(move |it| by_id(it, asset)).await
    }

    async fn list_assets(&self, app: AppId) -> StoreResult<Vec<AssetInfo>> {
        self.readers.read(move |it| of_app(it, app)).await
    }

    async fn versions_naming(&self, app: AppId, asset: AssetId) -> StoreResult<Vec<VersionRow>> {
        self.readers.read(move |it| naming(it, app, asset)).await
    }
}

fn by_id(connection: &Connection, asset: AssetId) -> Result<Option<AssetRow>> {
    let sql = format!("SELECT {ASSET} FROM assets WHERE asset_id = ?1");
    one(connection, &sql, [bytes!(asset)], codec::asset)
}

fn of_app(connection: &Connection, app: AppId) -> Result<Vec<AssetInfo>> {
    let sql = format!(
        "SELECT {ASSET_INFO}, length(bytes) FROM assets WHERE app_id = ?1 ORDER BY asset_id DESC"
    );
    many(connection, &sql, [bytes!(app)], codec::asset_info)
}

fn naming(connection: &Connection, app: AppId, asset: AssetId) -> Result<Vec<VersionRow>> {
    let sql = format!(
        "SELECT {VERSION} FROM versions WHERE app_id = ?1 AND instr(definition, ?2) > 0 \
         ORDER BY flow_version_id"
    );
    many(connection, &sql, params![bytes!(app), asset.to_string()], codec::version)
}

pub(super) fn put(connection: &Connection, row: &AssetRow) -> Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO assets (app_id, asset_id, content_type, width, height, digest, \
             created_at, bytes) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) \
             ON CONFLICT (app_id, asset_id) DO UPDATE SET content_type = excluded.content_type, \
             width = excluded.width, height = excluded.height, digest = excluded.digest, \
             created_at = excluded.created_at, bytes = excluded.bytes",
        )?
        .execute(params![
            bytes!(row.app_id),
            bytes!(row.asset_id),
            row.content_type.as_str(),
            row.width,
            row.height,
            row.digest,
            row.created_at.as_millis(),
            row.bytes,
        ])
        .map(|_| ())
}

pub(super) fn delete(connection: &Connection, app: AppId, asset: AssetId) -> Result<()> {
    connection
        .prepare_cached("DELETE FROM assets WHERE app_id = ?1 AND asset_id = ?2")?
        .execute(params![bytes!(app), bytes!(asset)])
        .map(|_| ())
}
