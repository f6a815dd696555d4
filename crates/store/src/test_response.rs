//! Rows of test responses: answers that an author sent from the test link of a flow.
//!
//! They are in a separate table, so no count, list, export or limit can include them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sluice_flow::id::{AppId, FlowId, FormKey};
use sluice_flow::time::Timestamp;

/// A test response. It has no identities.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestResponseRow {
    pub app_id: AppId,
    pub flow_id: FlowId,
    /// The key of its form: each form is stored once, with what was sent last.
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

/// Where a page of test responses continues: after this one, with older ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TestCursor {
    pub received_at: Timestamp,
    pub form_key: FormKey,
}

impl TestCursor {
    pub fn after(row: &TestResponseRow) -> Self {
        Self { received_at: row.received_at, form_key: row.form_key }
    }
}

impl fmt::Display for TestCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.received_at.as_millis(), self.form_key)
    }
}

impl FromStr for TestCursor {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (received_at, form_key) = text.split_once('.').ok_or(())?;
        let received_at = Timestamp::from_millis(received_at.parse().map_err(|_| ())?);
        Ok(Self { received_at, form_key: form_key.parse().map_err(|_| ())? })
    }
}

/// A change to test responses. It moves no revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TestWrite {
    /// Stores a test response, replacing one of the same form, and removes the oldest of its flow
    /// beyond the newest `keep`.
    Add { row: TestResponseRow, keep: u32 },
    /// Removes all test responses of a flow.
    RemoveAll(AppId, FlowId),
    /// Removes these forms of an app, except those that were sent again at or after a time.
    Expire { app_id: AppId, before: Timestamp, forms: Vec<(FlowId, FormKey)> },
}
