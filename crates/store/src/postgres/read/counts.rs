//! What was counted, put together.

use sluice_flow::id::{AppId, FlowId, FlowVersionId};
use sluice_flow::time::Day;
use uuid::Uuid;

use super::super::codec::Cells;
use super::super::pool::{Params, Pool};
use crate::counting::{Counted, DamagedDay, Reading};
use crate::{DayTotal, FlowCounts, StoreResult};

const READ: &str = "SELECT 0, flow_version_id, day, segment, body FROM counts \
     WHERE app_id = $1 AND flow_id = $2 AND segment IN ('', $3) \
     UNION ALL SELECT CASE WHEN removal THEN 2 ELSE 1 END, flow_version_id, day, '', body \
     FROM count_deltas WHERE app_id = $1 AND flow_id = $2 \
     UNION ALL SELECT 3, passed, 0, '', '' FROM count_walks \
     WHERE app_id = $1 AND flow_id = $2 AND passed IS NOT NULL ORDER BY 1";
const TOTALS: &str = "SELECT flow_id, day, sum(responses)::bigint FROM ( \
     SELECT counts.flow_id, day, responses FROM flows JOIN counts \
     ON counts.app_id = flows.app_id AND counts.flow_id = flows.flow_id AND segment = '' \
     AND day >= $2 WHERE flows.app_id = $1 \
     UNION ALL SELECT flow_id, day, responses FROM count_deltas \
     WHERE app_id = $1 AND day >= $2) AS days \
     GROUP BY flow_id, day ORDER BY flow_id, day";

/// One statement, hence one instant.
pub(in super::super) async fn of_flow(
    pool: &Pool,
    app: AppId,
    flow: FlowId,
    segment: Option<Vec<u8>>,
) -> StoreResult<Result<FlowCounts, DamagedDay>> {
    let wanted = segment.as_deref().unwrap_or_default();
    let params: Params = &[&app.uuid(), &flow.uuid(), &wanted];
    let rows = pool.many(READ, params, row).await?;
    Ok(put_together(&rows, segment))
}

type ReadRow = (i32, Uuid, i32, Vec<u8>, Vec<u8>);

fn row(cells: &mut Cells) -> StoreResult<ReadRow> {
    Ok((cells.take()?, cells.take()?, cells.take()?, cells.take()?, cells.take()?))
}

fn put_together(rows: &[ReadRow], segment: Option<Vec<u8>>) -> Result<FlowCounts, DamagedDay> {
    let mut reading = Reading::new(segment);
    for (kind, id, day, segment, body) in rows {
        let (version, day) = (FlowVersionId::from_uuid(*id), Day::from_number(*day));
        reading.take(match kind {
            0 => Counted::Part { version, day, segment, body },
            3 => Counted::Walk { passed: *id },
            _ => Counted::Delta { version, day, body },
        })?;
    }
    Ok(reading.done())
}

/// How many responses each flow of an app has on each day.
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
