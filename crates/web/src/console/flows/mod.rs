//! The flows of an app: listed, made, duplicated, archived.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::routing::get;
use maud::html;
use sluice_flow::id::AppId;

use super::Console;
use super::around::Around;
use super::frame::{Frame, Place, state_of};
use super::parts::empty;
use super::reply::{Answer, Kind};
use super::request::{At, Query};
use super::session::Visitor;

pub(super) fn routes() -> Router<Arc<Console>> {
    Router::new().route("/console/apps/{appId}", get(list))
}

async fn list(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    At(app): At<AppId>,
    Query(query): Query,
) -> Answer {
    let around = Around::app(&console, &visitor, app).await?;
    let new = html! { a.button.primary href={ "/console/apps/" (app) "/new" } { "New flow" } };
    let content = html! {
        @if around.flows.is_empty() {
            (empty("No flow yet", "A flow is a survey, a form or a message. Begin with a template: it is published in a minute.", new.clone()))
        } @else {
            ul.cards {
                @for flow in &around.flows {
                    li.card { a href={ "/console/flows/" (flow.flow_id) "/edit" } { (flow.name) } (state_of(flow.status)) }
                }
            }
        }
    };
    let title = around.own()?.name.clone();
    let frame = Frame::new(&visitor, &around, Place::Flows, &title).done(query.get("done"));
    Ok(frame.actions(new).page(Kind::Shown, content))
}
