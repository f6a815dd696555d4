//! Responses: a table with filters, one response in full, live updates, and exports.
//!
//! [`view`] is the selection in the address, so that it can be shared; [`filters`] are its
//! controls. A page scans a limited number of responses: if few pass the filters, it may be short,
//! and says how far it searched. A script then continues automatically; without one there is a
//! link.

mod export;
mod filters;
mod live;
mod one;
mod table;
mod view;

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::routing::{get, post};
use maud::{Markup, html};
use serde_json::json;
use sluice_engine::rows::{FlowState, Order, ResponsePage, Scope};
use sluice_engine::{AdminResult, FlowHandle, Paging, QuestionHistory};
use sluice_flow::id::{FlowId, ResponseId};
use sluice_flow::time::Timestamp;

pub(super) use self::export::Downloads;
use self::table::Columns;
use self::view::{Part, View};
use super::Console;
use super::frame::{Frame, NavItem, Tab, Width};
use super::parts::{empty, time};
use super::reply::{self, Answer, Kind};
use super::request::{At, Query};
use super::session::Visitor;
use super::sidebar::Sidebar;
use super::steps;

/// Responses per page.
const PAGE_ROWS: usize = 50;

pub(super) fn routes() -> Router<Arc<Console>> {
    Router::new()
        .route("/console/flows/{flowId}/responses", get(page))
        .route("/console/flows/{flowId}/responses/rows", get(more))
        .route("/console/flows/{flowId}/responses/live", get(live::stream))
        .route("/console/flows/{flowId}/responses/export", get(export::download))
        .route("/console/flows/{flowId}/responses/{responseId}", get(one::page))
        .route("/console/flows/{flowId}/responses/{responseId}/delete", post(one::delete))
        .route("/console/exports/{id}", get(export::progress))
}

/// A part of the responses, newest first.
struct Found {
    page: ResponsePage,
    /// Whether there are newer ones.
    has_newer: bool,
    /// How far a scan towards newer responses came, if it did not reach the newest.
    looked_on_to: Option<ResponseId>,
}

impl Found {
    async fn read(flow: &FlowHandle, asked: &QuestionHistory, view: &View) -> AdminResult<Self> {
        let (after, order) = match view.part {
            Part::Newest => (None, Order::Desc),
            Part::OlderThan(id) => (Some(id), Order::Desc),
            Part::NewerThan(id) => (Some(id), Order::Asc),
        };
        let paging = Paging { after, order, limit: PAGE_ROWS };
        let filter = view.filter();
        let page = flow.list_responses_to(asked, &filter, paging).await?;
        Ok(match view.part {
            Part::NewerThan(_) => Self::towards_newer(page),
            Part::Newest | Part::OlderThan(_) => {
                Self { page, has_newer: view.part != Part::Newest, looked_on_to: None }
            }
        })
    }

    /// Turns a page that was scanned from old to new into newest first. "Older" leads back to the
    /// page that the visitor came from. If nothing was found, it starts below the last response
    /// scanned, so that it includes the response that the scan started after.
    fn towards_newer(mut page: ResponsePage) -> Self {
        let looked_on_to = page.next;
        page.rows.reverse();
        page.next = page.rows.last().map(|row| row.response_id).or(looked_on_to);
        Self { page, has_newer: looked_on_to.is_some(), looked_on_to }
    }
}

async fn page(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    At(flow): At<FlowId>,
    Query(query): Query,
) -> Answer {
    let (sidebar, state) = Sidebar::flow(&console, &visitor, flow).await?;
    let asked = state.asked().await?;
    let view = View::of(&query);
    // The filter form sends what it adds; redirect to the plain address.
    if let Some(view) = view.with_added(&query, &asked) {
        return Ok(reply::see_other(&view.address(flow)));
    }
    let now = sidebar.now;
    let found = Found::read(&state, &asked, &view).await?;
    // Nothing is newer: show the newest.
    let is_newest = matches!(view.part, Part::NewerThan(_)) && found.page.next.is_none();
    if is_newest {
        return Ok(reply::see_other(&view.with_part(Part::Newest).address(flow)));
    }
    let is_empty = found.page.rows.is_empty() && found.page.next.is_none();
    let has_none = is_empty && view == View::default();
    let content = match has_none {
        true => nothing_yet(&sidebar, &state, now),
        false => shown(&visitor, &state, &asked, &view, &found, now),
    };
    let title = format!("Responses · {}", state.flow.name);
    let frame = Frame::new(&visitor, &sidebar, NavItem::Flow(&state, Tab::Responses), &title);
    let frame = match visitor.actor.may(Scope::Export, state.flow.app_id) && !has_none {
        true => frame.actions(export::button()),
        false => frame,
    };
    let frame = frame.done(query.get("done")).script("responses.js").width(Width::Wide);
    Ok(frame.page(Kind::Shown, content))
}

fn shown(
    visitor: &Visitor,
    state: &FlowState,
    asked: &QuestionHistory,
    view: &View,
    found: &Found,
    now: Timestamp,
) -> Markup {
    let flow = state.flow.flow_id;
    let columns = Columns::of(asked);
    let newest = found.page.rows.first().map(|row| row.response_id);
    let watches = view.part == Part::Newest;
    html! {
        (filters::bar(flow, asked, view, &found.page.rows))
        div.responses data-flow=(flow)
            data-live=[watches.then(|| live::address(flow, view, newest, now))] {
            p.hint {
                "Newest first, in " span data-zone { "UTC" } ". "
                span.live data-live-state {}
            }
            @if found.page.rows.is_empty() && found.page.next.is_none() {
                (empty("No matching responses", "All responses to this flow were searched.",
                    html! { a.button href=(View::default().address(flow)) { "Show all responses" } }))
                (table::whole(flow, &columns, view, &[], true))
            } @else {
                (table::whole(flow, &columns, view, &found.page.rows, false))
            }
            (pager(flow, view, found))
        }
        dialog.panel id="panel" aria-label="Response" {}
        @if visitor.actor.may(Scope::Export, state.flow.app_id) { (export::dialog(flow, view)) }
    }
}

/// Links to newer and older responses. If the page is short, how far it searched.
fn pager(flow: FlowId, view: &View, found: &Found) -> Markup {
    let rows = &found.page.rows;
    let is_short = rows.len() < PAGE_ROWS && found.page.next.is_some();
    let is_newer = matches!(view.part, Part::NewerThan(_));
    let newer = match (found.looked_on_to, rows.first()) {
        (Some(last), _) => view.with_part(Part::NewerThan(last)),
        (None, Some(first)) if found.has_newer => {
            view.with_part(Part::NewerThan(first.response_id))
        }
        _ => view.with_part(Part::Newest),
    };
    html! {
        @if let (true, false, Some(next)) = (is_short, is_newer, found.page.next) {
            p.note data-goes-on=(rows_address(flow, view, next)) data-wanted=(PAGE_ROWS - rows.len()) role="status" {
                @if rows.is_empty() { "None found yet. " }
                "Searched back to " (time(next.made_at())) "."
            }
        }
        @if let (true, Some(last)) = (rows.len() < PAGE_ROWS, found.looked_on_to) {
            p.note role="status" {
                @if rows.is_empty() { "None found yet. " }
                "Searched up to " (time(last.made_at())) "; “Newer” continues the search."
            }
        }
        nav.pager aria-label="Pages" {
            @if view.part == Part::Newest { span {} }
            @else { a.button rel="prev" href=(newer.address(flow)) { @if found.has_newer { "Newer" } @else { "Newest" } } }
            @if let Some(next) = found.page.next {
                a.button rel="next" data-older href=(view.with_part(Part::OlderThan(next)).address(flow)) {
                    @if is_short && !is_newer { "Search further back" } @else { "Older" }
                }
            }
        }
    }
}

fn rows_address(flow: FlowId, view: &View, next: ResponseId) -> String {
    view.with_part(Part::OlderThan(next))
        .address_of(&format!("/console/flows/{flow}/responses/rows"))
}

/// The next rows for a short page.
async fn more(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    At(flow): At<FlowId>,
    Query(query): Query,
) -> Answer {
    let opened = console.engine.flow(&visitor.actor, Scope::Read, flow).await?;
    let asked = opened.asked().await?;
    let view = View::of(&query);
    let found = Found::read(&opened, &asked, &view).await?;
    let columns = Columns::of(&asked);
    let rows: Vec<String> = found
        .page
        .rows
        .iter()
        .map(|row| table::row(flow, &columns, &view, row).into_string())
        .collect();
    let next = found.page.next;
    let reply_body = json!({
        "rows": rows,
        "next": next.map(|next| rows_address(flow, &view, next)),
        "older": next.map(|next| view.with_part(Part::OlderThan(next)).address(flow)),
        "back": next.map(|next| next.made_at()),
    });
    Ok(reply::json(Kind::Shown, &reply_body))
}

fn nothing_yet(sidebar: &Sidebar, state: &FlowState, now: Timestamp) -> Markup {
    let flow = state.flow.flow_id;
    html! {
        div.responses data-flow=(flow) data-live=(live::address(flow, &View::default(), None, now)) data-reload {
            (steps::first_run(sidebar, state, "Responses appear here as they arrive."))
        }
    }
}

#[cfg(test)]
mod tests {
    use sluice_flow::id::v7;

    use super::*;

    fn id(second: i64) -> ResponseId {
        ResponseId::from_uuid(v7(Timestamp::from_millis(second * 1_000), 0, 0))
    }

    #[test]
    fn an_empty_page_of_newer_responses_says_so_and_skips_none_on_the_way_back() {
        let found = Found::towards_newer(ResponsePage { rows: Vec::new(), next: Some(id(9)) });
        let flow = FlowId::from_uuid(v7(Timestamp::from_millis(0), 0, 0));
        let view = View { part: Part::NewerThan(id(5)), ..View::default() };
        let shown = pager(flow, &view, &found).into_string();
        assert!(shown.contains("None found yet.") && shown.contains("Searched up to"), "{shown}");
        assert!(
            shown.contains(&format!("before={}", id(9))),
            "newer continues from there: {shown}"
        );
        assert!(
            shown.contains(&format!("after={}", id(9))),
            "older includes the fifth again: {shown}"
        );
    }
}
