//! Positions in sinks, and who publishes to them.

use async_trait::async_trait;
use rusqlite::{Connection, Result, params};

use super::SqliteStore;
use super::codec::{self, SINK_POSITION, bytes};
use super::read::many;
use super::transaction::{Finish, TransactionError};
use crate::{SinkLease, SinkPositionRow, SinkStore, StoreResult};

#[async_trait]
impl SinkStore for SqliteStore {
    async fn lease_sink(&self, lease: SinkLease) -> StoreResult<bool> {
        self.writer.run(move |it| take(it, &lease)).await
    }

    async fn list_sinks(&self) -> StoreResult<Vec<String>> {
        let sql = "SELECT DISTINCT sink FROM sink_positions ORDER BY sink";
        self.readers.read(move |it| many(it, sql, [], |cells| cells.take())).await
    }

    async fn list_sink_positions(&self, sink: &str) -> StoreResult<Vec<SinkPositionRow>> {
        let sink = sink.to_owned();
        let sql =
            format!("SELECT {SINK_POSITION} FROM sink_positions WHERE sink = ?1 ORDER BY app_id");
        self.readers.read(move |it| many(it, &sql, [sink], codec::sink_position)).await
    }

    async fn save_sink_positions(
        &self,
        lease: SinkLease,
        rows: Vec<SinkPositionRow>,
    ) -> StoreResult<bool> {
        self.writer.run(move |it| save(it, &lease, &rows)).await
    }
}

fn take(connection: &Connection, lease: &SinkLease) -> Result<(bool, Finish), TransactionError> {
    let sql = "INSERT INTO sink_leases (sink, leased_by, leased_until) VALUES (?1, ?2, ?4) \
         ON CONFLICT (sink) DO UPDATE SET leased_by = ?2, leased_until = ?4 \
         WHERE leased_by = ?2 OR leased_until <= ?3";
    let times = (lease.now.as_millis(), lease.until.as_millis());
    let params = params![lease.sink, lease.worker, times.0, times.1];
    match connection.prepare_cached(sql)?.execute(params)? {
        0 => Ok((false, Finish::RollBack)),
        _ => Ok((true, Finish::Commit)),
    }
}

fn save(
    connection: &Connection,
    lease: &SinkLease,
    rows: &[SinkPositionRow],
) -> Result<(bool, Finish), TransactionError> {
    let sql = "UPDATE sink_leases SET leased_until = ?3 WHERE sink = ?1 AND leased_by = ?2";
    let params = params![lease.sink, lease.worker, lease.until.as_millis()];
    if connection.prepare_cached(sql)?.execute(params)? == 0 {
        return Ok((false, Finish::RollBack));
    }
    rows.iter().try_for_each(|row| put(connection, row))?;
    Ok((true, Finish::Commit))
}

pub(super) fn put(connection: &Connection, row: &SinkPositionRow) -> Result<()> {
    let sql = format!(
        "INSERT INTO sink_positions ({SINK_POSITION}) VALUES (?1, ?2, ?3) \
         ON CONFLICT (app_id, sink) DO UPDATE SET position = excluded.position"
    );
    let params = params![bytes!(row.app_id), row.sink, bytes!(row.position)];
    connection.prepare_cached(&sql)?.execute(params).map(|_| ())
}
