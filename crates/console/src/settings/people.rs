//! The people of one app: who has access to it, and with which role.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use http::HeaderMap;
use maud::{Markup, html};
use sluice_engine::people::{LINK_HOURS, Member, NewMember};
use sluice_engine::rows::{Page, Role, Scope};
use sluice_engine::{AdminError, Missing, Secret};
use sluice_flow::definition::Fault;
use sluice_flow::id::{AppId, UserId};

use super::super::Console;
use super::super::parts;
use super::super::parts::field::{Field, select};
use super::super::reply::{self, Kind, Reply};
use super::super::request::{Fields, Form, PathParam, Query, faults_of, language};
use super::super::session::Visitor;
use super::super::sidebar::Sidebar;
use super::roles::{self, role_label, role_of};
use super::{app_page, error_of};

const TAB: &str = "people";
const PAGE_ROWS: usize = 100;

#[derive(Default)]
struct PeoplePage {
    /// The member before the first one shown.
    after: Option<UserId>,
    faults: Vec<Fault>,
    typed: Fields,
    /// The password link of a user who was just added.
    link: Option<Secret>,
}

pub(super) async fn show(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(app): PathParam<AppId>,
    Query(query): Query,
) -> Reply {
    let after = query.get("after").and_then(|id| id.parse().ok());
    let page = PeoplePage { after, ..PeoplePage::default() };
    Ok(render(&console, &visitor, app, Kind::Shown, query.get("done"), page).await?)
}

pub(super) async fn add(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(app): PathParam<AppId>,
    headers: HeaderMap,
    Form(form): Form,
) -> Reply {
    let new = NewMember {
        email: form.get("email").unwrap_or_default().to_owned(),
        name: form.get("name").unwrap_or_default().to_owned(),
        role: role_of(form.get("role")).unwrap_or(Role::Viewer),
    };
    let opened = console.engine.app(&visitor.actor, Scope::Admin, app).await?;
    let added = match console.engine.sends_mail() {
        true => {
            let added = opened.add_member_by_mail(&new, language(&headers)).await;
            added.map(|is_new| (is_new, None))
        }
        false => opened.add_member(&new).await.map(|(_, link)| (false, link)),
    };
    match faults_of(added)? {
        Ok((true, None)) => Ok(reply::see_other(&address(app, "link-mailed"))),
        Ok((_, None)) => Ok(reply::see_other(&address(app, "added"))),
        Ok((_, link)) => {
            let page = PeoplePage { link, ..PeoplePage::default() };
            Ok(render(&console, &visitor, app, Kind::Shown, None, page).await?)
        }
        Err(faults) => {
            let page = PeoplePage { faults, typed: form, ..PeoplePage::default() };
            Ok(render(&console, &visitor, app, Kind::Unfinished, None, page).await?)
        }
    }
}

pub(super) async fn set_role(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(app): PathParam<AppId>,
    Form(form): Form,
) -> Reply {
    visitor.actor.need_in(Scope::Admin, app, Missing::App)?;
    let user: Option<UserId> = form.get("userId").and_then(|id| id.parse().ok());
    let user = user.ok_or(AdminError::NotFound(Missing::User))?;
    let role = roles::chosen(form.get("role"))?;
    let app_of_role = console.engine.app(&visitor.actor, Scope::Admin, app).await?;
    app_of_role.set_role(user, role).await?;
    Ok(reply::see_other(&address(app, "saved")))
}

fn address(app: AppId, done: &str) -> String {
    format!("/console/apps/{app}/settings/people?done={done}")
}

async fn render(
    console: &Console,
    visitor: &Visitor,
    app: AppId,
    kind: Kind,
    done: Option<&str>,
    page: PeoplePage,
) -> Result<Response, AdminError> {
    let sidebar = Sidebar::app(console, visitor, app).await?;
    let part = Page { after: page.after, limit: PAGE_ROWS + 1 };
    let mut members =
        console.engine.app(&visitor.actor, Scope::Admin, app).await?.list_members(part).await?;
    let goes_on = members.len() > PAGE_ROWS;
    members.truncate(PAGE_ROWS);
    let next = members.last().filter(|_| goes_on).map(|last| last.user_id);
    let link = page.link.as_ref().map(|secret| console.engine.accounts().welcome_url(secret));
    let content = html! {
        @if let Some(link) = &link { (password_link(link)) }
        (list(app, visitor, &members, page.after))
        (pager(app, page.after, next))
        (form(app, visitor, &page))
    };
    Ok(app_page(visitor, &sidebar, TAB, kind, done, content))
}

/// A link to set a password, shown once.
pub(super) fn password_link(link: &str) -> Markup {
    html! {
        section.note.good role="status" {
            p { strong { "Send this link only to this person." } " It sets their password, works once and expires after " (LINK_HOURS) " hours. It is shown only once." }
            (parts::code("link", "Link to set a password", link))
        }
    }
}

fn pager(app: AppId, after: Option<UserId>, next: Option<UserId>) -> Markup {
    let base = format!("/console/apps/{app}/settings/people");
    html! {
        @if after.is_some() || next.is_some() {
            nav.pager aria-label="Pages" {
                @if after.is_some() { a.button href=(base) { "First page" } } @else { span {} }
                @if let Some(next) = next { a.button href={ (base) "?after=" (next) } { "Next page" } }
            }
        }
    }
}

fn list(app: AppId, visitor: &Visitor, members: &[Member], after: Option<UserId>) -> Markup {
    html! {
        section.card {
            h2 { "People" }
            @if members.is_empty() && after.is_some() { p.muted { "No more people" } }
            @else if members.is_empty() { p.muted { "No people yet. Only admin tokens give access to this app." } }
            @for member in members {
                div.row {
                    div.fill {
                        p {
                            strong { (member.name) } " " span.muted { (member.email) }
                            @if Some(member.user_id) == visitor.user_id { " " span.tag { "you" } }
                            @if member.is_disabled { " " span.tag { "disabled" } }
                            @else if member.is_awaited { " " span.tag { "never signed in" } }
                        }
                        @if let Some(role) = member.everywhere {
                            p.muted { (role_label(role)) " of all apps. Only owners of the instance can change this." }
                        }
                    }
                    form.inline method="post" action={ "/console/apps/" (app) "/settings/people/role" } {
                        input type="hidden" name="userId" value=(member.user_id);
                        label.unseen for={ "role-" (member.user_id) } { "Role of " (member.name) " in this app" }
                        select.input id={ "role-" (member.user_id) } name="role" {
                            @for (value, words) in roles::WITH_NONE {
                                option value=(value) selected[role_of(Some(value)) == member.role] { (words) }
                            }
                        }
                        button.button type="submit" { "Save" span.unseen { " the role of " (member.name) } }
                    }
                }
            }
        }
    }
}

fn form(app: AppId, visitor: &Visitor, page: &PeoplePage) -> Markup {
    let field_of = |pointer: &str| pointer.split('/').nth(1).map(str::to_owned);
    let email = Field {
        id: "email",
        label: "E-mail address",
        kind: "email",
        required: true,
        value: page.typed.raw("email"),
        error: error_of(&page.faults, "email", field_of),
        ..Field::default()
    };
    let name = Field {
        id: "name",
        label: "Name",
        hint: Some("Only for people who are not users yet"),
        value: page.typed.raw("name"),
        error: error_of(&page.faults, "name", field_of),
        ..Field::default()
    };
    html! {
        section.card {
            h2 { "New person" }
            (parts::errors(&page.faults, field_of))
            form.form method="post" action={ "/console/apps/" (app) "/settings/people" } {
                (email.draw())
                @if visitor.actor.may_instance(Scope::Admin) { (name.draw()) }
                @else { p.hint { "People who are not users yet must first be added by an owner of the instance." } }
                (select("role", "Role", roles::ALL, page.typed.get("role").unwrap_or("viewer")))
                div.buttons { button.button.primary type="submit" { "Add" } }
            }
        }
    }
}
