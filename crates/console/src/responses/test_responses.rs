//! Test responses: answers from the test link, apart from the responses and never counted.

use std::sync::Arc;

use axum::extract::State;
use maud::{Markup, html};
use sluice_engine::rows::{FlowState, Page, Scope, TestCursor, TestResponseRow};
use sluice_engine::{TEST_DAYS, TESTS_MAX};
use sluice_flow::definition::{self, Definition};
use sluice_flow::id::FlowId;
use sluice_flow::question::Question;

use super::query::ResponsesQuery;
use super::table::{entries, in_words};
use crate::Console;
use crate::answer_filters::cut;
use crate::frame::{Frame, NavItem, Tab, Width};
use crate::parts::{empty, number, time};
use crate::reply::{self, Kind, Reply};
use crate::request::{PathParam, Query};
use crate::session::Visitor;
use crate::sidebar::Sidebar;

/// The most test responses on a page.
const SHOWN_MAX: usize = 100;

/// The address of the page.
pub(super) fn address(flow: FlowId) -> String {
    format!("{}/tests", ResponsesQuery::path(flow))
}

/// The button that leads here.
pub(super) fn button(flow: FlowId) -> Markup {
    html! { a.button.quiet href=(address(flow)) { "Tests" } }
}

pub(super) async fn page(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(flow): PathParam<FlowId>,
    Query(fields): Query,
) -> Reply {
    let (sidebar, state) = Sidebar::flow(&console, &visitor, flow).await?;
    let after: Option<TestCursor> = fields.get("after").and_then(|cursor| cursor.parse().ok());
    let mut tests = state.test_responses(Page { after, limit: SHOWN_MAX + 1 }).await?;
    let has_more = tests.len() > SHOWN_MAX;
    tests.truncate(SHOWN_MAX);
    let older = tests.last().filter(|_| has_more).map(TestCursor::after);
    let is_living = state.flow.archived_at.is_none();
    let writes = visitor.actor.may(Scope::Write, state.flow.app_id);
    let definition = definition::presentable(&state.editing().await?.definition);
    let content = html! {
        p { a href=(ResponsesQuery::path(flow)) { "← All responses" } }
        p.note { strong { "Tests are not counted. " }
            "They come from the test link and are in no result, export, quota or limit. A flow keeps its newest "
            (number(u64::from(TESTS_MAX))) " for " (TEST_DAYS) " days." }
        @if tests.is_empty() {
            (empty("No test responses", "Answer the flow at its test link, and your answers appear here.", html! {
                @if writes && is_living { (try_it(flow)) }
            }))
        } @else {
            p.hint.list-head {
                @if after.is_none() && !has_more {
                    (number(tests.len() as u64)) @if tests.len() == 1 { " test response. " } @else { " test responses. " }
                }
                "Newest first. Times are in " span data-zone { "UTC" } "."
            }
            (table(&tests, definition.as_ref().map(|(it, _)| it)))
        }
        @if after.is_some() || older.is_some() {
            nav.pager aria-label="Pages" {
                @if after.is_some() { a.button href=(address(flow)) { "Newest" } }
                @if let Some(older) = older { a.button href={ (address(flow)) "?after=" (older) } { "Older" } }
            }
        }
    };
    let title = format!("Tests · {}", state.flow.name);
    let frame = Frame::new(&visitor, &sidebar, NavItem::Flow(&state, Tab::Responses), &title);
    let frame = frame.width(Width::Wide).actions(html! {
        @if writes && !tests.is_empty() { (deletion(&state)) }
        @if writes && is_living && !tests.is_empty() { (try_it(flow)) }
    });
    Ok(frame.done(fields.get("done")).script("responses.js").page(Kind::Shown, content))
}

fn try_it(flow: FlowId) -> Markup {
    html! { a.button href={ "/console/flows/" (flow) "/try" } target="_blank" rel="noopener" { "Try it" } }
}

fn deletion(state: &FlowState) -> Markup {
    let action = format!("{}/delete", address(state.flow.flow_id));
    html! {
        form method="post" action=(action) data-confirm="Delete all test responses? This cannot be undone. Real responses are not affected." {
            button.button.danger type="submit" { "Delete all test responses" }
        }
    }
}

fn table(tests: &[TestResponseRow], definition: Option<&Definition>) -> Markup {
    let questions: Vec<&Question> = definition
        .into_iter()
        .flat_map(Definition::questions)
        .filter(|question| question.question_type.is_answerable())
        .collect();
    let has_scores = tests.iter().any(|test| test.score.is_some());
    html! {
        div.scroll tabindex="0" role="region" aria-label="Test responses" {
            table.table.responses-table {
                thead {
                    tr {
                        th scope="col" { "Received" }
                        th scope="col" { "Version" }
                        @if has_scores { th scope="col" { "Score" } }
                        @for question in &questions { th.prompt scope="col" title=(question.prompt) { (cut(&question.prompt)) } }
                        th scope="col" { "Other answers and tags" }
                    }
                }
                tbody { @for test in tests { (row(test, &questions, has_scores)) } }
            }
        }
    }
}

fn row(test: &TestResponseRow, questions: &[&Question], has_scores: bool) -> Markup {
    let mut answers = entries(&test.answers);
    let mut cells = Vec::new();
    for question in questions {
        let at = answers.iter().position(|(id, _)| *id == question.id);
        let texts = at.map(|at| answers.remove(at).1);
        cells.push((cut(&question.prompt), texts.map(|texts| in_words(question, &texts))));
    }
    let tags = entries(test.tags.as_deref().unwrap_or("{}"));
    let rest: Vec<_> = answers.into_iter().chain(tags).collect();
    html! {
        tr.test {
            td data-label="Received" { div { (time(test.received_at)) " " span.tag { "Test" } } }
            td data-label="Version" { @if test.number == 0 { "Draft" } @else { (test.number) } }
            @if has_scores { td data-label="Score" { (test.score.as_deref().unwrap_or("–")) } }
            @for (label, text) in &cells {
                td data-label=(label) {
                    div.cell { @match text { Some(text) => bdi { (cut(text)) }, None => span.muted { "–" } } }
                }
            }
            td data-label="Other answers and tags" {
                div.cell {
                    @if rest.is_empty() { span.muted { "–" } }
                    @for (name, texts) in &rest { span.tag { bdi { (cut(name)) } ": " bdi { (cut(&texts.join(", "))) } } " " }
                }
            }
        }
    }
}

pub(super) async fn delete(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(flow): PathParam<FlowId>,
) -> Reply {
    let opened = console.engine.flow(&visitor.actor, Scope::Write, flow).await?;
    opened.delete_test_responses().await?;
    Ok(reply::see_other(&format!("{}?done=tests-deleted", address(flow))))
}
