//! A flow's draft: written, previewed, compared, published; its versions and its windows.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::routing::get;
use sluice_flow::id::FlowId;

use super::Console;
use super::reply::Answer;
use super::request::{At, Query};
use super::session::Visitor;

pub(super) fn routes() -> Router<Arc<Console>> {
    Router::new().route("/console/flows/{flowId}/preview", get(preview).post(preview))
}

/// The hosted page of the draft, or of a version, in a frame of the editor.
async fn preview(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    At(flow): At<FlowId>,
    Query(query): Query,
    request: Request,
) -> Answer {
    let version = query.get("version").and_then(|version| version.parse().ok());
    let previewed = console.engine.preview(&visitor.actor, flow, version).await?;
    let address = format!("/console/flows/{flow}/preview");
    Ok(console.previews.page(previewed, address, request).await)
}
