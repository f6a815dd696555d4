//! Closing a flow now, opening it again, and restoring an archived flow.

use std::sync::Arc;

use axum::extract::State;
use sluice_engine::Engine;
use sluice_engine::rows::Scope;
use sluice_flow::id::FlowId;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::auth::Caller;
use super::flows::{self, Flow};
use super::reply::{self, BodyErrors, CommonErrors, Problem, Reply};
use super::request::{NoBody, PathParam};

pub(super) fn routes() -> OpenApiRouter<Arc<Engine>> {
    OpenApiRouter::default().routes(routes!(close)).routes(routes!(reopen)).routes(routes!(restore))
}

/// Close a flow now
///
/// Ends its live window: from now on it accepts no responses. A closed flow is left unchanged.
#[utoipa::path(
    post, path = "/flows/{flowId}/close", operation_id = "closeFlow", tag = "Flows",
    security(("adminToken" = ["write"])),
    responses(
        (status = 200, description = "The flow as it is now", body = Flow),
        (status = 409, description = "`flow_not_open`: its live window has not started; `flow_archived`", body = Problem, content_type = "application/problem+json"),
        CommonErrors, BodyErrors,
    ),
)]
async fn close(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    PathParam(flow): PathParam<FlowId>,
    _: NoBody,
) -> Reply {
    engine.flow(&actor, Scope::Write, flow).await?.close().await?;
    reply::ok(flows::read(&engine, &actor, flow).await?)
}

/// Reopen a closed flow
///
/// Removes the end of its live window. A flow whose window has not ended is left unchanged. To open
/// it until a certain time, change its `liveWindow` instead. A flow that has all its responses
/// (`closeAfter`) stays closed.
#[utoipa::path(
    post, path = "/flows/{flowId}/reopen", operation_id = "reopenFlow", tag = "Flows",
    security(("adminToken" = ["write"])),
    responses(
        (status = 200, description = "The flow as it is now", body = Flow),
        (status = 409, description = "`flow_archived`", body = Problem, content_type = "application/problem+json"),
        CommonErrors, BodyErrors,
    ),
)]
async fn reopen(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    PathParam(flow): PathParam<FlowId>,
    _: NoBody,
) -> Reply {
    engine.flow(&actor, Scope::Write, flow).await?.reopen(None).await?;
    reply::ok(flows::read(&engine, &actor, flow).await?)
}

/// Restore an archived flow
///
/// It is as it was before. A flow that is not archived is left unchanged.
#[utoipa::path(
    post, path = "/flows/{flowId}/restore", operation_id = "restoreFlow", tag = "Flows",
    security(("adminToken" = ["write"])),
    responses(
        (status = 200, description = "The flow as it is now", body = Flow),
        CommonErrors, BodyErrors,
    ),
)]
async fn restore(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    PathParam(flow): PathParam<FlowId>,
    _: NoBody,
) -> Reply {
    engine.flow(&actor, Scope::Write, flow).await?.restore().await?;
    reply::ok(flows::read(&engine, &actor, flow).await?)
}
