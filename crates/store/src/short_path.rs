//! Rows of short paths: the address of a flow's hosted page, chosen by its author.

use serde::{Deserialize, Serialize};
use sluice_flow::id::{AppId, FlowId};

/// The short path of a flow: at most one per flow, and unique in the instance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShortPathRow {
    pub app_id: AppId,
    pub flow_id: FlowId,
    pub path: String,
}
