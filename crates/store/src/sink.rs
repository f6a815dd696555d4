//! How far the log of each app was published to a sink, such as a stream of another system.
//!
//! The positions are separate rows, one for each app, so that publishing needs no change of an app.
//! One worker of all nodes publishes at a time: it holds the lease of the sink, which is not part
//! of any row.

use serde::{Deserialize, Serialize};
use sluice_flow::id::{AppId, EventId};
use sluice_flow::time::Timestamp;

use crate::WorkerId;

/// How far the log of an app was published to a sink.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SinkPositionRow {
    pub app_id: AppId,
    /// The name of the sink, such as `nats/SLUICE`.
    pub sink: String,
    /// Everything up to this position was published.
    pub position: EventId,
}

/// The right of a worker to publish to a sink.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SinkLease {
    pub sink: String,
    pub worker: WorkerId,
    pub now: Timestamp,
    /// When it ends, unless it is renewed. The current time ends it at once.
    pub until: Timestamp,
}
