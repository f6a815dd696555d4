//! The log of events of an app: what happened, in one order that a reader can follow.
//!
//! `response.created` and `invitation.completed` are derived from the responses as they are stored
//! now: an erased or deleted response is no longer in the log, and what consent withheld from the
//! response is in no event. Other events are written in the transaction of what they report.

mod render;
mod watch;

use serde_json::Value;
use sluice_flow::event::EventType;
use sluice_flow::event::filter::EventFilter;
use sluice_flow::event::payload::Payload;
use sluice_flow::id::{AppId, EventId, FlowId, v7};
use sluice_flow::time::Timestamp;
use sluice_store::{EventRow, LogEntry, LogQuery, Order, Scope, Write};

use crate::admin::AdminResult;
use crate::boxed;
use crate::core::Core;
use crate::handle::AppHandle;

pub(crate) use render::{find_payloads, payloads};
pub use watch::EventWatch;

/// A cursor this far ahead of the clock is from before the clock was set back.
pub(crate) const AHEAD_SECONDS: i64 = 1;
/// How far such a cursor is moved back: some events are read twice, none is missed.
pub(crate) const BACK_SECONDS: i64 = 60;

/// The most bytes of texts on one page of the log; the event that exceeds it is the last.
pub(crate) const PAGE_BYTES_MAX: usize = 8 * 1024 * 1024;

/// How long readers stop at an event of an unknown type, so that a node of the newer release that
/// wrote it can deliver it. Then it is skipped: after a downgrade there is no such node.
const UNKNOWN_TYPE_WAIT_SECONDS: i64 = 3_600;

/// An event and its position in the log.
#[derive(Debug, Clone)]
pub struct Event {
    pub payload: Payload,
    /// Reading continues after this.
    pub position: EventId,
    /// The flow that it belongs to.
    pub flow_id: Option<FlowId>,
}

/// A part of the log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EventSpan {
    /// Only what follows this position.
    pub after: Option<EventId>,
    /// Only what precedes this position.
    pub before: Option<EventId>,
}

impl EventSpan {
    /// What happened at or after a time, and before another one.
    pub fn between(since: Option<Timestamp>, until: Option<Timestamp>) -> Self {
        Self { after: since.map(position_at), before: until.map(position_at) }
    }
}

/// A page of the log, oldest first unless the reader asked for the newest.
#[derive(Debug)]
pub struct EventPage {
    pub events: Vec<Event>,
    /// Where to continue: after this position, or before it if the newest come first. A page may be
    /// empty and still advance.
    pub next: EventId,
    /// Whether there may be more right now.
    pub has_more: bool,
    /// Whether it ends before an event of a type that this release does not know.
    pub ends_before_unknown: bool,
}

impl AppHandle {
    /// Events after a position; from the beginning of the log if there is none.
    #[boxed]
    pub async fn read_events(
        &self,
        filter: &EventFilter,
        after: Option<EventId>,
        limit: usize,
    ) -> AdminResult<EventPage> {
        let core = self.permit.core(Scope::Read)?;
        let after = after.unwrap_or_else(start);
        read(core, self.app_id(), filter, after, (limit, PAGE_BYTES_MAX)).await
    }

    /// Events of a part of the log, in either order.
    #[boxed]
    pub async fn read_events_in(
        &self,
        filter: &EventFilter,
        span: EventSpan,
        order: Order,
        limit: usize,
    ) -> AdminResult<EventPage> {
        let core = self.permit.core(Scope::Read)?;
        let query = LogQuery {
            app_id: self.app_id(),
            flow_id: filter.single_flow(),
            responses: filter.wants_responses(),
            after: span.after.unwrap_or_else(start),
            before: span.before,
            order,
            now: core.now(),
            limit,
            bytes_max: PAGE_BYTES_MAX,
        };
        let page = core.store.read_log(&query).await?;
        let events = payloads(core, self.app_id(), filter, page.entries).await?;
        let (next, has_more) = (page.next, page.has_more);
        Ok(EventPage { events, next, has_more, ends_before_unknown: false })
    }

    /// The position after everything that can be read now.
    pub fn newest_event_position(&self) -> AdminResult<EventId> {
        Ok(position_at(self.permit.core(Scope::Read)?.now()))
    }
}

/// The position before all events.
pub(crate) fn start() -> EventId {
    EventId::from_uuid(uuid::Uuid::nil())
}

/// The position of a time: what happened before it precedes the position.
pub(crate) fn position_at(time: Timestamp) -> EventId {
    EventId::from_uuid(v7(time, 0, 0))
}

/// This position, or one in the past if it is ahead of the clock.
pub(crate) fn not_ahead(core: &Core, after: EventId) -> EventId {
    let now = core.now();
    match after.made_at() > now.plus_seconds(AHEAD_SECONDS) {
        true => position_at(now.plus_seconds(-BACK_SECONDS)),
        false => after,
    }
}

/// A page of the log within a number of rows and of bytes. It ends before a recent event of an
/// unknown type, whatever the filter: an endpoint may want types that only newer nodes know.
pub(crate) async fn read(
    core: &Core,
    app_id: AppId,
    filter: &EventFilter,
    after: EventId,
    most: (usize, usize),
) -> AdminResult<EventPage> {
    let query = query_after(core, app_id, filter, after, most);
    let mut page = core.store.read_log(&query).await?;
    let since = query.now.plus_seconds(-UNKNOWN_TYPE_WAIT_SECONDS);
    let is_waiting = |entry: &LogEntry| !is_known(entry) && entry.position().made_at() > since;
    let unknown = page.entries.iter().position(is_waiting);
    if let Some(unknown) = unknown {
        page.entries.truncate(unknown);
        page.next = page.entries.last().map_or(query.after, LogEntry::position);
        page.has_more = false;
    }
    let events = payloads(core, app_id, filter, page.entries).await?;
    Ok(EventPage {
        events,
        next: page.next,
        has_more: page.has_more,
        ends_before_unknown: unknown.is_some(),
    })
}

/// Whether this release knows the type of an entry. If not, a newer release wrote it.
pub(crate) fn is_known(entry: &LogEntry) -> bool {
    match entry {
        LogEntry::Response(_) => true,
        LogEntry::Event(row) => row.kind.parse::<EventType>().is_ok(),
    }
}

/// Asks for what follows a position, within a number of rows and of bytes.
pub(crate) fn query_after(
    core: &Core,
    app_id: AppId,
    filter: &EventFilter,
    after: EventId,
    (limit, bytes_max): (usize, usize),
) -> LogQuery {
    let (now, after) = (core.now(), not_ahead(core, after));
    LogQuery {
        app_id,
        flow_id: filter.single_flow(),
        responses: filter.wants_responses(),
        after,
        before: None,
        order: Order::Asc,
        now,
        limit,
        bytes_max,
    }
}

impl Core {
    /// An event to write with the change that it reports. The time of a change that is made while
    /// nothing else is written to the app follows from when its rows are made.
    pub(crate) fn event(
        &self,
        app_id: AppId,
        flow_id: Option<FlowId>,
        kind: EventType,
        mut data: Value,
    ) -> Write {
        data["appId"] = Value::String(app_id.to_string());
        if let Some(flow) = flow_id {
            data["flowId"] = Value::String(flow.to_string());
        }
        Write::Event(EventRow {
            app_id,
            event_id: EventId::from_uuid(self.new_id()),
            flow_id,
            kind: kind.as_str().to_owned(),
            body: data.to_string(),
        })
    }
}
