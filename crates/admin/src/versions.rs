//! Publishing, and the published versions.

use std::sync::Arc;

use axum::extract::State;
use serde::de::{Deserializer, Error as _};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sluice_engine::rows::{Scope, VersionRow};
use sluice_engine::{AdminResult, Engine};
use sluice_flow::id::{FlowId, FlowVersionId};
use sluice_flow::lifecycle::{Accepting, FlowTimes, accepting};
use sluice_flow::payload::Generation;
use sluice_flow::time::Timestamp;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::auth::Caller;
use super::drafts::SeenDraft;
use super::page::{List, PageQuery};
use super::reply::{self, BodyErrors, CommonErrors, FaultOut, Problem, QueryErrors, Reply};
use super::request::{NoBody, PathParam, Query};
use super::schema::stored;

pub(super) fn routes() -> OpenApiRouter<Arc<Engine>> {
    OpenApiRouter::default()
        .routes(routes!(publish))
        .routes(routes!(list))
        .routes(routes!(get))
        .routes(routes!(schema))
        .routes(routes!(retire))
        .routes(routes!(republish))
}

/// A version that has just been published.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({
    "flowVersionId": "fv_01KA2VgdPrWYDVgYy3wLpC", "number": 2,
    "publishedAt": "2026-11-15T02:00:00.000Z", "warnings": []
}))]
struct Published {
    #[schema(value_type = String)]
    flow_version_id: FlowVersionId,
    number: u32,
    #[schema(value_type = String, format = DateTime)]
    published_at: Timestamp,
    /// What the author should know, for example that not all answers at their longest fit into one
    /// submission. It is published anyway.
    warnings: Vec<FaultOut>,
}

impl From<sluice_engine::Published> for Published {
    fn from(published: sluice_engine::Published) -> Self {
        Self {
            flow_version_id: published.flow_version_id,
            number: published.number,
            published_at: published.published_at,
            warnings: published.warnings.into_iter().map(FaultOut::from).collect(),
        }
    }
}

/// A version, without its definition.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({
    "flowVersionId": "fv_01KA2VgdPrWYDVgYy3wLpC", "flowId": "fl_01KA2VgdPrWYDVgYy3wLpB",
    "number": 1, "status": "grace", "publishedAt": "2026-11-15T02:00:00.000Z",
    "supersededAt": "2026-11-16T09:30:00.000Z", "graceEndsAt": "2026-11-17T09:30:00.000Z",
    "retiredAt": null
}))]
struct VersionSummary {
    #[schema(value_type = String)]
    flow_version_id: FlowVersionId,
    #[schema(value_type = String)]
    flow_id: FlowId,
    /// 1, 2, 3 … within the flow; 0 for a draft, which has none yet.
    number: u32,
    /// Its current state: derived from its times and the flow's.
    status: Status,
    #[schema(value_type = Option<String>, format = DateTime, required = true)]
    published_at: Option<Timestamp>,
    /// When a newer one was published.
    #[schema(value_type = Option<String>, format = DateTime, required = true)]
    superseded_at: Option<Timestamp>,
    /// It accepts responses before this time; set when it was superseded.
    #[schema(value_type = Option<String>, format = DateTime, required = true)]
    grace_ends_at: Option<Timestamp>,
    #[schema(value_type = Option<String>, format = DateTime, required = true)]
    retired_at: Option<Timestamp>,
}

/// A version with its definition.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "flowVersionId": "fv_01KA2VgdPrWYDVgYy3wLpC", "flowId": "fl_01KA2VgdPrWYDVgYy3wLpB",
    "number": 1, "status": "grace", "publishedAt": "2026-11-15T02:00:00.000Z",
    "supersededAt": "2026-11-16T09:30:00.000Z", "graceEndsAt": "2026-11-17T09:30:00.000Z",
    "retiredAt": null, "definition": {"title": "How are we doing?", "questions": []}
}))]
struct Version {
    #[serde(flatten)]
    summary: VersionSummary,
    /// In canonical form; a draft's as it was sent.
    #[schema(value_type = Object)]
    definition: Box<RawValue>,
}

/// `open`: it accepts responses. `grace`: it still does, although a newer one is published.
/// `closed`: no longer. `scheduled`: not yet. `retired`: it was retired, or its flow was
/// archived. `draft`: it was never published.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = VersionStatus)]
enum Status {
    Open,
    Grace,
    Closed,
    Scheduled,
    Retired,
    Draft,
}

impl From<Accepting> for Status {
    fn from(accepting: Accepting) -> Self {
        match accepting {
            Accepting::Open { .. } => Self::Open,
            Accepting::InGrace { .. } => Self::Grace,
            Accepting::NoLonger => Self::Closed,
            Accepting::NotOpenYet => Self::Scheduled,
            Accepting::Gone => Self::Retired,
        }
    }
}

impl VersionSummary {
    fn from_row(row: &VersionRow, flow: &FlowTimes, now: Timestamp) -> Self {
        let status = match row.times.published_at {
            None => Status::Draft,
            Some(_) => accepting(&row.times, flow, now).into(),
        };
        Self {
            flow_version_id: row.flow_version_id,
            flow_id: row.flow_id,
            number: row.number,
            status,
            published_at: row.times.published_at,
            superseded_at: row.times.superseded_at,
            grace_ends_at: row.times.grace_ends_at,
            retired_at: row.times.retired_at,
        }
    }
}

impl Version {
    fn from_row(row: VersionRow, flow: &FlowTimes, now: Timestamp) -> AdminResult<Self> {
        let summary = VersionSummary::from_row(&row, flow, now);
        Ok(Self { summary, definition: stored(row.definition)? })
    }
}

/// Publish the draft
///
/// Checks it and freezes it as the flow's next version, under the draft's `flowVersionId`. The
/// previous version accepts responses until its grace window ends. A draft with faults is not
/// published: 422 with every fault and its JSON Pointer into the definition. With `draftTag` it is
/// published only if the draft still has this tag.
#[utoipa::path(
    post, path = "/flows/{flowId}/publish", operation_id = "publishFlow", tag = "Versions",
    security(("adminToken" = ["write"])),
    params(SeenDraft),
    responses(
        (status = 200, description = "The new version", body = Published),
        (status = 409, description = "`nothing_to_publish`, `flow_archived`; `draft_changed`: the `draftTag` is not the current one", body = Problem, content_type = "application/problem+json"),
        CommonErrors, BodyErrors,
        (status = 422, description = "`invalid`: the draft's faults, each in `errors`; or a body that is not empty", body = Problem, content_type = "application/problem+json"),
    ),
)]
async fn publish(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    PathParam(flow): PathParam<FlowId>,
    Query(seen): Query<SeenDraft>,
    _: NoBody,
) -> Reply {
    let flow = engine.flow(&actor, Scope::Write, flow).await?;
    reply::ok(Published::from(match seen.draft_tag {
        Some(tag) => flow.publish_seen(&tag).await?,
        None => flow.publish().await?,
    }))
}

/// List the versions of a flow
///
/// Newest first, without their definitions. Drafts are not among them.
#[utoipa::path(
    get, path = "/flows/{flowId}/versions", operation_id = "listVersions", tag = "Versions",
    security(("adminToken" = ["read"])),
    params(PageQuery<u32>),
    responses(
        (status = 200, description = "A page of versions", body = List<VersionSummary>),
        CommonErrors, QueryErrors,
    ),
)]
async fn list(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    PathParam(flow): PathParam<FlowId>,
    Query(query): Query<PageQuery<u32>>,
) -> Reply {
    let flow = engine.flow(&actor, Scope::Read, flow).await?;
    let rows = flow.list_versions(query.after, query.limit.and_one()).await?;
    let times = flow.flow.times();
    let now = engine.now();
    let versions = rows.iter().map(|row| VersionSummary::from_row(row, &times, now)).collect();
    let cursor = |version: &VersionSummary| version.number.to_string();
    reply::ok(List::new(versions, query.limit, cursor))
}

/// Read a version
///
/// With its definition. A draft is found by its id, too.
#[utoipa::path(
    get, path = "/flow_versions/{flowVersionId}", operation_id = "getVersion", tag = "Versions",
    security(("adminToken" = ["read"])),
    responses(
        (status = 200, description = "The version", body = Version),
        CommonErrors,
    ),
)]
async fn get(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    PathParam(version): PathParam<FlowVersionId>,
) -> Reply {
    let found = engine.version(&actor, Scope::Read, version).await?;
    reply::ok(Version::from_row(found.version.clone(), &found.flow.times(), engine.now())?)
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct SchemaQuery {
    /// The payload generation in which clients fetch the version.
    #[serde(deserialize_with = "generation")]
    #[param(value_type = String, example = "4")]
    payload: Generation,
}

fn generation<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Generation, D::Error> {
    let name = String::deserialize(deserializer)?;
    Generation::named(&name).ok_or_else(|| {
        let names: Vec<&str> = Generation::ALL.iter().map(|it| it.as_str()).collect();
        D::Error::custom(format!("must be one of {}", names.join(", ")))
    })
}

/// The JSON Schema of a submission
///
/// A JSON Schema (2020-12) of a valid submission to this published version, retired ones included.
/// The public API has the same under a publishable key.
#[utoipa::path(
    get, path = "/flow_versions/{flowVersionId}/schema", operation_id = "getVersionSchema",
    tag = "Versions",
    security(("adminToken" = ["read"])),
    params(SchemaQuery),
    responses(
        (status = 200, description = "A JSON Schema", body = Object, content_type = "application/schema+json"),
        (status = 409, description = "`flow_version_not_published`", body = Problem, content_type = "application/problem+json"),
        CommonErrors, QueryErrors,
    ),
)]
async fn schema(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    PathParam(version): PathParam<FlowVersionId>,
    Query(query): Query<SchemaQuery>,
) -> Reply {
    let found = engine.version(&actor, Scope::Read, version).await?;
    reply::json_schema(found.submission_schema(query.payload)?)
}

/// Retire a version
///
/// Retires it at once, without a grace window: no client can fetch it any more. Its responses
/// stay. Retiring it again changes nothing.
#[utoipa::path(
    post, path = "/flow_versions/{flowVersionId}/retire", operation_id = "retireVersion",
    tag = "Versions",
    security(("adminToken" = ["write"])),
    responses(
        (status = 200, description = "The version", body = Version),
        (status = 409, description = "`flow_version_not_published`, `flow_archived`", body = Problem, content_type = "application/problem+json"),
        CommonErrors, BodyErrors,
    ),
)]
async fn retire(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    PathParam(version): PathParam<FlowVersionId>,
    _: NoBody,
) -> Reply {
    let row = engine.version(&actor, Scope::Write, version).await?.retire().await?;
    // A retired version stays retired whatever the flow's times are.
    reply::ok(Version::from_row(row, &FlowTimes::default(), engine.now())?)
}

/// Publish a version again
///
/// A rollback: the definition of an older version becomes the newest version. The draft stays.
#[utoipa::path(
    post, path = "/flow_versions/{flowVersionId}/republish", operation_id = "republishVersion",
    tag = "Versions",
    security(("adminToken" = ["write"])),
    responses(
        (status = 200, description = "The new version", body = Published),
        (status = 409, description = "`flow_version_not_published`, `flow_archived`", body = Problem, content_type = "application/problem+json"),
        CommonErrors, BodyErrors,
    ),
)]
async fn republish(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    PathParam(version): PathParam<FlowVersionId>,
    _: NoBody,
) -> Reply {
    reply::ok(Published::from(
        engine.version(&actor, Scope::Write, version).await?.republish().await?,
    ))
}
