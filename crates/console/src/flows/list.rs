//! The list of flows: the state, recent responses and last response of each.
//!
//! Newest first, in pages. An app without flows shows the templates, since that is the next step.

use std::collections::HashMap;
use std::sync::Arc;

use axum::extract::State;
use maud::{Markup, html};
use sluice_engine::rows::{FlowState, Page};
use sluice_engine::summary::Spark;
use sluice_engine::{AdminResult, ClosingState, SEARCHED_FLOWS_MAX};
use sluice_flow::definition::Kind as FlowKind;
use sluice_flow::id::{AppId, FlowId};
use sluice_flow::time::Timestamp;

use super::{labels, may_write, overview, templates};
use crate::Console;
use crate::chart;
use crate::flow_header::state_of;
use crate::frame::{Frame, NavItem};
use crate::parts::{ago, empty, number};
use crate::reply::{Kind, Reply};
use crate::request::{PathParam, Query};
use crate::session::Visitor;
use crate::sidebar::{FlowStage, Sidebar};
use crate::unpublished::Unpublished;

/// Flows per page.
const PAGE_FLOWS: usize = 25;
/// The most flows that a search shows.
const FOUND_MAX: usize = 50;
/// Days of a sparkline.
const SPARK_DAYS: u32 = 30;

/// One flow of the list.
struct FlowEntry {
    state: FlowState,
    status: FlowStage,
    spark: Option<Spark>,
    last_answer: Option<Timestamp>,
    /// The question that matches the search.
    question: Option<String>,
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
    let (search, label) = (query.get("q"), query.get("label"));
    let listed = match search {
        Some(text) => found(&sidebar, text, label, is_archive).await?,
        None => newest(&sidebar, label, is_archive, after).await?,
    };
    let (sparks, entries) = read(&sidebar, listed.flows).await?;
    let base = format!("/console/apps/{app}");
    let writes = may_write(&visitor, app);
    let is_first_page = after.is_none() && !is_archive && search.is_none() && label.is_none();
    let is_first_run = entries.is_empty() && is_first_page;
    let content = html! {
        @if is_first_run { (first_run(app, writes)) } @else {
            @if is_first_page { (overview::strip(&sidebar, &sparks).await?) }
            (tools(&base, is_archive, search.unwrap_or_default(), label))
            @if entries.is_empty() && search.is_some() {
                (empty("No flows found", "No name, title, question or label has all these words.", html! { a.button href=(base) { "All flows" } }))
            } @else if entries.is_empty() && label.is_some() && after.is_none() {
                (empty("No flows with this label", "Labels are compared exactly, including upper and lower case.", html! { a.button href=(base) { "All flows" } }))
            } @else if entries.is_empty() && is_archive {
                (empty("No archived flows", "Archived flows are listed here with their responses and results.", html! { a.button href=(base) { "All flows" } }))
            } @else if entries.is_empty() {
                (empty("No more flows", "This page is empty.", html! { a.button href=(base) { "Newest flows" } }))
            } @else {
                ul.flows { @for entry in &entries { (row(entry, &base, writes)) } }
                @if search.is_some() {
                    @if listed.has_more { p.hint { "Only the first matches are shown. Add a word to narrow the search." } }
                } @else {
                    @let view = format!("{}{}", if is_archive { "view=archived&" } else { "" }, labels::parameter('&', label).trim_start_matches('&'));
                    (pager(&base, &view, after.is_some(), entries.last().filter(|_| listed.has_more)))
                }
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

/// The flows to show, and whether there are more.
struct Listed {
    /// Each with the question that matches the search, if only that does.
    flows: Vec<(FlowState, Option<String>)>,
    has_more: bool,
}

async fn newest(
    sidebar: &Sidebar,
    label: Option<&str>,
    is_archive: bool,
    after: Option<FlowId>,
) -> AdminResult<Listed> {
    let page = Page { after, limit: PAGE_FLOWS + 1 };
    let label = label.map(str::to_owned);
    let mut flows = sidebar.own()?.newest_flows_labelled(label, is_archive, page).await?;
    let has_more = flows.len() > PAGE_FLOWS;
    flows.truncate(PAGE_FLOWS);
    Ok(Listed { flows: flows.into_iter().map(|state| (state, None)).collect(), has_more })
}

async fn found(
    sidebar: &Sidebar,
    text: &str,
    label: Option<&str>,
    is_archive: bool,
) -> AdminResult<Listed> {
    let (app, mut budget) = (sidebar.own()?, SEARCHED_FLOWS_MAX);
    let found = app.search_flows(text, label, is_archive, FOUND_MAX, &mut budget).await?;
    let flows = found.flows.into_iter().map(|it| (it.state, it.question)).collect();
    Ok(Listed { flows, has_more: found.has_more })
}

async fn read(
    sidebar: &Sidebar,
    flows: Vec<(FlowState, Option<String>)>,
) -> AdminResult<(Vec<Spark>, Vec<FlowEntry>)> {
    let app = sidebar.own()?;
    let sparks = app.sparks(SPARK_DAYS).await?;
    let mut by_flow: HashMap<FlowId, Spark> =
        sparks.iter().map(|spark| (spark.flow_id, spark.clone())).collect();
    let ids: Vec<FlowId> = flows.iter().map(|(state, _)| state.flow.flow_id).collect();
    let last_received = app.last_received(&ids).await?;
    let states: Vec<FlowState> = flows.iter().map(|(state, _)| state.clone()).collect();
    let limits = app.closing_of_flows(&states).await?;
    let entry =
        |((state, question), limits): ((FlowState, Option<String>), ClosingState)| FlowEntry {
            status: FlowStage::new(&state, sidebar.now).or_full(limits.is_full()),
            spark: by_flow.remove(&state.flow.flow_id),
            last_answer: last_received.get(&state.flow.flow_id).copied(),
            question,
            state,
        };
    let entries = flows.into_iter().zip(limits).map(entry).collect();
    Ok((sparks, entries))
}

/// The search, the label, and the choice of active or archived flows.
fn tools(base: &str, is_archive: bool, search: &str, label: Option<&str>) -> Markup {
    let is = |here: bool| here.then_some("page");
    let view = if is_archive { "?view=archived" } else { "" };
    html! {
        div.list-tools {
            form.search role="search" action=(base) {
                @if is_archive { input type="hidden" name="view" value="archived"; }
                @if let Some(label) = label { input type="hidden" name="label" value=(label); }
                label.unseen for="q" { "Search flows" }
                input.input id="q" name="q" type="search" value=(search) placeholder="Name, title, question or label" data-search;
                button.button type="submit" { "Search" }
            }
            nav.chips aria-label="Show flows" {
                @if let Some(label) = label {
                    a.chip href={ (base) (view) } aria-label={ "Label “" (label) "”: show all flows" } { "Label: " bdi { (label) } " ×" }
                }
                a.chip href={ (base) (labels::parameter('?', label)) } aria-current=[is(!is_archive)] { "Active" }
                a.chip href={ (base) "?view=archived" (labels::parameter('&', label)) } aria-current=[is(is_archive)] { "Archived" }
            }
        }
    }
}

fn row(entry: &FlowEntry, list: &str, writes: bool) -> Markup {
    let flow = &entry.state.flow;
    let base = format!("/console/flows/{}", flow.flow_id);
    let none = Vec::new();
    let days = entry.spark.as_ref().map_or(&none, |spark| &spark.days);
    html! {
        li.flow {
            div.what {
                h2 { a href=(base) { (flow.name) } }
                p.muted { (state_of(entry.status)) span { (kind_label(flow.kind)) } span { (versions(&entry.state)) } }
                (labels::chips(list, &flow.labels))
                @if let Some(question) = &entry.question { p.hint { "Question: " (question) } }
            }
            div.much {
                (chart::spark(days))
                p.number { (responses(entry)) }
            }
            p.last.muted { @match entry.last_answer {
                Some(at) => { span { "Last response" } (ago(at)) }
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
                    @if entry.status != FlowStage::Archived { a.button.quiet href={ (base) "/labels" } data-dialog { "Labels…" } }
                    form method="post" action={ (base) "/duplicate" } { button.button.quiet type="submit" { "Duplicate" } }
                    @if entry.status == FlowStage::Archived {
                        form method="post" action={ (base) "/restore" } { button.button.quiet type="submit" { "Restore" } }
                    } @else { a.button.quiet href={ (base) "/archive" } data-dialog { "Archive…" } }
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
    let unpublished = Unpublished::new(state);
    let changes = match state.current.is_some() && unpublished.can_publish() {
        true => format!(", {}", unpublished.text().to_lowercase()),
        false => String::new(),
    };
    match state.last_number {
        0 => "never published".to_owned(),
        1 => format!("1 version{changes}"),
        many => format!("{many} versions{changes}"),
    }
}

fn responses(entry: &FlowEntry) -> String {
    match entry.spark.as_ref().map_or(0, |spark| spark.responses) {
        1 => "1 response".to_owned(),
        many => format!("{} responses", number(many)),
    }
}

/// `view` are the parameters of the list, without the page.
fn pager(base: &str, view: &str, is_later: bool, last: Option<&FlowEntry>) -> Markup {
    let and = if view.is_empty() || view.ends_with('&') { "" } else { "&" };
    html! {
        @if is_later || last.is_some() {
            nav.pager aria-label="Pages" {
                @if is_later { a.button href={ (base) "?" (view) } { "Newest" } } @else { span {} }
                @if let Some(last) = last {
                    a.button href={ (base) "?" (view) (and) "after=" (last.state.flow.flow_id) } { "Older" }
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
