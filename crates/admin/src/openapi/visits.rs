//! Counting visits in the OpenAPI document. Documentation only: the public API handles the call.
#![expect(dead_code, reason = "only the OpenAPI document uses these functions and types")]

use utoipa::ToSchema;

use super::errors::PublicErrors;
use crate::Problem;

/// What happened in one visit to a version, or since the last report of the same visit.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase", example = json!({
    "flowVersionId": "fv_01KA2VgdPrWYDVgYy3wLpC",
    "steps": [
        {"step": "opened"}, {"step": "seen", "question": "nps"}, {"step": "started"},
        {"step": "passed", "question": "nps"}, {"step": "finished", "seconds": 48}
    ]
}))]
pub(super) struct Visit {
    flow_version_id: String,
    /// Each step once. Report each step of a visit only once, over all reports.
    #[schema(min_items = 1, max_items = 603)]
    steps: Vec<VisitStep>,
}

#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
struct VisitStep {
    step: StepName,
    /// With `seen` and `passed`: the id of the question.
    #[schema(nullable = false)]
    question: Option<String>,
    /// With `finished`: the time since the form was opened.
    #[schema(nullable = false, minimum = 0)]
    seconds: Option<f64>,
}

/// `opened`: the form was shown. `started`: the first answer was given, or the first question was
/// passed without one. `seen`: a question was shown that is further than all before. `passed`: the
/// visitor moved on from the furthest question. `finished`: the response was stored.
#[derive(ToSchema)]
#[schema(rename_all = "lowercase", as = VisitStepName)]
enum StepName {
    Opened,
    Started,
    Seen,
    Passed,
    Finished,
}

/// Count a visit
///
/// For clients that show a flow themselves: what they report is in the funnel together with the
/// hosted pages. It needs no identity, and only counts by version, day and step are stored. Send
/// several steps at once, for example when the page is hidden and when the response was stored. The
/// `Content-Type` does not matter, so `navigator.sendBeacon` can be used.
#[utoipa::path(
    post, path = "/api/v1/{apiKey}/visits", operation_id = "countVisit", tag = "Public API",
    security((), ("identityToken" = [])),
    request_body = Visit,
    responses(
        (status = 204, description = "Counted"),
        (status = 400, description = "`visit_invalid`: the detail says what is required; `unknown_question`: the version has no such question; `body_unreadable`", body = Problem, content_type = "application/problem+json"),
        (status = 404, description = "`flow_version_not_found`: unknown, not published or retired", body = Problem, content_type = "application/problem+json"),
        (status = 413, description = "`payload_too_large`: more than 128 KiB", body = Problem, content_type = "application/problem+json"),
        PublicErrors,
    ),
)]
pub(super) fn count_visit() {}
