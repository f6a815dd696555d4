//! Where a read of all responses of a flow ends.

use sluice_flow::id::{AppId, FlowId};
use sluice_flow::time::Timestamp;
use sluice_store::{Order, ResponseQuery, Store, StoreResult};

/// An instant after all responses that are stored now. A read up to it excludes those that arrive
/// from now on; otherwise it might never end. After a clock was set back, responses from before are
/// ahead of it.
pub(crate) async fn read_end(
    store: &dyn Store,
    app_id: AppId,
    flow_id: FlowId,
    now: Timestamp,
) -> StoreResult<Timestamp> {
    let end = now.plus_seconds(1);
    let ahead = ResponseQuery {
        from: Some(end),
        order: Order::Desc,
        for_counts: true,
        ..ResponseQuery::new(app_id, flow_id, 1)
    };
    let newest = store.list_responses(&ahead).await?.rows.into_iter().next();
    Ok(newest.map_or(end, |row| row.response_id.made_at().plus_seconds(1)))
}
