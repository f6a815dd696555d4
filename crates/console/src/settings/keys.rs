//! API keys, which identify the app to the public API.

use std::sync::Arc;

use axum::extract::State;
use maud::{Markup, html};
use sluice_engine::rows::Scope;
use sluice_flow::id::{ApiKey, AppId};

use super::super::Console;
use super::super::parts;
use super::super::reply::{self, Kind, Reply};
use super::super::request::{PathParam, Query};
use super::super::session::Visitor;
use super::super::sidebar::Sidebar;
use super::{app_page, may};

const TAB: &str = "keys";

pub(super) async fn show(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(app): PathParam<AppId>,
    Query(query): Query,
) -> Reply {
    let sidebar = Sidebar::app(&console, &visitor, app).await?;
    let keys = sidebar.own()?.detail().await?.api_keys;
    let content = list(app, &keys, may(&visitor, Scope::Admin, app));
    Ok(app_page(&visitor, &sidebar, TAB, Kind::Shown, query.get("done"), content))
}

pub(super) async fn create(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(app): PathParam<AppId>,
) -> Reply {
    console.engine.app(&visitor.actor, Scope::Admin, app).await?.create_key().await?;
    Ok(reply::see_other(&format!("/console/apps/{app}/settings/keys?done=created")))
}

pub(super) async fn revoke(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(app): PathParam<AppId>,
    PathParam(key): PathParam<ApiKey>,
) -> Reply {
    console.engine.app(&visitor.actor, Scope::Admin, app).await?.revoke_key(&key).await?;
    Ok(reply::see_other(&format!("/console/apps/{app}/settings/keys?done=ended")))
}

fn list(app: AppId, keys: &[ApiKey], may_change: bool) -> Markup {
    let base = format!("/console/apps/{app}/settings/keys");
    html! {
        section.card {
            h2 { "API keys" }
            p { "A key identifies this app in the public API. It is not a secret: it appears in pages that use it, and only allows reading published flows and submitting answers." }
            @if keys.is_empty() {
                p.note.warn { "There is no active key, so the API does not work for this app. Hosted pages need no key." }
            }
            @for (number, key) in keys.iter().enumerate() {
                div.row {
                    (parts::code(&format!("key-{number}"), "API key", key.as_str()))
                    @if may_change {
                        form method="post" action={ (base) "/" (key) "/revoke" } data-confirm="Revoke this key? Requests with it will be refused." {
                            button.button.danger type="submit" aria-label={ "Revoke " (key) } { "Revoke" }
                        }
                    }
                }
            }
            @if may_change {
                form method="post" action=(base) { button.button type="submit" { "Create key" } }
                p.muted { "To replace a key: create a new one, use it in your pages, then revoke the old one." }
            }
        }
    }
}
