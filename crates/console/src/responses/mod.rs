//! Responses: a table with filters, one response in full, live updates, and exports.
//!
//! [`query`] is the selection in the address, so that it can be shared; [`filters`] and [`layout`]
//! are its controls, and [`views`] saves it under a name. A page scans a limited number of
//! responses: if few pass the filters, it may be short, and says how far it searched. A script then
//! continues automatically; without one there is a link. A list that is sorted by a column is
//! computed in the background, and so is the number of matches if counts cannot answer it.

mod count;
mod detail;
mod export;
mod filters;
mod layout;
mod list;
mod live;
mod notices;
mod query;
mod table;
mod test_responses;
mod views;

use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::extract::State;
use axum::routing::{get, post};
use maud::{Markup, html};
use serde_json::json;
use sluice_engine::response_table::SORTED_MAX;
use sluice_engine::rows::{FlowState, Order, Scope};
use sluice_engine::{AdminResult, FlowHandle, QuestionHistory, Results};
use sluice_flow::definition::Fault;
use sluice_flow::id::FlowId;
use sluice_flow::response_order::Direction;
use sluice_flow::time::Timestamp;

use self::count::MatchCount;
pub(super) use self::export::Downloads;
use self::list::{ListPage, Listed, rows_address};
use self::query::{ListOrder, ListPosition, ResponsesQuery};
use self::table::TableColumns;
use self::views::ViewsBar;
use super::Console;
use super::answer_filters::{self, SentForm};
use super::computing;
use super::frame::{Frame, NavItem, Tab, Width};
use super::parts::{empty, number};
use super::reply::{self, Kind, Reply};
use super::request::{Fields, PathParam, Query};
use super::session::Visitor;
use super::sidebar::Sidebar;
use super::steps;

pub(super) fn routes() -> Router<Arc<Console>> {
    Router::new()
        .route("/console/flows/{flowId}/responses", get(page))
        .route("/console/flows/{flowId}/responses/rows", get(more))
        .route("/console/flows/{flowId}/responses/count", get(count::fragment))
        .route("/console/flows/{flowId}/responses/layout", post(layout::apply))
        .route("/console/flows/{flowId}/responses/views", post(views::save))
        .route("/console/flows/{flowId}/responses/views/change", post(views::change))
        .route("/console/flows/{flowId}/responses/live", get(live::stream))
        .route("/console/flows/{flowId}/responses/export", get(export::download))
        .route("/console/flows/{flowId}/responses/codebook", get(export::codebook))
        .route("/console/flows/{flowId}/responses/notices", get(notices::page).post(notices::save))
        .route("/console/flows/{flowId}/responses/tests", get(test_responses::page))
        .route("/console/flows/{flowId}/responses/tests/delete", post(test_responses::delete))
        .route("/console/flows/{flowId}/responses/{responseId}", get(detail::page))
        .route("/console/flows/{flowId}/responses/{responseId}/delete", post(detail::delete))
        .route("/console/exports/{id}", get(export::progress))
}

/// What a page shows.
struct ResponsesPage<'a> {
    state: &'a FlowState,
    history: &'a QuestionHistory,
    query: &'a ResponsesQuery,
    listed: &'a Listed,
    count: MatchCount,
    tags: std::collections::BTreeSet<String>,
    sent: SentForm,
    views: ViewsBar,
    /// Whether the visitor is a user, who can save views.
    is_user: bool,
    may_export: bool,
    now: Timestamp,
}

async fn page(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(flow): PathParam<FlowId>,
    Query(fields): Query,
) -> Reply {
    list_page(&console, visitor, flow, fields, (Fields::default(), Vec::new())).await
}

/// The list; with the form of a view that could not be saved, and its faults.
async fn list_page(
    console: &Arc<Console>,
    visitor: Visitor,
    flow: FlowId,
    fields: Fields,
    (sent, faults): (Fields, Vec<Fault>),
) -> Reply {
    let (sidebar, state) = Sidebar::flow(console, &visitor, flow).await?;
    let (history, saved) = tokio::try_join!(state.asked(), state.saved_views())?;
    if fields.0.is_empty()
        && faults.is_empty()
        && let Some(default) = saved.iter().find(|view| view.is_default)
    {
        return Ok(reply::see_other(&views::query_of(default).address(flow)));
    }
    let named = ResponsesQuery::from_fields(&fields);
    let query = named.clone().known(&history);
    // The filter form sends what it adds; redirect to the plain address.
    let fault = match query.with_added(&fields, &history) {
        Ok(Some(query)) => return Ok(reply::see_other(&query.address(flow))),
        Ok(None) => (query.answers.len() < named.answers.len()).then(answer_filters::left_out),
        Err(fault) => Some(fault),
    };
    let title = format!("Responses · {}", state.flow.name);
    let frame = Frame::new(&visitor, &sidebar, NavItem::Flow(&state, Tab::Responses), &title);
    let frame = frame.width(Width::Wide);
    // After a fault in the order of time, which needs no computation: a page that is being computed
    // would reload without the fault.
    let query = match faults.is_empty() {
        true => query,
        false => ResponsesQuery { sort: None, ..query },
    };
    let (listed, count) = match read(&state, &history, &query).await? {
        Results::Ready(read) => read,
        Results::Computing(progress) => {
            return Ok(computing::page(frame, progress, &query.address(flow)));
        }
    };
    // Nothing precedes the page: show the first.
    if matches!(&listed, Listed::ByTime(list) if list.page.next.is_none())
        && matches!(query.position, ListPosition::Before(_))
    {
        return Ok(reply::see_other(&query.with_position(ListPosition::First).address(flow)));
    }
    if let Some(last) = listed.last_page_before(&query) {
        return Ok(reply::see_other(&query.with_position(last).address(flow)));
    }
    let is_first = query.position == ListPosition::First;
    let kind = if faults.is_empty() { Kind::Shown } else { Kind::Unfinished };
    let has_none = listed.is_empty() && !query.is_filtered() && is_first;
    let may_export = visitor.actor.may(Scope::Export, state.flow.app_id);
    let content = if has_none {
        nothing_yet(&sidebar, &state, sidebar.now)
    } else {
        let recent = state.recent_tag_names().await?;
        let shown = ResponsesPage {
            state: &state,
            history: &history,
            query: &query,
            listed: &listed,
            count,
            tags: layout::offered_tags(recent, listed.rows()),
            sent: SentForm { fields: fields.clone(), fault },
            views: ViewsBar { views: saved, sent, faults },
            is_user: visitor.user_id.is_some(),
            may_export,
            now: sidebar.now,
        };
        shown.draw()
    };
    let frame = frame.actions(html! {
        (notices::button(console, &visitor, flow))
        (test_responses::button(flow))
        @if may_export && !has_none { (export::button()) }
    });
    let frame = frame.done(fields.get("done")).script("responses.js").script("answer-filter.js");
    Ok(frame.page(kind, content))
}

/// The list, and the number of matches, which a short list knows.
async fn read(
    flow: &FlowHandle,
    history: &QuestionHistory,
    query: &ResponsesQuery,
) -> AdminResult<Results<(Listed, MatchCount)>> {
    let begun = Instant::now();
    let listed = match Listed::read(flow, history, query).await? {
        Results::Ready(listed) => listed,
        Results::Computing(progress) => return Ok(Results::Computing(progress)),
    };
    let count = match listed.matching(query) {
        Some((responses, as_of)) => MatchCount::Known(responses, as_of),
        None => MatchCount::read(flow, history, query, begun.elapsed()).await?,
    };
    Ok(Results::Ready((listed, count)))
}

impl ResponsesPage<'_> {
    fn draw(&self) -> Markup {
        let Self { query, history, listed, .. } = self;
        let flow = self.state.flow.flow_id;
        let columns = TableColumns::new(history, query);
        let newest = listed.rows().first().map(|row| row.response_id);
        let watches = query.position == ListPosition::First
            && query.order() == ListOrder::ByTime(Order::Desc);
        html! {
            (views::links(flow, &self.views, query))
            (filters::bar(flow, history, query, listed.rows(), &self.sent, html! {
                (layout::form(flow, history, query, &self.tags))
                @if self.is_user { (views::forms(flow, &self.views, query)) }
            }))
            div.responses data-flow=(flow)
                data-live=[watches.then(|| live::address(flow, query, newest, self.now))] {
                p.hint.list-head {
                    (self.count.draw(flow, query)) ". "
                    (self.order()) " Times are in " span data-zone { "UTC" } ". "
                    span.live data-live-state {}
                }
                @if listed.is_empty() {
                    (empty("No matching responses", "All responses to this flow were searched.",
                        html! { a.button href=(query.unfiltered().address(flow)) { "Show all responses" } }))
                    (table::table(flow, &columns, query, &[], true))
                } @else {
                    (table::table(flow, &columns, query, listed.rows(), false))
                }
                (listed.pager(flow, query))
            }
            dialog.panel id="panel" aria-label="Response" {}
            @if self.may_export { (export::dialog(flow, query, &columns)) }
        }
    }

    /// The order in words, and how much of it can be reached.
    fn order(&self) -> Markup {
        let sort = match self.query.order() {
            ListOrder::ByTime(Order::Desc) => return html! { "Newest first." },
            ListOrder::ByTime(Order::Asc) => return html! { "Oldest first." },
            ListOrder::ByColumn(sort) => sort,
        };
        let direction = match sort.direction {
            Direction::Ascending => "ascending",
            Direction::Descending => "descending",
        };
        let is_cut =
            matches!(self.listed, Listed::Sorted(page) if page.matching > page.reachable as u64);
        html! {
            "Sorted by “" bdi { (table::label(&sort.column, self.history)) } "”, " (direction) "; empty values last. "
            @if is_cut { "Only the first " (number(SORTED_MAX as u64)) " in this order can be shown. " }
            "Reload after a minute to include newer ones."
        }
    }
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
    let order = match query.order() {
        ListOrder::ByTime(order) => order,
        // Such a list has no short pages.
        ListOrder::ByColumn(_) => Order::Desc,
    };
    let list = ListPage::read(&opened, &history, &query, order).await?;
    let columns = TableColumns::new(&history, &query);
    let rows = list.page.rows.iter();
    let mount = &console.mount;
    let rows: Vec<String> = rows
        .map(|row| mount.markup(table::row(flow, &columns, &query, row).into_string()))
        .collect();
    let next = list.page.next;
    let reply_body = json!({
        "rows": rows,
        "next": next.map(|next| mount.address(&rows_address(flow, &query, next))),
        "older": next.map(|next| {
            mount.address(&query.with_position(ListPosition::After(next)).address(flow))
        }),
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
