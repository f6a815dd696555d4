//! Reads and assembles counts.

use sluice_flow::id::{AppId, FlowId, FlowVersionId};
use sluice_flow::time::Day;
use uuid::Uuid;

use super::super::codec::{Cells, ReadCells as _};
use super::super::failure::TransactionError;
use super::super::pool::{Params, Pool};
use super::super::transaction::Transaction;
use crate::counting::{CountsRow, DamagedDay, Reading};
use crate::{CountsQuery, DayTotal, FlowCounts, StoreError, StoreResult};

const READ: &str = "SELECT 0, flow_version_id, day, segment, body FROM counts \
     WHERE app_id = $1 AND flow_id = $2 AND segment IN ('', $3) \
     AND day BETWEEN $4 AND $5 \
     UNION ALL SELECT CASE WHEN removal THEN 2 ELSE 1 END, flow_version_id, day, '', body \
     FROM count_deltas WHERE app_id = $1 AND flow_id = $2 AND day BETWEEN $4 AND $5 \
     UNION ALL SELECT 3, passed, 0, '', '' FROM count_scans \
     WHERE app_id = $1 AND flow_id = $2 AND passed IS NOT NULL ORDER BY 1";
const TOTALS: &str = "SELECT flow_id, day, sum(responses)::bigint FROM ( \
     SELECT counts.flow_id, day, responses FROM flows JOIN counts \
     ON counts.app_id = flows.app_id AND counts.flow_id = flows.flow_id AND segment = '' \
     AND day >= $2 WHERE flows.app_id = $1 \
     UNION ALL SELECT flow_id, day, responses FROM count_deltas \
     WHERE app_id = $1 AND day >= $2) AS days \
     GROUP BY flow_id, day ORDER BY flow_id, day";

/// One statement, so read at one instant.
pub(in super::super) async fn of_flow(
    pool: &Pool,
    app: AppId,
    flow: FlowId,
    query: &CountsQuery,
) -> StoreResult<Result<FlowCounts, DamagedDay>> {
    let ((from, to), segment) = (query.days(), query.segment.clone());
    let wanted = segment.as_deref().unwrap_or_default();
    let params: Params = &[&app.uuid(), &flow.uuid(), &wanted, &from, &to];
    let rows = pool.many(READ, params, row).await?;
    if rows.iter().map(|row| row.4.len()).sum::<usize>() <= AT_ONCE_BYTES_MAX {
        return Ok(assemble(&rows, segment));
    }
    let assembled = tokio::task::spawn_blocking(move || assemble(&rows, segment));
    assembled.await.map_err(|panicked| StoreError::Failed(Box::new(panicked)))
}

/// All days of a flow, at the instant of a transaction.
pub(in super::super) async fn of_flow_in(
    transaction: &Transaction,
    app: AppId,
    flow: FlowId,
) -> Result<Result<FlowCounts, DamagedDay>, TransactionError> {
    let ((from, to), none) = (CountsQuery::default().days(), b"".as_slice());
    let params: Params = &[&app.uuid(), &flow.uuid(), &none, &from, &to];
    let found = transaction.query(READ, params).await?;
    let rows: StoreResult<Vec<_>> = found.iter().map(|it| row(&mut Cells::new(it))).collect();
    Ok(assemble(&rows?, None))
}

/// More bytes than this are assembled on a blocking thread, so that nothing else waits.
const AT_ONCE_BYTES_MAX: usize = 64 * 1024;

type ReadRow = (i32, Uuid, i32, Vec<u8>, Vec<u8>);

fn row(cells: &mut Cells) -> StoreResult<ReadRow> {
    Ok((cells.take()?, cells.take()?, cells.take()?, cells.take()?, cells.take()?))
}

fn assemble(rows: &[ReadRow], segment: Option<Vec<u8>>) -> Result<FlowCounts, DamagedDay> {
    let mut reading = Reading::new(segment);
    for (kind, id, day, segment, body) in rows {
        let (version, day) = (FlowVersionId::from_uuid(*id), Day::from_number(*day));
        reading.take(match kind {
            0 => CountsRow::Part { version, day, segment, body },
            3 => CountsRow::Scan { passed: *id },
            _ => CountsRow::Delta { version, day, body },
        })?;
    }
    Ok(reading.done())
}

/// The number of responses of each flow of an app on each day.
pub(in super::super) async fn totals(
    pool: &Pool,
    app: AppId,
    from: Option<Day>,
) -> StoreResult<Vec<DayTotal>> {
    let read = |cells: &mut Cells| {
        Ok(DayTotal {
            flow_id: cells.id(FlowId::from_uuid)?,
            day: Day::from_number(cells.take()?),
            responses: cells.take()?,
        })
    };
    let from = from.map_or(i32::MIN, Day::number);
    pool.many(TOTALS, &[&app.uuid(), &from], read).await
}

/// The number of responses of each version of a flow.
pub(in super::super) async fn by_version(
    pool: &Pool,
    app: AppId,
    flow: FlowId,
) -> StoreResult<Vec<(FlowVersionId, i64)>> {
    let sql = "SELECT flow_version_id, sum(responses)::bigint FROM ( \
         SELECT flow_version_id, responses FROM counts \
         WHERE app_id = $1 AND flow_id = $2 AND segment = '' \
         UNION ALL SELECT flow_version_id, responses FROM count_deltas \
         WHERE app_id = $1 AND flow_id = $2) AS parts \
         GROUP BY flow_version_id HAVING sum(responses) <> 0";
    let read = |cells: &mut Cells| Ok((cells.id(FlowVersionId::from_uuid)?, cells.take()?));
    pool.many(sql, &[&app.uuid(), &flow.uuid()], read).await
}
