//! Live updates: a stream of events, each with one row of the table.
//!
//! Before it sends anything, it checks that the visitor is still signed in and may still see the
//! flow; otherwise it ends. A stream ends after some minutes, and the browser reconnects. All
//! streams end when the server stops.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::response::sse::Event;
use futures_util::stream::{self, Stream, StreamExt as _};
use http::HeaderMap;
use serde_json::json;
use sluice_engine::QuestionHistory;
use sluice_engine::live::{TOO_MANY_OF_ONE, Watch};
use sluice_engine::rows::Scope;
use sluice_engine::{AdminError, AdminResult, Missing};
use sluice_flow::id::{FlowId, ResponseId, v7};
use sluice_flow::time::Timestamp;
use tokio::time::Instant;

use super::query::{ListPosition, ResponsesQuery};
use super::table::{self, TableColumns};
use crate::Console;
use crate::reply::{self, Refused, Reply};
use crate::request::{PathParam, Query};
use crate::session::{self, BackgroundVisitor};

/// How often to send a comment while nothing arrives, to show that the stream is alive.
const HEARTBEAT: Duration = Duration::from_secs(15);
const LIFE: Duration = Duration::from_secs(10 * 60);
/// How long a browser waits before it reconnects.
const RETRY: Duration = Duration::from_secs(3);

/// The address of the stream of responses after those on the page. A page without responses starts
/// at the time it was rendered.
pub(super) fn address(
    flow: FlowId,
    query: &ResponsesQuery,
    newest: Option<ResponseId>,
    now: Timestamp,
) -> String {
    let address = query
        .with_position(ListPosition::First)
        .address_of(&format!("/console/flows/{flow}/responses/live"));
    let sign = if address.contains('?') { '&' } else { '?' };
    let since = newest.unwrap_or_else(|| ResponseId::from_uuid(v7(now, 0, 0)));
    format!("{address}{sign}since={since}")
}

pub(super) async fn stream(
    State(console): State<Arc<Console>>,
    BackgroundVisitor(visitor): BackgroundVisitor,
    PathParam(flow): PathParam<FlowId>,
    Query(fields): Query,
    headers: HeaderMap,
) -> Reply {
    let engine = &console.engine;
    // A browser that reconnects sends the id of the last event it received.
    let last = headers.get("last-event-id").and_then(|id| id.to_str().ok()?.parse().ok());
    let since = last.or_else(|| fields.get("since")?.parse().ok());
    let opened = engine.flow(&visitor.actor, Scope::Read, flow).await?;
    let history = opened.asked().await?;
    let query = ResponsesQuery::from_fields(&fields).known(&history);
    let watch = match opened.watch_responses(&query.filter(), since).await {
        Ok(watch) => watch,
        Err(AdminError::Conflict { code: TOO_MANY_OF_ONE, detail }) => {
            return Err(Refused::TooManyWatches(detail));
        }
        // After this reply a browser does not reconnect.
        Err(AdminError::Conflict { .. }) => return Ok(reply::no_events()),
        Err(error) => return Err(error.into()),
    };
    let secret = session::secret(&headers).unwrap_or_default().to_owned();
    let stopping = console.stopping.subscribe();
    let until = Instant::now() + LIFE;
    let live = Live { console, secret, watch, history, flow, query, until };
    Ok(reply::events(events(live, stopping)))
}

struct Live {
    console: Arc<Console>,
    /// The session secret of the visitor.
    secret: String,
    watch: Watch,
    history: QuestionHistory,
    flow: FlowId,
    query: ResponsesQuery,
    until: Instant,
}

impl Live {
    /// The events to send next.
    async fn next(&mut self) -> AdminResult<Vec<Event>> {
        let rows = tokio::time::timeout(HEARTBEAT, self.watch.next()).await;
        let engine = &self.console.engine;
        let session = engine.accounts().session_unused(&self.secret).await?;
        let actor = session.map(|session| session.actor);
        let actor = actor.ok_or(AdminError::NotFound(Missing::Flow))?;
        engine.flow(&actor, Scope::Read, self.flow).await?;
        let Ok(rows) = rows else { return Ok(vec![heartbeat()]) };
        let columns = TableColumns::new(&self.history, &self.query);
        let events = rows?.into_iter().map(|row| {
            let markup = table::row(self.flow, &columns, &self.query, &row).into_string();
            let markup = self.console.mount.markup(markup);
            let data = json!({"id": row.response_id, "row": markup});
            let id = row.response_id.to_string();
            Event::default().event("response").id(id).data(data.to_string())
        });
        let mut events: Vec<Event> = events.collect();
        // A page that is being read is not reloaded; it only shows that there are more.
        if self.watch.is_behind() {
            events.push(named("many"));
        }
        Ok(events)
    }
}

/// A comment, which keeps the connection open.
fn heartbeat() -> Event {
    Event::default().comment("")
}

/// An event without data.
fn named(name: &str) -> Event {
    Event::default().event(name).data("1")
}

fn events(
    mut live: Live,
    stopping: tokio::sync::watch::Receiver<bool>,
) -> impl Stream<Item = Result<Event, Infallible>> {
    // After a long absence the page should be reloaded.
    let first = if live.watch.is_behind() { named("behind") } else { heartbeat() };
    let hello = stream::iter([vec![Event::default().retry(RETRY), first]]);
    let rest = stream::unfold((live, stopping), async |(mut live, mut stopping)| {
        let events = tokio::select! {
            events = live.next() => events.ok()?,
            _ = stopping.wait_for(|stopping| *stopping) => return None,
        };
        (Instant::now() < live.until).then_some((events, (live, stopping)))
    });
    hello.chain(rest).flat_map(|events| stream::iter(events.into_iter().map(Ok)))
}
