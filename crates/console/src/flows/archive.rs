//! Archiving a flow: a page that explains it, then the action.

use sluice_engine::rows::Scope;
use std::sync::Arc;

use axum::extract::State;
use maud::html;
use sluice_flow::id::FlowId;

use crate::Console;
use crate::frame::{Frame, NavItem, Width};
use crate::reply::{self, Kind, Reply};
use crate::request::PathParam;
use crate::session::{self, Visitor};
use crate::sidebar::Sidebar;
use crate::toasts;

pub(super) async fn ask(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(flow): PathParam<FlowId>,
) -> Reply {
    let (sidebar, state) = Sidebar::flow(&console, &visitor, flow).await?;
    let title = format!("Archive “{}”?", state.flow.name);
    let content = html! {
        section.card data-dialog-body {
            h2 { (title) }
            ul {
                li { "Its page and API stop working immediately. People who are answering now can no longer send." }
                li { "Its responses, results and history are kept. You can still view and export them." }
                li { "You can restore it at any time. Until then it cannot be edited or published." }
            }
            form.buttons method="post" action={ "/console/flows/" (flow) "/archive" } {
                button.button.danger.primary type="submit" { "Archive" }
                a.button href={ "/console/flows/" (flow) } data-closes { "Cancel" }
            }
        }
    };
    let frame = Frame::new(&visitor, &sidebar, NavItem::Flows, "Archive").width(Width::Narrow);
    Ok(frame.page(Kind::Shown, content))
}

pub(super) async fn done(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(flow): PathParam<FlowId>,
) -> Reply {
    let flow = console.engine.flow(&visitor.actor, Scope::Write, flow).await?;
    flow.archive().await?;
    let (app, flow) = (flow.app_id(), flow.flow_id());
    let done = format!("archived.{flow}");
    let address = format!("/console/apps/{app}?done={done}");
    Ok(reply::see_other_with(&address, &session::did(&toasts::action(flow, &done))))
}
