//! One delivery: what was sent, what came back, and when it is sent again.

use std::sync::Arc;

use axum::extract::State;
use maud::{Markup, html};
use serde_json::json;
use serde_json::value::RawValue;
use sluice_engine::rows::{DeliveryRow, DeliveryState, Scope};
use sluice_flow::event::EventType;
use sluice_flow::event::payload::Payload;
use sluice_flow::id::{AppId, DeliveryId, EndpointId};

use super::super::super::Console;
use super::super::super::parts::{self, number, time};
use super::super::super::reply::{self, Kind, Reply};
use super::super::super::request::{PathParam, Query};
use super::super::super::session::Visitor;
use super::super::app_page;
use super::endpoint::outcome;
use super::{TAB, address, kind_label, opened};

pub(super) async fn show(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(app): PathParam<AppId>,
    PathParam(endpoint): PathParam<EndpointId>,
    PathParam(delivery): PathParam<DeliveryId>,
    Query(query): Query,
) -> Reply {
    let (handle, sidebar) = opened(&console, &visitor, app).await?;
    let found = handle.delivery(endpoint, delivery).await?;
    let url = handle.endpoint(endpoint).await?.url;
    let row = &found.row;
    let may_repeat = found.payload.is_some();
    let payload = found.payload.or_else(|| test_payload(row));
    let content = html! {
        p { a.address href=(address(app, endpoint)) { (url) } }
        (result(app, row, may_repeat))
        (event(payload.as_ref()))
    };
    Ok(app_page(&visitor, &sidebar, TAB, Kind::Shown, query.get("done"), content))
}

pub(super) async fn redeliver(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(app): PathParam<AppId>,
    PathParam(endpoint): PathParam<EndpointId>,
    PathParam(delivery): PathParam<DeliveryId>,
) -> Reply {
    let handle = console.engine.app(&visitor.actor, Scope::Admin, app).await?;
    handle.redeliver(endpoint, delivery).await?;
    let base = address(app, endpoint);
    Ok(reply::see_other(&format!("{base}/deliveries/{delivery}?done=redelivering")))
}

/// A test event is not in the log; its payload follows from its endpoint.
fn test_payload(row: &DeliveryRow) -> Option<Payload> {
    if row.kind != EventType::EndpointTest.as_str() {
        return None;
    }
    let data = json!({"appId": row.app_id, "webhookId": row.endpoint_id}).to_string();
    let data = RawValue::from_string(data).ok()?;
    Some(Payload::new(row.event_id, EventType::EndpointTest, data))
}

fn result(app: AppId, row: &DeliveryRow, may_repeat: bool) -> Markup {
    let base = format!("{}/deliveries/{}", address(app, row.endpoint_id), row.delivery_id);
    let again = match row.state {
        DeliveryState::Waiting => "Send now",
        DeliveryState::Delivered | DeliveryState::Failed => "Redeliver",
    };
    html! {
        section.card {
            header {
                h2 { (kind_label(&row.kind)) }
                (outcome(row.state))
            }
            dl.facts {
                dt { "First sent" } dd { (time(row.delivery_id.made_at())) }
                dt { "Attempts" } dd { (number(row.attempts.into())) }
                dt { "Last attempt" } dd { (time(row.attempted_at)) }
                @if let Some(next) = row.next_at { dt { "Next attempt" } dd { (time(next)) } }
                dt { "Status" } dd { @match row.status { Some(status) => (status), None => "No reply" } }
                @if let Some(error) = &row.error { dt { "Problem" } dd { (error) } }
                dt { "Latency" } dd { (number(row.latency_millis.into())) " ms" }
                dt { "Event ID" } dd { code { (row.event_id) } }
                dt { "Delivery ID" } dd { code { (row.delivery_id) } }
            }
            @match row.reply.as_deref() {
                Some("") => p.muted { "The reply was empty." },
                Some(text) => { h3 { "Beginning of the reply" } (parts::code("reply", "Beginning of the reply", text)) }
                None => {}
            }
            @if may_repeat {
                form.buttons method="post" action={ (base) "/redeliver" } { button.button.primary type="submit" { (again) } }
            }
        }
    }
}

fn event(payload: Option<&Payload>) -> Markup {
    let text = payload.and_then(|it| serde_json::to_string(it).ok());
    html! {
        section.card {
            h2 { "Event" }
            @match text {
                Some(text) => (parts::code("payload", "Event", &parts::json(&text))),
                None => p.muted { "The event no longer exists: what it reported was deleted or erased, or its retention ended. It cannot be sent again." },
            }
        }
    }
}
