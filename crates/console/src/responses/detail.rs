//! One response in full: as a page, or as a panel beside the table with a script.

use std::sync::Arc;

use axum::extract::State;
use maud::{Markup, html};
use serde_json::Value;
use sluice_engine::rows::{Order, ResponseRow, Scope};
use sluice_engine::stored_response::labelled_values;
use sluice_engine::{
    AdminError, AdminResult, FlowHandle, Missing, Paging, QuestionHistory, ResponseHandle,
    ResponseJson,
};
use sluice_flow::id::{FlowId, ResponseId};
use sluice_flow::submission::Admission;

use super::query::{ListPosition, ResponsesQuery};
use super::table::{entries, in_words};
use crate::Console;
use crate::answer_filters::admission_label;
use crate::frame::{Frame, NavItem, Tab, Width};
use crate::parts::{code, time};
use crate::reply::{self, Kind, Reply};
use crate::request::{Form, PathParam, Query};
use crate::session::Visitor;
use crate::sidebar::Sidebar;

/// A response with the data around it.
struct ResponseDetail<'a> {
    row: &'a ResponseRow,
    history: &'a QuestionHistory,
    query: &'a ResponsesQuery,
    newer: Option<ResponseId>,
    older: Option<ResponseId>,
    may_erase: bool,
}

pub(super) async fn page(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(flow): PathParam<FlowId>,
    PathParam(id): PathParam<ResponseId>,
    Query(fields): Query,
) -> Reply {
    let row = response_in_flow(&console, &visitor, Scope::Read, flow, id).await?;
    let opened = console.engine.flow(&visitor.actor, Scope::Read, flow).await?;
    let history = opened.asked().await?;
    let query =
        ResponsesQuery::from_fields(&fields).known(&history).with_position(ListPosition::First);
    let (newer, older) = tokio::try_join!(
        adjacent_response(&opened, &history, &query, id, Order::Asc),
        adjacent_response(&opened, &history, &query, id, Order::Desc),
    )?;
    let may_erase = visitor.actor.may(Scope::Erase, row.app_id);
    let detail =
        ResponseDetail { row: &row, history: &history, query: &query, newer, older, may_erase };
    if fields.has("panel") {
        return Ok(reply::fragment(detail.draw(true)));
    }
    let sidebar = Sidebar::app(&console, &visitor, opened.app_id()).await?;
    let title = format!("Response · {}", opened.flow.name);
    let content = html! {
        p { a href=(query.address(flow)) { "← All responses" } }
        (detail.draw(false))
    };
    let frame = Frame::new(&visitor, &sidebar, NavItem::Flow(&opened, Tab::Responses), &title);
    Ok(frame.width(Width::Narrow).script("responses.js").page(Kind::Shown, content))
}

/// A response of this flow; one of another flow is not found.
async fn response_in_flow(
    console: &Console,
    visitor: &Visitor,
    scope: Scope,
    flow: FlowId,
    id: ResponseId,
) -> AdminResult<ResponseHandle> {
    let found = console.engine.response(&visitor.actor, scope, id).await?;
    if found.flow_id == flow { Ok(found) } else { Err(AdminError::NotFound(Missing::Response)) }
}

/// The next response that passes the filters, if one scan finds it.
async fn adjacent_response(
    flow: &FlowHandle,
    history: &QuestionHistory,
    query: &ResponsesQuery,
    id: ResponseId,
    order: Order,
) -> AdminResult<Option<ResponseId>> {
    let paging = Paging { after: Some(id), order, limit: 1 };
    let page = flow.list_responses_to(history, &query.filter(), paging).await?;
    Ok(page.rows.first().map(|row| row.response_id))
}

pub(super) async fn delete(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(flow): PathParam<FlowId>,
    PathParam(id): PathParam<ResponseId>,
    Form(form): Form,
) -> Reply {
    let found = response_in_flow(&console, &visitor, Scope::Erase, flow, id).await?;
    // Deleting also requires read access, like the page with the button.
    visitor.actor.need_in(Scope::Read, found.app_id, Missing::Response)?;
    found.delete().await?;
    let back = ResponsesQuery::from_fields(&form).with_position(ListPosition::First).address(flow);
    let sign = if back.contains('?') { '&' } else { '?' };
    Ok(reply::see_other(&format!("{back}{sign}done=deleted")))
}

impl ResponseDetail<'_> {
    fn draw(&self, in_panel: bool) -> Markup {
        let row = self.row;
        let version = self.history.version(row.flow_version_id);
        html! {
            article.response data-id=(row.response_id) {
                header.response-head {
                    @if in_panel { h2 tabindex="-1" { (time(row.response_id.made_at())) } }
                    @else { h2 { (time(row.response_id.made_at())) } }
                    p.muted {
                        @if let Some(version) = version { "Version " (version.number) " · " }
                        (admission_label(row.admission))
                        @if row.identity_verified { " · user ID verified" }
                    }
                    nav.buttons aria-label="Responses" {
                        (self.step(self.newer, "prev", "Newer"))
                        (self.step(self.older, "next", "Older"))
                        @if in_panel {
                            a.button.small href=(self.address(row.response_id)) { "Open page" }
                            button.button.small type="button" data-closes { "Close" }
                        }
                    }
                }
                (self.answers())
                (self.about())
                details.more { summary { "JSON" } (code("response-json", "The response as JSON", &self.json())) }
                @if self.may_erase { (self.deletion()) }
            }
        }
    }

    fn address(&self, id: ResponseId) -> String {
        self.query.address_of(&format!("/console/flows/{}/responses/{id}", self.row.flow_id))
    }

    fn step(&self, to: Option<ResponseId>, rel: &str, words: &str) -> Markup {
        html! {
            @match to {
                Some(id) => a.button.small rel=(rel) href=(self.address(id)) data-panel { (words) },
                None => span.button.small aria-disabled="true" { (words) },
            }
        }
    }

    /// Every question of the answered version, in order.
    fn answers(&self) -> Markup {
        let mut given = entries(&self.row.answers);
        let version = self.history.version(self.row.flow_version_id);
        let questions = version.map_or(&[][..], |version| version.definition.questions());
        let mut history = Vec::new();
        for question in questions.iter().filter(|it| it.question_type.is_answerable()) {
            let at = given.iter().position(|(id, _)| *id == question.id);
            history.push((question, at.map(|at| given.swap_remove(at).1)));
        }
        html! {
            dl.answers {
                @for (question, texts) in &history {
                    dt { bdi { (question.prompt) } }
                    @match texts {
                        Some(texts) if texts.len() > 1 => dd { ol { @for text in texts { li { bdi { (in_words(question, std::slice::from_ref(text))) } } } } },
                        Some(texts) => dd.text { bdi { (in_words(question, texts)) } },
                        None => dd.muted { "Not answered" },
                    }
                }
                @for (id, texts) in &given { dt.mono { (id) } dd.text { bdi { (texts.join(", ")) } } }
            }
        }
    }

    /// What is known besides the answers.
    fn about(&self) -> Markup {
        let row = self.row;
        let context = flattened(row.context.as_deref());
        let identities: Vec<Value> =
            serde_json::from_str(&row.identities_with_proof()).unwrap_or_default();
        html! {
            dl.facts {
                @for (name, texts) in entries(row.tags.as_deref().unwrap_or("{}")) {
                    dt { "Tag " bdi { (name) } } dd { bdi { (texts.join(", ")) } }
                }
                @if row.admission == Admission::Admitted {
                    @for identity in &identities {
                        dt { (identity_label(identity["type"].as_str().unwrap_or_default())) }
                        dd {
                            bdi { (identity["value"].as_str().unwrap_or_default()) }
                            @if identity["verified"] == true { " (verified)" }
                        }
                    }
                }
                @for (label, value) in labelled_values(row) { dt { (label) } dd.mono { bdi { (value) } } }
                @for (name, text) in &context { dt { (name) } dd { bdi { (text) } } }
                dt { "Response" } dd.mono { (row.response_id) }
            }
        }
    }

    fn deletion(&self) -> Markup {
        let row = self.row;
        html! {
            details.more.deletion {
                summary { "Delete response" }
                form.note.bad method="post" action={ "/console/flows/" (row.flow_id) "/responses/" (row.response_id) "/delete" } {
                    @for (name, value) in self.query.pairs() { input type="hidden" name=(name) value=(value); }
                    p { "The response is deleted permanently and disappears from the results immediately. The audit log records the deletion, but not the content." }
                    button.button.danger.primary type="submit" { "Delete permanently" }
                }
            }
        }
    }

    fn json(&self) -> String {
        match ResponseJson::new(self.row) {
            Ok(json) => json.pretty(),
            Err(error) => error.to_string(),
        }
    }
}

/// The context as names and texts.
fn flattened(json: Option<&str>) -> Vec<(&'static str, String)> {
    let context: Value =
        json.and_then(|json| serde_json::from_str(json).ok()).unwrap_or(Value::Null);
    [
        ("Language", "/locale"),
        ("Page", "/page/path"),
        ("Query", "/page/search"),
        ("Referrer", "/page/referrer"),
        ("Browser", "/userAgent"),
    ]
    .into_iter()
    .filter_map(|(name, pointer)| {
        let text = context.pointer(pointer)?.as_str()?;
        (!text.is_empty()).then(|| (name, text.to_owned()))
    })
    .collect()
}

/// The name of a kind of identity on pages; the author's own traits keep theirs.
fn identity_label(kind: &str) -> &str {
    match kind {
        "userId" => "User ID",
        "traits.email" => "E-mail",
        other => other.strip_prefix("traits.").unwrap_or(other),
    }
}
