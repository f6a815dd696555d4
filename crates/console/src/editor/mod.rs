//! A flow's draft: editing, preview, comparison and publishing; its versions, live window and grace
//! window.
//!
//! The definition of the draft is the single source of truth. [`edit`] is the page where it is
//! edited, by the script or as JSON without one; [`save`] saves it for the script, [`images`]
//! stores images for it; [`faults`] words its problems; [`publish`] shows what would change and
//! publishes; [`discard`] goes back to what is published; [`history`] lists earlier versions;
//! [`schedule`] sets when responses are accepted. The preview is the hosted page itself, through
//! [`sluice_http::preview`].

mod changes;
mod discard;
mod edit;
pub(super) mod faults;
mod history;
pub(crate) mod images;
mod limits;
mod publish;
mod questions;
mod save;
mod schedule;
pub(super) mod settings_form;

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::routing::{get, post};
use sluice_engine::rows::Scope;
use sluice_flow::id::FlowId;

use super::Console;
use super::reply::Reply;
use super::request::{PathParam, Query};
use super::session::Visitor;

pub(super) fn routes() -> Router<Arc<Console>> {
    Router::new()
        .route("/console/flows/{flowId}/edit", get(edit::show).post(edit::save))
        .route("/console/flows/{flowId}/draft", post(save::save))
        .route("/console/flows/{flowId}/images", post(images::upload))
        .route("/console/flows/{flowId}/preview", get(preview).post(preview))
        .route("/console/flows/{flowId}/publish", get(publish::review).post(publish::publish))
        .route("/console/flows/{flowId}/discard", get(discard::ask).post(discard::discard))
        .route("/console/flows/{flowId}/schedule", post(schedule::save))
        .route("/console/flows/{flowId}/history", get(history::show))
        .route("/console/flows/{flowId}/history/{flowVersionId}", get(history::version))
        .route(
            "/console/flows/{flowId}/history/{flowVersionId}/republish",
            post(history::republish),
        )
        .route("/console/flows/{flowId}/history/{flowVersionId}/retire", post(history::retire))
}

/// The hosted page of the draft, or of a version, in a frame of the editor.
async fn preview(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(flow): PathParam<FlowId>,
    Query(query): Query,
    request: Request,
) -> Reply {
    let version = query.get("version").and_then(|version| version.parse().ok());
    let previewed =
        console.engine.flow(&visitor.actor, Scope::Read, flow).await?.preview(version).await?;
    let address = format!("/console/flows/{flow}/preview");
    Ok(console.previews.page(previewed, address, request).await)
}
