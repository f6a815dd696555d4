//! The log of events: see [`crate::event`].
//!
//! Everything that writes to an app holds the lock of its queue until it has committed, in shared
//! or exclusive mode. So the horizon of an app is the present, or the start of the oldest
//! transaction that holds or awaits its lock, less a margin. A transaction reads the time while it
//! has the lock, and announces again what is older than the margin ([`crate::LATE`]): a reader that
//! did not see the lock had an earlier horizon. Locks are released after a commit is visible, so a
//! reader first reads the locks and then, in another statement, the rows.
//!
//! On Citus the lock is local to one node, so all transactions that write count.

use std::sync::LazyLock;

use async_trait::async_trait;
use sluice_flow::id::{AppId, EventId, FlowId, ResponseId};
use sluice_flow::time::Timestamp;
use uuid::Uuid;

use super::PgStore;
use super::announce::{SETTLES_MILLIS, late_at};
use super::citus;
use super::codec::{self, Cells, EVENT, RESPONSE, ReadCells as _};
use super::failure::TransactionError;
use super::first_exchange::queue_of;
use super::pool::{Params, Pool};
use super::read::{BY_ID, IN_SPAN, id_after, limit};
use super::transaction::Transaction;
use crate::codec::text_columns;
use crate::event::{EventIds, LogPart, before, merged};
use crate::{EventRow, EventStore, LATE, LogPage, LogQuery, Order, ResponseRow, StoreResult};

/// The most responses that a page scans if it reads those of all apps.
const SCANNED_MAX: usize = 1_000;
/// Apps with more flows than this scan the responses of all apps.
const FLOWS_MAX: i64 = 64;
/// A scan that ended early and found fewer responses of the app is not worth its reads.
const SCAN_YIELDS_MIN: usize = 20;

#[async_trait]
impl EventStore for PgStore {
    async fn read_log(&self, query: &LogQuery) -> StoreResult<LogPage> {
        let end = query.end(horizon(&self.pool, query.app_id).await?);
        if end <= query.after {
            return Ok(merged(query, query.after, LogPart::empty(), LogPart::empty()));
        }
        let events = events(&self.pool, query, end).await?;
        // Not beyond the events: they may be cut off first.
        let span = match query.order {
            Order::Asc => (id_after(query.after.uuid()), events.up_to.unwrap_or(end).uuid()),
            Order::Desc => {
                let first =
                    events.up_to.map_or_else(|| id_after(query.after.uuid()), EventId::uuid);
                (first, end.uuid())
            }
        };
        let responses = match (query.responses, query.flow_id) {
            (false, _) => LogPart::empty(),
            (true, Some(flow)) => of_flow(&self.pool, query, flow, span).await?,
            (true, None) => of_app(&self.pool, query, span).await?,
        };
        Ok(merged(query, end, responses, events))
    }

    async fn late_responses(
        &self,
        app: AppId,
        flow: FlowId,
        after: EventId,
    ) -> StoreResult<Vec<ResponseId>> {
        let sql = format!(
            "SELECT {EVENT} FROM events WHERE app_id = $1 AND event_id > $2 AND flow_id = $3 \
             AND kind = $4 ORDER BY event_id"
        );
        let params: Params = &[&app.uuid(), &after.uuid(), &flow.uuid(), &LATE];
        let found = self.pool.many_by_index(&sql, params, codec::event).await?;
        Ok(found.iter().filter_map(EventRow::late_response).collect())
    }

    fn log_delay_millis(&self) -> i64 {
        SETTLES_MILLIS + 1
    }

    async fn find_events(&self, app: AppId, events: &[EventId]) -> StoreResult<Vec<EventRow>> {
        let ids: Vec<Uuid> = events.iter().map(|event| event.uuid()).collect();
        let sql = format!(
            "SELECT {EVENT} FROM events WHERE app_id = $1 AND event_id = ANY($2) ORDER BY event_id"
        );
        self.pool.many(&sql, &[&app.uuid(), &ids], codec::event).await
    }
}

/// The start of the oldest transaction with a lock on the queue `$1` of an app, or now. A holder
/// whose start cannot be read counts as the oldest possible.
const OLDEST: &str = "SELECT (extract(epoch FROM least(now(), (SELECT \
     min(coalesce(holder.xact_start, 'epoch'::timestamptz)) FROM pg_locks AS lock \
     LEFT JOIN pg_stat_activity AS holder ON holder.pid = lock.pid \
     WHERE lock.locktype = 'advisory' AND lock.objsubid = 1 \
     AND lock.database = (SELECT oid FROM pg_database WHERE datname = current_database()) \
     AND lock.classid = (($1::bigint >> 32) & 4294967295)::oid \
     AND lock.objid = ($1::bigint & 4294967295)::oid \
     AND lock.pid IS DISTINCT FROM pg_backend_pid()))) * 1000)::bigint";

/// The last position that a reader of this app may return.
async fn horizon(pool: &Pool, app: AppId) -> StoreResult<EventId> {
    let millis = match pool.is_citus() {
        false => {
            let found = pool.one(OLDEST, &[&queue_of(app)], |cells| cells.take::<i64>()).await?;
            found.unwrap_or_default()
        }
        true => {
            // It subtracts a minute itself, since a write is seen only once it has begun to write.
            let sql = format!(
                "SELECT least((extract(epoch FROM now()) * 1000)::bigint, ({}))",
                citus::open_since()
            );
            pool.one(&sql, &[], |cells| cells.take::<i64>()).await?.unwrap_or_default()
        }
    };
    let settled = Timestamp::from_millis(millis.saturating_sub(SETTLES_MILLIS).max(0));
    Ok(EventId::from_uuid(Uuid::from_u128(before(settled))))
}

async fn events(pool: &Pool, query: &LogQuery, end: EventId) -> StoreResult<LogPart<EventRow>> {
    let sql = format!(
        "SELECT {EVENT} FROM events WHERE app_id = $1 AND event_id > $2 AND event_id <= $3 \
         ORDER BY event_id {} LIMIT $4",
        query.direction()
    );
    let rows = query.limit.saturating_add(1);
    let params: Params = &[&query.app_id.uuid(), &query.after.uuid(), &end.uuid(), &limit(rows)];
    let found = pool.many_by_index(&sql, params, codec::event).await?;
    let mut part = LogPart::limited(found, rows, |row| row.event_id);
    part.rows.retain(|row| query.flow_id.is_none() || row.flow_id == query.flow_id);
    Ok(part)
}

/// The first and the last id to read.
type IdSpan = (Uuid, Uuid);

async fn of_flow(
    pool: &Pool,
    query: &LogQuery,
    flow: FlowId,
    (first, last): IdSpan,
) -> StoreResult<LogPart<ResponseRow>> {
    let order = match query.order {
        Order::Asc => BY_ID,
        Order::Desc => "ORDER BY flow_id DESC, response_id DESC",
    };
    let sql = within_bytes(
        &format!("SELECT * FROM responses WHERE {IN_SPAN} {order} LIMIT $5"),
        "$6::bigint",
        query.direction(),
    );
    let rows = query.limit.saturating_add(1);
    let ids = (query.app_id.uuid(), flow.uuid());
    let params: Params = &[&ids.0, &ids.1, &first, &last, &limit(rows), &limit(query.bytes_max)];
    let found = pool.many_by_index(&sql, params, codec::response).await?;
    Ok(LogPart::from_responses(found, query))
}

/// The first of these responses, up to a limit of bytes: the row that exceeds it is the last. The
/// database measures long texts without reading them, and sends only what is within the limit.
fn within_bytes(found: &str, bytes: &str, direction: &str) -> String {
    let lengths: Vec<_> =
        text_columns().map(|name| format!("coalesce(octet_length({name}), 0)")).collect();
    let length = lengths.join(" + ");
    format!(
        "SELECT {RESPONSE} FROM (SELECT found.*, \
         sum({length}) OVER (ORDER BY response_id {direction}) - ({length}) AS bytes_before \
         FROM ({found}) AS found) AS measured WHERE bytes_before < {bytes} \
         ORDER BY response_id {direction}"
    )
}

/// Flow by flow along the primary key, oldest or newest first. First the head of each flow: a page
/// that is full ends at the last of these at the latest, and needs no flow whose head is beyond it.
static BY_FLOW: LazyLock<[String; 2]> = LazyLock::new(|| [Order::Asc, Order::Desc].map(by_flow));

fn by_flow(order: Order) -> String {
    let (direction, end) = match order {
        Order::Asc => ("ASC", "$3"),
        Order::Desc => ("DESC", "$2"),
    };
    let of_flow = |flow: &str, (first, last): (&str, &str)| {
        format!(
            "FROM responses WHERE responses.app_id = $1 \
             AND (responses.flow_id, responses.response_id) >= ({flow}, {first}) \
             AND (responses.flow_id, responses.response_id) <= ({flow}, {last}) \
             AND responses.response_id BETWEEN {first} AND {last} \
             ORDER BY responses.flow_id {direction}, responses.response_id {direction}"
        )
    };
    let head = of_flow("flows.flow_id", ("$2", "$3"));
    let within = match order {
        Order::Asc => ("heads.response_id", "page.bound"),
        Order::Desc => ("page.bound", "heads.response_id"),
    };
    let rows = of_flow("heads.flow_id", within);
    let found = format!(
        "WITH heads AS MATERIALIZED (SELECT flows.flow_id, head.response_id FROM flows \
         CROSS JOIN LATERAL (SELECT responses.response_id {head} LIMIT 1) AS head \
         WHERE flows.app_id = $1 ORDER BY head.response_id {direction} LIMIT $4), \
         page AS MATERIALIZED (SELECT coalesce((SELECT response_id FROM heads \
         ORDER BY response_id {direction} LIMIT 1 OFFSET $4 - 1), {end}) AS bound) \
         SELECT rows.* FROM page CROSS JOIN heads \
         CROSS JOIN LATERAL (SELECT responses.* {rows} LIMIT $4) AS rows \
         ORDER BY rows.response_id {direction} LIMIT $4"
    );
    within_bytes(&found, "$5::bigint", direction)
}

/// The responses of an app have no index by id. If it has few flows, they are read flow by flow.
/// With many flows that would read each of them for every page, so the responses of all apps are
/// scanned, unless only few of them are of this app.
async fn of_app(
    pool: &Pool,
    query: &LogQuery,
    (first, last): IdSpan,
) -> StoreResult<LogPart<ResponseRow>> {
    if !pool.is_spread() && has_many_flows(pool, query.app_id).await? {
        let part = scanned(pool, query, (first, last)).await?;
        if part.up_to.is_none() || part.rows.len() >= SCAN_YIELDS_MIN.min(query.limit) {
            return Ok(part);
        }
    }
    let [oldest_first, newest_first] = &*BY_FLOW;
    let sql = match query.order {
        Order::Asc => oldest_first,
        Order::Desc => newest_first,
    };
    let rows = query.limit.saturating_add(1);
    let params: Params =
        &[&query.app_id.uuid(), &first, &last, &limit(rows), &limit(query.bytes_max)];
    let found = pool.many_by_index(sql, params, codec::response).await?;
    Ok(LogPart::from_responses(found, query))
}

async fn has_many_flows(pool: &Pool, app: AppId) -> StoreResult<bool> {
    let sql = "SELECT count(*) > $2::bigint FROM \
         (SELECT FROM flows WHERE app_id = $1 LIMIT $2::bigint + 1) AS first_flows";
    let found = pool.one(sql, &[&app.uuid(), &FLOWS_MAX], |cells| cells.take::<bool>()).await?;
    Ok(found.unwrap_or_default())
}

async fn scanned(
    pool: &Pool,
    query: &LogQuery,
    (first, last): IdSpan,
) -> StoreResult<LogPart<ResponseRow>> {
    let direction = query.direction();
    // Where a limited scan over all apps ends.
    let sql = format!(
        "SELECT response_id FROM responses WHERE response_id BETWEEN $1 AND $2 \
         ORDER BY response_id {direction} LIMIT 1 OFFSET $3"
    );
    let beyond = limit(SCANNED_MAX.saturating_sub(1));
    let params: Params = &[&first, &last, &beyond];
    let cut = pool.many_by_index(&sql, params, |cells| cells.id(EventId::from_uuid)).await?;
    let cut = cut.first().copied();
    let (first, last) = match (cut.map(EventId::uuid), query.order) {
        (Some(cut), Order::Asc) => (first, cut),
        (Some(cut), Order::Desc) => (cut, last),
        (None, _) => (first, last),
    };
    let sql = within_bytes(
        &format!(
            "SELECT * FROM responses WHERE response_id BETWEEN $2 AND $3 \
             AND app_id = $1 ORDER BY response_id {direction} LIMIT $4"
        ),
        "$5::bigint",
        direction,
    );
    let rows = query.limit.saturating_add(1);
    let bytes = limit(query.bytes_max);
    let params: Params = &[&query.app_id.uuid(), &first, &last, &limit(rows), &bytes];
    let found = pool.many_by_index(&sql, params, codec::response).await?;
    let part = LogPart::from_responses(found, query);
    Ok(LogPart { up_to: part.up_to.or(cut), rows: part.rows })
}

/// Writes an event as it was in another database.
pub(super) async fn put(transaction: &Transaction, row: &EventRow) -> Result<(), TransactionError> {
    let sql = format!(
        "INSERT INTO events ({EVENT}) VALUES ($1, $2, $3, $4, $5) \
         ON CONFLICT (app_id, event_id) DO UPDATE SET flow_id = excluded.flow_id, \
         kind = excluded.kind, body = excluded.body"
    );
    let flow = row.flow_id.map(FlowId::uuid);
    let params: Params = &[&row.app_id.uuid(), &row.event_id.uuid(), &flow, &row.kind, &row.body];
    transaction.execute(&sql, params).await.map(|_| ())
}

/// Writes an event of an app that is locked, with a current id if its own is late.
pub(super) async fn add(transaction: &Transaction, row: &EventRow) -> Result<(), TransactionError> {
    let now = now(transaction).await?;
    if row.event_id.uuid().as_u128() > late_at(now) {
        return put(transaction, row).await;
    }
    let event_id = EventIds::new(now).next(row.event_id.uuid());
    put(transaction, &EventRow { event_id, ..row.clone() }).await
}

/// The server's time, while the app is locked.
async fn now(transaction: &Transaction) -> Result<Timestamp, TransactionError> {
    let sql = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint";
    let rows = transaction.query(sql, &[]).await?;
    let millis: Option<i64> = rows.first().map(|row| Cells::new(row).take()).transpose()?;
    Ok(Timestamp::from_millis(millis.unwrap_or_default()))
}

/// Ids for the events of a transaction that has locked their app.
pub(super) async fn ids(transaction: &Transaction) -> Result<EventIds, TransactionError> {
    now(transaction).await.map(EventIds::new)
}
