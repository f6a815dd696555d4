//! `sluice outbound`: what a copy sends. `sluice restore` and `sluice move` hold it.

use std::sync::Arc;

use serde_json::{Value, json};
use sluice_engine::Store;
use sluice_engine::clock::{Clock as _, SystemClock};
use sluice_engine::outbound::{self, OutboundState};

use crate::args::{OutboundResumeArgs, OutboundStatusArgs};
use crate::client::Server;
use crate::failure::{Exit, Failure, Outcome, with_cause};
use crate::output::{self, counted};

/// How to resume, for every text that says that something is held.
const HOW: &str = "to send them: start the server, then sluice outbound resume --send-waiting; to drop \
     them and go on with what is new: sluice outbound resume --drop-waiting";

pub(crate) async fn status(args: OutboundStatusArgs) -> Outcome {
    let server = Server::new(args.server)?;
    let state = server.get("/outbound", &[]).await?;
    let number = |name: &str| state[name].as_u64().unwrap_or_default();
    let waiting = waiting(number("mails"), number("deliveries"), number("appsWithEndpoints"));
    let text = match (state["heldAt"].as_str(), state["heldHere"].as_bool()) {
        (Some(at), _) => format!("held since {at}: {waiting}\n{HOW}"),
        (None, Some(true)) => format!("held by --hold-outbound of this server: {waiting}"),
        _ => format!("e-mails and webhooks are sent: {waiting}"),
    };
    output::line(text);
    Ok(Exit::Done)
}

pub(crate) async fn resume(args: OutboundResumeArgs) -> Outcome {
    let server = Server::new(args.server)?;
    let waiting = if args.drop_waiting { "drop" } else { "send" };
    let dropped = server.post("/outbound/resume", Some(&json!({"waiting": waiting}))).await?;
    let number = |value: &Value| value.as_u64().unwrap_or_default();
    let (mails, deliveries) = (number(&dropped["mails"]), number(&dropped["deliveries"]));
    output::note(match args.drop_waiting {
        true => format!(
            "e-mails and webhooks are sent from now on; dropped: {}, {}",
            counted(mails, "e-mail"),
            deliveries_of(deliveries)
        ),
        false => "e-mails and webhooks are sent".to_owned(),
    });
    Ok(Exit::Done)
}

/// Holds a store that was just written, and returns what to print about it.
pub(super) async fn hold(store: &Arc<dyn Store>) -> Result<String, Failure> {
    let state = outbound::hold(store, SystemClock.now()).await.map_err(|error| {
        Failure::new(
            format!("e-mails and webhooks cannot be held: {}", with_cause(&error)),
            "do not start a server on this copy; check its disk, then run this again",
        )
    })?;
    Ok(held(&state))
}

/// What to print about a store that is held.
pub(crate) fn held(state: &OutboundState) -> String {
    let waiting = waiting(state.mails, state.deliveries, state.apps_with_endpoints);
    match state.is_held_here {
        true => format!("e-mails and webhooks are held by --hold-outbound: {waiting}"),
        false => format!("this is a copy, so e-mails and webhooks are held: {waiting}\n{HOW}"),
    }
}

fn waiting(mails: u64, deliveries: u64, apps: u64) -> String {
    let endpoints = match apps {
        0 => "no webhook endpoints".to_owned(),
        _ => format!("webhook endpoints in {}", counted(apps, "app")),
    };
    let (mails, deliveries) = (counted(mails, "e-mail"), deliveries_of(deliveries));
    format!("{mails} due, {deliveries} waiting, {endpoints}")
}

fn deliveries_of(count: u64) -> String {
    match count {
        1 => "1 delivery".to_owned(),
        _ => format!("{count} deliveries"),
    }
}
