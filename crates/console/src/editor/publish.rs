//! Publishing: the review of what changes, and the publish action.
//!
//! Every version is reviewed first: what changes, which results it splits, and how long the
//! previous version still accepts responses. With a script the review is a dialog.

use std::sync::Arc;

use axum::extract::State;
use maud::{Markup, html};
use serde_json::Value;
use sluice_engine::rows::{FlowState, Scope};
use sluice_engine::{AdminError, Editing};
use sluice_flow::definition::Fault;
use sluice_flow::id::FlowId;
use sluice_flow::lifecycle::GRACE_DEFAULT_SECONDS;

use super::{changes, faults, schedule};
use crate::Console;
use crate::frame::{Frame, NavItem, Tab, Width};
use crate::parts::{counted, time};
use crate::reply::{self, Kind, Reply};
use crate::request::{Form, PathParam};
use crate::session::Visitor;
use crate::sidebar::Sidebar;
use crate::unpublished::Unpublished;

/// Next steps after publishing.
pub(super) fn what_next(state: &FlowState) -> Markup {
    let flow = state.flow.flow_id;
    let number = state.current.as_ref().map_or(0, |current| current.number);
    html! {
        section.card.next-steps aria-label="Next steps" {
            p { strong { "Version " (number) " is live." } " Answer it as a respondent, then view the result." }
            div.buttons {
                a.button.primary href={ "/f/" (flow) } target="_blank" rel="noopener" { "Answer" }
                a.button href={ "/console/flows/" (flow) "/share" } { "Share" }
                a.button href={ "/console/flows/" (flow) "/results" } { "View results" }
            }
        }
    }
}

/// The review page: what would change.
pub(super) async fn review(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(flow): PathParam<FlowId>,
) -> Reply {
    let (sidebar, flow) = Sidebar::flow(&console, &visitor, flow).await?;
    let editing = flow.editing().await?;
    let warnings = flow.draft_warnings(&editing.definition)?;
    let content = reviewed(&editing, &warnings, None);
    let title = format!("Publish {}", editing.state.flow.name);
    let frame = Frame::new(&visitor, &sidebar, NavItem::Flow(&editing.state, Tab::Edit), &title);
    Ok(frame.width(Width::Narrow).page(Kind::Shown, content))
}

/// Publishes the reviewed draft. If that is not possible, the page shows the reason.
pub(super) async fn publish(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(flow): PathParam<FlowId>,
    Form(form): Form,
) -> Reply {
    let published = console
        .engine
        .flow(&visitor.actor, Scope::Write, flow)
        .await?
        .publish_seen(form.raw("tag"))
        .await;
    let why = match published {
        Ok(_) => {
            return Ok(reply::see_other(&format!("/console/flows/{flow}/edit?done=published")));
        }
        // Other faults are those of the draft, which the page lists.
        Err(AdminError::Invalid(faults)) => faults
            .into_iter()
            .find(|fault| fault.pointer.ends_with("/image/assetId"))
            .map(Why::Image),
        Err(AdminError::Conflict { detail, .. }) => Some(Why::Conflict(detail)),
        Err(error) => return Err(error.into()),
    };
    // Read again: the state may have changed since the decision.
    let (sidebar, flow) = Sidebar::flow(&console, &visitor, flow).await?;
    let editing = flow.editing().await?;
    let kind = if why.is_some() { Kind::Conflict } else { Kind::Unfinished };
    let warnings = flow.draft_warnings(&editing.definition)?;
    let why = why.map(|why| why.text(&editing.definition));
    let content = reviewed(&editing, &warnings, why.as_deref());
    let frame =
        Frame::new(&visitor, &sidebar, NavItem::Flow(&editing.state, Tab::Edit), "Not published");
    Ok(frame.width(Width::Narrow).page(kind, content))
}

/// Why a reviewed draft was not published.
enum Why {
    Conflict(String),
    /// An image of it is gone.
    Image(Fault),
}

impl Why {
    fn text(self, definition: &Value) -> String {
        match self {
            Self::Conflict(detail) => detail,
            Self::Image(fault) => {
                let notes = faults::notes(std::slice::from_ref(&fault), definition);
                notes.iter().map(|it| format!("{}: {}", it.place, it.problem)).collect()
            }
        }
    }
}

fn reviewed(editing: &Editing, warnings: &[Fault], why: Option<&str>) -> Markup {
    let state = &editing.state;
    let base = format!("/console/flows/{}", state.flow.flow_id);
    let unpublished = Unpublished::new(state);
    let is_ready = unpublished.can_publish() && editing.faults.is_empty();
    html! {
        @if let Some(why) = why { div.errors role="alert" tabindex="-1" { p { "Not published: " (why) "." } } }
        section.card data-dialog-body {
            h2 {
                @if !editing.faults.is_empty() { (faults::heading(&editing.faults)) }
                @else if is_ready { "Publish version " (state.last_number + 1) "?" }
                @else { "Nothing to publish" }
            }
            @if !editing.faults.is_empty() { (faults::list(&editing.faults, &editing.definition, &base)) }
            @for warning in warnings { p.note.warn { "Warning: " (warning.message) "." } }
            (what_changes(editing, &unpublished))
            @if let (Some(current), true) = (&state.current, is_ready) {
                h3 { "Current respondents" }
                p { (grace_note(state, current.number)) }
                p.hint { "Their number is unknown, because open pages are not tracked. " a href={ (base) "/edit#schedule" } { "Change grace window" } }
            }
            div.buttons {
                @if is_ready {
                    form method="post" action={ (base) "/publish" } {
                        input type="hidden" name="tag" value=(editing.tag);
                        button.button.primary type="submit" { "Publish version " (state.last_number + 1) }
                    }
                }
                a.button href={ (base) "/edit" } data-closes[editing.faults.is_empty()] { @if is_ready { "Cancel" } @else { "Back to editor" } }
            }
        }
    }
}

fn what_changes(editing: &Editing, unpublished: &Unpublished) -> Markup {
    match unpublished {
        Unpublished::Nothing => {
            html! { p.muted { "No unpublished changes: the draft matches the published version." } }
        }
        Unpublished::First => {
            let questions = editing.definition["questions"].as_array().map_or(0, Vec::len);
            html! { @if questions > 0 && editing.faults.is_empty() { p { "This is the first version: " (counted(questions as u64, "question")) ". Anyone with the link can answer it." } } }
        }
        Unpublished::Changes(changes) => {
            html! { (changes::warning(changes)) (changes::list(changes)) }
        }
        Unpublished::Unknown if editing.faults.is_empty() => {
            html! { p.muted { "The published version cannot be compared with the draft." } }
        }
        Unpublished::Unknown => html! { p.muted { "Fix the problems above to see the changes." } },
    }
}

/// What happens to respondents who have the previous version open.
fn grace_note(state: &FlowState, number: u32) -> Markup {
    let own = state.flow.grace_window_seconds;
    let seconds = own.or(state.app_grace_window_seconds).unwrap_or(GRACE_DEFAULT_SECONDS);
    let span = schedule::duration_text(seconds);
    html! {
        @if seconds == 0 {
            "People who have version " (number) " or an older one open can no longer send it after you publish. They get the new version with the answers that still apply."
        } @else {
            "People who have version " (number) " open can still send it for " (span) " after you publish. After that they get the new version with the answers that still apply. Older versions close at the same time or earlier."
            @if let Some(end) = state.flow.live.ends_at { " No responses are accepted after " (time(end)) ", when the live window ends." }
        }
    }
}
