//! The audit log, in sentences.

use std::sync::Arc;

use axum::extract::State;
use maud::{Markup, html};
use sluice_engine::AuditEntry;
use sluice_flow::id::{AppId, AuditId};

use super::super::Console;
use super::super::parts::{self, ago};
use super::super::reply::{Kind, Reply};
use super::super::request::{Fields, PathParam, Query};
use super::super::session::Visitor;
use super::super::sidebar::Sidebar;
use super::{app_page, instance_page, sentences};

const TAB: &str = "audit";
const PAGE_ROWS: usize = 50;

pub(super) async fn of_app(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(app): PathParam<AppId>,
    Query(query): Query,
) -> Reply {
    let sidebar = Sidebar::app(&console, &visitor, app).await?;
    let base = format!("/console/apps/{app}/settings/audit");
    let content = log(&console, &visitor, Some(app), &base, &query, &sidebar).await?;
    Ok(app_page(&visitor, &sidebar, TAB, Kind::Shown, None, content))
}

pub(super) async fn of_instance(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    Query(query): Query,
) -> Reply {
    visitor.actor.need_instance(sluice_engine::rows::Scope::Admin)?;
    let sidebar = Sidebar::instance(&console, &visitor).await?;
    let base = "/console/settings/audit";
    let content = log(&console, &visitor, None, base, &query, &sidebar).await?;
    Ok(instance_page(&visitor, &sidebar, TAB, Kind::Shown, None, content))
}

async fn log(
    console: &Console,
    visitor: &Visitor,
    app: Option<AppId>,
    base: &str,
    query: &Fields,
    sidebar: &Sidebar,
) -> Result<Markup, sluice_engine::AdminError> {
    let after: Option<AuditId> = query.get("after").and_then(|id| id.parse().ok());
    let engine = &console.engine;
    let mut entries = engine.list_audit_named(&visitor.actor, app, after, PAGE_ROWS + 1).await?;
    let next = (entries.len() > PAGE_ROWS).then(|| {
        entries.truncate(PAGE_ROWS);
        entries.last().map(|last| last.row.audit_id)
    });
    Ok(html! {
        @if entries.is_empty() {
            (parts::empty("No entries", "Changes by people and programs are listed here, with time and author.", html! {}))
        } @else {
            (table(&entries, app.is_none(), sidebar))
            nav.pager aria-label="Pages" {
                @if after.is_some() { a.button href=(base) { "Newest" } }
                @if let Some(next) = next.flatten() { a.button href={ (base) "?after=" (next) } { "Older" } }
            }
        }
    })
}

fn table(entries: &[AuditEntry], of_all: bool, sidebar: &Sidebar) -> Markup {
    let app_name = |app: AppId| {
        let known = sidebar.apps.iter().find(|row| row.app_id == app);
        known.map_or_else(|| app.to_string(), |row| row.name.clone())
    };
    html! {
        div.scroll tabindex="0" role="region" aria-label="Audit log" {
            table.table.stacks {
                thead { tr { th scope="col" { "Time" } th scope="col" { "Actor" } th scope="col" { "Action" } @if of_all { th scope="col" { "App" } } } }
                tbody {
                    @for entry in entries {
                        tr {
                            td data-label="Time" { (ago(entry.row.audit_id.made_at())) }
                            td data-label="Actor" { (entry.who) }
                            td data-label="Action" { (entry_of(entry)) }
                            @if of_all { td data-label="App" { @if let Some(app) = entry.row.app_id { (app_name(app)) } } }
                        }
                    }
                }
            }
        }
    }
}

/// The sentence, with a link to the flow that it is about.
fn sentence_of(entry: &AuditEntry) -> Markup {
    let Some((flow, name)) = &entry.flow else {
        return html! { (sentences::sentence(&entry.row, sentences::UNKNOWN_FLOW)) };
    };
    let name = format!("“{name}”");
    let whole = sentences::sentence(&entry.row, &name);
    match whole.split_once(&name) {
        Some((before, after)) => {
            html! { (before) a href={ "/console/flows/" (flow) } { (name) } (after) }
        }
        None => html! { (whole) },
    }
}

/// One entry as a sentence, with the stored details folded below it.
fn entry_of(entry: &AuditEntry) -> Markup {
    let row = &entry.row;
    html! {
        div {
            (sentence_of(entry))
            details.entry {
                summary { "Details" }
                dl.facts {
                    dt { "Action" } dd { code { (row.action) } }
                    dt { "Subject" } dd {
                        @if row.subject.starts_with("fl_") { a href={ "/console/flows/" (row.subject) } { code { (row.subject) } } }
                        @else { code { (row.subject) } }
                    }
                    dt { "Actor" } dd { code { (row.actor) } }
                    @if row.detail != "{}" { dt { "Details" } dd { code { (row.detail) } } }
                }
            }
        }
    }
}
