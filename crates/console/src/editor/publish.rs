//! Publishing: the bar above the editor, the review of changes, and the publish action.
//!
//! The first version is published without a review, since there is nothing to compare and no
//! respondent has a version open. Every later one is reviewed first: what changes, which results it
//! splits, and how long the previous version still accepts responses.

use std::sync::Arc;

use axum::extract::State;
use maud::{Markup, html};
use sluice_engine::rows::{FlowState, Scope};
use sluice_engine::{AdminError, Editing};
use sluice_flow::definition::{Change, Fault, check, difference};
use sluice_flow::id::FlowId;
use sluice_flow::lifecycle::GRACE_DEFAULT_SECONDS;

use super::{changes, schedule};
use crate::Console;
use crate::frame::{Frame, NavItem, Tab, Width};
use crate::parts::time;
use crate::reply::{self, Kind, Reply};
use crate::request::{Form, PathParam};
use crate::session::Visitor;
use crate::sidebar::Sidebar;

/// The save status, and the publish button.
pub(super) fn bar(editing: &Editing) -> Markup {
    let state = &editing.state;
    let base = format!("/console/flows/{}", state.flow.flow_id);
    let is_first = state.current.is_none();
    html! {
        div id="bar" {
            div.states {
                p id="saving" data-state="saved" { @if state.draft.is_some() { "All changes saved" } @else { "No changes since version " (state.last_number) } }
                p.hint { (standing(state)) }
            }
            div.buttons {
                @if is_first {
                    form method="post" action={ (base) "/publish" } data-publish {
                        input type="hidden" name="tag" value=(editing.tag);
                        button.button.primary type="submit" { "Publish" }
                    }
                } @else {
                    a.button.primary href={ (base) "/publish" } data-publish { "Review and publish" }
                }
            }
        }
    }
}

fn standing(state: &FlowState) -> Markup {
    html! {
        @match &state.current {
            Some(current) => { "Respondents get version " (current.number) "." },
            None if state.last_number == 0 => "Not published yet. Only editors can see this draft.",
            None => { "Version " (state.last_number) " was retired. Respondents see no version." },
        }
    }
}

/// Next steps after publishing.
pub(super) fn what_next(state: &FlowState) -> Markup {
    let flow = state.flow.flow_id;
    let number = state.current.as_ref().map_or(0, |current| current.number);
    html! {
        section.card.next aria-label="Next steps" {
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
    let editing = flow.editing()?;
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
        Err(AdminError::Invalid(_)) => None,
        Err(AdminError::Conflict { detail, .. }) => Some(detail),
        Err(error) => return Err(error.into()),
    };
    // Read again: the state may have changed since the decision.
    let (sidebar, flow) = Sidebar::flow(&console, &visitor, flow).await?;
    let editing = flow.editing()?;
    let kind = if why.is_some() { Kind::Conflict } else { Kind::Unfinished };
    let warnings = flow.draft_warnings(&editing.definition)?;
    let content = reviewed(&editing, &warnings, why.as_deref());
    let frame =
        Frame::new(&visitor, &sidebar, NavItem::Flow(&editing.state, Tab::Edit), "Not published");
    Ok(frame.width(Width::Narrow).page(kind, content))
}

fn reviewed(editing: &Editing, warnings: &[Fault], why: Option<&str>) -> Markup {
    let state = &editing.state;
    let base = format!("/console/flows/{}", state.flow.flow_id);
    let changes = changes_of(editing);
    let has_draft = state.draft.is_some();
    html! {
        @if let Some(why) = why { div.errors role="alert" tabindex="-1" { p { "Not published: " (why) "." } } }
        @if !editing.faults.is_empty() { (faulty(editing, &base)) }
        @for warning in warnings { p.note.warn { "Warning: " (warning.message) "." } }
        section.card {
            h2 { @if state.current.is_some() { "Changes" } @else { "First version" } }
            @if !has_draft { p.muted { "No unpublished changes." } }
            @else if let Some(changes) = &changes { (changes::warning(changes)) (changes::list(changes)) }
            @else if state.current.is_none() { p { "This is the first version, so there is nothing to compare." } }
            @else { p.muted { "Fix the problems above to see the changes." } }
        }
        @if let Some(current) = &state.current { section.card {
            h2 { "Current respondents" }
            p { (grace_note(state, current.number)) }
            p.hint { "Their number is unknown, because open pages are not tracked. " a href={ (base) "/edit#schedule" } { "Change grace window" } }
        } }
        div.buttons {
            @if has_draft && editing.faults.is_empty() {
                form method="post" action={ (base) "/publish" } {
                    input type="hidden" name="tag" value=(editing.tag);
                    button.button.primary type="submit" { "Publish version " (state.last_number + 1) }
                }
            }
            a.button href={ (base) "/edit" } { "Back to editor" }
        }
    }
}

fn faulty(editing: &Editing, base: &str) -> Markup {
    html! {
        div.errors role="alert" tabindex="-1" {
            h2 { "Not ready to publish" }
            ul { @for fault in &editing.faults {
                li { a href={ (base) "/edit" } { code { (fault.pointer) } " " (fault.message) } }
            } }
        }
    }
}

/// The changes from the published version to the draft, if both are valid.
fn changes_of(editing: &Editing) -> Option<Vec<Change>> {
    let before = editing.published.as_deref()?;
    let after = check(&editing.definition).ok()?;
    Some(difference(before, &after))
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
