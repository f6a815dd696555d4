//! Rows of test responses: answers that an author sent from the test link of a flow.
//!
//! They are in a table apart from the responses, so no count, list, export or limit can include
//! them.

use serde::{Deserialize, Serialize};
use sluice_flow::id::{AppId, FlowId, FormKey};
use sluice_flow::time::Timestamp;

/// A test response. It has no identities.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestResponseRow {
    pub app_id: AppId,
    pub flow_id: FlowId,
    /// The key of its form: each form is stored once.
    pub form_key: FormKey,
    /// The number of the version that was tested; 0 for a draft.
    pub number: u32,
    pub received_at: Timestamp,
    /// JSON object.
    pub answers: String,
    /// JSON object.
    pub tags: Option<String>,
    pub score: Option<String>,
}

/// A change to test responses. It moves no revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TestWrite {
    /// Stores a test response unless its form was stored before, and removes the oldest of its flow
    /// beyond the newest `keep`.
    Add { row: TestResponseRow, keep: u32 },
    /// Removes all test responses of a flow.
    RemoveAll(AppId, FlowId),
    /// Removes what was received before a time: in one app, or in all.
    Expire { app_id: Option<AppId>, before: Timestamp },
}
