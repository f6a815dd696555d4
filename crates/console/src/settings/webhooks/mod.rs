//! Webhook endpoints of an app. They receive answers and their URLs may contain secrets, so only
//! owners see these pages.

mod actions;
mod delivery;
mod endpoint;
mod form;
mod health;

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::routing::{get, post};
use maud::{Markup, html};
use sluice_engine::rows::{EndpointHealth, Scope};
use sluice_engine::webhooks::WAITING_COUNTED_MAX;
use sluice_engine::{AdminResult, AppHandle, Endpoint, EndpointState};
use sluice_flow::event::EventType;
use sluice_flow::event::filter::EventFilter;
use sluice_flow::id::{AppId, EndpointId, FlowId};

use super::super::Console;
use super::super::parts::{self, ago, counted, number};
use super::super::reply::{Kind, Reply};
use super::super::request::{PathParam, Query};
use super::super::session::Visitor;
use super::super::sidebar::Sidebar;
use super::app_page;

const TAB: &str = "webhooks";

pub(super) fn routes() -> Router<Arc<Console>> {
    Router::new()
        .route("/console/apps/{appId}/settings/webhooks", get(show).post(form::create))
        .route("/console/apps/{appId}/settings/webhooks/new", get(form::new))
        .route("/console/apps/{appId}/settings/webhooks/{webhookId}", get(endpoint::show))
        .route(
            "/console/apps/{appId}/settings/webhooks/{webhookId}/edit",
            get(form::edit).post(form::save),
        )
        .route("/console/apps/{appId}/settings/webhooks/{webhookId}/test", post(actions::test))
        .route("/console/apps/{appId}/settings/webhooks/{webhookId}/state", post(actions::state))
        .route(
            "/console/apps/{appId}/settings/webhooks/{webhookId}/secret",
            get(actions::ask_secret).post(actions::replace_secret),
        )
        .route(
            "/console/apps/{appId}/settings/webhooks/{webhookId}/redeliver",
            get(actions::ask_redeliver).post(actions::redeliver),
        )
        .route(
            "/console/apps/{appId}/settings/webhooks/{webhookId}/replay",
            get(actions::ask_replay).post(actions::replay),
        )
        .route("/console/apps/{appId}/settings/webhooks/{webhookId}/delete", post(actions::delete))
        .route(
            "/console/apps/{appId}/settings/webhooks/{webhookId}/deliveries/{deliveryId}",
            get(delivery::show),
        )
        .route(
            "/console/apps/{appId}/settings/webhooks/{webhookId}/deliveries/{deliveryId}/redeliver",
            post(delivery::redeliver),
        )
}

/// The address of the list.
fn list_address(app: AppId) -> String {
    format!("/console/apps/{app}/settings/webhooks")
}

/// The address of an endpoint's page.
fn address(app: AppId, endpoint: EndpointId) -> String {
    format!("/console/apps/{app}/settings/webhooks/{endpoint}")
}

/// The app with the right to see its endpoints, and the side bar.
async fn opened(
    console: &Console,
    visitor: &Visitor,
    app: AppId,
) -> AdminResult<(AppHandle, Sidebar)> {
    let handle = console.engine.app(&visitor.actor, Scope::Admin, app).await?;
    Ok((handle, Sidebar::app(console, visitor, app).await?))
}

async fn show(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(app): PathParam<AppId>,
    Query(query): Query,
) -> Reply {
    let (handle, sidebar) = opened(&console, &visitor, app).await?;
    let endpoints = handle.list_endpoint_health().await?;
    let content = if endpoints.is_empty() { none(app) } else { list(app, &endpoints, &sidebar) };
    Ok(app_page(&visitor, &sidebar, TAB, Kind::Shown, query.get("done"), content))
}

fn none(app: AppId) -> Markup {
    parts::empty(
        "No webhook endpoints yet",
        "A webhook sends a signed request to your server when something happens in this app, such as a stored response. \
         If your server is down, Sluice repeats the request for several days.",
        html! {
            a.button.primary href={ (list_address(app)) "/new" } { "Add endpoint" }
            a.button.quiet href="/docs/events" { "Documentation" }
            a.button.quiet href={ "/console/apps/" (app) "/settings/events" } { "Event log" }
        },
    )
}

fn list(app: AppId, endpoints: &[(Endpoint, EndpointHealth)], sidebar: &Sidebar) -> Markup {
    html! {
        section.card {
            header {
                h2 { "Webhook endpoints" }
                a.button.primary href={ (list_address(app)) "/new" } { "Add endpoint" }
            }
            p.muted {
                "Each endpoint receives a signed request for every event that it selects. "
                a href="/docs/events" { "Documentation" } " · "
                a href={ "/console/apps/" (app) "/settings/events" } { "Event log" }
            }
        }
        div.scroll tabindex="0" role="region" aria-label="Webhook endpoints" {
            table.table.stacks.hover {
                thead { tr {
                    th scope="col" { "URL" } th scope="col" { "Receives" } th scope="col" { "State" }
                    th scope="col" { "Last success" } th scope="col" { "Waiting" }
                } }
                tbody {
                    @for (endpoint, health) in endpoints {
                        tr {
                            td data-label="URL" { div {
                                a.address href=(address(app, endpoint.endpoint_id)) { (endpoint.url) }
                                @if !endpoint.description.is_empty() { p.muted { (endpoint.description) } }
                            } }
                            td data-label="Receives" { div { (receives(&endpoint.filter, sidebar)) } }
                            td data-label="State" { div {
                                (state(endpoint.state))
                                @if let (EndpointState::Failing, Some(since)) = (endpoint.state, endpoint.failing_since) {
                                    p.muted { "since " (ago(since)) }
                                }
                            } }
                            td data-label="Success" { @match health.last_success { Some(at) => (ago(at)), None => span.muted { "None yet" } } }
                            td data-label="Waiting" { (waiting(health.waiting)) }
                        }
                    }
                }
            }
        }
    }
}

fn state(state: EndpointState) -> Markup {
    let (dot, label) = match state {
        EndpointState::Active => ("dot open", "Active"),
        EndpointState::Failing => ("dot failing", "Failing"),
        EndpointState::Disabled => ("dot closed", "Disabled"),
    };
    html! { span.state { span class=(dot) {} (label) } }
}

/// The number of waiting deliveries, which is counted up to a limit.
fn waiting(count: usize) -> String {
    match count {
        WAITING_COUNTED_MAX.. => format!("More than {}", number(WAITING_COUNTED_MAX as u64 - 1)),
        count => number(count as u64),
    }
}

/// What an endpoint receives, in words.
fn receives(filter: &EventFilter, sidebar: &Sidebar) -> Markup {
    let flows: Vec<String> = filter.flows.iter().map(|flow| flow_name(sidebar, *flow)).collect();
    html! {
        @if filter.types.is_empty() { "All events" }
        @else { @for (at, kind) in filter.types.iter().enumerate() { @if at > 0 { ", " } (event_label(*kind)) } }
        @match flows.len() {
            0 => {}
            1..=3 => p.muted { "of " (flows.join(", ")) },
            many => p.muted { "of " (counted(many as u64, "flow")) },
        }
    }
}

/// The name of a flow, or its id if the side bar does not list it.
fn flow_name(sidebar: &Sidebar, flow: FlowId) -> String {
    let near = sidebar.flows.iter().find(|it| it.flow_id == flow);
    near.map_or_else(|| flow.to_string(), |it| it.name.clone())
}

/// A type of event in two or three words.
pub(super) fn event_label(kind: EventType) -> &'static str {
    match kind {
        EventType::ResponseCreated => "Response stored",
        EventType::ResponseDeleted => "Response deleted",
        EventType::FlowPublished => "Flow published",
        EventType::FlowClosed => "Flow closed",
        EventType::FlowReopened => "Flow reopened",
        EventType::FlowArchived => "Flow archived",
        EventType::FlowVersionRetired => "Version retired",
        EventType::RespondentErased => "Respondent erased",
        EventType::InvitationCompleted => "Invitation completed",
        EventType::EndpointDisabled => "Endpoint disabled",
        EventType::EndpointTest => "Test event",
    }
}

/// The label of a type by its name; of a type that a newer release wrote, the name.
fn kind_label(name: &str) -> &str {
    match name.parse() {
        Ok(kind) => event_label(kind),
        Err(_) => name,
    }
}
