//! `response.submit`: stores one response.

use serde::{Serialize, Serializer};
use sluice_engine::intake::Accepted;
use sluice_engine::{Engine, Receipt, SubmitError};
use sluice_flow::id::{FlowVersionId, ResponseId};
use sluice_flow::issue::Issue;
use sluice_flow::score::Score;
use sluice_flow::time::Timestamp;

use super::Arguments;

#[derive(Debug)]
pub(in crate::trpc) struct Output(Receipt);

pub(super) async fn call(engine: &Engine, arguments: Arguments<'_>) -> Result<Output, SubmitError> {
    let Arguments { app, input, key, bearer } = arguments;
    Ok(Output(engine.submit_as(app, input, key, bearer).await?))
}

impl Output {
    /// `None` for a refusal.
    pub(super) fn is_replay(&self) -> Option<bool> {
        match &self.0 {
            Receipt::Accepted(accepted) => Some(accepted.replayed),
            Receipt::Refused(_) => None,
        }
    }
}

impl Serialize for Output {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let data = match &self.0 {
            Receipt::Accepted(accepted) => Data::accepted(accepted),
            Receipt::Refused(issues) => Data::refused(issues),
        };
        data.serialize(serializer)
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Data<'a> {
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
    fn accepted(accepted: &Accepted) -> Self {
        Self {
            success: true,
            response_id: Some(accepted.response_id),
            superseded_by: accepted.grace.and_then(|grace| grace.superseded_by),
            accepts_until: accepted.grace.map(|grace| grace.accepts_until),
            score: accepted.score,
            errors: None,
        }
    }

    fn refused(issues: &'a [Issue]) -> Self {
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
