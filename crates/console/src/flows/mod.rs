//! The flows of an app: list, create from a template, duplicate, archive.

mod archive;
mod labels;
mod list;
mod new;
mod overview;
mod state;
mod templates;
mod thumbnail;

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::routing::{get, post};
use sluice_engine::Missing;
use sluice_engine::rows::Scope;
use sluice_flow::id::{AppId, FlowId};

use super::Console;
use super::reply::{self, Reply};
use super::request::PathParam;
use super::session::Visitor;

pub(super) fn routes() -> Router<Arc<Console>> {
    Router::new()
        .route("/console/apps/{appId}", get(list::show))
        .route("/console/apps/{appId}/new", get(new::show).post(new::create))
        .route("/console/apps/{appId}/templates/{template}", get(new::preview).post(new::preview))
        .route("/console/flows/{flowId}", get(first_tab))
        .route("/console/flows/{flowId}/duplicate", post(duplicate))
        .route("/console/flows/{flowId}/archive", get(archive::ask).post(archive::done))
        .route("/console/flows/{flowId}/labels", get(labels::ask).post(labels::save))
        .route("/console/flows/{flowId}/restore", post(state::restore))
        .route("/console/flows/{flowId}/close", post(state::close))
        .route("/console/flows/{flowId}/reopen", post(state::reopen))
}

/// Whether the visitor may change flows of this app.
pub(super) fn may_write(visitor: &Visitor, app: AppId) -> bool {
    visitor.actor.need_in(Scope::Write, app, Missing::App).is_ok()
}

/// The place that a flow's name leads to: the results, or the editor before the first publish.
async fn first_tab(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(flow): PathParam<FlowId>,
) -> Reply {
    let state = console.engine.flow(&visitor.actor, Scope::Read, flow).await?;
    let tab = if state.last_number == 0 { "edit" } else { "results" };
    Ok(reply::see_other(&format!("/console/flows/{flow}/{tab}")))
}

/// Creates a copy, and opens it in the editor.
async fn duplicate(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(flow): PathParam<FlowId>,
) -> Reply {
    let original = console.engine.flow(&visitor.actor, Scope::Write, flow).await?;
    let copy = original.duplicate(&copy_of(&original.flow.name)).await?;
    let address = format!("/console/flows/{}/edit?done=duplicated", copy.flow.flow_id);
    Ok(reply::see_other(&address))
}

/// The name of a copy, within the length limit of names.
fn copy_of(name: &str) -> String {
    const PREFIX: &str = "Copy of ";
    const CHARS_MAX: usize = 200;
    PREFIX.chars().chain(name.chars()).take(CHARS_MAX).collect()
}
