//! The outcomes of deliveries to webhook endpoints. Both queries read only the index
//! `deliveries_health` or `deliveries_waiting`.

use sluice_flow::id::{AppId, EndpointId};
use sluice_flow::time::Timestamp;

use super::codec::{Cells, ReadCells as _};
use super::pool::{Params, Pool};
use super::read::limit;
use crate::{DeliveryState, EndpointHealth, StoreResult};

pub(super) async fn health(
    pool: &Pool,
    app: AppId,
    waiting_max: usize,
) -> StoreResult<Vec<EndpointHealth>> {
    let sql = "SELECT endpoint_id, (SELECT max(attempted_at) FROM deliveries AS it \
             WHERE it.app_id = endpoints.app_id AND it.endpoint_id = endpoints.endpoint_id \
             AND it.state = 'delivered'), \
         (SELECT count(*) FROM (SELECT 1 FROM deliveries AS it \
             WHERE it.app_id = endpoints.app_id AND it.endpoint_id = endpoints.endpoint_id \
             AND it.next_at IS NOT NULL LIMIT $2) AS waiting) \
         FROM endpoints WHERE app_id = $1 ORDER BY endpoint_id";
    let read = |cells: &mut Cells| {
        Ok(EndpointHealth {
            endpoint_id: cells.id(EndpointId::from_uuid)?,
            last_success: cells.optional_time()?,
            waiting: cells.number()? as usize,
        })
    };
    pool.many(sql, &[&app.uuid(), &limit(waiting_max)], read).await
}

pub(super) async fn times(
    pool: &Pool,
    app: AppId,
    endpoint: EndpointId,
    each_max: usize,
) -> StoreResult<Vec<(DeliveryState, Timestamp)>> {
    let newest = |state: DeliveryState| {
        format!(
            "(SELECT state, attempted_at FROM deliveries WHERE app_id = $1 \
             AND endpoint_id = $2 AND state = '{}' ORDER BY attempted_at DESC LIMIT $3)",
            state.as_str()
        )
    };
    let sql = DeliveryState::ALL.map(newest).join(" UNION ALL ");
    let params: Params = &[&app.uuid(), &endpoint.uuid(), &limit(each_max)];
    let read = |cells: &mut Cells| Ok((cells.variant()?, cells.time()?));
    pool.many(&sql, params, read).await
}
