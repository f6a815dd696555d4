//! Closing a flow now, opening it again, and restoring an archived flow.

use std::sync::Arc;

use axum::extract::State;
use sluice_engine::rows::Scope;
use sluice_flow::id::FlowId;
use sluice_flow::time::Timestamp;

use crate::Console;
use crate::frame::Tab;
use crate::reply::{self, Reply};
use crate::request::{Fields, Form, PathParam};
use crate::session::{self, Visitor};
use crate::toasts;

pub(super) async fn close(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(flow): PathParam<FlowId>,
    Form(form): Form,
) -> Reply {
    let before = console.engine.flow(&visitor.actor, Scope::Write, flow).await?.close().await?;
    // The end that it had, for the button that undoes it.
    let until = before.map(|end| format!(".{}", end.as_millis())).unwrap_or_default();
    Ok(back(flow, &form, &format!("closed{until}")))
}

pub(super) async fn reopen(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(flow): PathParam<FlowId>,
    Form(form): Form,
) -> Reply {
    let until = form.get("until").and_then(|until| until.parse().ok()).map(Timestamp::from_millis);
    console.engine.flow(&visitor.actor, Scope::Write, flow).await?.reopen(until).await?;
    Ok(back(flow, &form, "reopened"))
}

pub(super) async fn restore(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(flow): PathParam<FlowId>,
    Form(form): Form,
) -> Reply {
    console.engine.flow(&visitor.actor, Scope::Write, flow).await?.restore().await?;
    Ok(back(flow, &form, "restored"))
}

/// Back to the tab that the form was on.
fn back(flow: FlowId, form: &Fields, done: &str) -> axum::response::Response {
    let names = Tab::ALL.map(|tab| tab.name().0);
    let tab = names.into_iter().find(|name| form.get("tab") == Some(name)).unwrap_or("edit");
    let address = format!("/console/flows/{flow}/{tab}?done={done}");
    reply::see_other_with(&address, &session::did(&toasts::action(flow, done)))
}
