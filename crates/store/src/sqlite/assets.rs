//! Assets.

use std::collections::BTreeSet;

use async_trait::async_trait;
use rusqlite::{Connection, Result, params};
use sluice_flow::id::{AppId, AssetId};
use sluice_flow::time::Timestamp;

use super::SqliteStore;
use super::codec::{self, ASSET, ASSET_INFO, LISTED_FLOW, VERSION, bytes};
use super::read::{many, one};
use crate::asset;
use crate::{AssetInfo, AssetRow, AssetStore, FlowRow, StoreResult, VersionRow};

#[async_trait]
impl AssetStore for SqliteStore {
    async fn find_asset(&self, asset: AssetId) -> StoreResult<Option<AssetRow>> {
        self.readers.read(move |it| by_id(it, asset)).await
    }

    async fn list_assets(&self, app: AppId) -> StoreResult<Vec<AssetInfo>> {
        self.readers.read(move |it| of_app(it, app)).await
    }

    async fn flows_naming(
        &self,
        app: AppId,
        assets: &[AssetId],
        now: Timestamp,
    ) -> StoreResult<Vec<(FlowRow, Vec<VersionRow>)>> {
        let ids: Vec<String> = assets.iter().map(AssetId::to_string).collect();
        let ids = serde_json::Value::from(ids).to_string();
        self.readers.read(move |it| naming(it, app, &ids, now)).await
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

/// `ids` is a JSON array.
fn naming(
    connection: &Connection,
    app: AppId,
    ids: &str,
    now: Timestamp,
) -> Result<Vec<(FlowRow, Vec<VersionRow>)>> {
    // A text without the prefix of ids is searched once, not for each of them.
    let names = |column: &str| {
        format!(
            "(instr({column}, '{}') > 0 AND EXISTS \
             (SELECT 1 FROM json_each(?2) WHERE instr({column}, value) > 0))",
            AssetId::PREFIX
        )
    };
    let instant = connection.unchecked_transaction()?;
    let sql = format!(
        "SELECT {VERSION} FROM versions WHERE app_id = ?1 AND retired_at IS NULL \
         AND (superseded_at IS NULL OR grace_ends_at > ?3) AND {} ORDER BY flow_version_id",
        names("definition")
    );
    let (id, now) = (bytes!(app), now.as_millis());
    let versions = many(&instant, &sql, params![id, ids, now], codec::version)?;
    let sql = format!(
        "SELECT {LISTED_FLOW} FROM flows WHERE app_id = ?1 AND ({} OR flow_id IN \
         (SELECT unhex(value) FROM json_each(?3))) ORDER BY flow_id",
        names("design")
    );
    let found: BTreeSet<String> =
        versions.iter().map(|it| it.flow_id.uuid().simple().to_string()).collect();
    let found = serde_json::Value::from_iter(found).to_string();
    let flows = many(&instant, &sql, params![id, ids, found], codec::flow)?;
    Ok(asset::grouped(flows, versions))
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
