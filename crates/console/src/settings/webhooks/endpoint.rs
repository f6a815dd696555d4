//! The page of an endpoint: its settings and health, its deliveries, and what can be done with it.

use std::sync::Arc;

use axum::extract::State;
use maud::{Markup, html};
use sluice_engine::rows::{DeliveryRow, DeliveryState};
use sluice_engine::webhooks::EndpointOverview;
use sluice_engine::webhooks::format;
use sluice_engine::{AppHandle, Endpoint, EndpointState};
use sluice_flow::id::{AppId, DeliveryId, EndpointId};

use super::super::super::Console;
use super::super::super::parts::{self, ago, number, time};
use super::super::super::reply::{Kind, Reply};
use super::super::super::request::{PathParam, Query};
use super::super::super::session::Visitor;
use super::super::super::sidebar::Sidebar;
use super::super::app_page;
use super::{TAB, address, health, kind_label, list_address, opened, receives, state, waiting};

const PAGE_ROWS: usize = 25;

/// What the page shows besides the stored data.
#[derive(Default)]
pub(super) struct EndpointPage {
    /// A secret that was just created.
    pub(super) secret: Option<String>,
    pub(super) done: Option<String>,
    /// Only deliveries in this state.
    pub(super) state: Option<DeliveryState>,
    /// Only deliveries older than this one.
    pub(super) after: Option<DeliveryId>,
}

pub(super) async fn show(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(app): PathParam<AppId>,
    PathParam(endpoint): PathParam<EndpointId>,
    Query(query): Query,
) -> Reply {
    let (handle, sidebar) = opened(&console, &visitor, app).await?;
    let chosen = query.get("state");
    let shown = EndpointPage {
        secret: None,
        done: query.get("done").map(str::to_owned),
        state: DeliveryState::ALL.into_iter().find(|it| chosen == Some(it.as_str())),
        after: query.get("after").and_then(|id| id.parse().ok()),
    };
    page(&visitor, &handle, &sidebar, endpoint, shown).await
}

pub(super) async fn page(
    visitor: &Visitor,
    handle: &AppHandle,
    sidebar: &Sidebar,
    id: EndpointId,
    shown: EndpointPage,
) -> Reply {
    let app = handle.app_id();
    let mut found = handle.endpoint_overview(id, shown.state, shown.after, PAGE_ROWS + 1).await?;
    let next = (found.deliveries.len() > PAGE_ROWS).then(|| {
        found.deliveries.truncate(PAGE_ROWS);
        found.deliveries.last().map(|last| last.delivery_id)
    });
    let content = html! {
        p { a href=(list_address(app)) { "All endpoints" } }
        @if let Some(secret) = &shown.secret { (new_secret(&found.endpoint, secret)) }
        (summary(app, &found, sidebar))
        (health::card(&found.sent, sidebar.now))
        (deliveries(app, &found, &shown, next.flatten()))
        (manage(app, &found))
    };
    Ok(app_page(visitor, sidebar, TAB, Kind::Shown, shown.done.as_deref(), content))
}

/// A secret, once.
fn new_secret(endpoint: &Endpoint, secret: &str) -> Markup {
    html! {
        section.note.good role="status" {
            h2 { "Signing secret" }
            p { "Copy it now: it is not shown again. Your server needs it to verify that a request comes from Sluice." }
            (parts::code("secret", "Signing secret", secret))
            @if let Some(until) = endpoint.previous_secret_until {
                p { "The previous secret stays valid until " (time(until)) ": until then, requests have a signature with each." }
            }
            p.muted { "Requests follow the " a href="https://www.standardwebhooks.com/" { "Standard Webhooks" } " specification; its libraries verify them." }
        }
    }
}

fn summary(app: AppId, found: &EndpointOverview, sidebar: &Sidebar) -> Markup {
    let (endpoint, base) = (&found.endpoint, address(app, found.endpoint.endpoint_id));
    let format = format::find(&endpoint.format).map_or(endpoint.format.as_str(), |it| it.label);
    html! {
        section.card {
            header {
                h2.address { (endpoint.url) }
                (state(endpoint.state))
            }
            (warning(endpoint))
            dl.facts {
                @if !endpoint.description.is_empty() { dt { "Description" } dd { (endpoint.description) } }
                dt { "Receives" } dd { (receives(&endpoint.filter, sidebar)) }
                dt { "Format" } dd { (format) }
                @if endpoint.batch { dt { "Batches" } dd { "Up to 100 events in one request" } }
                dt { "Last success" } dd { @match found.last_success { Some(at) => (ago(at)), None => "None yet" } }
                dt { "Waiting" } dd { (waiting(found.waiting)) }
                dt { "Failed" } dd { (number(found.failed as u64)) }
                dt { "Sent up to" } dd { (time(endpoint.cursor.made_at())) " " code.muted { (endpoint.cursor) } }
                dt { "Created" } dd { (ago(endpoint.created_at)) }
                dt { "ID" } dd { code { (endpoint.endpoint_id) } }
            }
            div.buttons {
                form method="post" action={ (base) "/test" } { button.button.primary type="submit" { "Send test event" } }
                a.button href={ (base) "/edit" } { "Edit" }
            }
        }
    }
}

/// What is wrong, and what to do.
fn warning(endpoint: &Endpoint) -> Markup {
    html! {
        @match (endpoint.state, endpoint.disabled_reason.as_deref()) {
            (EndpointState::Active, _) => {}
            (EndpointState::Failing, _) => p.note.warn {
                "No attempt has succeeded"
                @if let Some(since) = endpoint.failing_since { " since " (time(since)) }
                ". Sluice keeps trying, and disables the endpoint after five days. Nothing is lost: events stay in the log."
            },
            (EndpointState::Disabled, reason) => p.note.bad {
                @match reason {
                    Some("gone") => "Disabled because the receiver answered 410 Gone",
                    Some("failing") => "Disabled because nothing could be delivered for five days",
                    _ => "Disabled",
                }
                @if let Some(at) = endpoint.disabled_at { ", " (time(at)) }
                ". Enable it below when the receiver works: it continues where it left off."
            },
        }
    }
}

fn deliveries(
    app: AppId,
    found: &EndpointOverview,
    shown: &EndpointPage,
    next: Option<DeliveryId>,
) -> Markup {
    let base = address(app, found.endpoint.endpoint_id);
    let filters = [
        (None, "All"),
        (Some(DeliveryState::Waiting), "Waiting"),
        (Some(DeliveryState::Delivered), "Delivered"),
        (Some(DeliveryState::Failed), "Failed"),
    ];
    let filtered = |state: Option<DeliveryState>| match state {
        Some(state) => format!("{base}?state={}", state.as_str()),
        None => base.clone(),
    };
    let older = |next: DeliveryId| {
        let joint = if shown.state.is_some() { '&' } else { '?' };
        format!("{}{joint}after={next}#deliveries", filtered(shown.state))
    };
    html! {
        section.stack id="deliveries" aria-labelledby="deliveries-title" {
            h2 id="deliveries-title" { "Deliveries" }
            nav.chips aria-label="Deliveries by outcome" {
                @for (state, label) in filters {
                    a.chip href={ (filtered(state)) "#deliveries" } aria-current=[(state == shown.state).then_some("true")] { (label) }
                }
            }
            @if found.deliveries.is_empty() {
                @if shown.state.is_some() || shown.after.is_some() { p.muted { "No deliveries here." } }
                @else { p.muted { "Nothing was sent yet. Send a test event to see whether your server receives it." } }
            } @else {
                (table(&base, &found.deliveries))
                nav.pager aria-label="Pages of deliveries" {
                    @if shown.after.is_some() { a.button href={ (filtered(shown.state)) "#deliveries" } { "Newest" } }
                    @if let Some(next) = next { a.button href=(older(next)) { "Older" } }
                }
            }
        }
    }
}

fn table(base: &str, rows: &[DeliveryRow]) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label="Table of deliveries" {
            table.table.stacks.hover {
                thead { tr {
                    th scope="col" { "Event" } th scope="col" { "First sent" } th scope="col" { "Outcome" } th scope="col" { "Reply" }
                    th.number scope="col" { "Attempts" } th scope="col" { "Next attempt" }
                } }
                tbody {
                    @for row in rows {
                        tr {
                            td data-label="Event" { a href={ (base) "/deliveries/" (row.delivery_id) } { (kind_label(&row.kind)) } }
                            td data-label="Sent" { (ago(row.delivery_id.made_at())) }
                            td data-label="Outcome" { (outcome(row.state)) }
                            td data-label="Reply" { (reply(row)) }
                            td.number data-label="Attempts" { (number(row.attempts.into())) }
                            td data-label="Next" { @if let Some(next) = row.next_at { (time(next)) } }
                        }
                    }
                }
            }
        }
    }
}

pub(super) fn outcome(state: DeliveryState) -> Markup {
    let (dot, label) = match state {
        DeliveryState::Waiting => ("dot scheduled", "Waiting"),
        DeliveryState::Delivered => ("dot open", "Delivered"),
        DeliveryState::Failed => ("dot failing", "Failed"),
    };
    html! { span.state { span class=(dot) {} (label) } }
}

/// The last reply in short.
fn reply(row: &DeliveryRow) -> Markup {
    html! {
        @match (row.status, row.attempts) {
            (Some(status), _) => { span { (status) span.muted { " in " (number(row.latency_millis.into())) " ms" } } }
            (None, 0) => span.muted { "Not sent again yet" },
            (None, _) => "No reply",
        }
    }
}

/// One action: what it does, and its control.
fn action(title: &str, text: Markup, control: Markup) -> Markup {
    html! {
        div.row {
            div.fill { h3 { (title) } p.muted { (text) } }
            (control)
        }
    }
}

fn manage(app: AppId, found: &EndpointOverview) -> Markup {
    let (endpoint, base) = (&found.endpoint, address(app, found.endpoint.endpoint_id));
    let link = |name: &str, label: &str| html! { a.button href={ (base) "/" (name) } data-dialog { (label) } };
    let switch = |value: &str, label: &str, question: Option<&str>| {
        html! {
            form method="post" action={ (base) "/state" } data-confirm=[question] {
                input type="hidden" name="enabled" value=(value);
                button.button type="submit" { (label) }
            }
        }
    };
    html! {
        section.card {
            h2 { "Manage" }
            (action("Send failed deliveries again", html! {
                @if found.failed == 0 { "No delivery has failed for good." }
                @else { "For example after your server was down for days." }
            }, link("redeliver", "Redeliver…")))
            (action("Replay events", html! { "Sends events again, starting at a time or an event, even if they were already delivered." }, link("replay", "Replay…")))
            (action("Signing secret", html! {
                @match endpoint.previous_secret_until {
                    Some(until) => { "Was replaced. The previous secret stays valid until " (time(until)) "." }
                    None => "Replace it if someone else may know it. Both can be valid for a while.",
                }
            }, link("secret", "Replace…")))
            @if endpoint.state == EndpointState::Disabled {
                (action("Enable", html! { "Sends what happened since it was disabled, and continues." }, switch("yes", "Enable", None)))
            } @else {
                (action("Disable", html! { "Sends nothing until you enable it again. Events stay in the log." },
                    switch("no", "Disable", Some("Disable this endpoint? Nothing is sent until you enable it again. Events stay in the log."))))
            }
            (action("Delete", html! { "Removes the endpoint and the record of its deliveries." }, html! {
                form method="post" action={ (base) "/delete" } data-confirm="Delete this endpoint? The record of its deliveries is deleted as well. You cannot undo this." {
                    button.button.danger type="submit" { "Delete" }
                }
            }))
        }
    }
}
