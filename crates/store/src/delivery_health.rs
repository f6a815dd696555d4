//! The outcomes of deliveries to the endpoints of an app.

use sluice_flow::id::EndpointId;
use sluice_flow::time::Timestamp;

/// The health of one endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndpointHealth {
    pub endpoint_id: EndpointId,
    /// The last attempt that succeeded, if its delivery is still kept.
    pub last_success: Option<Timestamp>,
    /// How many deliveries wait for another attempt, up to the limit of the query.
    pub waiting: usize,
}
