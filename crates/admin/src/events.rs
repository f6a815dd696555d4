//! The event log of an app: read page by page, waited for, or followed as Server-Sent Events.

use std::borrow::Cow;
use std::convert::Infallible;
use std::str::FromStr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::sse::Event as StreamEvent;
use axum::response::{IntoResponse as _, Sse};
use futures_util::{StreamExt as _, stream};
use serde::{Deserialize, Deserializer, Serialize};
use sluice_engine::events::{Event, EventPage, EventWatch};
use sluice_engine::rows::Scope;
use sluice_engine::{AdminError, AdminResult, AppHandle, Engine};
use sluice_flow::definition::Fault;
use sluice_flow::event::EventType;
use sluice_flow::event::filter::EventFilter;
use sluice_flow::event::payload::Payload;
use sluice_flow::id::{AppId, EventId, FlowId};
use sluice_http::server::Interruptible;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use utoipa::openapi::{Object, RefOr};
use utoipa::{IntoParams, PartialSchema, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::auth::{Caller, bearer};
use super::openapi::event_example;
use super::page::{Limit, limit_schema};
use super::reply::{self, CommonErrors, Problem, QueryErrors, Refused, Reply};
use super::request::{PathParam, Query};

/// The longest wait for events, in seconds.
const WAIT_SECONDS_MAX: u64 = 30;
/// How often a stream without events shows that it is open.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// How long a stream lasts; then its reader connects again.
const STREAM_MAX: Duration = Duration::from_secs(5 * 60);
/// The most events that a stream sends at once.
const STREAM_PAGE: usize = 100;

pub(super) fn routes() -> OpenApiRouter<Arc<Engine>> {
    OpenApiRouter::default().routes(routes!(list))
}

/// Which events.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct EventQuery {
    #[serde(default)]
    #[param(schema_with = limit_schema, required = false)]
    limit: Limit,
    /// `next` of the previous page, or the id of an event; `latest` skips everything so far.
    /// Without it, the log is read from its beginning.
    #[serde(default)]
    #[param(value_type = Option<String>)]
    after: Option<After>,
    /// Only these types, separated by commas.
    #[serde(default)]
    #[param(value_type = Option<String>, example = "response.created,response.deleted")]
    types: Types,
    /// Only those of this flow.
    #[param(value_type = Option<String>)]
    flow_id: Option<FlowId>,
    /// If there are no events: how many seconds to wait for some.
    #[serde(default)]
    #[param(schema_with = wait_schema, required = false)]
    wait: Wait,
}

fn wait_schema() -> Object {
    ObjectBuilder::new()
        .schema_type(Type::Integer)
        .description(Some("If there are no events: how many seconds to wait for some."))
        .minimum(Some(0))
        .maximum(Some(WAIT_SECONDS_MAX as f64))
        .default(Some(0.into()))
        .build()
}

/// Where to read from.
#[derive(Debug, Clone, Copy)]
enum After {
    Position(EventId),
    Latest,
}

impl<'de> Deserialize<'de> for After {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        match EventId::from_str(&text) {
            Ok(position) => Ok(Self::Position(position)),
            Err(_) if text == "latest" => Ok(Self::Latest),
            Err(_) => Err(serde::de::Error::custom("must be the id of an event, or latest")),
        }
    }
}

#[derive(Debug, Default)]
struct Types(Vec<EventType>);

impl<'de> Deserialize<'de> for Types {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
        let known = |name: &str| {
            name.parse::<EventType>()
                .ok()
                .filter(|it| it.is_logged())
                .ok_or_else(|| serde::de::Error::custom("must be event types, separated by commas"))
        };
        names.map(known).collect::<Result<_, _>>().map(Self)
    }
}

#[derive(Debug, Default)]
struct Wait(Duration);

impl<'de> Deserialize<'de> for Wait {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let seconds: Option<u64> = String::deserialize(deserializer)?.parse().ok();
        seconds
            .filter(|it| *it <= WAIT_SECONDS_MAX)
            .map(|it| Self(Duration::from_secs(it)))
            .ok_or_else(|| {
                let message = format!("must be a whole number from 0 to {WAIT_SECONDS_MAX}");
                serde::de::Error::custom(message)
            })
    }
}

/// An event, as webhooks send it.
#[derive(Debug, Serialize)]
#[serde(transparent)]
struct EventOut(Payload);

impl PartialSchema for EventOut {
    #[expect(deprecated, reason = "the docs page reads `example`, as the derived schemas write it")]
    fn schema() -> RefOr<Schema> {
        let text = || ObjectBuilder::new().schema_type(Type::String);
        let types = EventType::logged().map(EventType::as_str);
        ObjectBuilder::new()
            .description(Some(
                "An event. `data` depends on the type: see the webhooks of this document.",
            ))
            .property("id", text())
            .required("id")
            .property("type", text().enum_values(Some(types)))
            .required("type")
            .property("timestamp", text())
            .required("timestamp")
            .property("apiVersion", text())
            .required("apiVersion")
            .property("data", ObjectBuilder::new())
            .required("data")
            .example(Some(event_example(EventType::FlowPublished)))
            .build()
            .into()
    }
}

impl ToSchema for EventOut {
    fn name() -> Cow<'static, str> {
        "Event".into()
    }
}

/// A page of the event log, oldest first.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct EventList {
    items: Vec<EventOut>,
    /// The `after` of the next page. Always present: keep it, and read on from there later.
    #[schema(value_type = String)]
    next: EventId,
    /// Whether there may be more events right now. Otherwise wait before you read on.
    has_more: bool,
}

/// Read the event log
///
/// What happened in the app, oldest first. Keep `next` and pass it as `after` to read on: no event
/// is missed, and one may be returned twice (with the same `id`). A page may be empty and still
/// advance; read on at once while `hasMore` is true. A page has at most 8 MiB of responses. With
/// `wait` the request waits for events. With `Accept: text/event-stream` the events are streamed as
/// they happen; the id of each is the position to continue from, and a reader that reconnects sends
/// it as `Last-Event-ID`.
///
/// A response that was deleted or erased is not in the log any more.
#[utoipa::path(
    get, path = "/apps/{appId}/events", operation_id = "listEvents", tag = "Webhooks",
    security(("adminToken" = ["read"])),
    params(EventQuery),
    responses(
        (status = 200, description = "A page of events, or a stream of them", content(
            (EventList = "application/json"), (String = "text/event-stream")
        )),
        (status = 409, description = "`too_many_watches`, `too_many_own_watches`: end one first", body = Problem, content_type = "application/problem+json"),
        CommonErrors, QueryErrors,
    ),
)]
async fn list(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    PathParam(app_id): PathParam<AppId>,
    Query(query): Query<EventQuery>,
    headers: HeaderMap,
) -> Reply {
    let app = engine.app(&actor, Scope::Read, app_id).await?;
    let filter = EventFilter { types: query.types.0, flows: query.flow_id.into_iter().collect() };
    let after = match query.after {
        Some(After::Position(position)) => Some(position),
        Some(After::Latest) => Some(app.newest_event_position()?),
        None => None,
    };
    if wants_stream(&headers) {
        let after = last_event_id(&headers).or(after);
        let watch = app.watch_events(filter, after, STREAM_PAGE)?;
        return Ok(streamed(watch, Permission { engine, headers, app: app_id }));
    }
    let wait = query.wait.0;
    let page = page(&app, filter, after, query.limit.into(), wait).await?;
    if !wait.is_zero() {
        Permission { engine, headers, app: app_id }.check().await?;
    }
    reply::ok(EventList::new(page))
}

/// What a reader who waits for events must still have when they arrive: a token that may read the
/// app.
struct Permission {
    engine: Arc<Engine>,
    headers: HeaderMap,
    app: AppId,
}

impl Permission {
    async fn check(&self) -> Result<(), Refused> {
        let token = bearer(&self.headers).ok_or(Refused::TokenMissing)?;
        let actor = self.engine.authenticate(token).await.map_err(AdminError::Store)?;
        let actor = actor.ok_or(Refused::TokenInvalid)?;
        self.engine.app(&actor, Scope::Read, self.app).await?;
        Ok(())
    }
}

async fn page(
    app: &AppHandle,
    filter: EventFilter,
    after: Option<EventId>,
    limit: usize,
    wait: Duration,
) -> AdminResult<EventPage> {
    match wait.is_zero() {
        true => app.read_events(&filter, after, limit).await,
        false => app.watch_events(filter, after, limit)?.next(wait).await,
    }
}

impl EventList {
    fn new(page: EventPage) -> Self {
        let items = page.events.into_iter().map(|event| EventOut(event.payload)).collect();
        Self { items, next: page.next, has_more: page.has_more }
    }
}

fn wants_stream(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|it| it.to_str().ok()).unwrap_or_default();
    accept
        .split(',')
        .any(|it| it.split(';').next().unwrap_or_default().trim() == "text/event-stream")
}

/// Where a reader that reconnects continues; anything else in the header is ignored.
fn last_event_id(headers: &HeaderMap) -> Option<EventId> {
    headers.get("last-event-id")?.to_str().ok()?.parse().ok()
}

/// The events as they happen, until the stream has lasted for long enough, the server stops, its
/// token may no longer read them, or reading fails: then the reader connects again.
fn streamed(watch: EventWatch, permission: Permission) -> axum::response::Response {
    let until = Instant::now() + STREAM_MAX;
    let state = (watch, permission, until);
    let pages = stream::unfold(state, async |(mut watch, permission, until)| {
        if Instant::now() >= until {
            return None;
        }
        let page = watch.next(HEARTBEAT).await.ok()?;
        permission.check().await.ok()?;
        Some((written(page), (watch, permission, until)))
    });
    let hello = stream::iter([vec![StreamEvent::default().comment("")]]);
    let events = hello.chain(pages).flat_map(stream::iter).map(Ok::<_, Infallible>);
    (Extension(Interruptible), Sse::new(events)).into_response()
}

/// If there are none, only the position: a reader that reconnects does not read the gap again. Only
/// the last event of a position has its id: a reader that got only a part of them gets all again.
fn written(page: EventPage) -> Vec<StreamEvent> {
    let events = page.events;
    if events.is_empty() {
        return vec![StreamEvent::default().id(page.next.to_string())];
    }
    let next: Vec<Option<EventId>> =
        events.iter().skip(1).map(|event| Some(event.position)).chain([None]).collect();
    let write = |(event, next): (Event, Option<EventId>)| {
        let data = serde_json::to_string(&event.payload).unwrap_or_default();
        let written = StreamEvent::default().event(event.payload.kind.as_str()).data(data);
        match next == Some(event.position) {
            true => written,
            false => written.id(event.position.to_string()),
        }
    };
    events.into_iter().zip(next).map(write).collect()
}

/// The filter of a request body, or its faults.
pub(super) fn types_of(names: &[String]) -> Result<Vec<EventType>, AdminError> {
    let read = |(at, name): (usize, &String)| {
        let kind = name.parse::<EventType>().ok().filter(|it| it.is_logged());
        kind.ok_or_else(|| Fault::new(format!("/events/{at}"), "is not an event type"))
    };
    let (mut types, mut faults) = (Vec::new(), Vec::new());
    for found in names.iter().enumerate().map(read) {
        match found {
            Ok(kind) => types.push(kind),
            Err(fault) => faults.push(fault),
        }
    }
    if faults.is_empty() { Ok(types) } else { Err(AdminError::Invalid(faults)) }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[test]
    fn a_stream_without_events_still_moves_the_position_of_its_reader() {
        let next = EventId::from_uuid(sluice_flow::id::v7(
            "2026-11-15T02:10:00.000Z".parse().unwrap(),
            0,
            0,
        ));
        let events = Vec::new();
        let page = EventPage { events, next, has_more: true, ends_before_unknown: false };
        let events = stream::iter(written(page)).map(Ok::<_, Infallible>);
        let body = Sse::new(events).into_response().into_body();
        let bytes = axum::body::to_bytes(body, 1_000).now_or_never().unwrap().unwrap();
        assert_eq!(String::from_utf8_lossy(&bytes), format!("id: {next}\n\n"));
    }
}
