//! The short path of a flow's hosted page.

use std::sync::Arc;

use axum::extract::State;
use serde::{Deserialize, Serialize};
use sluice_engine::Engine;
use sluice_engine::rows::Scope;
use sluice_flow::id::FlowId;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::auth::Caller;
use super::reply::{self, BodyErrors, CommonErrors, Problem, Reply};
use super::request::{Body, PathParam};

pub(super) fn routes() -> OpenApiRouter<Arc<Engine>> {
    OpenApiRouter::default().routes(routes!(get, put))
}

/// The path of a flow's hosted page: `my-survey` for `/f/my-survey`.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "an object")]
#[schema(example = json!({"path": "my-survey"}))]
struct ShortPath {
    /// 3 to 64 letters `a` to `z`, digits and single hyphens, unique in the instance; null for
    /// none.
    #[serde(deserialize_with = "Option::deserialize")]
    #[schema(required = true)]
    path: Option<String>,
}

/// Read the short path
#[utoipa::path(
    get, path = "/flows/{flowId}/short-path", operation_id = "getShortPath", tag = "Flows",
    security(("adminToken" = ["read"])),
    responses(
        (status = 200, description = "The path", body = ShortPath),
        CommonErrors,
    ),
)]
async fn get(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    PathParam(flow): PathParam<FlowId>,
) -> Reply {
    let path = engine.flow(&actor, Scope::Read, flow).await?.short_path().await?;
    reply::ok(ShortPath { path })
}

/// Change the short path
///
/// Takes effect at once. The address with the flow's id always works as well; an earlier path no
/// longer works, and other flows can use it.
#[utoipa::path(
    put, path = "/flows/{flowId}/short-path", operation_id = "putShortPath", tag = "Flows",
    security(("adminToken" = ["write"])),
    request_body = ShortPath,
    responses(
        (status = 200, description = "The path, in lower case", body = ShortPath),
        (status = 409, description = "`flow_archived`", body = Problem, content_type = "application/problem+json"),
        CommonErrors, BodyErrors,
    ),
)]
async fn put(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    PathParam(flow): PathParam<FlowId>,
    Body(wanted): Body<ShortPath>,
) -> Reply {
    let flow = engine.flow(&actor, Scope::Write, flow).await?;
    let path = flow.set_short_path(wanted.path.as_deref()).await?;
    reply::ok(ShortPath { path })
}
