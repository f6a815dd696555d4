//! What can be done with an endpoint. An action with choices has a page that asks, which the script
//! shows as a dialog.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use maud::{Markup, html};
use sluice_engine::EndpointPatch;
use sluice_engine::rows::{DeliveryState, Scope};
use sluice_flow::definition::Fault;
use sluice_flow::id::{AppId, EndpointId, EventId};
use sluice_flow::time::{DAY_SECONDS, HOUR_SECONDS, Timestamp};

use super::super::super::Console;
use super::super::super::parts;
use super::super::super::parts::field::{Field, select};
use super::super::super::reply::{self, Kind, Refused, Reply};
use super::super::super::request::{Form, PathParam};
use super::super::super::session::Visitor;
use super::super::super::sidebar::Sidebar;
use super::super::app_page;
use super::endpoint::{self, EndpointPage};
use super::{TAB, address, list_address, opened};

/// How far back an action goes: name, label, seconds. Without seconds, to the beginning of the log.
type Since = (&'static str, &'static str, Option<i64>);

const SINCE: [Since; 5] = [
    ("hour", "The last hour", Some(HOUR_SECONDS)),
    ("day", "The last 24 hours", Some(DAY_SECONDS)),
    ("week", "The last 7 days", Some(7 * DAY_SECONDS)),
    ("month", "The last 30 days", Some(30 * DAY_SECONDS)),
    ("all", "The beginning of the event log", None),
];

/// How long a replaced secret stays valid: seconds and label.
const KEEP: [(&str, &str); 4] = [
    ("86400", "24 hours"),
    ("3600", "1 hour"),
    ("604800", "7 days"),
    ("0", "Not at all: it may be known to others"),
];

pub(super) async fn test(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(app): PathParam<AppId>,
    PathParam(endpoint): PathParam<EndpointId>,
) -> Reply {
    let handle = console.engine.app(&visitor.actor, Scope::Admin, app).await?;
    let sent = handle.send_test_event(endpoint).await?;
    let done = match sent.state {
        DeliveryState::Delivered => "test-delivered",
        _ => "test-failed",
    };
    let (base, id) = (address(app, endpoint), sent.delivery_id);
    Ok(reply::see_other(&format!("{base}/deliveries/{id}?done={done}")))
}

pub(super) async fn state(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(app): PathParam<AppId>,
    PathParam(endpoint): PathParam<EndpointId>,
    Form(form): Form,
) -> Reply {
    let handle = console.engine.app(&visitor.actor, Scope::Admin, app).await?;
    let (enabled, done) = match form.get("enabled") {
        Some("yes") => (true, "endpoint-enabled"),
        Some("no") => (false, "endpoint-disabled"),
        _ => return Err(Refused::Unreadable),
    };
    let patch = EndpointPatch { enabled: Some(enabled), ..EndpointPatch::default() };
    handle.change_endpoint(endpoint, &patch).await?;
    Ok(reply::see_other(&format!("{}?done={done}", address(app, endpoint))))
}

pub(super) async fn delete(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(app): PathParam<AppId>,
    PathParam(endpoint): PathParam<EndpointId>,
) -> Reply {
    let handle = console.engine.app(&visitor.actor, Scope::Admin, app).await?;
    handle.delete_endpoint(endpoint).await?;
    Ok(reply::see_other(&format!("{}?done=deleted", list_address(app))))
}

/// A question about an endpoint, as a page and as a dialog.
fn question(
    visitor: &Visitor,
    sidebar: &Sidebar,
    kind: Kind,
    title: &str,
    content: Markup,
) -> Response {
    let body = html! { section.card data-dialog-body { h2 { (title) } (content) } };
    app_page(visitor, sidebar, TAB, kind, None, body)
}

fn buttons(verb: &str, back: &str) -> Markup {
    html! {
        div.buttons {
            button.button.primary type="submit" { (verb) }
            a.button href=(back) data-closes { "Cancel" }
        }
    }
}

pub(super) async fn ask_secret(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(app): PathParam<AppId>,
    PathParam(id): PathParam<EndpointId>,
) -> Reply {
    let (handle, sidebar) = opened(&console, &visitor, app).await?;
    let (base, endpoint) = (address(app, id), handle.endpoint(id).await?);
    let content = html! {
        p { "You get a new secret, which is shown once. While both are valid, each request has a signature with each, so you can change your server in the meantime." }
        @if endpoint.previous_secret_until.is_some() {
            p.note.warn { "The secret was replaced recently. The oldest of the secrets stops working now." }
        }
        form.form method="post" action={ (base) "/secret" } {
            (select("keep", "Keep the current secret valid for", &KEEP, KEEP[0].0))
            (buttons("Replace secret", &base))
        }
    };
    Ok(question(&visitor, &sidebar, Kind::Shown, "Replace the signing secret?", content))
}

pub(super) async fn replace_secret(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(app): PathParam<AppId>,
    PathParam(id): PathParam<EndpointId>,
    Form(form): Form,
) -> Reply {
    let (handle, sidebar) = opened(&console, &visitor, app).await?;
    let chosen = KEEP.iter().find(|(seconds, _)| form.get("keep") == Some(seconds));
    let keep: Option<u32> = chosen.and_then(|(seconds, _)| seconds.parse().ok());
    let keep = keep.ok_or(Refused::Unreadable)?;
    let (_, secret) = handle.rotate_endpoint_secret(id, keep).await?;
    let shown = EndpointPage { secret: Some(secret.0), ..EndpointPage::default() };
    endpoint::page(&visitor, &handle, &sidebar, id, shown).await
}

pub(super) async fn ask_redeliver(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(app): PathParam<AppId>,
    PathParam(id): PathParam<EndpointId>,
) -> Reply {
    let (handle, sidebar) = opened(&console, &visitor, app).await?;
    handle.endpoint(id).await?;
    let base = address(app, id);
    // Deliveries are kept for a month.
    let choices: Vec<(&str, &str)> =
        SINCE.iter().take(4).map(|(name, label, _)| (*name, *label)).collect();
    let content = html! {
        p { "Sends every event again whose delivery has failed in this time. Those that wait are sent anyway." }
        form.form method="post" action={ (base) "/redeliver" } {
            (select("since", "Failed in", &choices, "week"))
            (buttons("Redeliver", &base))
        }
    };
    Ok(question(&visitor, &sidebar, Kind::Shown, "Send failed deliveries again?", content))
}

pub(super) async fn redeliver(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(app): PathParam<AppId>,
    PathParam(id): PathParam<EndpointId>,
    Form(form): Form,
) -> Reply {
    let handle = console.engine.app(&visitor.actor, Scope::Admin, app).await?;
    let since = since(form.get("since"), console.engine.now()).ok_or(Refused::Unreadable)?;
    handle.redeliver_failed(id, since).await?;
    Ok(reply::see_other(&format!("{}?done=redelivering-failed", address(app, id))))
}

pub(super) async fn ask_replay(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(app): PathParam<AppId>,
    PathParam(id): PathParam<EndpointId>,
) -> Reply {
    let (handle, sidebar) = opened(&console, &visitor, app).await?;
    handle.endpoint(id).await?;
    let content = replay_form(&address(app, id), "day", "", &[]);
    Ok(question(&visitor, &sidebar, Kind::Shown, "Replay events?", content))
}

pub(super) async fn replay(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(app): PathParam<AppId>,
    PathParam(id): PathParam<EndpointId>,
    Form(form): Form,
) -> Reply {
    let (handle, sidebar) = opened(&console, &visitor, app).await?;
    let typed = form.get("after").unwrap_or_default();
    let replayed = match typed {
        "" => {
            let since =
                since(form.get("since"), console.engine.now()).ok_or(Refused::Unreadable)?;
            handle.replay_endpoint_since(id, since).await
        }
        typed => match typed.parse::<EventId>() {
            Ok(after) => handle.replay_endpoint(id, after).await,
            Err(_) => {
                handle.endpoint(id).await?;
                let message = "must be the ID of an event, such as evt_01KA2VgdPrWYDVgYy3wLpD";
                let fault = Fault::new("/after", message);
                let chosen = form.get("since").unwrap_or_default();
                let content = replay_form(&address(app, id), chosen, typed, &[fault]);
                let kind = Kind::Unfinished;
                return Ok(question(&visitor, &sidebar, kind, "Replay events?", content));
            }
        },
    };
    replayed?;
    Ok(reply::see_other(&format!("{}?done=replaying", address(app, id))))
}

fn replay_form(base: &str, since: &str, after: &str, faults: &[Fault]) -> Markup {
    let choices = SINCE.map(|(name, label, _)| (name, label));
    let after = Field {
        id: "after",
        label: "Or after an event",
        value: after,
        hint: Some(
            "The ID of the last event that your server has processed (evt_…). If you enter one, it is used instead of the time.",
        ),
        error: faults.first().map(|fault| fault.message.as_str()),
        mono: true,
        ..Field::default()
    };
    html! {
        p { "Sends all events that the endpoint selects again, even if they were already delivered. Your server recognises events that it already has by their ID." }
        (parts::errors(faults, |_| Some("after".to_owned())))
        form.form method="post" action={ (base) "/replay" } {
            (select("since", "Events since", &choices, since))
            (after.draw())
            (buttons("Replay", base))
        }
    }
}

/// The time of a choice in [`SINCE`].
fn since(name: Option<&str>, now: Timestamp) -> Option<Timestamp> {
    let (_, _, seconds) = SINCE.iter().find(|(it, ..)| name == Some(it))?;
    Some(seconds.map_or(Timestamp::from_millis(0), |seconds| now.plus_seconds(-seconds)))
}
