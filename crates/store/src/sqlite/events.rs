//! The log of events: see [`crate::event`]. [`super::log_gate`] decides how far it can be read.

use async_trait::async_trait;
use rusqlite::{Connection, Result, params};
use sluice_flow::id::{AppId, EventId, FlowId, RespondentId, ResponseId};
use sluice_flow::time::Timestamp;
use uuid::Uuid;

use super::SqliteStore;
use super::codec::{self, Cells, EVENT, RESPONSE, bytes};
use super::log_gate::{Entered, SETTLES_MILLIS};
use super::read::{limit, many};
use super::response_keys;
use super::version_numbers::{OF_FLOW, RESPONSES};
use crate::event::{EventIds, LogPart, merged};
use crate::listing::Span;
use crate::{
    ErasureMark, EventRow, EventStore, LATE, LogPage, LogQuery, NewResponse, Outcome, ResponseRow,
    StoreResult,
};

/// The most responses that a page scans, of whichever app.
const SCANNED_MAX: usize = 5_000;
/// Positions in [`RESPONSE`].
const APP_AT: usize = 0;
const ID_AT: usize = 3;

#[async_trait]
impl EventStore for SqliteStore {
    async fn read_log(&self, query: &LogQuery) -> StoreResult<LogPage> {
        let (query, horizon) = (*query, self.gate.horizon(query.now));
        self.readers.read(move |it| read(it, &query, horizon)).await
    }

    async fn late_responses(
        &self,
        app: AppId,
        flow: FlowId,
        after: EventId,
    ) -> StoreResult<Vec<ResponseId>> {
        self.readers.read(move |it| late(it, app, flow, after)).await
    }

    fn log_delay_millis(&self) -> i64 {
        SETTLES_MILLIS + 1
    }

    async fn find_events(&self, app: AppId, events: &[EventId]) -> StoreResult<Vec<EventRow>> {
        let mut events = events.to_vec();
        events.sort_unstable();
        events.dedup();
        self.readers.read(move |it| by_ids(it, app, &events)).await
    }
}

fn read(connection: &Connection, query: &LogQuery, horizon: EventId) -> Result<LogPage> {
    let instant = connection.unchecked_transaction()?;
    let end = query.end(horizon);
    if end <= query.after {
        return Ok(merged(query, query.after, LogPart::empty(), LogPart::empty()));
    }
    let responses = match (query.responses, query.flow_id) {
        (false, _) => LogPart::empty(),
        (true, Some(flow)) => responses_of_flow(&instant, query, flow, end)?,
        (true, None) => responses(&instant, query, end)?,
    };
    Ok(merged(query, end, responses, events(&instant, query, end)?))
}

fn span(query: &LogQuery, end: EventId) -> Span {
    let first = query.after.uuid().as_u128().saturating_add(1);
    Span { first, last: end.uuid().as_u128() }
}

/// In the order of keys, over all apps: there is no index by app.
fn responses(
    connection: &Connection,
    query: &LogQuery,
    end: EventId,
) -> Result<LogPart<ResponseRow>> {
    let (first, last) = response_keys::range(connection, span(query, end))?;
    let sql = format!(
        "SELECT {RESPONSE} FROM {RESPONSES} WHERE response_key BETWEEN ?1 AND ?2 \
         ORDER BY response_key {} LIMIT ?3",
        query.direction()
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let mut found = statement.query(params![first, last, limit(SCANNED_MAX)])?;
    let app = bytes!(query.app_id);
    let (mut rows, mut scanned, mut bytes, mut up_to) = (Vec::new(), 0, 0, None);
    while let Some(row) = found.next()? {
        scanned += 1;
        if row.get::<_, [u8; 16]>(APP_AT)? == app {
            let row = codec::response(&mut Cells::new(row))?;
            bytes += row.texts_len();
            rows.push(row);
        }
        if scanned >= SCANNED_MAX || rows.len() > query.limit || bytes >= query.bytes_max {
            up_to = Some(EventId::from_uuid(Uuid::from_bytes(row.get(ID_AT)?)));
            break;
        }
    }
    Ok(LogPart { rows, up_to })
}

fn responses_of_flow(
    connection: &Connection,
    query: &LogQuery,
    flow: FlowId,
    end: EventId,
) -> Result<LogPart<ResponseRow>> {
    let (first, last) = response_keys::range(connection, span(query, end))?;
    let sql = format!(
        "SELECT {RESPONSE} FROM {RESPONSES} WHERE {OF_FLOW} \
         AND response_key BETWEEN ?3 AND ?4 ORDER BY response_key {} LIMIT ?5",
        query.direction()
    );
    let most = query.limit.saturating_add(1);
    let mut statement = connection.prepare_cached(&sql)?;
    let params = params![bytes!(query.app_id), bytes!(flow), first, last, limit(most)];
    let mut found = statement.query(params)?;
    let (mut rows, mut bytes) = (Vec::new(), 0);
    while bytes < query.bytes_max
        && let Some(row) = found.next()?
    {
        let row = codec::response(&mut Cells::new(row))?;
        bytes += row.texts_len();
        rows.push(row);
    }
    Ok(LogPart::from_responses(rows, query))
}

fn events(connection: &Connection, query: &LogQuery, end: EventId) -> Result<LogPart<EventRow>> {
    let sql = format!(
        "SELECT {EVENT} FROM events WHERE app_id = ?1 AND event_id > ?2 AND event_id <= ?3 \
         ORDER BY event_id {} LIMIT ?4",
        query.direction()
    );
    let rows = query.limit.saturating_add(1);
    let params = params![bytes!(query.app_id), bytes!(query.after), bytes!(end), limit(rows)];
    let found = many(connection, &sql, params, codec::event)?;
    let mut part = LogPart::limited(found, rows, |row| row.event_id);
    part.rows.retain(|row| query.flow_id.is_none() || row.flow_id == query.flow_id);
    Ok(part)
}

fn late(
    connection: &Connection,
    app: AppId,
    flow: FlowId,
    after: EventId,
) -> Result<Vec<ResponseId>> {
    let sql = format!(
        "SELECT {EVENT} FROM events WHERE app_id = ?1 AND event_id > ?2 AND flow_id = ?3 \
         AND kind = ?4 ORDER BY event_id"
    );
    let params = params![bytes!(app), bytes!(after), bytes!(flow), LATE];
    let found = many(connection, &sql, params, codec::event)?;
    Ok(found.iter().filter_map(EventRow::late_response).collect())
}

fn by_ids(connection: &Connection, app: AppId, events: &[EventId]) -> Result<Vec<EventRow>> {
    let sql = format!("SELECT {EVENT} FROM events WHERE app_id = ?1 AND event_id = ?2");
    let instant = connection.unchecked_transaction()?;
    let mut found = Vec::new();
    for event in events {
        found.extend(many(&instant, &sql, params![bytes!(app), bytes!(event)], codec::event)?);
    }
    Ok(found)
}

pub(super) fn put(connection: &Connection, row: &EventRow) -> Result<()> {
    let sql = format!(
        "INSERT INTO events ({EVENT}) VALUES (?1, ?2, ?3, ?4, ?5) \
         ON CONFLICT (app_id, event_id) DO UPDATE SET flow_id = excluded.flow_id, \
         kind = excluded.kind, body = excluded.body"
    );
    let flow = row.flow_id.map(|flow| bytes!(flow));
    let params = params![bytes!(row.app_id), bytes!(row.event_id), flow, row.kind, row.body];
    connection.prepare_cached(&sql)?.execute(params).map(|_| ())
}

/// Writes an event, with a current id if readers have passed its own.
pub(super) fn add(connection: &Connection, row: &EventRow, entered: &Entered) -> Result<()> {
    if row.event_id.uuid().as_u128() > entered.floor {
        return put(connection, row);
    }
    let at = entered.current(row.event_id.made_at());
    let event_id = EventIds::new(at).next(row.event_id.uuid());
    put(connection, &EventRow { event_id, ..row.clone() })
}

/// Announces the stored responses that readers have passed.
pub(super) fn announce_late(
    connection: &Connection,
    responses: &[NewResponse],
    outcomes: &[Outcome],
    entered: &Entered,
) -> Result<()> {
    let mut ids = EventIds::new(entered.current(Timestamp::from_millis(0)));
    for (NewResponse { row, .. }, outcome) in responses.iter().zip(outcomes) {
        let id = row.response_id.uuid();
        if *outcome == Outcome::Stored && id.as_u128() <= entered.floor {
            put(connection, &EventRow::late(row, ids.next(id)))?;
        }
    }
    Ok(())
}

/// Records responses that an erasure deleted.
pub(super) fn add_deleted(
    connection: &Connection,
    deleted: &[(AppId, FlowId, ResponseId)],
    ids: &mut EventIds,
) -> Result<()> {
    deleted
        .iter()
        .try_for_each(|row| put(connection, &EventRow::deleted(*row, ids.next(row.2.uuid()))))
}

/// Records that a respondent was erased.
pub(super) fn add_erased(
    connection: &Connection,
    app: AppId,
    respondent: RespondentId,
    mark: &ErasureMark,
    ids: &mut EventIds,
) -> Result<()> {
    put(connection, &EventRow::erased(app, respondent, mark.answers, ids.next(respondent.uuid())))
}

/// Removes the oldest events and deliveries of an app; returns how many events.
pub(super) fn expire(
    connection: &Connection,
    app: AppId,
    before: [u8; 16],
    rows: usize,
) -> Result<usize> {
    let sql = "DELETE FROM deliveries WHERE app_id = ?1 AND (delivery_id < ?2 OR event_id < ?2)";
    connection.prepare_cached(sql)?.execute(params![bytes!(app), before])?;
    let sql = "DELETE FROM events WHERE app_id = ?1 AND event_id IN (SELECT event_id \
         FROM events WHERE app_id = ?1 AND event_id < ?2 ORDER BY event_id LIMIT ?3)";
    connection.prepare_cached(sql)?.execute(params![bytes!(app), before, limit(rows)])
}
