//! Short paths of hosted pages.

use async_trait::async_trait;
use rusqlite::{Connection, Result, params};
use sluice_flow::id::{AppId, FlowId};

use super::SqliteStore;
use super::codec::{self, SHORT_PATH, bytes};
use super::read::one;
use crate::{ShortPathRow, ShortPathStore, StoreResult};

#[async_trait]
impl ShortPathStore for SqliteStore {
    async fn find_short_path(&self, path: &str) -> StoreResult<Option<ShortPathRow>> {
        let path = path.to_owned();
        self.readers.read(move |it| by_path(it, &path)).await
    }

    async fn short_path_of(&self, app: AppId, flow: FlowId) -> StoreResult<Option<ShortPathRow>> {
        self.readers.read(move |it| of_flow(it, app, flow)).await
    }
}

fn by_path(connection: &Connection, path: &str) -> Result<Option<ShortPathRow>> {
    let sql = format!("SELECT {SHORT_PATH} FROM short_paths WHERE path = ?1");
    one(connection, &sql, [path], codec::short_path)
}

fn of_flow(connection: &Connection, app: AppId, flow: FlowId) -> Result<Option<ShortPathRow>> {
    let sql = format!("SELECT {SHORT_PATH} FROM short_paths WHERE app_id = ?1 AND flow_id = ?2");
    one(connection, &sql, params![bytes!(app), bytes!(flow)], codec::short_path)
}

pub(super) fn put(connection: &Connection, row: &ShortPathRow) -> Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO short_paths (app_id, flow_id, path) VALUES (?1, ?2, ?3) \
             ON CONFLICT (app_id, flow_id) DO UPDATE SET path = excluded.path",
        )?
        .execute(params![bytes!(row.app_id), bytes!(row.flow_id), row.path])
        .map(|_| ())
}

pub(super) fn delete(connection: &Connection, app: AppId, flow: FlowId) -> Result<()> {
    connection
        .prepare_cached("DELETE FROM short_paths WHERE app_id = ?1 AND flow_id = ?2")?
        .execute(params![bytes!(app), bytes!(flow)])
        .map(|_| ())
}
