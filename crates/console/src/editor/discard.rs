//! Discarding a draft: a page with the changes that would be lost, then the action. The editor's
//! script discards at once, since it can undo it.

use std::sync::Arc;

use axum::extract::State;
use maud::html;
use sluice_engine::rows::Scope;
use sluice_flow::id::FlowId;

use super::changes;
use crate::Console;
use crate::frame::{Frame, NavItem, Tab, Width};
use crate::reply::{self, Kind, Reply};
use crate::request::{Form, PathParam};
use crate::session::Visitor;
use crate::sidebar::Sidebar;
use crate::unpublished::Unpublished;

pub(super) async fn ask(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(flow): PathParam<FlowId>,
) -> Reply {
    let (sidebar, handle) = Sidebar::flow(&console, &visitor, flow).await?;
    let editing = handle.editing().await?;
    let unpublished = Unpublished::new(&editing.state);
    let edit = format!("/console/flows/{flow}/edit");
    let content = html! {
        section.card data-dialog-body {
            h2 { "Discard changes?" }
            @match &unpublished {
                Unpublished::Changes(changes) => {
                    p { "The draft goes back to the published version. These changes are lost:" }
                    (changes::list(changes))
                }
                Unpublished::Unknown => p { "The draft goes back to the published version. All changes since then are lost." },
                Unpublished::Nothing => p.muted { "There are no unpublished changes." },
                Unpublished::First => p.muted { "This flow was never published, so there is nothing to go back to." },
            }
            div.buttons {
                @if unpublished.can_discard() {
                    form method="post" action={ "/console/flows/" (flow) "/discard" } {
                        input type="hidden" name="tag" value=(editing.tag);
                        button.button.danger.primary type="submit" { "Discard changes" }
                    }
                }
                a.button href=(edit) data-closes { "Cancel" }
            }
        }
    };
    let place = NavItem::Flow(&editing.state, Tab::Edit);
    let frame = Frame::new(&visitor, &sidebar, place, "Discard changes");
    Ok(frame.width(Width::Narrow).page(Kind::Shown, content))
}

pub(super) async fn discard(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(flow): PathParam<FlowId>,
    Form(form): Form,
) -> Reply {
    let opened = console.engine.flow(&visitor.actor, Scope::Write, flow).await?;
    opened.discard_draft(form.raw("tag")).await?;
    Ok(reply::see_other(&format!("/console/flows/{flow}/edit?done=discarded")))
}
