//! The funnel of a flow: how far its visitors get.

use std::sync::Arc;

use axum::extract::State;
use serde::{Deserialize, Serialize};
use sluice_engine::Engine;
use sluice_engine::funnel::{self, FunnelFilter};
use sluice_engine::rows::Scope;
use sluice_engine::summary::AskedUntil;
use sluice_flow::id::{FlowId, FlowVersionId};
use sluice_flow::time::{Day, Timestamp};
use sluice_flow::visit::MedianTime;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::auth::Caller;
use super::reply::{self, CommonErrors, QueryErrors, Reply};
use super::request::{PathParam, Query};

pub(super) fn routes() -> OpenApiRouter<Arc<Engine>> {
    OpenApiRouter::default().routes(routes!(get))
}

/// Which visits are counted.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct FunnelQuery {
    /// Only those of this day (UTC) or later.
    #[param(value_type = Option<String>, format = Date)]
    from: Option<Day>,
    /// Only those of this day or before.
    #[param(value_type = Option<String>, format = Date)]
    to: Option<Day>,
    /// Only those to this `flowVersionId`.
    #[param(value_type = Option<String>)]
    version: Option<FlowVersionId>,
}

/// How far the visitors of a flow get.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({
    "opened": 120, "started": 80, "finished": 60,
    "questions": [
        {"id": "nps", "type": "nps", "prompt": "Would you recommend us?", "askedUntil": null,
            "seen": 120, "passed": 76, "left": 44},
        {"id": "why", "type": "longText", "prompt": "Why?", "askedUntil": null,
            "seen": 76, "passed": 60, "left": 16}],
    "timeToFinish": {"times": 60, "medianSeconds": 47, "fromSeconds": 44, "toSeconds": 52},
    "versions": [{"flowVersionId": "fv_01KA2VgdPrWYDVgYy3wLpC", "number": 1,
        "publishedAt": "2026-11-15T02:00:00.000Z", "opened": 120, "finished": 60}]
}))]
struct Funnel {
    /// How often the form was opened.
    opened: u64,
    /// How often a first answer was given, or the first question was passed without one.
    started: u64,
    /// How often the answers were stored.
    finished: u64,
    /// In the order of the selected version; without one in that of the newest version, and
    /// questions that it no longer asks come last.
    questions: Vec<FunnelQuestion>,
    /// From opening to finishing; null if no time was reported.
    #[schema(required = true)]
    time_to_finish: Option<TimeToFinish>,
    /// All published versions, newest first, even if the query selects one version.
    versions: Vec<FunnelVersion>,
}

/// One question over the versions that ask it.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct FunnelQuestion {
    id: String,
    r#type: &'static str,
    /// As worded in the newest version that asks it.
    prompt: String,
    /// The number of the last version that asked it; null if the newest version asks it.
    #[schema(required = true)]
    asked_until: Option<u32>,
    /// How often it was shown; a question that logic skips is not.
    seen: u64,
    /// How often a visitor moved on from it, with or without an answer.
    passed: u64,
    /// How often it was the last question of a visit: `seen` without `passed`.
    left: u64,
}

/// Times are stored in ranges that are at most a fifth longer than they start, so the median is an
/// estimate between two bounds.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct TimeToFinish {
    /// How many times were reported.
    times: u64,
    /// The estimate.
    median_seconds: u32,
    /// The median is at least this.
    from_seconds: u32,
    /// The median is less than this; null means a day or more.
    #[schema(required = true)]
    to_seconds: Option<u32>,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct FunnelVersion {
    #[schema(value_type = String)]
    flow_version_id: FlowVersionId,
    number: u32,
    #[schema(value_type = String, format = DateTime)]
    published_at: Timestamp,
    opened: u64,
    finished: u64,
}

impl Funnel {
    fn from_funnel(funnel: funnel::Funnel) -> Self {
        let time = |it: MedianTime| TimeToFinish {
            times: it.times,
            median_seconds: it.about_seconds,
            from_seconds: it.from_seconds,
            to_seconds: it.to_seconds,
        };
        let version = |it: funnel::FunnelVersion| FunnelVersion {
            flow_version_id: it.flow_version_id,
            number: it.number,
            published_at: it.published_at,
            opened: it.opened,
            finished: it.finished,
        };
        Self {
            opened: funnel.opened,
            started: funnel.started,
            finished: funnel.finished,
            questions: funnel.questions.into_iter().map(question).collect(),
            time_to_finish: funnel.time_to_finish.map(time),
            versions: funnel.versions.into_iter().map(version).collect(),
        }
    }
}

fn question(question: funnel::FunnelQuestion) -> FunnelQuestion {
    let left = question.left();
    let funnel::FunnelQuestion { id, question_type, prompt, asked, seen, passed } = question;
    let asked_until = match asked {
        AskedUntil::Now => None,
        AskedUntil::Version(number) => Some(number),
    };
    FunnelQuestion { id, r#type: question_type, prompt, asked_until, seen, passed, left }
}

/// Show where visitors leave a flow
///
/// How often the flow was opened, started and finished, and how often each question was seen and
/// was the last one. Hosted and embedded pages report this without cookies or identity; other
/// clients report it with `POST /api/v1/{apiKey}/visits`. Only counts by version and day are
/// stored, so a visit is one load of the form, and someone who comes back counts again. Someone who
/// is still answering counts as having left at the last question that was reported.
///
/// The counts of the node that answers are complete; those of other nodes follow within seconds. A
/// server that crashes loses those of its last seconds.
#[utoipa::path(
    get, path = "/flows/{flowId}/funnel", operation_id = "getFunnel", tag = "Responses",
    security(("adminToken" = ["read"])),
    params(FunnelQuery),
    responses(
        (status = 200, description = "The funnel", body = Funnel),
        CommonErrors, QueryErrors,
    ),
)]
async fn get(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    PathParam(flow): PathParam<FlowId>,
    Query(FunnelQuery { from, to, version }): Query<FunnelQuery>,
) -> Reply {
    let filter = FunnelFilter { from, to, version };
    let funnel = engine.flow(&actor, Scope::Read, flow).await?.funnel(&filter).await?;
    reply::ok(Funnel::from_funnel(funnel))
}
