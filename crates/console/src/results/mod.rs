//! The results of a flow: one card per question, over time, by version, by tag and by period.
//!
//! Without a filter by answers, everything comes from the counts that the store keeps
//! ([`sluice_engine::summary`]), so a page costs the same however many responses a flow has; only
//! text answers are read, from a fixed number of the newest responses. Other results are computed
//! in the background, and the page shows the progress. [`query`] is the selection in the address,
//! [`results_data`] the data, [`question_chart`] and [`over_time`] the charts, and the rest is
//! markup.

mod card;
mod chance;
mod compare;
mod crosstab;
mod filters;
mod funnel;
mod head;
mod headline;
mod over_time;
mod query;
mod question_chart;
mod question_index;
mod read_all;
mod reader;
mod report_edit;
mod report_form;
mod reports;
mod results_data;
mod shared;
mod text_answers;

use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, State};
use axum::routing::{get, post};
use maud::{Markup, html};
use sluice_engine::FlowHandle;
use sluice_engine::rows::{FlowState, Scope};
use sluice_flow::id::FlowId;

use self::query::ResultsQuery;
use self::reader::Reader;
use self::results_data::{Reading, ResultsData};
use super::Console;
use super::answer_filters::SentForm;
use super::chart::Chart;
use super::computing;
use super::frame::{Frame, NavItem, Tab};
use super::parts::{empty, time};
use super::reply::{self, Kind, Refused, Reply};
use super::request::{PathParam, Query};
use super::session::Visitor;
use super::sidebar::Sidebar;
use super::steps;

/// The pages of reports, for readers with the link.
pub(super) fn report_routes() -> Router<Arc<Console>> {
    Router::new().route("/r/{secret}", get(shared::show).post(shared::unlock))
}

pub(super) fn routes() -> Router<Arc<Console>> {
    Router::new()
        .route("/console/flows/{flowId}/results", get(page))
        .route("/console/flows/{flowId}/results/chart/{file}", get(chart_file))
        .route("/console/flows/{flowId}/results/crosstab", get(crosstab::page))
        .route("/console/flows/{flowId}/results/answers", get(read_all::page))
        .route("/console/flows/{flowId}/results/reports", get(reports::show).post(reports::create))
        .route(
            "/console/flows/{flowId}/results/reports/{reportId}",
            get(report_edit::show).post(report_edit::save),
        )
        .route(
            "/console/flows/{flowId}/results/reports/{reportId}/link",
            post(reports::replace_link),
        )
        .route("/console/flows/{flowId}/results/reports/{reportId}/revoke", post(reports::revoke))
        .route("/console/flows/{flowId}/results/funnel", get(funnel::page))
        .route("/console/flows/{flowId}/results/funnel.svg", get(funnel::file))
}

async fn page(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(flow): PathParam<FlowId>,
    Query(fields): Query,
) -> Reply {
    let (sidebar, state) = Sidebar::flow(&console, &visitor, flow).await?;
    let summing = state.summing().await?;
    let history = summing.asked();
    let query = ResultsQuery::from_fields(&fields).known(&history);
    let fault = match query.with_added(&fields, &history) {
        Ok(Some(query)) => return Ok(reply::see_other(&query.address(flow))),
        Ok(None) => None,
        Err(fault) => Some(fault),
    };
    let title = format!("Results · {}", state.flow.name);
    let frame = Frame::new(&visitor, &sidebar, NavItem::Flow(&state, Tab::Results), &title);
    let here = query.address(flow);
    let summing = summing.comparing_tag(query.compared_tag());
    let mut data =
        match ResultsData::read(&state, sidebar.now, &summing, query, Reader::User(flow)).await? {
            Reading::Ready(data) => data,
            Reading::Computing(progress) => return Ok(computing::page(frame, progress, &here)),
        };
    data.sent = SentForm { fields: fields.clone(), fault };
    let visits = funnel::completion(&state, &data.query, sidebar.now.day()).await?;
    let visits = visits.as_ref().map(funnel::visit_stats);
    let content = match data.has_anything {
        true => shown(&state, &data, visits),
        false => nothing_yet(&sidebar, &state),
    };
    let frame = frame.actions(actions(&state, &data));
    let frame = frame.done(fields.get("done")).script("results.js").script("answer-filter.js");
    Ok(frame.page(Kind::Shown, content))
}

fn actions(state: &FlowHandle, data: &ResultsData) -> Markup {
    let flow = state.flow_id();
    html! {
        a.button href=(funnel::address(flow, &data.query)) { "Funnel" }
        @if data.has_anything {
            @if state.may(Scope::Export) {
                a.button href=(data.query.reports_address(flow)) { "Share this report" }
            }
            button.button type="button" data-print hidden { "Print report" }
        }
    }
}

fn shown(state: &FlowState, data: &ResultsData, visits: Option<Markup>) -> Markup {
    let flow = state.flow.flow_id;
    html! {
        p.report-head {
            (state.flow.name) " · " (data.words()) " · created " (time(data.now))
        }
        (filters::bar(flow, data))
        @if data.summary.counting.is_some() {
            p.note { "Older responses are still being counted, so the numbers will grow. New responses are counted immediately." }
        }
        @if let Some(as_of) = data.summary.as_of { (computing::current(as_of)) }
        @if data.summary.partial || data.groups.iter().any(|(_, group)| group.partial) {
            p.note { "This tag had too many values on some days to count all of them separately. Some responses may be missing here." }
        }
        @if data.summary.responses == 0 {
            (empty("No matching responses", "This flow has responses, but none match these filters.",
                html! { a.button href=(ResultsQuery::default().address(flow)) { "Show all" } }))
        } @else {
            (head::line(data, visits))
            div.with-index {
                (question_index::index(data))
                div.cards {
                    (head::responses(data))
                    @if let Some(score) = data.score() { (card::score(data, &score)) }
                    @for (at, question) in data.questions().enumerate() {
                        (card::card(data, at, &question))
                    }
                }
            }
        }
    }
}

fn nothing_yet(sidebar: &Sidebar, state: &FlowState) -> Markup {
    steps::first_run(sidebar, state, "Results appear here with the first response.")
}

/// A chart of the page as a file.
async fn chart_file(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(flow): PathParam<FlowId>,
    Path((_, file)): Path<(String, String)>,
    Query(fields): Query,
) -> Reply {
    let name = file.strip_suffix(".svg").ok_or(Refused::NoSuchPage)?;
    let state = console.engine.flow(&visitor.actor, Scope::Read, flow).await?;
    let summing = state.summing().await?;
    let query = ResultsQuery::from_fields(&fields).known(&summing.asked());
    let summing = summing.comparing_tag(query.compared_tag());
    let reader = Reader::User(flow);
    let data =
        match ResultsData::read(&state, console.engine.now(), &summing, query, reader).await? {
            Reading::Ready(data) => data,
            Reading::Computing(_) => return Err(Refused::Computing),
        };
    let chart = chart_by_name(&data, name).ok_or(Refused::NoSuchPage)?;
    let note =
        format!("{} · {} · {}", state.flow.name, data.words(), query::date_label(data.now.day()));
    Ok(reply::drawing(&format!("{name}.svg"), chart.file(&note)))
}

/// A chart by its file name.
fn chart_by_name(data: &ResultsData, name: &str) -> Option<Chart> {
    if name == head::CHART {
        return head::chart(data);
    }
    let (kind, key) = name.split_once('-')?;
    let mut all = data.questions().chain(data.score());
    let question = all.find(|question| question.key == key)?;
    match kind {
        "question" if data.groups.is_empty() => question_chart::distribution(question.summary),
        "question" => Some(data.compared(question.summary)?.chart()),
        "points" => question_chart::points(question.summary),
        "time" => over_time::headline(question.summary, data.days),
        _ => None,
    }
}
