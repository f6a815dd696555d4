//! Arrivals, told to a page as they come: a stream of events, each one row of the table.
//!
//! Before anything is told, it is asked whether the visitor is still signed in and may still see the flow; whoever is not is
//! told nothing more. A stream ends by itself after some minutes, and the browser asks again. All streams end when the server
//! stops.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use bytes::Bytes;
use futures_util::stream::{self, Stream};
use http::HeaderMap;
use serde_json::json;
use sluice_engine::Asked;
use sluice_engine::live::{TOO_MANY_OF_ONE, Watch};
use sluice_engine::rows::Scope;
use sluice_engine::{AdminError, AdminResult, Missing};
use sluice_flow::id::{FlowId, ResponseId, v7};
use sluice_flow::time::Timestamp;
use tokio::time::Instant;

use super::table::{self, Columns};
use super::view::{Part, View};
use crate::console::Console;
use crate::console::reply::{self, Answer, Refused};
use crate::console::request::{At, Query};
use crate::console::session::{self, Unattended};

/// Where nothing arrives, a sign that the stream is still there.
const HEARTBEAT: Duration = Duration::from_secs(15);
const LIFE: Duration = Duration::from_secs(10 * 60);
/// How long a browser waits before it asks again, in milliseconds.
const RETRY_MILLIS: u32 = 3_000;

/// Where a page finds the arrivals after those that it shows. One that shows none begins at the time of its making.
pub(super) fn address(
    flow: FlowId,
    view: &View,
    newest: Option<ResponseId>,
    now: Timestamp,
) -> String {
    let address =
        view.with_part(Part::Newest).address_of(&format!("/console/flows/{flow}/responses/live"));
    let sign = if address.contains('?') { '&' } else { '?' };
    let since = newest.unwrap_or_else(|| ResponseId::from_uuid(v7(now, 0, 0)));
    format!("{address}{sign}since={since}")
}

pub(super) async fn stream(
    State(console): State<Arc<Console>>,
    Unattended(visitor): Unattended,
    At(flow): At<FlowId>,
    Query(query): Query,
    headers: HeaderMap,
) -> Answer {
    let engine = &console.engine;
    let view = View::of(&query);
    // A browser that asks again by itself says which it was told last.
    let last = headers.get("last-event-id").and_then(|id| id.to_str().ok()?.parse().ok());
    let since = last.or_else(|| query.get("since")?.parse().ok());
    let opened = engine.flow(&visitor.actor, Scope::Read, flow).await?;
    let watch = match opened.watch_responses(&view.filter(), since).await {
        Ok(watch) => watch,
        Err(AdminError::Conflict { code: TOO_MANY_OF_ONE, detail }) => {
            return Err(Refused::TooManyWatches(detail));
        }
        // A browser that is told this does not ask again.
        Err(AdminError::Conflict { .. }) => return Ok(reply::no_events()),
        Err(error) => return Err(error.into()),
    };
    let asked = opened.asked().await?;
    let secret = session::secret(&headers).unwrap_or_default().to_owned();
    let stopping = console.stopping.subscribe();
    let until = Instant::now() + LIFE;
    let live = Live { console, secret, watch, asked, flow, view, until };
    Ok(reply::events(events(live, stopping)))
}

struct Live {
    console: Arc<Console>,
    /// Of the visitor's session.
    secret: String,
    watch: Watch,
    asked: Asked,
    flow: FlowId,
    view: View,
    until: Instant,
}

impl Live {
    /// What to send next.
    async fn next(&mut self) -> AdminResult<String> {
        let rows = tokio::time::timeout(HEARTBEAT, self.watch.next()).await;
        let engine = &self.console.engine;
        let session = engine.accounts().session_unused(&self.secret).await?;
        let actor = session.map(|session| session.actor);
        let actor = actor.ok_or(AdminError::NotFound(Missing::Flow))?;
        engine.flow(&actor, Scope::Read, self.flow).await?;
        let Ok(rows) = rows else { return Ok(":\n\n".to_owned()) };
        let columns = Columns::of(&self.asked);
        let events = rows?.into_iter().map(|row| {
            let markup = table::row(self.flow, &columns, &self.view, &row).into_string();
            let told = json!({"id": row.response_id, "row": markup});
            format!("event: response\nid: {}\ndata: {told}\n\n", row.response_id)
        });
        let events: String = events.collect();
        // A page that is looked at is not made anew under its reader's eyes; it only says so.
        let many = if self.watch.is_behind() { "event: many\ndata: 1\n\n" } else { "" };
        Ok(events + many)
    }
}

fn events(
    mut live: Live,
    stopping: tokio::sync::watch::Receiver<bool>,
) -> impl Stream<Item = Result<Bytes, Infallible>> {
    // A page that was away for long is better made anew.
    let behind = if live.watch.is_behind() { "event: behind\ndata: 1\n\n" } else { ":\n\n" };
    let hello = stream::iter([Ok(Bytes::from(format!("retry: {RETRY_MILLIS}\n\n{behind}")))]);
    let rest = stream::unfold((live, stopping), async |(mut live, mut stopping)| {
        let told = tokio::select! {
            told = live.next() => told.ok()?,
            _ = stopping.wait_for(|stopping| *stopping) => return None,
        };
        (Instant::now() < live.until).then(|| (Ok(Bytes::from(told)), (live, stopping)))
    });
    futures_util::StreamExt::chain(hello, rest)
}
