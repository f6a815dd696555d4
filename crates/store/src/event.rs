//! Rows of events, and the log of an app: its responses and its events in one order.
//!
//! The log has no row for a response: the responses themselves are read. Both are ordered by id,
//! which is a time, so a write could become visible behind a reader. Therefore a read ends at a
//! **horizon**: no write that is still to come has an id before it. A response whose id is older
//! than that, because its write was delayed or the clock was set back, gets a row in `events` with
//! a current id in the same transaction ([`LATE`]): a reader may see it twice, and never misses it.

use serde::{Deserialize, Serialize};
use sluice_flow::id::{AppId, EventId, FlowId, RespondentId, ResponseId, v7};
use sluice_flow::time::Timestamp;
use uuid::Uuid;

use crate::{AnswersOnErasure, Order, ResponseRow};

/// The type of an event that announces a response again, which was stored behind the horizon.
pub const LATE: &str = "response.created";

/// An event other than a stored response.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventRow {
    pub app_id: AppId,
    pub event_id: EventId,
    pub flow_id: Option<FlowId>,
    /// The name of its type, such as `flow.published`.
    pub kind: String,
    /// JSON object with details.
    pub body: String,
}

impl EventRow {
    /// The response that was stored behind the horizon, if this is about one.
    pub fn late_response(&self) -> Option<ResponseId> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Late {
            response_id: ResponseId,
        }
        let is_late = self.kind == LATE;
        is_late
            .then(|| serde_json::from_str::<Late>(&self.body).ok())
            .flatten()
            .map(|it| it.response_id)
    }

    pub(crate) fn late(row: &ResponseRow, event_id: EventId) -> Self {
        Self {
            app_id: row.app_id,
            event_id,
            flow_id: Some(row.flow_id),
            kind: LATE.to_owned(),
            body: format!(r#"{{"responseId":"{}"}}"#, row.response_id),
        }
    }

    /// A respondent who was erased.
    pub(crate) fn erased(
        app_id: AppId,
        respondent: RespondentId,
        answers: AnswersOnErasure,
        event_id: EventId,
    ) -> Self {
        let answers = answers.as_str();
        let body = format!(
            r#"{{"appId":"{app_id}","respondentId":"{respondent}","answers":"{answers}"}}"#
        );
        Self { app_id, event_id, flow_id: None, kind: "respondent.erased".to_owned(), body }
    }

    /// A response that is deleted.
    pub(crate) fn deleted(row: (AppId, FlowId, ResponseId), event_id: EventId) -> Self {
        let (app_id, flow_id, response_id) = row;
        Self {
            app_id,
            event_id,
            flow_id: Some(flow_id),
            kind: "response.deleted".to_owned(),
            body: format!(
                r#"{{"appId":"{app_id}","flowId":"{flow_id}","responseId":"{response_id}"}}"#
            ),
        }
    }
}

/// The ids of the events that one transaction writes, in order.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EventIds {
    at: Timestamp,
    next: u32,
}

impl EventIds {
    pub(crate) fn new(at: Timestamp) -> Self {
        Self { at, next: 0 }
    }

    /// The next id. `of` is the id of what the event is about: its bits make this one unique.
    pub(crate) fn next(&mut self, of: Uuid) -> EventId {
        self.next += 1;
        let bits = of.as_u128();
        EventId::from_uuid(v7(self.at, self.next, (bits ^ (bits >> 48)) as u64))
    }
}

/// Which part of the log of an app to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogQuery {
    pub app_id: AppId,
    /// Only what belongs to this flow.
    pub flow_id: Option<FlowId>,
    /// Whether to read responses.
    pub responses: bool,
    /// Only what follows this position.
    pub after: EventId,
    /// Only what precedes this position.
    pub before: Option<EventId>,
    pub order: Order,
    /// The current time of the caller.
    pub now: Timestamp,
    pub limit: usize,
    /// The most bytes of texts; the row that exceeds it is the last.
    pub bytes_max: usize,
}

impl LogQuery {
    /// The last position that this query may return, if readers may read up to the horizon.
    pub(crate) fn end(&self, horizon: EventId) -> EventId {
        let last = self.before.map(|before| before.uuid().as_u128().saturating_sub(1));
        last.map_or(horizon, |last| horizon.min(EventId::from_uuid(Uuid::from_u128(last))))
    }

    /// How SQL sorts the rows.
    pub(crate) fn direction(&self) -> &'static str {
        match self.order {
            Order::Asc => "ASC",
            Order::Desc => "DESC",
        }
    }
}

/// A page of the log, in the order of the query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogPage {
    pub entries: Vec<LogEntry>,
    /// Where to continue: the next `after`, or the next `before` if the newest come first. A page
    /// may be empty and still advance.
    pub next: EventId,
    /// Whether there may be more right now.
    pub has_more: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogEntry {
    Response(Box<ResponseRow>),
    Event(EventRow),
}

impl LogEntry {
    pub fn position(&self) -> EventId {
        match self {
            Self::Response(row) => EventId::from_uuid(row.response_id.uuid()),
            Self::Event(row) => row.event_id,
        }
    }

    fn texts_len(&self) -> usize {
        match self {
            Self::Response(row) => row.texts_len(),
            Self::Event(row) => row.body.len(),
        }
    }
}

/// A part of one of the two sources: rows in the order of the query, and the position up to which
/// it is complete, or down to which if the newest come first.
#[derive(Debug)]
pub(crate) struct LogPart<T> {
    pub(crate) rows: Vec<T>,
    /// `None`: everything that the query asks for.
    pub(crate) up_to: Option<EventId>,
}

impl<T> LogPart<T> {
    pub(crate) fn empty() -> Self {
        Self { rows: Vec::new(), up_to: None }
    }

    /// The rows of a read with this limit: complete if there are fewer.
    pub(crate) fn limited(rows: Vec<T>, limit: usize, id: impl Fn(&T) -> EventId) -> Self {
        let up_to = (rows.len() >= limit).then(|| rows.last().map(&id)).flatten();
        Self { rows, up_to }
    }
}

impl LogPart<ResponseRow> {
    /// Responses that were read one more than the limit of a query, or up to its limit of bytes.
    pub(crate) fn from_responses(rows: Vec<ResponseRow>, query: &LogQuery) -> Self {
        let bytes: usize = rows.iter().map(ResponseRow::texts_len).sum();
        let is_cut = rows.len() > query.limit || bytes >= query.bytes_max;
        let last = rows.last().map(|row| EventId::from_uuid(row.response_id.uuid()));
        Self { rows, up_to: last.filter(|_| is_cut) }
    }
}

/// The last position before a time: everything received before it has an id up to here.
pub(crate) fn before(time: Timestamp) -> u128 {
    (v7(time, 0, 0).as_u128() >> 80 << 80).saturating_sub(1)
}

/// Merges both sources. `last` is the last position that may be returned ([`LogQuery::end`]).
pub(crate) fn merged(
    query: &LogQuery,
    last: EventId,
    responses: LogPart<ResponseRow>,
    events: LogPart<EventRow>,
) -> LogPage {
    let ends = [responses.up_to, events.up_to].into_iter().flatten();
    let responses = responses.rows.into_iter().map(|row| LogEntry::Response(Box::new(row)));
    let mut entries: Vec<LogEntry> =
        responses.chain(events.rows.into_iter().map(LogEntry::Event)).collect();
    entries.sort_by_key(LogEntry::position);
    let (end, is_partial) = match query.order {
        Order::Asc => {
            let end = ends.fold(last, EventId::min);
            entries.retain(|it| it.position() <= end);
            (end.max(query.after), end < last)
        }
        Order::Desc => {
            let end = ends.fold(query.after, EventId::max);
            entries.retain(|it| it.position() >= end);
            entries.reverse();
            (end, end > query.after)
        }
    };
    let found = entries.len();
    let mut bytes = 0;
    let within = entries.iter().take(query.limit).take_while(|entry| {
        let fits = bytes < query.bytes_max;
        bytes += entry.texts_len();
        fits
    });
    let kept = within.count();
    entries.truncate(kept);
    let is_cut = kept < found;
    let next = match entries.last() {
        Some(last) if is_cut => last.position(),
        _ => end,
    };
    LogPage { entries, next, has_more: is_cut || is_partial }
}
