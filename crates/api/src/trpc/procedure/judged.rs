//! The data of a judged submission, accepted or refused: what `response.submit` and
//! `response.validate` return.

use serde::Serialize;
use sluice_engine::intake::Grace;
use sluice_flow::id::{FlowVersionId, ResponseId};
use sluice_flow::issue::Issue;
use sluice_flow::score::Score;
use sluice_flow::time::Timestamp;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Data<'a> {
    success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_id: Option<ResponseId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    superseded_by: Option<FlowVersionId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    accepts_until: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    score: Option<Score>,
    #[serde(skip_serializing_if = "Option::is_none")]
    errors: Option<Errors<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Errors<'a> {
    form_errors: Vec<&'a str>,
    issues: &'a [Issue],
}

impl<'a> Data<'a> {
    /// `response_id` is absent if nothing was stored.
    pub(super) fn accepted(
        response_id: Option<ResponseId>,
        grace: Option<Grace>,
        score: Option<Score>,
    ) -> Self {
        Self {
            success: true,
            response_id,
            superseded_by: grace.and_then(|grace| grace.superseded_by),
            accepts_until: grace.map(|grace| grace.accepts_until),
            score,
            errors: None,
        }
    }

    pub(super) fn refused(issues: &'a [Issue]) -> Self {
        let form_errors = issues.iter().map(|issue| issue.message.as_ref()).collect();
        Self {
            success: false,
            response_id: None,
            superseded_by: None,
            accepts_until: None,
            score: None,
            errors: Some(Errors { form_errors, issues }),
        }
    }
}
