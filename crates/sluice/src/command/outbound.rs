//! `sluice outbound`: what a copy sends. `sluice restore` and `sluice move` hold it.

use std::sync::Arc;

use serde_json::{Value, json};
use sluice_engine::Store;
use sluice_engine::clock::{Clock as _, SystemClock};
use sluice_engine::outbound::{self, OutboundState};
use sluice_flow::time::Timestamp;

use crate::args::{OutboundResumeArgs, OutboundStatusArgs};
use crate::client::Server;
use crate::failure::{Exit, Failure, Outcome, with_cause};
use crate::output::{self, counted};

/// How to resume; appended to every message about a hold.
const HOW: &str = "to send them: start the server, then sluice outbound resume --send-waiting; to drop \
     them and continue with new ones: sluice outbound resume --drop-waiting";

pub(crate) async fn status(args: OutboundStatusArgs) -> Outcome {
    let server = Server::new(args.server)?;
    let state = server.get("/outbound", &[]).await?;
    output::line(args.json.shown(&state, status_text));
    Ok(Exit::Done)
}

/// What is held, and what is pending.
fn status_text(state: &Value) -> String {
    let number = |name: &str| state[name].as_u64().unwrap_or_default();
    let now = SystemClock.now();
    let sinks = state["sinks"].as_array().into_iter().flatten().map(|sink| {
        let since = sink["waitingSince"].as_str().and_then(|text| text.parse().ok());
        sink_of(sink["name"].as_str().unwrap_or_default(), since, now)
    });
    let waiting = waiting(
        (number("mails"), number("deliveries"), number("appsWithEndpoints")),
        sinks.collect(),
    );
    match (state["heldAt"].as_str(), state["heldHere"].as_bool()) {
        (Some(at), _) => format!("held since {at}: {waiting}\n{HOW}"),
        (None, Some(true)) => format!("held by --hold-outbound of this server: {waiting}"),
        _ => format!("e-mails and webhooks are sent: {waiting}"),
    }
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
    let now = SystemClock.now();
    let sinks = state.sinks.iter().map(|it| sink_of(&it.name, it.waiting_since, now)).collect();
    let waiting = waiting((state.mails, state.deliveries, state.apps_with_endpoints), sinks);
    match state.is_held_here {
        true => format!("e-mails and webhooks are held by --hold-outbound: {waiting}"),
        false => format!("this is a copy, so e-mails and webhooks are held: {waiting}\n{HOW}"),
    }
}

fn waiting((mails, deliveries, apps): (u64, u64, u64), sinks: Vec<String>) -> String {
    let endpoints = match apps {
        0 => "no webhook endpoints".to_owned(),
        _ => format!("webhook endpoints in {}", counted(apps, "app")),
    };
    let (mails, deliveries) = (counted(mails, "e-mail"), deliveries_of(deliveries));
    let counts = format!("{mails} due, {deliveries} waiting, {endpoints}");
    [counts].into_iter().chain(sinks).collect::<Vec<_>>().join("; ")
}

/// How far events are published to a sink.
fn sink_of(name: &str, waiting_since: Option<Timestamp>, now: Timestamp) -> String {
    let Some(since) = waiting_since else { return format!("no events are waiting for {name}") };
    let seconds = (now.as_millis() - since.as_millis()).max(0) / 1000;
    let (count, unit) = match seconds.unsigned_abs() {
        seconds @ ..120 => (seconds, "second"),
        seconds @ 120..7_200 => (seconds / 60, "minute"),
        seconds @ 7_200..172_800 => (seconds / 3_600, "hour"),
        seconds => (seconds / 86_400, "day"),
    };
    format!("events for {name} waiting since {since} ({} behind)", counted(count, unit))
}

fn deliveries_of(count: u64) -> String {
    match count {
        1 => "1 delivery".to_owned(),
        _ => format!("{count} deliveries"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sink_is_named_with_its_lag() {
        let now = Timestamp::from_millis(1_000_000_000);
        let shown = |seconds: i64| sink_of("nats/A", Some(now.plus_seconds(-seconds)), now);
        for (seconds, lag) in [
            (1, "(1 second behind)"),
            (119, "(119 seconds behind)"),
            (120, "(2 minutes behind)"),
            (7_200, "(2 hours behind)"),
            (172_800, "(2 days behind)"),
        ] {
            let text = shown(seconds);
            assert!(
                text.starts_with("events for nats/A waiting since ") && text.ends_with(lag),
                "{text}"
            );
        }
        assert_eq!(sink_of("nats/A", None, now), "no events are waiting for nats/A");
    }
}
