//! Sharing results: the form that creates a report, its link, and the list of the flow's reports.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use maud::{Markup, html};
use sluice_engine::rows::Scope;
use sluice_engine::{
    AdminError, FlowHandle, NewReport, QuestionHistory, Report, ReportState, Secret,
};
use sluice_flow::definition::Fault;
use sluice_flow::id::{FlowId, ReportId};

use super::filters::hidden;
use super::query::{ResultsQuery, page_path};
use super::report_form::{ReportForm, expiry, field_of};
use crate::Console;
use crate::answer_filters::{admission_label, plain_words};
use crate::frame::{Frame, NavItem, Tab, Width};
use crate::parts::{self, counted, day, errors};
use crate::reply::{self, Kind, Refused, Reply};
use crate::request::{Fields, Form, PathParam, Query, faults_of};
use crate::session::Visitor;
use crate::sidebar::Sidebar;

/// What a page shows besides the form and the list.
#[derive(Default)]
struct ReportsPage {
    fields: Fields,
    faults: Vec<Fault>,
    /// The title and the link of a report that was just created.
    link: Option<(String, Secret)>,
    /// Whether the fields were sent, and not taken from an address.
    is_sent: bool,
}

pub(super) async fn show(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(flow): PathParam<FlowId>,
    Query(fields): Query,
) -> Reply {
    let around = Sidebar::flow(&console, &visitor, flow).await?;
    page(&visitor, &around, Kind::Shown, ReportsPage { fields, ..ReportsPage::default() }).await
}

pub(super) async fn create(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(flow): PathParam<FlowId>,
    Form(form): Form,
) -> Reply {
    // Nothing is created for a visitor who could not see its link.
    let around = Sidebar::flow(&console, &visitor, flow).await?;
    let opened = console.engine.flow(&visitor.actor, Scope::Export, flow).await?;
    let expires_at = expiry(form.get("until"));
    let new = NewReport {
        title: form.raw("title").to_owned(),
        questions: form.all("show").map(str::to_owned).collect(),
        filters: ResultsQuery::from_fields(&form).pairs(),
        shows_texts: form.has("texts"),
        // A password is used as typed, spaces included.
        password: Some(form.raw("password")).filter(|it| !it.is_empty()).map(str::to_owned),
        expires_at: expires_at.as_ref().ok().copied().flatten(),
    };
    let made = match expires_at {
        Ok(_) => opened.create_report(&new).await,
        Err(fault) => Err(AdminError::Invalid(vec![fault])),
    };
    let sent = ReportsPage { fields: form, is_sent: true, ..ReportsPage::default() };
    match faults_of(made)? {
        Ok((report, link)) => {
            let shown = ReportsPage { link: Some((report.title, link)), is_sent: false, ..sent };
            page(&visitor, &around, Kind::Shown, shown).await
        }
        Err(faults) => {
            page(&visitor, &around, Kind::Unfinished, ReportsPage { faults, ..sent }).await
        }
    }
}

pub(super) async fn replace_link(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(flow): PathParam<FlowId>,
    PathParam(report): PathParam<ReportId>,
) -> Reply {
    let around = Sidebar::flow(&console, &visitor, flow).await?;
    let opened = console.engine.flow(&visitor.actor, Scope::Export, flow).await?;
    let (report, link) = opened.replace_report_link(report).await?;
    let shown = ReportsPage { link: Some((report.title, link)), ..ReportsPage::default() };
    page(&visitor, &around, Kind::Shown, shown).await
}

pub(super) async fn revoke(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(flow): PathParam<FlowId>,
    PathParam(report): PathParam<ReportId>,
) -> Reply {
    let opened = console.engine.flow(&visitor.actor, Scope::Export, flow).await?;
    opened.revoke_report(report).await?;
    Ok(reply::see_other(&format!("{}?done=revoked#reports", page_path(flow, "reports"))))
}

async fn page(
    visitor: &Visitor,
    (sidebar, state): &(Sidebar, FlowHandle),
    kind: Kind,
    shown: ReportsPage,
) -> Result<Response, Refused> {
    let flow = state.flow_id();
    let history = state.asked().await?;
    let query = ResultsQuery::from_fields(&shown.fields).known(&history);
    let reports = state.list_reports_named().await?;
    let title = format!("Share a report · {}", state.flow.name);
    let may_share = state.may(Scope::Export);
    let content = html! {
        p.crumbs { a href=(query.address(flow)) { "Back to the results" } }
        @if let Some((title, link)) = &shown.link {
            section.note.good role="status" {
                p { strong { "The link to “" (title) "”" } " – it is shown only once. Anyone who has it can read the report." }
                (parts::code("link", "Link to the report", &link.0))
            }
        }
        @if may_share { (form(state, &history, &query, &shown)) }
        @else { p.note { "Your role does not allow sharing reports. Ask an editor or an owner of this app." } }
        (list(flow, &reports, &history, may_share))
    };
    let frame = Frame::new(visitor, sidebar, NavItem::Flow(state, Tab::Results), &title);
    let frame = frame.width(Width::Narrow).done(shown.fields.get("done"));
    Ok(frame.page(kind, content))
}

fn form(
    state: &FlowHandle,
    history: &QuestionHistory,
    query: &ResultsQuery,
    shown: &ReportsPage,
) -> Markup {
    let faults = &shown.faults;
    // At first, all questions are chosen.
    let initial = || {
        let field = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let questions = history.questions.iter().map(|it| field("show", &it.id));
        Fields(std::iter::once(field("title", &state.flow.name)).chain(questions).collect())
    };
    let fields = if shown.is_sent { shown.fields.clone() } else { initial() };
    let form = ReportForm { history, fields: &fields, faults, has_password: false };
    let body = html! {
        p.muted { "A link to these results for people without an account. They see the questions that you choose, and never who answered. The numbers are current whenever the report is opened." }
        (errors(faults, field_of))
        form.form method="post" action=(page_path(state.flow_id(), "reports")) {
            (hidden(&query.pairs()))
            p { strong { "Filters: " } (words(history, query)) " " a href=(query.address(state.flow_id())) { "Change" } }
            (form.draw())
            div.buttons { button.button.primary type="submit" { "Create link" } }
        }
    };
    html! {
        section.card aria-labelledby="share-report" {
            @if shown.link.is_some() {
                // The link is above; the empty form would look as if nothing had happened.
                details.more {
                    summary { h2 id="share-report" { "Share another report" } }
                    (body)
                }
            } @else {
                h2 id="share-report" { "Share a report" }
                (body)
            }
        }
    }
}

/// The filters in words. Readers see them too.
pub(super) fn words(history: &QuestionHistory, query: &ResultsQuery) -> String {
    let mut words = vec![query.period.label()];
    let version = query.version.and_then(|id| history.version(id));
    words.extend(version.map(|it| format!("version {}", it.number)));
    words.extend(query.tag.as_ref().map(|(name, value)| format!("{name}: {value}")));
    words.extend(query.admission.map(|it| admission_label(it).to_owned()));
    words.extend(query.answers.iter().map(|(name, value)| plain_words(history, name, value)));
    words.extend(query.compare.as_ref().map(|compare| compare.label()));
    words.join(" · ")
}

fn list(
    flow: FlowId,
    reports: &[(Report, String)],
    history: &QuestionHistory,
    may_share: bool,
) -> Markup {
    html! {
        section.card aria-labelledby="reports" {
            h2 id="reports" { "Reports of this flow" }
            @if reports.is_empty() { p.muted { "No reports yet." } }
            @else {
                div.scroll tabindex="0" role="region" aria-label="Reports" {
                    table.table.stacks {
                        thead { tr { th scope="col" { "Report" } th scope="col" { "State" } th scope="col" { "Created" } th scope="col" { "Expires" } th scope="col" { span.unseen { "Actions" } } } }
                        tbody { @for (report, author) in reports { (row(flow, report, author, history, may_share)) } }
                    }
                }
            }
        }
    }
}

fn row(
    flow: FlowId,
    report: &Report,
    author: &str,
    history: &QuestionHistory,
    may_share: bool,
) -> Markup {
    let (label, dot) = match report.state {
        ReportState::Active => ("Active", "open"),
        ReportState::Expired => ("Expired", "closed"),
        ReportState::Revoked => ("Revoked", "archived"),
    };
    let query = ResultsQuery::from_fields(&Fields(report.filters.clone()));
    let base = format!("{}/{}", page_path(flow, "reports"), report.report_id);
    html! {
        tr {
            td data-label="Report" {
                div {
                    p { bdi { (report.title) } }
                    p.hint {
                        (counted(report.questions.len() as u64, "question")) " · " (words(history, &query))
                        @if report.shows_texts { " · with text answers" }
                        @if report.has_password { " · password" }
                    }
                }
            }
            td data-label="State" { span.state { span class={ "dot " (dot) } {} (label) } }
            td data-label="Created" { div { (day(report.created_at)) p.hint { (author) } } }
            td data-label="Expires" { @match report.expires_at { Some(end) => (parts::time(end)), None => "Never" } }
            td {
                @if may_share && report.state != ReportState::Revoked {
                    div.buttons {
                        a.button.small href=(base) { "Edit" span.unseen { " " (report.title) } }
                        form method="post" action={ (base) "/link" } data-confirm="Replace the link? The previous link stops working." {
                            button.button.small type="submit" { "New link" span.unseen { " for " (report.title) } }
                        }
                        form method="post" action={ (base) "/revoke" } data-confirm="Revoke this report? Its link stops working." {
                            button.button.small.danger type="submit" { "Revoke" span.unseen { " " (report.title) } }
                        }
                    }
                }
            }
        }
    }
}
