//! The apps of the instance.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use maud::{Markup, html};
use sluice_engine::rows::{Page, Scope};
use sluice_engine::{AdminError, AppHandle};
use sluice_flow::definition::Fault;
use sluice_flow::id::AppId;

use super::super::Console;
use super::super::parts;
use super::super::parts::field::Field;
use super::super::reply::{self, Kind, Reply};
use super::super::request::{Form, Query, faults_of};
use super::super::session::Visitor;
use super::super::sidebar::Sidebar;
use super::instance_page;

const TAB: &str = "apps";
const PAGE_ROWS: usize = 100;

pub(super) async fn show(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    Query(query): Query,
) -> Reply {
    let after = query.get("after").and_then(|id| id.parse().ok());
    Ok(render(&console, &visitor, (Kind::Shown, query.get("done")), after, "", &[]).await?)
}

pub(super) async fn create(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    Form(form): Form,
) -> Reply {
    let name = form.get("name").unwrap_or_default();
    match faults_of(console.engine.instance(&visitor.actor)?.create_app(name).await)? {
        Ok(app) => Ok(reply::see_other(&format!("/console/apps/{}?done=created", app.row.app_id))),
        Err(faults) => {
            let unfinished = (Kind::Unfinished, None);
            Ok(render(&console, &visitor, unfinished, None, name, &faults).await?)
        }
    }
}

async fn render(
    console: &Console,
    visitor: &Visitor,
    (kind, done): (Kind, Option<&str>),
    after: Option<AppId>,
    name: &str,
    faults: &[Fault],
) -> Result<Response, AdminError> {
    let sidebar = Sidebar::instance(console, visitor).await?;
    let page = Page { after, limit: PAGE_ROWS + 1 };
    let mut apps = console.engine.list_apps(&visitor.actor, page).await?;
    let has_more = apps.len() > PAGE_ROWS;
    apps.truncate(PAGE_ROWS);
    let next = apps.last().filter(|_| has_more).map(|app| app.row.app_id);
    let may_make = visitor.actor.may_instance(Scope::Admin);
    let content = html! {
        @if apps.is_empty() && after.is_none() { (nothing(may_make)) } @else { (list(&apps)) }
        @if let Some(next) = next { nav.pager aria-label="Pages" { a.button href={ "/console/settings/apps?after=" (next) } { "Next page" } } }
        @if may_make { (form(name, faults)) }
    };
    Ok(instance_page(visitor, &sidebar, TAB, kind, done, content))
}

fn nothing(may_make: bool) -> Markup {
    match may_make {
        true => parts::empty(
            "No apps yet",
            "An app is a product that collects feedback, with its own flows, keys and people. Create the first one below.",
            html! {},
        ),
        false => parts::empty(
            "No role in any app",
            "You are signed in but have no role yet. Ask an owner of the app to add you.",
            html! {},
        ),
    }
}

fn list(apps: &[AppHandle]) -> Markup {
    html! {
        section.card {
            h2 { "Apps" }
            div.scroll tabindex="0" role="region" aria-label="Apps" {
                table.table.hover.stacks {
                    thead { tr { th scope="col" { "Name" } th scope="col" { "ID" } th scope="col" { "Created" } th scope="col" { span.unseen { "Settings" } } } }
                    tbody {
                        @for app in apps.iter().map(|app| &app.row) {
                            tr {
                                td data-label="Name" { a href={ "/console/apps/" (app.app_id) } { (app.name) } }
                                td data-label="ID" { code { (app.app_id) } }
                                td data-label="Created" { (parts::day(app.created_at)) }
                                td data-label="" { a href={ "/console/apps/" (app.app_id) "/settings" } { "Settings" span.unseen { " of " (app.name) } } }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn form(name: &str, faults: &[Fault]) -> Markup {
    let field = Field {
        id: "name",
        label: "Name of the app",
        hint: Some("For example your product's name. Respondents do not see it."),
        value: name,
        required: true,
        error: faults.first().map(|fault| fault.message.as_str()),
        ..Field::default()
    };
    html! {
        section.card {
            h2 { "New app" }
            (parts::errors(faults, |_| Some("name".to_owned())))
            form.form method="post" action="/console/settings/apps" {
                (field.draw())
                div.buttons { button.button.primary type="submit" { "Create app" } }
            }
        }
    }
}
