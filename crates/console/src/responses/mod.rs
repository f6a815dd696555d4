//! Responses: a table with filters, one response in full, live updates, and exports.
//!
//! [`query`] is the selection in the address, so that it can be shared; [`filters`] are its
//! controls. A page scans a limited number of responses: if few pass the filters, it may be short,
//! and says how far it searched. A script then continues automatically; without one there is a
//! link.

mod detail;
mod export;
mod filters;
mod live;
mod query;
mod table;

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
use self::query::{ListPosition, ResponsesQuery};
use self::table::TableColumns;
use super::Console;
use super::answer_filters::SentForm;
use super::frame::{Frame, NavItem, Tab, Width};
use super::parts::{empty, time};
use super::reply::{self, Kind, Reply};
use super::request::{PathParam, Query};
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
        .route("/console/flows/{flowId}/responses/codebook", get(export::codebook))
        .route("/console/flows/{flowId}/responses/{responseId}", get(detail::page))
        .route("/console/flows/{flowId}/responses/{responseId}/delete", post(detail::delete))
        .route("/console/exports/{id}", get(export::progress))
}

/// A page of the list of responses, newest first.
struct ListPage {
    page: ResponsePage,
    /// Whether there are newer ones.
    has_newer: bool,
    /// How far a scan towards newer responses came, if it did not reach the newest.
    scanned_to: Option<ResponseId>,
}

impl ListPage {
    async fn read(
        flow: &FlowHandle,
        history: &QuestionHistory,
        query: &ResponsesQuery,
    ) -> AdminResult<Self> {
        let (after, order) = match query.position {
            ListPosition::Newest => (None, Order::Desc),
            ListPosition::OlderThan(id) => (Some(id), Order::Desc),
            ListPosition::NewerThan(id) => (Some(id), Order::Asc),
        };
        let paging = Paging { after, order, limit: PAGE_ROWS };
        let filter = query.filter();
        let page = flow.list_responses_to(history, &filter, paging).await?;
        Ok(match query.position {
            ListPosition::NewerThan(_) => Self::from_ascending(page),
            ListPosition::Newest | ListPosition::OlderThan(_) => {
                Self { page, has_newer: query.position != ListPosition::Newest, scanned_to: None }
            }
        })
    }

    /// Turns a page that was scanned from old to new into newest first. "Older" leads back to the
    /// page that the visitor came from. If nothing was found, it starts below the last response
    /// scanned, so that it includes the response that the scan started after.
    fn from_ascending(mut page: ResponsePage) -> Self {
        let scanned_to = page.next;
        page.rows.reverse();
        page.next = page.rows.last().map(|row| row.response_id).or(scanned_to);
        Self { page, has_newer: scanned_to.is_some(), scanned_to }
    }
}

async fn page(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(flow): PathParam<FlowId>,
    Query(fields): Query,
) -> Reply {
    let (sidebar, state) = Sidebar::flow(&console, &visitor, flow).await?;
    let history = state.asked().await?;
    let query = ResponsesQuery::from_fields(&fields).known(&history);
    // The filter form sends what it adds; redirect to the plain address.
    let fault = match query.with_added(&fields, &history) {
        Ok(Some(query)) => return Ok(reply::see_other(&query.address(flow))),
        Ok(None) => None,
        Err(fault) => Some(fault),
    };
    let sent = SentForm { fields: fields.clone(), fault };
    let now = sidebar.now;
    let list = ListPage::read(&state, &history, &query).await?;
    // Nothing is newer: show the newest.
    let is_newest =
        matches!(query.position, ListPosition::NewerThan(_)) && list.page.next.is_none();
    if is_newest {
        return Ok(reply::see_other(&query.with_position(ListPosition::Newest).address(flow)));
    }
    let is_empty = list.page.rows.is_empty() && list.page.next.is_none();
    let has_none = is_empty && query == ResponsesQuery::default();
    let content = match has_none {
        true => nothing_yet(&sidebar, &state, now),
        false => shown(&visitor, &state, &history, &query, &list, &sent, now),
    };
    let title = format!("Responses · {}", state.flow.name);
    let frame = Frame::new(&visitor, &sidebar, NavItem::Flow(&state, Tab::Responses), &title);
    let frame = match visitor.actor.may(Scope::Export, state.flow.app_id) && !has_none {
        true => frame.actions(export::button()),
        false => frame,
    };
    let frame = frame.done(fields.get("done")).script("responses.js").script("answer-filter.js");
    let frame = frame.width(Width::Wide);
    Ok(frame.page(Kind::Shown, content))
}

fn shown(
    visitor: &Visitor,
    state: &FlowState,
    history: &QuestionHistory,
    query: &ResponsesQuery,
    list: &ListPage,
    sent: &SentForm,
    now: Timestamp,
) -> Markup {
    let flow = state.flow.flow_id;
    let columns = TableColumns::new(history);
    let newest = list.page.rows.first().map(|row| row.response_id);
    let watches = query.position == ListPosition::Newest;
    html! {
        (filters::bar(flow, history, query, &list.page.rows, sent))
        div.responses data-flow=(flow)
            data-live=[watches.then(|| live::address(flow, query, newest, now))] {
            p.hint {
                "Newest first, in " span data-zone { "UTC" } ". "
                span.live data-live-state {}
            }
            @if list.page.rows.is_empty() && list.page.next.is_none() {
                (empty("No matching responses", "All responses to this flow were searched.",
                    html! { a.button href=(ResponsesQuery::default().address(flow)) { "Show all responses" } }))
                (table::table(flow, &columns, query, &[], true))
            } @else {
                (table::table(flow, &columns, query, &list.page.rows, false))
            }
            (pager(flow, query, list))
        }
        dialog.panel id="panel" aria-label="Response" {}
        @if visitor.actor.may(Scope::Export, state.flow.app_id) { (export::dialog(flow, query)) }
    }
}

/// Links to newer and older responses. If the page is short, how far it searched.
fn pager(flow: FlowId, query: &ResponsesQuery, list: &ListPage) -> Markup {
    let rows = &list.page.rows;
    let is_short = rows.len() < PAGE_ROWS && list.page.next.is_some();
    let is_newer = matches!(query.position, ListPosition::NewerThan(_));
    let newer = match (list.scanned_to, rows.first()) {
        (Some(last), _) => query.with_position(ListPosition::NewerThan(last)),
        (None, Some(first)) if list.has_newer => {
            query.with_position(ListPosition::NewerThan(first.response_id))
        }
        _ => query.with_position(ListPosition::Newest),
    };
    html! {
        @if let (true, false, Some(next)) = (is_short, is_newer, list.page.next) {
            p.note data-goes-on=(rows_address(flow, query, next)) data-wanted=(PAGE_ROWS - rows.len()) role="status" {
                @if rows.is_empty() { "None found yet. " }
                "Searched back to " (time(next.made_at())) "."
            }
        }
        @if let (true, Some(last)) = (rows.len() < PAGE_ROWS, list.scanned_to) {
            p.note role="status" {
                @if rows.is_empty() { "None found yet. " }
                "Searched up to " (time(last.made_at())) "; “Newer” continues the search."
            }
        }
        nav.pager aria-label="Pages" {
            @if query.position == ListPosition::Newest { span {} }
            @else { a.button rel="prev" href=(newer.address(flow)) { @if list.has_newer { "Newer" } @else { "Newest" } } }
            @if let Some(next) = list.page.next {
                a.button rel="next" data-older href=(query.with_position(ListPosition::OlderThan(next)).address(flow)) {
                    @if is_short && !is_newer { "Search further back" } @else { "Older" }
                }
            }
        }
    }
}

fn rows_address(flow: FlowId, query: &ResponsesQuery, next: ResponseId) -> String {
    query
        .with_position(ListPosition::OlderThan(next))
        .address_of(&format!("/console/flows/{flow}/responses/rows"))
}

/// The next rows for a short page.
async fn more(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(flow): PathParam<FlowId>,
    Query(fields): Query,
) -> Reply {
    let opened = console.engine.flow(&visitor.actor, Scope::Read, flow).await?;
    let history = opened.asked().await?;
    let query = ResponsesQuery::from_fields(&fields).known(&history);
    let list = ListPage::read(&opened, &history, &query).await?;
    let columns = TableColumns::new(&history);
    let rows: Vec<String> = list
        .page
        .rows
        .iter()
        .map(|row| table::row(flow, &columns, &query, row).into_string())
        .collect();
    let next = list.page.next;
    let reply_body = json!({
        "rows": rows,
        "next": next.map(|next| rows_address(flow, &query, next)),
        "older": next.map(|next| query.with_position(ListPosition::OlderThan(next)).address(flow)),
        "back": next.map(|next| next.made_at()),
    });
    Ok(reply::json(Kind::Shown, &reply_body))
}

fn nothing_yet(sidebar: &Sidebar, state: &FlowState, now: Timestamp) -> Markup {
    let flow = state.flow.flow_id;
    html! {
        div.responses data-flow=(flow) data-live=(live::address(flow, &ResponsesQuery::default(), None, now)) data-reload {
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
        let list = ListPage::from_ascending(ResponsePage { rows: Vec::new(), next: Some(id(9)) });
        let flow = FlowId::from_uuid(v7(Timestamp::from_millis(0), 0, 0));
        let query = ResponsesQuery {
            position: ListPosition::NewerThan(id(5)),
            ..ResponsesQuery::default()
        };
        let shown = pager(flow, &query, &list).into_string();
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
