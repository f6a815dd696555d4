//! Respondents of an app: find, view, export and erase.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use maud::{Markup, html};
use sluice_engine::rows::{AnswersOnErasure, ConsentRow, Page, Respondent, Scope};
use sluice_engine::{AdminError, Missing};
use sluice_flow::id::{AppId, RespondentId};
use sluice_flow::respondent::IdentityType;

use super::super::Console;
use super::super::parts::{self, ago, number, time};
use super::super::reply::{self, Kind, Reply};
use super::super::request::{Form, PathParam, Query};
use super::super::session::Visitor;
use super::super::sidebar::Sidebar;
use super::{app_page, may};

const TAB: &str = "respondents";
const PAGE_ROWS: usize = 50;
/// The most consents shown on a respondent's page.
const CONSENTS_SHOWN: usize = 20;

pub(super) async fn show(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(app): PathParam<AppId>,
    Query(query): Query,
) -> Reply {
    let sidebar = Sidebar::app(&console, &visitor, app).await?;
    let wanted = query.get("find");
    let mut found = match wanted {
        Some(text) => {
            let of = if text.contains('@') { IdentityType::Email } else { IdentityType::UserId };
            sidebar.own()?.find_respondent(of, text).await?.into_iter().collect()
        }
        None => {
            let after = query.get("after").and_then(|id| id.parse().ok());
            let page = Page { after, limit: PAGE_ROWS + 1 };
            sidebar.own()?.list_respondents(page).await?
        }
    };
    let next = (found.len() > PAGE_ROWS).then(|| {
        found.truncate(PAGE_ROWS);
        found.last().map(|last: &Respondent| last.row.respondent_id)
    });
    let content = list(app, wanted, &found, next.flatten());
    Ok(app_page(&visitor, &sidebar, TAB, Kind::Shown, query.get("done"), content))
}

pub(super) async fn one(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(app): PathParam<AppId>,
    PathParam(respondent): PathParam<RespondentId>,
) -> Reply {
    Ok(person(&console, &visitor, app, respondent, Kind::Shown, None).await?)
}

/// All data about a respondent, as one file. A POST, because the audit log records the export.
pub(super) async fn export(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(app): PathParam<AppId>,
    PathParam(respondent): PathParam<RespondentId>,
) -> Reply {
    of_app(&console, &visitor, app, respondent).await?;
    let whole = console
        .engine
        .respondent(&visitor.actor, Scope::Export, respondent)
        .await?
        .export()
        .await?;
    Ok(reply::download(
        &format!("{respondent}.json"),
        "application/json",
        whole.into_file()?.pretty()?,
    ))
}

pub(super) async fn erase(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(app): PathParam<AppId>,
    PathParam(respondent): PathParam<RespondentId>,
    Form(form): Form,
) -> Reply {
    of_app(&console, &visitor, app, respondent).await?;
    visitor.actor.need_in(Scope::Erase, app, Missing::Respondent)?;
    let answers = form.get("answers").and_then(AnswersOnErasure::named);
    let Some(answers) = answers.filter(|_| form.has("sure")) else {
        let text = "Choose what happens to the answers, and confirm that you are sure.";
        let page = person(&console, &visitor, app, respondent, Kind::Unfinished, Some(text));
        return Ok(page.await?);
    };
    let erased = console
        .engine
        .respondent(&visitor.actor, Scope::Erase, respondent)
        .await?
        .erase(answers)
        .await?;
    let done = if erased.remaining.is_some() { "erasing" } else { "erased" };
    Ok(reply::see_other(&format!("/console/apps/{app}/settings/respondents?done={done}")))
}

/// The respondent, if they belong to this app.
async fn of_app(
    console: &Console,
    visitor: &Visitor,
    app: AppId,
    id: RespondentId,
) -> Result<(Respondent, Vec<ConsentRow>), AdminError> {
    let found = console.engine.respondent(&visitor.actor, Scope::Read, id).await?.profile().await?;
    match found.0.row.app_id == app {
        true => Ok(found),
        false => Err(AdminError::NotFound(Missing::Respondent)),
    }
}

async fn person(
    console: &Console,
    visitor: &Visitor,
    app: AppId,
    id: RespondentId,
    kind: Kind,
    error: Option<&str>,
) -> Result<Response, AdminError> {
    let (respondent, consents) = of_app(console, visitor, app, id).await?;
    let sidebar = Sidebar::app(console, visitor, app).await?;
    let base = format!("/console/apps/{app}/settings/respondents");
    let content = html! {
        p { a href=(base) { "All respondents" } }
        @if let Some(error) = error { div.errors role="alert" tabindex="-1" { p { (error) } } }
        (profile(&respondent, &consents, &sidebar))
        @if may(visitor, Scope::Export, app) {
            section.card {
                h2 { "Export" }
                p { "One JSON file with all data about this person: profile, consents, responses and invitations. The audit log records the export." }
                form method="post" action={ (base) "/" (id) "/export" } { button.button type="submit" { "Download as JSON" } }
            }
        }
        @if respondent.row.erasing.is_some() {
            p.muted { "This respondent is being erased. The server continues in the background." }
        } @else if may(visitor, Scope::Erase, app) { (erasure(&format!("{base}/{id}/erase"))) }
    };
    Ok(app_page(visitor, &sidebar, TAB, kind, None, content))
}

fn list(
    app: AppId,
    wanted: Option<&str>,
    found: &[Respondent],
    next: Option<RespondentId>,
) -> Markup {
    let base = format!("/console/apps/{app}/settings/respondents");
    html! {
        section.card {
            h2 { "Respondents" }
            p { "People who agreed to be linked to their responses. Anonymous respondents are not listed." }
            form.inline method="get" action=(base) role="search" {
                div.field {
                    label for="find" { "User ID or e-mail address" }
                    input.input id="find" name="find" type="search" value=[wanted];
                }
                button.button type="submit" { "Find" }
                @if wanted.is_some() { a.button.quiet href=(base) { "Show all" } }
            }
        }
        @if found.is_empty() {
            @match wanted {
                Some(_) => (parts::empty("No respondent found", "No respondent has exactly this user ID or e-mail address. Anonymous respondents cannot be found.", html! {})),
                None => (parts::empty("No respondents yet", "People who answer with an identity and agree to be linked are listed here.", html! {})),
            }
        } @else {
            div.scroll tabindex="0" role="region" aria-label="Respondents" {
                table.table.hover {
                    thead { tr { th scope="col" { "Identities" } th scope="col" { "First seen" } th scope="col" { "Last seen" } } }
                    tbody {
                        @for one in found {
                            tr {
                                td {
                                    a href={ (base) "/" (one.row.respondent_id) } { (name_of(one)) }
                                    @if one.row.erasing.is_some() { " " span.muted { "Being erased" } }
                                }
                                td { @if let Some((first, _)) = one.seen { (ago(first)) } }
                                td { @if let Some((_, last)) = one.seen { (ago(last)) } }
                            }
                        }
                    }
                }
            }
            @if let Some(next) = next { nav.pager aria-label="Pages" { a.button href={ (base) "?after=" (next) } { "Next page" } } }
        }
    }
}

fn name_of(respondent: &Respondent) -> String {
    let names: Vec<&str> = respondent.identities.iter().map(|known| known.value.as_str()).collect();
    if names.is_empty() { respondent.row.respondent_id.to_string() } else { names.join(", ") }
}

fn profile(respondent: &Respondent, consents: &[ConsentRow], sidebar: &Sidebar) -> Markup {
    let flow_name = |flow: &sluice_flow::id::FlowId| {
        let near = sidebar.flows.iter().find(|it| it.flow_id == *flow);
        near.map_or_else(|| flow.to_string(), |it| it.name.clone())
    };
    html! {
        section.card {
            h2 { (name_of(respondent)) }
            dl.facts {
                dt { "ID" } dd { code { (respondent.row.respondent_id) } }
                @for known in &respondent.identities { dt { (identity_type_label(known.kind)) } dd { (known.value) } }
                @if let Some((first, last)) = respondent.seen {
                    dt { "First seen" } dd { (ago(first)) }
                    dt { "Last seen" } dd { (ago(last)) }
                }
                @for (flow, count) in &respondent.flows {
                    dt { "Responses" } dd { a href={ "/console/flows/" (flow) "/responses" } { (flow_name(flow)) } ": " (number(*count)) }
                }
            }
        }
        section.card {
            h2 { "Consents" }
            @if consents.is_empty() { p.muted { "No consents" } }
            ul {
                @for consent in consents.iter().take(CONSENTS_SHOWN) {
                    li { (time(consent.response_id.made_at())) ", with a response to " (flow_name(&consent.flow_id)) }
                }
            }
            @if consents.len() > CONSENTS_SHOWN { p.muted { "The export contains all consents." } }
        }
    }
}

fn identity_type_label(of: IdentityType) -> &'static str {
    match of {
        IdentityType::UserId => "User ID",
        IdentityType::Email => "E-mail",
    }
}

fn erasure(action: &str) -> Markup {
    html! {
        section.card {
            h2 { "Erase" }
            p { "Erasing permanently removes the profile, its identities and consents, and the names in its invitations. You cannot undo this, and no copy is kept." }
            form.form method="post" action=(action) data-confirm="Erase this person permanently?" {
                fieldset {
                    legend.label { "Answers" }
                    label.check { input type="radio" name="answers" value=(AnswersOnErasure::Keep.as_str()) required; span { "Keep the answers anonymously: results do not change" } }
                    label.check { input type="radio" name="answers" value=(AnswersOnErasure::Delete.as_str()); span { "Delete the answers: they disappear from the results" } }
                }
                label.check { input type="checkbox" name="sure" value="yes" required; span { "I understand that this cannot be undone" } }
                div.buttons { button.button.danger.primary type="submit" { "Erase" } }
            }
        }
    }
}
