//! The published versions: time, author, changes and current state of each.

use std::sync::Arc;

use axum::extract::State;
use maud::{Markup, html};
use sluice_engine::rows::{Scope, VersionRow};
use sluice_engine::{FlowHandle, HistoryEntry, VersionHandle};
use sluice_flow::definition::{Change, difference};
use sluice_flow::id::{FlowId, FlowVersionId};
use sluice_flow::lifecycle::Accepting;

use super::{changes, questions};
use crate::Console;
use crate::flows::may_write;
use crate::frame::{Frame, NavItem, Tab};
use crate::parts::{ago, empty, number, time};
use crate::reply::{self, Kind, Reply};
use crate::request::{PathParam, Query};
use crate::session::Visitor;
use crate::sidebar::Sidebar;

/// Versions per page.
const PAGE_VERSIONS: usize = 20;
/// How many changes of a version are shown without expanding.
const CHANGES_SHOWN: usize = 6;

/// What is needed to render a version.
struct VersionEntry<'t> {
    entry: &'t HistoryEntry,
    /// The changes since the previous version; none for the first.
    changes: Option<Vec<Change>>,
    responses: u64,
}

pub(super) async fn show(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(flow): PathParam<FlowId>,
    Query(query): Query,
) -> Reply {
    let (sidebar, state) = Sidebar::flow(&console, &visitor, flow).await?;
    let before = query.get("before").and_then(|before| before.parse().ok());
    let entries = state.history(before, PAGE_VERSIONS + 1).await?;
    let counts = state.responses_by_version().await?;
    let writes = may_write(&visitor, state.flow.app_id) && state.flow.archived_at.is_none();
    let versions: Vec<VersionEntry<'_>> = entries
        .iter()
        .take(PAGE_VERSIONS)
        .enumerate()
        .map(|(at, entry)| VersionEntry {
            entry,
            changes: entries
                .get(at + 1)
                .and_then(|older| between(&state, &older.version, &entry.version)),
            responses: counts.get(&entry.version.flow_version_id).copied().unwrap_or(0),
        })
        .collect();
    let base = format!("/console/flows/{flow}");
    let next = versions.last().filter(|_| entries.len() > PAGE_VERSIONS);
    let content = html! {
        @if versions.is_empty() {
            (empty("Nothing published yet", "Each publish creates a version. All versions are kept here, and you can publish them again.", html! { a.button.primary href={ (base) "/edit" } { "Open editor" } }))
        } @else {
            ol.versions { @for one in &versions { (version_card(one, &base, writes)) } }
            @if before.is_some() || next.is_some() { nav.pager aria-label="Pages" {
                @if before.is_some() { a.button href={ (base) "/history" } { "Newest" } } @else { span {} }
                @if let Some(last) = next { a.button href={ (base) "/history?before=" (last.entry.version.number) } { "Older" } }
            } }
        }
    };
    let title = format!("History of {}", state.flow.name);
    let frame = Frame::new(&visitor, &sidebar, NavItem::Flow(&state, Tab::History), &title);
    Ok(frame.done(query.get("done")).page(Kind::Shown, content))
}

fn version_card(shown: &VersionEntry<'_>, base: &str, writes: bool) -> Markup {
    let HistoryEntry { version, accepting, published_by, republished_from } = shown.entry;
    let here = format!("{base}/history/{}", version.flow_version_id);
    let is_current = matches!(accepting, Accepting::Open { .. } | Accepting::NotOpenYet)
        && version.times.superseded_at.is_none();
    let is_retired = version.times.retired_at.is_some();
    html! {
        li.card.version {
            header {
                h2 { "Version " (version.number) }
                (state_text(version, *accepting))
            }
            p.muted {
                @if let Some(at) = version.times.published_at { "Published " (ago(at)) }
                @if let Some(who) = published_by { " by " (who) }
                @if republished_from.is_some() { ", a republished older version" }
                " · " (responses(shown.responses))
            }
            @match &shown.changes {
                Some(changes) if changes.len() > CHANGES_SHOWN => {
                    (changes::list(&changes[..CHANGES_SHOWN]))
                    details.more { summary { (changes.len() - CHANGES_SHOWN) " more changes" } (changes::list(&changes[CHANGES_SHOWN..])) }
                }
                Some(changes) => (changes::list(changes)),
                None if version.number == 1 => p.muted { "First version." },
                None => {},
            }
            div.buttons {
                a.button.small href=(here) { "View questions" }
                @if writes && !is_current {
                    form method="post" action={ (here) "/republish" } data-confirm={ "Publish version " (version.number) " again? It becomes the newest version; the draft does not change." } {
                        button.button.small type="submit" { "Publish again" }
                    }
                }
                @if writes && !is_retired {
                    form method="post" action={ (here) "/retire" } data-confirm={ "Retire version " (version.number) "? It closes immediately, without a grace window. Its responses are kept." } {
                        button.button.small.danger type="submit" { "Retire" }
                    }
                }
            }
        }
    }
}

/// The state of a version, as a dot and text.
fn state_text(version: &VersionRow, accepting: Accepting) -> Markup {
    let (class, words) = match accepting {
        Accepting::Open { until: None } => ("open", html! { "Current: accepts responses" }),
        Accepting::Open { until: Some(until) } => {
            ("open", html! { "Current: accepts responses until " (time(until)) })
        }
        Accepting::InGrace { until } => {
            ("scheduled", html! { "In grace window until " (time(until)) })
        }
        Accepting::NotOpenYet => ("scheduled", html! { "Not open yet" }),
        Accepting::NoLonger if version.times.superseded_at.is_none() => {
            ("closed", html! { "Current, but the live window has ended" })
        }
        Accepting::NoLonger => ("closed", html! { "Superseded: accepts no responses" }),
        Accepting::Gone => ("archived", html! { "Retired" }),
    };
    html! { span.state { span class={ "dot " (class) } {} span { (words) } } }
}

fn responses(count: u64) -> String {
    if count == 1 { "1 response".to_owned() } else { format!("{} responses", number(count)) }
}

fn between(flow: &FlowHandle, older: &VersionRow, newer: &VersionRow) -> Option<Vec<Change>> {
    Some(difference(&*flow.definition(older)?, &*flow.definition(newer)?))
}

/// One version: its questions, and its preview.
pub(super) async fn version(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(flow): PathParam<FlowId>,
    PathParam(version): PathParam<FlowVersionId>,
) -> Reply {
    let (sidebar, state) = Sidebar::flow(&console, &visitor, flow).await?;
    let found = console.engine.version(&visitor.actor, Scope::Read, version).await?;
    let row = &found.version;
    if row.flow_id != flow {
        return Err(reply::Refused::NoSuchPage);
    }
    let base = format!("/console/flows/{flow}");
    let content = html! {
        p { a href={ (base) "/history" } { "All versions" } }
        div.editor data-pane="both" {
            div.panes {
                section.write aria-label="Questions" {
                    @if let Some(definition) = state.definition(row) {
                        h2 { "Version " (row.number) ": " (definition.title()) }
                        (questions::list(&definition))
                    }
                }
                section.preview-pane aria-label="Preview" {
                    div.stage data-width="desktop" { iframe title={ "Version " (row.number) } src={ (base) "/preview?version=" (version) } {} }
                    p.hint { "Preview: answers are not saved." }
                }
            }
        }
    };
    let title = format!("Version {}", row.number);
    let frame = Frame::new(&visitor, &sidebar, NavItem::Flow(&state, Tab::History), &title);
    Ok(frame.page(Kind::Shown, content))
}

pub(super) async fn republish(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(flow): PathParam<FlowId>,
    PathParam(version): PathParam<FlowVersionId>,
) -> Reply {
    writable(&console, &visitor, flow, version).await?.republish().await?;
    Ok(reply::see_other(&format!("/console/flows/{flow}/history?done=published")))
}

pub(super) async fn retire(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(flow): PathParam<FlowId>,
    PathParam(version): PathParam<FlowVersionId>,
) -> Reply {
    writable(&console, &visitor, flow, version).await?.retire().await?;
    Ok(reply::see_other(&format!("/console/flows/{flow}/history?done=retired")))
}

/// The version for writing, if it belongs to the flow in the address.
async fn writable(
    console: &Console,
    visitor: &Visitor,
    flow: FlowId,
    version: FlowVersionId,
) -> Result<VersionHandle, reply::Refused> {
    let found = console.engine.version(&visitor.actor, Scope::Write, version).await?;
    if found.flow.flow_id == flow { Ok(found) } else { Err(reply::Refused::NoSuchPage) }
}
