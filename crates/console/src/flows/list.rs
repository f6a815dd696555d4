//! The list of flows: the state, recent responses and last response of each.
//!
//! Newest first, in pages. An app without flows shows the templates, since that is the next step.

use std::collections::HashMap;
use std::sync::Arc;

use axum::extract::State;
use maud::{Markup, html};
use sluice_engine::rows::{FlowState, Page};
use sluice_engine::summary::Spark;
use sluice_engine::{AdminResult, ClosingState};
use sluice_flow::definition::Kind as FlowKind;
use sluice_flow::id::{AppId, FlowId};
use sluice_flow::time::Timestamp;

use super::{may_write, templates};
use crate::Console;
use crate::chart;
use crate::frame::{Frame, NavItem, state_of};
use crate::parts::{empty, number, time};
use crate::reply::{Kind, Reply};
use crate::request::{PathParam, Query};
use crate::session::Visitor;
use crate::sidebar::{FlowStage, Sidebar};

/// Flows per page.
const PAGE_FLOWS: usize = 25;
/// Days of a sparkline.
const SPARK_DAYS: u32 = 30;

/// One flow of the list.
struct FlowEntry {
    state: FlowState,
    status: FlowStage,
    spark: Option<Spark>,
    last_answer: Option<Timestamp>,
}

pub(super) async fn show(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(app): PathParam<AppId>,
    Query(query): Query,
) -> Reply {
    let sidebar = Sidebar::app(&console, &visitor, app).await?;
    let is_archive = query.get("view") == Some("archived");
    let after: Option<FlowId> = query.get("after").and_then(|id| id.parse().ok());
    let page = Page { after, limit: PAGE_FLOWS + 1 };
    let mut flows = sidebar.own()?.newest_flows(is_archive, page).await?;
    let has_more = flows.len() > PAGE_FLOWS;
    flows.truncate(PAGE_FLOWS);
    let entries = read(&sidebar, flows).await?;
    let base = format!("/console/apps/{app}");
    let writes = may_write(&visitor, app);
    let is_first_run = entries.is_empty() && after.is_none() && !is_archive;
    let content = html! {
        @if is_first_run { (first_run(app, writes)) } @else {
            (views(&base, is_archive))
            @if entries.is_empty() && is_archive {
                (empty("No archived flows", "Archived flows are listed here with their responses and results.", html! { a.button href=(base) { "All flows" } }))
            } @else if entries.is_empty() {
                (empty("No more flows", "This page is empty.", html! { a.button href=(base) { "Newest flows" } }))
            } @else {
                ul.flows { @for entry in &entries { (row(entry, writes)) } }
                (pager(&base, is_archive, after.is_some(), entries.last().filter(|_| has_more)))
            }
        }
    };
    let new = html! {
        @if writes && !is_first_run { a.button.primary href={ (base) "/new" } { "New flow" } }
    };
    let title = sidebar.own()?.row.name.clone();
    let frame = Frame::new(&visitor, &sidebar, NavItem::Flows, &title).done(query.get("done"));
    Ok(frame.actions(new).script("flows.js").page(Kind::Shown, content))
}

async fn read(sidebar: &Sidebar, flows: Vec<FlowState>) -> AdminResult<Vec<FlowEntry>> {
    let app = sidebar.own()?;
    let sparks = app.sparks(SPARK_DAYS).await?;
    let mut sparks: HashMap<FlowId, Spark> =
        sparks.into_iter().map(|spark| (spark.flow_id, spark)).collect();
    let ids: Vec<FlowId> = flows.iter().map(|state| state.flow.flow_id).collect();
    let last_received = app.last_received(&ids).await?;
    let limits = app.closing_of_flows(&flows).await?;
    let entry = |(state, limits): (FlowState, ClosingState)| FlowEntry {
        status: FlowStage::new(&state, sidebar.now).or_full(limits.is_full()),
        spark: sparks.remove(&state.flow.flow_id),
        last_answer: last_received.get(&state.flow.flow_id).copied(),
        state,
    };
    Ok(flows.into_iter().zip(limits).map(entry).collect())
}

fn views(base: &str, is_archive: bool) -> Markup {
    let is = |here: bool| here.then_some("page");
    html! {
        nav.chips aria-label="Show flows" {
            a.chip href=(base) aria-current=[is(!is_archive)] { "Active" }
            a.chip href={ (base) "?view=archived" } aria-current=[is(is_archive)] { "Archived" }
        }
    }
}

fn row(entry: &FlowEntry, writes: bool) -> Markup {
    let flow = &entry.state.flow;
    let base = format!("/console/flows/{}", flow.flow_id);
    // A flow with responses opens its results, any other the editor.
    let first = if entry.last_answer.is_some() { "results" } else { "edit" };
    let none = Vec::new();
    let days = entry.spark.as_ref().map_or(&none, |spark| &spark.days);
    html! {
        li.flow {
            div.what {
                h2 { a href={ (base) "/" (first) } { (flow.name) } }
                p.muted { (state_of(entry.status)) span { (kind_label(flow.kind)) } span { (versions(&entry.state)) } }
            }
            div.much {
                (chart::spark(days))
                p.number { (responses(entry)) }
            }
            p.last.muted { @match entry.last_answer {
                Some(at) => { span { "Last response" } (time(at)) }
                None => "No responses yet",
            } }
            (menu(entry, &base, writes))
        }
    }
}

fn menu(entry: &FlowEntry, base: &str, writes: bool) -> Markup {
    let name = &entry.state.flow.name;
    html! {
        details.choices {
            summary.button.small.quiet aria-label={ "More actions for " (name) } { "More" }
            div.list {
                @for (part, word) in [("edit", "Edit"), ("share", "Share"), ("responses", "Responses"), ("results", "Results"), ("history", "History")] {
                    a.button.quiet href={ (base) "/" (part) } { (word) }
                }
                @if writes {
                    form method="post" action={ (base) "/duplicate" } { button.button.quiet type="submit" { "Duplicate" } }
                    @if entry.status != FlowStage::Archived { a.button.quiet href={ (base) "/archive" } { "Archive…" } }
                }
            }
        }
    }
}

fn kind_label(kind: FlowKind) -> &'static str {
    match kind {
        FlowKind::Survey => "Survey",
        FlowKind::Form => "Form",
        FlowKind::Message => "Message",
    }
}

fn versions(state: &FlowState) -> String {
    let draft = if state.draft.is_some() { ", unpublished draft" } else { "" };
    match state.last_number {
        0 => "never published".to_owned(),
        1 => format!("1 version{draft}"),
        many => format!("{many} versions{draft}"),
    }
}

fn responses(entry: &FlowEntry) -> String {
    match entry.spark.as_ref().map_or(0, |spark| spark.responses) {
        1 => "1 response".to_owned(),
        many => format!("{} responses", number(many)),
    }
}

fn pager(base: &str, is_archive: bool, is_later: bool, last: Option<&FlowEntry>) -> Markup {
    let view = if is_archive { "view=archived&" } else { "" };
    html! {
        @if is_later || last.is_some() {
            nav.pager aria-label="Pages" {
                @if is_later { a.button href={ (base) "?" (view) } { "Newest" } } @else { span {} }
                @if let Some(last) = last {
                    a.button href={ (base) "?" (view) "after=" (last.state.flow.flow_id) } { "Older" }
                }
            }
        }
    }
}

/// The next steps in an app without flows.
fn first_run(app: AppId, writes: bool) -> Markup {
    html! {
        @if writes {
            section.stack {
                h2 { "Four steps to the first result" }
                ol.steps {
                    li { strong { "Choose a template" } " You can change everything in it." }
                    li { strong { "Publish" } " It gets its own page immediately." }
                    li { strong { "Answer" } " See what your respondents see." }
                    li { strong { "View the result" } " It appears immediately." }
                }
            }
            (templates::cards(app))
        } @else {
            (empty("No flows yet", "Surveys, forms and messages that editors create are listed here.", html! {}))
        }
    }
}
