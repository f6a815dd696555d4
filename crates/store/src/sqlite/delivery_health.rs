//! The outcomes of deliveries to webhook endpoints. Both queries read only the index
//! `deliveries_health` or `deliveries_waiting`.

use rusqlite::{Connection, Result, params};
use sluice_flow::id::{AppId, EndpointId};
use sluice_flow::time::Timestamp;

use super::codec::{Cells, ReadCells as _, bytes};
use super::read::{limit, many};
use crate::{DeliveryState, EndpointHealth};

pub(super) fn health(
    connection: &Connection,
    app: AppId,
    waiting_max: usize,
) -> Result<Vec<EndpointHealth>> {
    let sql = "SELECT endpoint_id, (SELECT max(attempted_at) FROM deliveries AS it \
             WHERE it.app_id = endpoints.app_id AND it.endpoint_id = endpoints.endpoint_id \
             AND it.state = 'delivered'), \
         (SELECT count(*) FROM (SELECT 1 FROM deliveries AS it \
             WHERE it.app_id = endpoints.app_id AND it.endpoint_id = endpoints.endpoint_id \
             AND it.next_at IS NOT NULL LIMIT ?2)) \
         FROM endpoints WHERE app_id = ?1 ORDER BY endpoint_id";
    many(connection, sql, params![bytes!(app), limit(waiting_max)], |cells: &mut Cells| {
        Ok(EndpointHealth {
            endpoint_id: cells.id(EndpointId::from_uuid)?,
            last_success: cells.optional_time()?,
            waiting: cells.number()? as usize,
        })
    })
}

pub(super) fn times(
    connection: &Connection,
    app: AppId,
    endpoint: EndpointId,
    each_max: usize,
) -> Result<Vec<(DeliveryState, Timestamp)>> {
    let sql = "SELECT state, attempted_at FROM deliveries WHERE app_id = ?1 AND endpoint_id = ?2 \
         AND state = ?3 ORDER BY attempted_at DESC LIMIT ?4";
    let instant = connection.unchecked_transaction()?;
    let mut found = Vec::new();
    for state in DeliveryState::ALL {
        let params = params![bytes!(app), bytes!(endpoint), state.as_str(), limit(each_max)];
        let read = |cells: &mut Cells| Ok((cells.variant()?, cells.time()?));
        found.extend(many(&instant, sql, params, read)?);
    }
    Ok(found)
}
