//! Rows of reports: results of a flow that anyone with the link can read.

use serde::{Deserialize, Serialize};
use sluice_flow::id::{AppId, FlowId, ReportId};
use sluice_flow::time::Timestamp;

/// SHA-256 of the secret in the link of a report.
pub type ReportHash = [u8; 32];

/// What a report shows, and who may open it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportRow {
    pub app_id: AppId,
    pub flow_id: FlowId,
    pub report_id: ReportId,
    #[serde(with = "crate::hex")]
    pub hash: ReportHash,
    pub title: String,
    /// The ids of the questions that are shown.
    pub questions: Vec<String>,
    /// Name and value of each filter, as in the address of the results page.
    pub filters: Vec<(String, String)>,
    /// Whether free texts are shown.
    pub shows_texts: bool,
    /// An Argon2id hash; absent if the link is enough.
    pub password: Option<String>,
    /// The actor, as in the audit log.
    pub created_by: String,
    pub created_at: Timestamp,
    pub expires_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
}
