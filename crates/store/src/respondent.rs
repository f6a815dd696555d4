//! The rows of respondents.

use serde::{Deserialize, Serialize};
use sluice_flow::id::{AppId, FlowId, FlowVersionId, RespondentId, ResponseId};
use sluice_flow::respondent::ProfileIdentity;
use sluice_flow::time::Timestamp;

use crate::{ErasureMark, IdempotencyKey};

/// A profile. Its id contains the day on which it was first seen and nothing more precise: the id
/// stays in the audit log after an erasure, and must not lead to answers that were kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RespondentRow {
    pub app_id: AppId,
    pub respondent_id: RespondentId,
    /// Set while an erasure of this respondent is in progress.
    pub erasing: Option<ErasureMark>,
}

/// An identity of one respondent; unique within the app.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdentityRow {
    pub app_id: AppId,
    pub known: ProfileIdentity,
    pub respondent_id: RespondentId,
}

/// A respondent's consent to be linked, given with one response to one version. The time is in the
/// response's id. Stored separately from the response, which may be deleted earlier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConsentRow {
    pub app_id: AppId,
    pub response_id: ResponseId,
    pub respondent_id: RespondentId,
    pub flow_id: FlowId,
    pub flow_version_id: FlowVersionId,
}

/// An idempotency key whose response was deleted, or has less content than was sent with the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsedKeyRow {
    pub app_id: AppId,
    pub response_id: ResponseId,
    #[serde(with = "crate::hex")]
    pub key: IdempotencyKey,
}

/// A respondent with data derived from other tables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Respondent {
    pub row: RespondentRow,
    /// The userId first, then addresses in sorted order.
    pub identities: Vec<ProfileIdentity>,
    /// When the first and the last response with consent were received; absent if no consent is
    /// left.
    pub seen: Option<(Timestamp, Timestamp)>,
    /// Stored responses by flow; empty in lists.
    pub flows: Vec<(FlowId, u64)>,
}
