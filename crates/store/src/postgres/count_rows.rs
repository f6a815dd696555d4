//! The rows that counting needs: the lock of a flow, definitions, and the parts of daily counts.

use sluice_flow::counts::{DailyCounts, StoredPart};
use sluice_flow::id::{AppId, FlowId, FlowVersionId};
use uuid::Uuid;

use super::codec::{Cells, ReadCells as _};
use super::failure::TransactionError;
use super::pool::Params;
use super::transaction::Transaction;
use crate::ResponseRow;
use crate::counting::{self, DailyCountsKey, Definitions};

/// `apps` is joined for its one row, so that a distributed database knows the app of the rows.
const PUT_PARTS: &str = "INSERT INTO counts (app_id, flow_id, day, flow_version_id, segment, \
     responses, admitted, body) SELECT apps.app_id, $2, $3, $4, given.* \
     FROM apps, unnest($5::bytea[], $6::bigint[], $7::bigint[], $8::bytea[]) AS given \
     WHERE apps.app_id = $1 ON CONFLICT (app_id, flow_id, segment, day, flow_version_id) DO UPDATE SET \
     responses = excluded.responses, admitted = excluded.admitted, body = excluded.body";
const DROP_PARTS: &str = "DELETE FROM counts WHERE app_id = $1 AND flow_id = $2 AND day = $3 \
     AND flow_version_id = $4 AND segment = ANY($5)";

/// What the lock of a flow is for. Both kinds exclude each other and themselves.
#[derive(Debug, Clone, Copy)]
pub(super) enum Lock {
    ToFold,
    /// The cursor of the scan will move, so removals are excluded as well.
    ToScan,
}

impl Lock {
    fn strength(self) -> &'static str {
        match self {
            Self::ToFold => "NO KEY UPDATE",
            Self::ToScan => "UPDATE",
        }
    }
}

/// Settings until the end of the transaction: rows are found by their keys, however the tables have
/// grown since their statistics were made.
const BY_KEY: &str = "set_config('enable_seqscan', 'off', true), \
     set_config('enable_sort', 'off', true), set_config('jit', 'off', true), \
     set_config('plan_cache_mode', 'force_custom_plan', true)";

/// Takes the lock of a flow and returns the scan's cursor; `None` if another process has the lock.
pub(super) async fn lock(
    transaction: &Transaction,
    app: AppId,
    flow: FlowId,
    lock: Lock,
) -> Result<Option<Option<Uuid>>, TransactionError> {
    let sql = format!(
        "SELECT passed, {BY_KEY} FROM count_scans WHERE app_id = $1 AND flow_id = $2 \
         FOR {} SKIP LOCKED",
        lock.strength()
    );
    let params: Params = &[&app.uuid(), &flow.uuid()];
    let mut rows = transaction.query(&sql, params).await?;
    if rows.is_empty() {
        let made = "INSERT INTO count_scans (app_id, flow_id) VALUES ($1, $2) \
             ON CONFLICT (app_id, flow_id) DO NOTHING";
        transaction.execute(made, params).await?;
        rows = transaction.query(&sql, params).await?;
    }
    Ok(rows.first().map(|row| Cells::new(row).take()).transpose()?)
}

/// Records that responses of a flow were counted, for the skip index. The caller has the lock.
pub(super) async fn add_unindexed(
    transaction: &Transaction,
    app: AppId,
    flow: FlowId,
    responses: i64,
) -> Result<(), TransactionError> {
    let sql = "UPDATE count_scans SET unindexed = unindexed + $3 \
         WHERE app_id = $1 AND flow_id = $2";
    match responses {
        0 => Ok(()),
        _ => transaction.execute(sql, &[&app.uuid(), &flow.uuid(), &responses]).await.map(|_| ()),
    }
}

/// The definitions of the versions of these responses.
pub(super) async fn definitions<'r>(
    transaction: &Transaction,
    app: AppId,
    rows: impl Iterator<Item = &'r ResponseRow>,
) -> Result<Definitions, TransactionError> {
    let mut versions: Vec<Uuid> = rows.map(|row| row.flow_version_id.uuid()).collect();
    versions.sort();
    versions.dedup();
    let sql = "SELECT flow_version_id, definition FROM versions \
         WHERE app_id = $1 AND flow_version_id = ANY($2)";
    let mut definitions = Definitions::new();
    for row in transaction.query(sql, &[&app.uuid(), &versions]).await? {
        let mut cells = Cells::new(&row);
        let version = cells.id(FlowVersionId::from_uuid)?;
        definitions.insert(version, counting::definition_of(cells.take()?));
    }
    Ok(definitions)
}

/// Writes the changed parts of daily counts.
pub(super) async fn write(
    transaction: &Transaction,
    key: &DailyCountsKey,
    daily: DailyCounts,
) -> Result<(), TransactionError> {
    let (app, flow, version) = (key.app_id.uuid(), key.flow_id.uuid(), key.flow_version_id.uuid());
    let day = key.day.number();
    let (mut kept, mut responses, mut admitted) = (Vec::new(), Vec::new(), Vec::new());
    let (mut bodies, mut dropped) = (Vec::new(), Vec::new());
    for StoredPart { segment, responses: all, admitted: known, body } in daily.into_parts() {
        match body {
            Some(body) => {
                kept.push(segment);
                responses.push(all);
                admitted.push(known);
                bodies.push(body);
            }
            None => dropped.push(segment),
        }
    }
    if !kept.is_empty() {
        let params: Params = &[&app, &flow, &day, &version, &kept, &responses, &admitted, &bodies];
        transaction.execute(PUT_PARTS, params).await?;
    }
    if !dropped.is_empty() {
        transaction.execute(DROP_PARTS, &[&app, &flow, &day, &version, &dropped]).await?;
    }
    Ok(())
}
