//! All answers to a text question, newest first, with a search.

use std::sync::Arc;

use axum::extract::State;
use maud::{Markup, html};
use sluice_engine::rows::{Order, ResponsePage, ResponseRow};
use sluice_engine::{FlowHandle, Paging, ResponseFilter, Results};
use sluice_flow::answer_filter::{Operator, joined_name};
use sluice_flow::counts::CountMethod;
use sluice_flow::id::{FlowId, ResponseId};
use sluice_flow::submission::each_entry;
use sluice_flow::time::Day;

use super::crosstab::filters;
use super::query::{ResultsQuery, page_path};
use crate::Console;
use crate::frame::{Frame, NavItem, Tab, Width};
use crate::parts::{ago, counted, empty, time};
use crate::reply::{Kind, Refused, Reply};
use crate::request::{PathParam, Query};
use crate::session::Visitor;
use crate::sidebar::Sidebar;

/// Answers per page.
const PAGE_ROWS: usize = 50;

/// A page of answers: whose they are, the filters and the search.
struct AnswersPage<'a> {
    flow: FlowId,
    query: &'a ResultsQuery,
    question: &'a str,
    search: Option<&'a str>,
}

pub(super) async fn page(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(flow): PathParam<FlowId>,
    Query(fields): Query,
) -> Reply {
    let (sidebar, state) = Sidebar::flow(&console, &visitor, flow).await?;
    let history = state.asked().await?;
    let query = ResultsQuery::from_fields(&fields).known(&history);
    let id = fields.get("question").unwrap_or_default();
    let question = history.questions.iter().find(|it| it.id == id).ok_or(Refused::NoSuchPage)?;
    if !history.types_of(id).any(|it| it.count_method() == CountMethod::Presence) {
        return Err(Refused::NoSuchPage);
    }
    let search = fields.get("search");
    let answers_page = AnswersPage { flow, query: &query, question: &question.id, search };
    let after = fields.get("after").and_then(|id| id.parse::<ResponseId>().ok());
    let paging = Paging { after, order: Order::Desc, limit: PAGE_ROWS };
    let filter = answers_page.filter(sidebar.now.day());
    let list = state.list_responses_to(&history, &filter, paging).await?;
    let count = answers_page.count(&state, sidebar.now.day()).await?;
    let title = format!("All answers · {}", state.flow.name);
    let content = html! {
        p { a href=(query.address(flow)) { "← Results" } }
        h2 dir="auto" { (question.prompt) }
        @if let Some(count) = count { p.hint { (counted(count, "answer")) } }
        (filters(&query, &history))
        (answers_page.search_form())
        (answers_page.answers(&list, after.is_some()))
    };
    let frame = Frame::new(&visitor, &sidebar, NavItem::Flow(&state, Tab::Results), &title);
    Ok(frame.width(Width::Narrow).page(Kind::Shown, content))
}

impl AnswersPage<'_> {
    /// The responses with an answer to the question, or with one that contains the text.
    fn filter(&self, today: Day) -> ResponseFilter {
        let filter = self.query.filter(today);
        let (operator, value) = match self.search {
            Some(text) => (Operator::Contains, text),
            None => (Operator::Answered, "true"),
        };
        let own = (joined_name(self.question, operator), value.to_owned());
        ResponseFilter {
            version: self.query.version,
            from: filter.from.map(|day| day.starts_at()),
            to: filter.to.map(|day| day.plus(1).starts_at()),
            admission: filter.admission,
            tags: filter.tags,
            answers: filter.answers.into_iter().chain([own]).collect(),
            search: None,
        }
    }

    /// The number of answers, if stored counts have it.
    async fn count(&self, flow: &FlowHandle, today: Day) -> Result<Option<u64>, Refused> {
        let filter = self.query.filter(today);
        if self.search.is_some() || !filter.is_counted() {
            return Ok(None);
        }
        let Results::Ready(summary) = flow.summary(&filter).await? else { return Ok(None) };
        let own = summary.questions.iter().filter(|it| it.id == self.question);
        Ok(Some(own.map(|question| question.answered).sum()))
    }

    fn address(&self, after: Option<ResponseId>) -> String {
        let after = after.map(|id| id.to_string());
        let mut own = vec![("question", self.question)];
        own.extend(self.search.map(|text| ("search", text)));
        own.extend(after.as_deref().map(|id| ("after", id)));
        self.query.page_address(self.flow, "answers", &own)
    }

    fn search_form(&self) -> Markup {
        html! {
            form.answer-search method="get" action=(page_path(self.flow, "answers")) role="search" {
                input type="hidden" name="question" value=(self.question);
                @for (name, value) in self.query.pairs() { input type="hidden" name=(name) value=(value); }
                label.unseen for="search" { "Search in these answers" }
                input.input type="search" id="search" name="search" placeholder="Search in these answers" maxlength="200" value=[self.search];
                button.button type="submit" { "Search" }
            }
        }
    }

    fn answers(&self, list: &ResponsePage, is_later: bool) -> Markup {
        html! {
            @if list.rows.is_empty() && list.next.is_none() {
                (empty("No matching answers", "All responses that match the filters were searched.", html! {}))
            } @else {
                ul.all-answers {
                    @for row in &list.rows {
                        li.card {
                            blockquote dir="auto" { (answer(row, self.question)) }
                            p.hint { a href={ "/console/flows/" (self.flow) "/responses/" (row.response_id) } { (ago(row.response_id.made_at())) } }
                        }
                    }
                }
            }
            @if let Some(next) = list.next.filter(|_| list.rows.len() < PAGE_ROWS) {
                p.note role="status" {
                    @if list.rows.is_empty() { "None found yet. " }
                    "Searched back to " (time(next.made_at())) "."
                }
            }
            nav.pager aria-label="Pages" {
                @if is_later { a.button rel="prev" href=(self.address(None)) { "Newest" } } @else { span {} }
                @if let Some(next) = list.next {
                    a.button rel="next" href=(self.address(Some(next))) {
                        @if list.rows.len() < PAGE_ROWS { "Search further back" } @else { "Older" }
                    }
                }
            }
        }
    }
}

/// The answer to the question. One to an earlier type may have several texts.
fn answer(row: &ResponseRow, question: &str) -> String {
    let mut found = String::new();
    // An unreadable response has no answer to show.
    let _unreadable = each_entry(&row.answers, |id, texts| {
        if id == question {
            found = texts.as_slice().join(", ");
        }
    });
    found
}
