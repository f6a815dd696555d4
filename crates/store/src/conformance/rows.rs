//! Rows that the tests of this crate and of others build on.

use sluice_flow::id::{AppId, FlowId, FlowVersionId, ResponseId};
use sluice_flow::submission::Admission;

use crate::ResponseRow;

/// A response without answers and without anything optional.
pub fn empty_response(
    app_id: AppId,
    flow_id: FlowId,
    flow_version_id: FlowVersionId,
    response_id: ResponseId,
) -> ResponseRow {
    ResponseRow {
        app_id,
        flow_id,
        flow_version_id,
        response_id,
        admission: Admission::CollectionOnly,
        answers: "{}".to_owned(),
        identities: None,
        identity_verified: false,
        respondent_id: None,
        tags: None,
        context: None,
        flow_assignment_id: None,
        score: None,
        digest: [0; 16],
    }
}
