//! Settings of an app and of the instance, one file per page.

mod account;
mod apps;
mod audit;
mod events;
mod general;
mod identity;
mod images;
mod keys;
mod mail;
mod people;
mod places;
mod respondents;
mod roles;
mod second_factor;
mod sentences;
mod tokens;
mod users;
mod webhooks;

use std::sync::Arc;

use axum::Router;
use axum::response::Response;
use axum::routing::{get, post};
use maud::{Markup, html};
use sluice_engine::rows::Scope;
use sluice_flow::definition::Fault;
use sluice_flow::id::AppId;

use super::Console;
use super::frame::{Frame, NavItem, Width};
use super::reply::{self, Kind, Reply};
use super::session::Visitor;
use super::sidebar::Sidebar;

pub(super) fn routes() -> Router<Arc<Console>> {
    app_routes().merge(webhooks::routes()).merge(instance_routes())
}

fn app_routes() -> Router<Arc<Console>> {
    Router::new()
        .route("/console/apps/{appId}/settings", get(general::show).post(general::save))
        .route("/console/apps/{appId}/settings/keys", get(keys::show).post(keys::create))
        .route("/console/apps/{appId}/settings/keys/{apiKey}/revoke", post(keys::revoke))
        .route(
            "/console/apps/{appId}/settings/identity",
            get(identity::show).post(identity::set_mode),
        )
        .route("/console/apps/{appId}/settings/identity/keys", post(identity::create))
        .route("/console/apps/{appId}/settings/identity/revoke", post(identity::revoke))
        .route("/console/apps/{appId}/settings/images", get(images::show).post(images::upload))
        .route(
            "/console/apps/{appId}/settings/images/{assetId}/delete",
            get(images::ask).post(images::delete),
        )
        .route("/console/apps/{appId}/settings/respondents", get(respondents::show))
        .route("/console/apps/{appId}/settings/respondents/{respondentId}", get(respondents::one))
        .route(
            "/console/apps/{appId}/settings/respondents/{respondentId}/export",
            post(respondents::export),
        )
        .route(
            "/console/apps/{appId}/settings/respondents/{respondentId}/erase",
            post(respondents::erase),
        )
        .route("/console/apps/{appId}/settings/people", get(people::show).post(people::add))
        .route("/console/apps/{appId}/settings/people/role", post(people::set_role))
        .route("/console/apps/{appId}/settings/audit", get(audit::of_app))
        .route("/console/apps/{appId}/settings/events", get(events::show))
}

fn instance_routes() -> Router<Arc<Console>> {
    Router::new()
        .route("/console/settings", get(redirect_to_apps))
        .route("/console/settings/apps", get(apps::show).post(apps::create))
        .route("/console/settings/users", get(users::show).post(users::create))
        .route("/console/settings/users/{userId}", get(users::one))
        .route("/console/settings/users/{userId}/role", post(users::set_role))
        .route("/console/settings/users/{userId}/name", post(users::rename))
        .route("/console/settings/users/{userId}/state", post(users::set_state))
        .route("/console/settings/users/{userId}/reset", post(users::reset))
        .route(
            "/console/settings/users/{userId}/second-factor/reset",
            post(users::reset_second_factor),
        )
        .route("/console/settings/tokens", get(tokens::show).post(tokens::create))
        .route("/console/settings/tokens/{tokenId}/revoke", post(tokens::revoke))
        .route("/console/settings/mail", get(mail::show).post(mail::test))
        .route("/console/settings/mail/resume", post(mail::resume))
        .route("/console/settings/audit", get(audit::of_instance))
        .route("/console/settings/account", get(account::show).post(account::change))
        .route("/console/settings/account/sessions/end", post(account::end_session))
        .route("/console/settings/account/sessions/end-others", post(account::end_others))
        .route(
            "/console/settings/account/second-factor",
            get(second_factor::show).post(second_factor::turn_on),
        )
        .route("/console/settings/account/second-factor/off", post(second_factor::turn_off))
}

async fn redirect_to_apps(_: Visitor) -> Reply {
    Ok(reply::see_other("/console/settings/apps"))
}

/// Whether the visitor may do this in the app.
fn may(visitor: &Visitor, scope: Scope, app: AppId) -> bool {
    visitor.actor.may(scope, app)
}

/// The error of a field, by the id that its pointers map to.
fn error_of<'f>(
    faults: &'f [Fault],
    id: &str,
    field_of: impl Fn(&str) -> Option<String>,
) -> Option<&'f str> {
    let of_field = |fault: &&Fault| field_of(&fault.pointer).as_deref() == Some(id);
    faults.iter().find(of_field).map(|fault| fault.message.as_str())
}

/// A page of an app's settings.
fn app_page(
    visitor: &Visitor,
    sidebar: &Sidebar,
    tab: &str,
    kind: Kind,
    done: Option<&str>,
    content: Markup,
) -> Response {
    app_frame(visitor, sidebar, tab, done, "settings.js", |frame, tabs| {
        frame.page(kind, html! { (tabs) div.settings { (content) } })
    })
}

/// The frame of such a page with this script; `page` gets it and the tabs.
pub(super) fn app_frame(
    visitor: &Visitor,
    sidebar: &Sidebar,
    tab: &str,
    done: Option<&str>,
    script: &'static str,
    page: impl FnOnce(Frame<'_>, Markup) -> Response,
) -> Response {
    let app = sidebar.in_app().map(|app| app.app_id);
    let base = app.map(|app| format!("/console/apps/{app}/settings")).unwrap_or_default();
    let is_owner = app.is_some_and(|app| may(visitor, Scope::Admin, app));
    let all_tabs = [
        ("", "General", true),
        ("design", "Design", true),
        ("images", "Images", true),
        ("keys", "API keys", true),
        ("identity", "Identity", true),
        ("respondents", "Respondents", true),
        ("webhooks", "Webhooks", is_owner),
        ("events", "Events", true),
        ("people", "People", is_owner),
        ("audit", "Audit log", is_owner),
    ];
    let frame = Frame::new(visitor, sidebar, NavItem::Settings, "Settings");
    let frame = frame.done(done).width(Width::Usual).script(script);
    page(frame, tabs("App settings", &base, &all_tabs, tab))
}

/// A page about the whole instance.
fn instance_page(
    visitor: &Visitor,
    sidebar: &Sidebar,
    tab: &str,
    kind: Kind,
    done: Option<&str>,
    content: Markup,
) -> Response {
    let is_owner = visitor.actor.may_instance(Scope::Admin);
    let all_tabs = [
        ("apps", "Apps", true),
        ("users", "Users", is_owner),
        ("tokens", "Tokens", is_owner),
        ("mail", "E-mail", is_owner),
        ("audit", "Audit log", is_owner),
        ("account", "Account", true),
    ];
    let content = html! { (tabs("Instance", "/console/settings", &all_tabs, tab)) div.settings { (content) } };
    let frame = Frame::new(visitor, sidebar, NavItem::Instance, "Instance");
    frame.done(done).width(Width::Usual).script("settings.js").page(kind, content)
}

fn tabs(label: &str, base: &str, all: &[(&str, &str, bool)], current: &str) -> Markup {
    html! {
        nav.tabs aria-label=(label) {
            @for (tab, label, shown) in all {
                @if *shown {
                    a href={ (base) @if !tab.is_empty() { "/" (tab) } }
                        aria-current=[(*tab == current).then_some("page")] { (label) }
                }
            }
        }
    }
}
