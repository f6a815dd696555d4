//! Users of the instance: add, change roles, disable, create password links.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use http::HeaderMap;
use maud::{Markup, html};
use sluice_engine::people::{NewUser, UserDetail, UserPatch};
use sluice_engine::rows::{Page, Role, Scope};
use sluice_engine::{AdminError, Secret};
use sluice_flow::definition::Fault;
use sluice_flow::id::{AppId, UserId};

use super::super::Console;
use super::super::parts::field::{Field, select};
use super::super::parts::{self, ago};
use super::super::reply::{self, Kind, Reply};
use super::super::request::{Fields, Form, PathParam, Query, faults_of, language};
use super::super::session::Visitor;
use super::super::sidebar::Sidebar;
use super::people::password_link;
use super::places::{self, EVERYWHERE, app_name};
use super::roles::{self, role_label, role_of};
use super::{error_of, instance_page};

const TAB: &str = "users";
const PAGE_ROWS: usize = 100;

pub(super) async fn show(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    Query(query): Query,
) -> Reply {
    let after = query.get("after").and_then(|id| id.parse().ok());
    let (done, typed) = (query.get("done"), Fields::default());
    Ok(list(&console, &visitor, after, (Kind::Shown, done), &[], &typed).await?)
}

pub(super) async fn create(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    headers: HeaderMap,
    Form(form): Form,
) -> Reply {
    visitor.actor.need_instance(Scope::Admin)?;
    let app_id = match places::chosen(&form) {
        Ok(place) => place,
        Err(fault) => {
            let unfinished = (Kind::Unfinished, None);
            return Ok(list(&console, &visitor, None, unfinished, &[fault], &form).await?);
        }
    };
    let new = NewUser {
        email: form.get("email").unwrap_or_default().to_owned(),
        name: form.get("name").unwrap_or_default().to_owned(),
        role: role_of(form.get("role")).unwrap_or(Role::Viewer),
        app_id,
    };
    let instance = console.engine.instance(&visitor.actor)?;
    let made = match console.engine.sends_mail() {
        true => {
            let made = instance.create_user_by_mail(new, language(&headers)).await;
            made.map(|user| (user, None))
        }
        false => instance.create_user(new).await.map(|(user, secret)| (user, Some(secret))),
    };
    let faults = match made {
        Ok((user, None)) => {
            let to = format!("/console/settings/users/{}?done=link-mailed", user.user_id);
            return Ok(reply::see_other(&to));
        }
        Ok((user, link)) => {
            let page = UserPage { link, ..UserPage::default() };
            return Ok(page.render(&console, &visitor, user).await?);
        }
        Err(AdminError::Conflict { detail, .. }) => {
            vec![Fault::new("/email", detail)]
        }
        Err(error) => places::faults(error)?,
    };
    Ok(list(&console, &visitor, None, (Kind::Unfinished, None), &faults, &form).await?)
}

pub(super) async fn one(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(id): PathParam<UserId>,
    Query(query): Query,
) -> Reply {
    let user = console.engine.instance(&visitor.actor)?.get_user(id).await?;
    let page = UserPage { done: query.get("done"), ..UserPage::default() };
    Ok(page.render(&console, &visitor, user).await?)
}

pub(super) async fn set_role(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(id): PathParam<UserId>,
    Form(form): Form,
) -> Reply {
    visitor.actor.need_instance(Scope::Admin)?;
    let role = roles::chosen(form.get("role"))?;
    let set = match places::chosen(&form) {
        Ok(app) => change_role(&console, &visitor, id, app, role).await,
        Err(fault) => Err(AdminError::Invalid(vec![fault])),
    };
    match set {
        Ok(_) => Ok(saved(id)),
        Err(error) => {
            let faults = places::faults(error)?;
            let user = console.engine.instance(&visitor.actor)?.get_user(id).await?;
            Ok(UserPage { faults, typed: form, ..UserPage::default() }
                .render(&console, &visitor, user)
                .await?)
        }
    }
}

/// Sets or removes a role in one app, or in all.
async fn change_role(
    console: &Console,
    visitor: &Visitor,
    id: UserId,
    app: Option<AppId>,
    role: Option<Role>,
) -> Result<UserDetail, AdminError> {
    match app {
        Some(app) => {
            let app = console.engine.app(&visitor.actor, Scope::Admin, app).await?;
            app.set_role(id, role).await
        }
        None => console.engine.instance(&visitor.actor)?.set_role(id, role).await,
    }
}

pub(super) async fn rename(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(id): PathParam<UserId>,
    Form(form): Form,
) -> Reply {
    let name = Some(form.get("name").unwrap_or_default().to_owned());
    let patch = UserPatch { name, ..UserPatch::default() };
    match faults_of(console.engine.instance(&visitor.actor)?.update_user(id, &patch).await)? {
        Ok(_) => Ok(saved(id)),
        Err(faults) => {
            let user = console.engine.instance(&visitor.actor)?.get_user(id).await?;
            Ok(UserPage { faults, ..UserPage::default() }.render(&console, &visitor, user).await?)
        }
    }
}

pub(super) async fn set_state(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(id): PathParam<UserId>,
    Form(form): Form,
) -> Reply {
    let disabled = Some(form.get("disabled") == Some("yes"));
    let patch = UserPatch { disabled, ..UserPatch::default() };
    console.engine.instance(&visitor.actor)?.update_user(id, &patch).await?;
    Ok(saved(id))
}

pub(super) async fn reset(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(id): PathParam<UserId>,
    headers: HeaderMap,
    Form(form): Form,
) -> Reply {
    let instance = console.engine.instance(&visitor.actor)?;
    if console.engine.sends_mail() && !form.has("show") {
        instance.reset_user_by_mail(id, language(&headers)).await?;
        let to = format!("/console/settings/users/{id}?done=link-mailed");
        return Ok(reply::see_other(&to));
    }
    let secret = instance.reset_user(id).await?;
    let user = instance.get_user(id).await?;
    Ok(UserPage { link: Some(secret), ..UserPage::default() }
        .render(&console, &visitor, user)
        .await?)
}

/// Removes the second factor of a user who has lost it.
pub(super) async fn reset_second_factor(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(id): PathParam<UserId>,
) -> Reply {
    console.engine.instance(&visitor.actor)?.reset_second_factor(id).await?;
    Ok(saved(id))
}

fn saved(id: UserId) -> Response {
    reply::see_other(&format!("/console/settings/users/{id}?done=saved"))
}

async fn list(
    console: &Console,
    visitor: &Visitor,
    after: Option<UserId>,
    (kind, done): (Kind, Option<&str>),
    faults: &[Fault],
    typed: &Fields,
) -> Result<Response, AdminError> {
    let page = Page { after, limit: PAGE_ROWS + 1 };
    let mut users = console.engine.instance(&visitor.actor)?.list_users(page).await?;
    let next = (users.len() > PAGE_ROWS).then(|| {
        users.truncate(PAGE_ROWS);
        users.last().map(|last| last.user_id)
    });
    let sidebar = Sidebar::instance(console, visitor).await?;
    let content = html! {
        @if users.is_empty() {
            (parts::empty("No users yet", "Users sign in with their e-mail address and have a role in one app or in all apps. Until you add one, only admin tokens give access to this console.", html! {}))
        } @else {
            (table(&users, &sidebar))
            @if let Some(next) = next.flatten() { nav.pager aria-label="Pages" { a.button href={ "/console/settings/users?after=" (next) } { "Next page" } } }
        }
        (form(&sidebar, faults, typed))
    };
    Ok(instance_page(visitor, &sidebar, TAB, kind, done, content))
}

fn table(users: &[UserDetail], sidebar: &Sidebar) -> Markup {
    html! {
        section.card {
            h2 { "Users" }
            div.scroll tabindex="0" role="region" aria-label="Users" {
                table.table.hover.stacks {
                    thead { tr { th scope="col" { "Name" } th scope="col" { "E-mail" } th scope="col" { "Roles" } th scope="col" { "State" } } }
                    tbody {
                        @for user in users {
                            tr {
                                td data-label="Name" { a href={ "/console/settings/users/" (user.user_id) } { (user.name) } }
                                td data-label="E-mail" { (user.email) }
                                td data-label="Roles" { (roles_of(user, sidebar)) }
                                td data-label="State" { (state_of(user)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn roles_of(user: &UserDetail, sidebar: &Sidebar) -> String {
    let grants = user.grants.iter().map(|grant| {
        let place = grant.app_id.map_or("all apps".to_owned(), |app| app_name(sidebar, app));
        format!("{} of {place}", role_label(grant.role))
    });
    let roles: Vec<String> = grants.collect();
    if roles.is_empty() { "None".to_owned() } else { roles.join(", ") }
}

fn state_of(user: &UserDetail) -> &'static str {
    match user {
        UserDetail { disabled_at: Some(_), .. } => "Disabled",
        UserDetail { has_password: false, has_subject: false, .. } => "Never signed in",
        _ => "Active",
    }
}

fn form(sidebar: &Sidebar, faults: &[Fault], typed: &Fields) -> Markup {
    let field_of = |pointer: &str| pointer.split('/').nth(1).map(str::to_owned);
    let own = |id, label, kind| Field {
        id,
        label,
        kind,
        required: true,
        value: typed.raw(id),
        error: error_of(faults, id, field_of),
        ..Field::default()
    };
    html! {
        section.card {
            h2 { "New user" }
            (parts::errors(faults, field_of))
            form.form method="post" action="/console/settings/users" {
                (own("email", "E-mail address", "email").draw())
                (own("name", "Name", "text").draw())
                (select("role", "Role", roles::ALL, typed.get("role").unwrap_or("viewer")))
                (places::field("appId", sidebar, typed.raw("appId"), error_of(faults, "appId", field_of)))
                div.buttons { button.button.primary type="submit" { "Add user" } }
            }
        }
    }
}

/// The page of one user.
#[derive(Default)]
struct UserPage<'v> {
    done: Option<&'v str>,
    faults: Vec<Fault>,
    typed: Fields,
    link: Option<Secret>,
}

impl UserPage<'_> {
    async fn render(
        self,
        console: &Console,
        visitor: &Visitor,
        user: UserDetail,
    ) -> Result<Response, AdminError> {
        let sidebar = Sidebar::instance(console, visitor).await?;
        let link = self.link.as_ref().map(|secret| console.engine.accounts().welcome_url(secret));
        let base = format!("/console/settings/users/{}", user.user_id);
        let content = html! {
            p { a href="/console/settings/users" { "All users" } }
            @if let Some(link) = &link { (password_link(link)) }
            (about(&user, &base, &self.faults))
            (granted(&user, &base, &sidebar, &self))
            (entry(&user, &base, console.engine.sends_mail()))
        };
        let kind = if self.faults.is_empty() { Kind::Shown } else { Kind::Unfinished };
        Ok(instance_page(visitor, &sidebar, TAB, kind, self.done, content))
    }
}

fn about(user: &UserDetail, base: &str, faults: &[Fault]) -> Markup {
    let name = Field {
        id: "name",
        label: "Name",
        value: &user.name,
        required: true,
        error: error_of(faults, "name", field_in_page),
        ..Field::default()
    };
    html! {
        section.card {
            (parts::errors(faults, field_in_page))
            h2 { (user.name) }
            dl.facts {
                dt { "E-mail" } dd { (user.email) }
                dt { "State" } dd { (state_of(user)) }
                dt { "Added" } dd { (ago(user.created_at)) }
                dt { "Sign-in" } dd { @match (user.has_password, user.has_subject) {
                    (true, true) => "Password or organisation account",
                    (true, false) => "Password",
                    (false, true) => "Organisation account",
                    (false, false) => "Not set up",
                } }
            }
            form.inline method="post" action={ (base) "/name" } {
                (name.draw())
                button.button type="submit" { "Rename" }
            }
        }
    }
}

/// The field of a user's page that a fault belongs to.
fn field_in_page(pointer: &str) -> Option<String> {
    Some(if pointer == "/appId" { "new-place" } else { "name" }.to_owned())
}

fn granted(user: &UserDetail, base: &str, sidebar: &Sidebar, page: &UserPage<'_>) -> Markup {
    let place_error = error_of(&page.faults, "new-place", field_in_page);
    html! {
        section.card {
            h2 { "Roles" }
            @if user.grants.is_empty() { p.muted { "No roles. This user can sign in but has no access." } }
            @for (number, grant) in user.grants.iter().enumerate() {
                @let place = grant.app_id.map_or("All apps".to_owned(), |app| app_name(sidebar, app));
                div.row {
                    p.fill { (place) }
                    form.inline method="post" action={ (base) "/role" } {
                        input type="hidden" name="appId" value=(grant.app_id.map_or(EVERYWHERE.to_owned(), |app| app.to_string()));
                        label.unseen for={ "role-" (number) } { "Role in " (place) }
                        select.input id={ "role-" (number) } name="role" {
                            @for (value, words) in roles::WITH_NONE {
                                option value=(value) selected[role_of(Some(value)) == Some(grant.role)] { (words) }
                            }
                        }
                        button.button type="submit" { "Save" span.unseen { " the role in " (place) } }
                    }
                }
            }
            h3 { "New role" }
            form.form method="post" action={ (base) "/role" } {
                div.field {
                    label for="new-role" { "Role" }
                    select.input id="new-role" name="role" {
                        @for (value, words) in roles::ALL { option value=(value) selected[page.typed.get("role") == Some(value)] { (words) } }
                    }
                }
                (places::field("new-place", sidebar, page.typed.raw("appId"), place_error))
                div.buttons { button.button type="submit" { "Add role" } }
            }
        }
    }
}

fn entry(user: &UserDetail, base: &str, sends_mail: bool) -> Markup {
    html! {
        section.card {
            h2 { "Sign-in" }
            @if user.disabled_at.is_none() {
                @if user.has_subject {
                    p { "This user signs in with the organisation's account. The first such sign-in removed their password and links, because someone else may have known them." }
                }
                @if user.has_password {
                    p { "Create a link to set a new password, for example if the user forgot it. The current password works until then." }
                } @else {
                    p { "Create a link to set a password." }
                }
                form method="post" action={ (base) "/reset" } {
                    @if sends_mail {
                        div.buttons {
                            button.button type="submit" { "Send password link by e-mail" }
                            button.button.quiet type="submit" name="show" value="yes" { "Show the link instead" }
                        }
                    } @else { button.button type="submit" { "Create password link" } }
                }
                @if user.has_second_factor {
                    p { "This user has a second factor. If they lost their authenticator app and recovery codes, reset it: they then need only their password until they turn it on again." }
                    form method="post" action={ (base) "/second-factor/reset" } data-confirm="Reset the second factor of this user?" { button.button type="submit" { "Reset second factor" } }
                }
                p { "Disabling signs this user out everywhere immediately. Their roles are kept." }
                form method="post" action={ (base) "/state" } data-confirm="Disable this user? They are signed out everywhere." {
                    input type="hidden" name="disabled" value="yes";
                    button.button.danger type="submit" { "Disable" }
                }
            } @else {
                p { "This user is disabled and cannot sign in." }
                form method="post" action={ (base) "/state" } {
                    input type="hidden" name="disabled" value="no";
                    button.button type="submit" { "Enable" }
                }
            }
        }
    }
}
