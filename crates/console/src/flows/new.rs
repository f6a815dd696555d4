//! A new flow from a template, and a preview of each template.

use std::sync::Arc;

use axum::extract::{Path, Request, State};
use maud::html;
use sluice_engine::rows::Scope;
use sluice_engine::templates::template;
use sluice_engine::{Missing, NewFlow};
use sluice_flow::id::AppId;

use super::templates;
use crate::Console;
use crate::frame::{Frame, NavItem};
use crate::reply::{self, Kind, Refused, Reply};
use crate::request::{Form, PathParam};
use crate::session::Visitor;
use crate::sidebar::Sidebar;

pub(super) async fn show(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(app): PathParam<AppId>,
) -> Reply {
    let sidebar = Sidebar::app(&console, &visitor, app).await?;
    let content = html! {
        p.muted { "Start from scratch or choose a template. You can change everything in it, and nothing is public until you publish." }
        (templates::cards(app))
    };
    let frame = Frame::new(&visitor, &sidebar, NavItem::New, "New flow");
    Ok(frame.script("flows.js").page(Kind::Shown, content))
}

/// Creates the flow, and opens it.
pub(super) async fn create(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(app): PathParam<AppId>,
    Form(form): Form,
) -> Reply {
    // Checked first: a visitor who may not write learns nothing about other errors.
    visitor.actor.need_in(Scope::Write, app, Missing::App)?;
    let template = form.get("template").and_then(template).ok_or(Refused::NoSuchPage)?;
    // A flow is named by its title, unless it gets another name.
    let title = template.definition["title"].as_str().unwrap_or(&template.name);
    let name = form.get("name").unwrap_or(title).to_owned();
    let definition = Some(template.definition.clone());
    let new = NewFlow { name, kind: template.kind, definition };
    let made =
        console.engine.app(&visitor.actor, Scope::Write, app).await?.create_flow(&new).await?;
    Ok(reply::see_other(&format!("/console/flows/{}/edit?done=created", made.flow.flow_id)))
}

/// The hosted page of a template, as it would look in this app.
pub(super) async fn preview(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(app): PathParam<AppId>,
    Path(parts): Path<Vec<(String, String)>>,
    request: Request,
) -> Reply {
    let name = parts.iter().find(|(name, _)| name == "template").map(|(_, value)| value.as_str());
    let template = name.and_then(template).ok_or(Refused::NoSuchPage)?;
    let previewed = console
        .engine
        .app(&visitor.actor, Scope::Read, app)
        .await?
        .preview_template(template)
        .await?;
    let address = format!("/console/apps/{app}/templates/{}", template.id);
    Ok(console.previews.page(previewed, address, request).await)
}
