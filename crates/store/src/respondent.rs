//! The rows of respondents, and what is asked of them.

use sluice_flow::id::{AppId, FlowId, FlowVersionId, RespondentId, ResponseId};
use sluice_flow::respondent::Known;
use sluice_flow::time::Timestamp;

use crate::{ErasureMark, IdempotencyKey};

/// A profile. Its id contains the day on which it was first seen and no more: it outlives an
/// erasure in the audit log, and must not lead to the answers that were kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RespondentRow {
    pub app_id: AppId,
    pub respondent_id: RespondentId,
    /// Set if an erasure of this respondent has begun and is not done.
    pub erasing: Option<ErasureMark>,
}

/// Something that is known of one respondent, and of no other of the app.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdentityRow {
    pub app_id: AppId,
    pub known: Known,
    pub respondent_id: RespondentId,
}

/// That a respondent admitted to be known, with one response to one version. When, is in the
/// response's id. It is kept apart from the response, which may be deleted before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConsentRow {
    pub app_id: AppId,
    pub response_id: ResponseId,
    pub respondent_id: RespondentId,
    pub flow_id: FlowId,
    pub flow_version_id: FlowVersionId,
}

/// An idempotency key of a response that is gone, or says less than what was sent under the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UsedKeyRow {
    pub app_id: AppId,
    pub response_id: ResponseId,
    pub key: IdempotencyKey,
}

/// A respondent and what stands around the profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Respondent {
    pub row: RespondentRow,
    /// The userId first, then addresses in their own order.
    pub identities: Vec<Known>,
    /// When the first and the last response with their consent were received; absent where no
    /// consent is left.
    pub seen: Option<(Timestamp, Timestamp)>,
    /// Stored responses by flow; empty in lists.
    pub flows: Vec<(FlowId, u64)>,
}
