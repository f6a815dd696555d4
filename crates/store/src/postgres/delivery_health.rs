//! How deliveries to webhook endpoints went. Both queries read only the index `deliveries_health`
//! or `deliveries_waiting`.

use async_trait::async_trait;
use sluice_flow::id::{AppId, EndpointId};
use sluice_flow::time::Timestamp;

use super::PgStore;
use super::codec::{Cells, ReadCells as _};
use super::pool::Params;
use super::read::limit;
use crate::{DeliveryHealthStore, DeliveryState, EndpointHealth, StoreResult};

#[async_trait]
impl DeliveryHealthStore for PgStore {
    async fn endpoint_health(
        &self,
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
        self.pool.many(sql, &[&app.uuid(), &limit(waiting_max)], read).await
    }

    async fn delivery_times(
        &self,
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
        self.pool.many(&sql, params, read).await
    }
}
