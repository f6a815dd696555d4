//! Webhook endpoints and deliveries.

use async_trait::async_trait;
use rusqlite::{Connection, OptionalExtension as _, Result, ToSql, params};
use sluice_flow::id::{AppId, DeliveryId, EndpointId, EventId};
use sluice_flow::time::Timestamp;

use super::codec::{self, Cells, DELIVERY, ENDPOINT, ReadCells as _, bytes};
use super::read::{limit, many, one};
use super::transaction::{Finish, TransactionError};
use super::{SqliteStore, delivery_health};
use crate::endpoint::{SETTINGS, columns_after, replacing};
use crate::{
    Backlog, Claim, DeliveryQuery, DeliveryRow, DeliveryState, EndpointHealth, EndpointLane,
    EndpointRow, EndpointStore, EndpointWrite, Progress, Redelivery, Saved, StoreResult,
};

/// Endpoints of a lane that a worker can take at `?1`; `?2` is a JSON array of the slow ones.
fn free(lane: EndpointLane) -> String {
    const FREE: &str = "disabled_at IS NULL AND due_at <= ?1 AND leased_until <= ?1";
    const KNOWN: &str = "IN (SELECT value FROM json_each(?2))";
    match lane {
        EndpointLane::Prompt => format!("{FREE} AND NOT hex(endpoint_id) {KNOWN}"),
        EndpointLane::Slow => format!("{FREE} AND hex(endpoint_id) {KNOWN}"),
    }
}

fn hexes(ids: &[EndpointId]) -> Result<String> {
    codec::json(&ids.iter().map(|id| format!("{:X}", id.uuid().simple())).collect::<Vec<_>>())
}

#[async_trait]
impl EndpointStore for SqliteStore {
    async fn list_endpoints(&self, app: AppId) -> StoreResult<Vec<EndpointRow>> {
        self.readers.read(move |it| of_app(it, app)).await
    }

    async fn list_deliveries(&self, query: &DeliveryQuery) -> StoreResult<Vec<DeliveryRow>> {
        let query = *query;
        self.readers.read(move |it| deliveries(it, &query)).await
    }

    async fn find_delivery(
        &self,
        app: AppId,
        endpoint: EndpointId,
        delivery: DeliveryId,
    ) -> StoreResult<Option<DeliveryRow>> {
        let sql = format!(
            "SELECT {DELIVERY} FROM deliveries \
             WHERE app_id = ?1 AND endpoint_id = ?2 AND delivery_id = ?3"
        );
        let ids = (bytes!(app), bytes!(endpoint), bytes!(delivery));
        self.readers.read(move |it| one(it, &sql, ids, codec::delivery)).await
    }

    async fn due_deliveries(
        &self,
        app: AppId,
        endpoint: EndpointId,
        now: Timestamp,
        rows: usize,
    ) -> StoreResult<(Vec<DeliveryRow>, usize)> {
        self.readers.read(move |it| due(it, app, endpoint, now, rows)).await
    }

    async fn claim_endpoints(&self, claim: Claim) -> StoreResult<Vec<EndpointRow>> {
        // Usually none is due; that needs no write.
        let (now, slow) = (claim.now.as_millis(), claim.slow.clone());
        let sql = format!("SELECT 1 FROM endpoints WHERE {} LIMIT 1", free(claim.lane));
        let is_any =
            move |it: &Connection| it.prepare_cached(&sql)?.exists(params![now, hexes(&slow)?]);
        match self.readers.read(is_any).await? {
            true => self.writer.run(move |it| take(it, &claim)).await,
            false => Ok(Vec::new()),
        }
    }

    async fn save_progress(&self, progress: Progress) -> StoreResult<Saved> {
        self.writer.run(move |it| save(it, &progress)).await
    }

    async fn wake_endpoints(
        &self,
        endpoints: Vec<(AppId, EndpointId)>,
        due_at: Timestamp,
    ) -> StoreResult<Vec<(AppId, EndpointId)>> {
        self.writer.run(move |it| wake(it, &endpoints, due_at)).await?;
        Ok(Vec::new())
    }

    async fn apps_with_endpoints(&self) -> StoreResult<Vec<AppId>> {
        let sql = "SELECT DISTINCT app_id FROM endpoints WHERE disabled_at IS NULL ORDER BY app_id";
        self.readers.read(move |it| many(it, sql, [], |cells| cells.id(AppId::from_uuid))).await
    }

    async fn delivery_backlog(&self) -> StoreResult<Backlog> {
        let sql = "SELECT count(*), min(delivery_id) FROM deliveries WHERE next_at IS NOT NULL";
        let backlog = |cells: &mut Cells| {
            let waiting = cells.integer()?.cast_unsigned();
            let oldest = cells.optional_id(DeliveryId::from_uuid)?.map(DeliveryId::made_at);
            Ok(Backlog { waiting, oldest })
        };
        Ok(self.readers.read(move |it| one(it, sql, [], backlog)).await?.unwrap_or_default())
    }

    async fn endpoint_health(
        &self,
        app: AppId,
        waiting_max: usize,
    ) -> StoreResult<Vec<EndpointHealth>> {
        self.readers.read(move |it| delivery_health::health(it, app, waiting_max)).await
    }

    async fn delivery_times(
        &self,
        app: AppId,
        endpoint: EndpointId,
        each_max: usize,
    ) -> StoreResult<Vec<(DeliveryState, Timestamp)>> {
        self.readers.read(move |it| delivery_health::times(it, app, endpoint, each_max)).await
    }
}

fn of_app(connection: &Connection, app: AppId) -> Result<Vec<EndpointRow>> {
    let sql = format!("SELECT {ENDPOINT} FROM endpoints WHERE app_id = ?1 ORDER BY endpoint_id");
    many(connection, &sql, [bytes!(app)], codec::endpoint)
}

fn deliveries(connection: &Connection, query: &DeliveryQuery) -> Result<Vec<DeliveryRow>> {
    let sql = format!(
        "SELECT {DELIVERY} FROM deliveries WHERE app_id = ?1 AND endpoint_id = ?2 \
         AND delivery_id < ?3 AND (?4 IS NULL OR state = ?4) ORDER BY delivery_id DESC LIMIT ?5"
    );
    let before = query.after.map_or([0xFF; 16], |id| bytes!(id));
    let ids = (bytes!(query.app_id), bytes!(query.endpoint_id));
    let state = query.state.map(|state| state.as_str());
    let params = params![ids.0, ids.1, before, state, limit(query.limit)];
    many(connection, &sql, params, codec::delivery)
}

fn due(
    connection: &Connection,
    app: AppId,
    endpoint: EndpointId,
    now: Timestamp,
    rows: usize,
) -> Result<(Vec<DeliveryRow>, usize)> {
    let instant = connection.unchecked_transaction()?;
    let (app, endpoint) = (bytes!(app), bytes!(endpoint));
    let sql = format!(
        "SELECT {DELIVERY} FROM deliveries WHERE app_id = ?1 AND endpoint_id = ?2 \
         AND next_at <= ?3 ORDER BY next_at, coalesce(batch_id, ''), delivery_id LIMIT ?4"
    );
    let params = params![app, endpoint, now.as_millis(), limit(rows)];
    let found = many(&instant, &sql, params, codec::delivery)?;
    let sql = "SELECT count(*) FROM deliveries \
         WHERE app_id = ?1 AND endpoint_id = ?2 AND next_at IS NOT NULL";
    let waiting = one(&instant, sql, [app, endpoint], |cells| cells.take::<i64>())?;
    Ok((found, waiting.and_then(|it| usize::try_from(it).ok()).unwrap_or_default()))
}

fn take(
    connection: &Connection,
    claim: &Claim,
) -> Result<(Vec<EndpointRow>, Finish), TransactionError> {
    let now = claim.now.as_millis();
    let sql = format!(
        "SELECT {ENDPOINT} FROM endpoints WHERE {} ORDER BY due_at LIMIT ?3",
        free(claim.lane)
    );
    let params = params![now, hexes(&claim.slow)?, limit(claim.limit)];
    let taken = many(connection, &sql, params, codec::endpoint)?;
    let sql = "UPDATE endpoints SET leased_by = ?3, leased_until = ?4, due_at = ?4 \
         WHERE app_id = ?1 AND endpoint_id = ?2";
    let mut lease = connection.prepare_cached(sql)?;
    for row in &taken {
        let ids = (bytes!(row.app_id), bytes!(row.endpoint_id));
        lease.execute(params![ids.0, ids.1, claim.worker, claim.until.as_millis()])?;
    }
    let then = if taken.is_empty() { Finish::RollBack } else { Finish::Commit };
    Ok((taken, then))
}

fn save(connection: &Connection, progress: &Progress) -> Result<(Saved, Finish), TransactionError> {
    let ids = (bytes!(progress.app_id), bytes!(progress.endpoint_id));
    let sql = "SELECT removals FROM endpoints WHERE app_id = ?1 AND endpoint_id = ?2 \
         AND leased_by = ?3 AND leased_until = ?4 AND disabled_at IS NULL";
    let lease = params![ids.0, ids.1, progress.worker, progress.leased_until.as_millis()];
    let Some(removals) = one(connection, sql, lease, |cells: &mut Cells| cells.number())? else {
        return Ok((Saved::LeaseLost, Finish::RollBack));
    };
    if progress.is_outdated(removals) {
        return Ok((Saved::RepliesRemoved { removals }, Finish::RollBack));
    }
    put_deliveries(connection, &progress.deliveries)?;
    let sql = "DELETE FROM deliveries \
         WHERE app_id = ?1 AND endpoint_id = ?2 AND delivery_id = ?3";
    for gone in &progress.dropped {
        connection.prepare_cached(sql)?.execute(params![ids.0, ids.1, bytes!(gone)])?;
    }
    // If the lease continues, as given; otherwise with the next waiting delivery, if that is
    // earlier.
    let sql = "UPDATE endpoints SET cursor = CASE WHEN cursor = ?3 THEN ?4 ELSE cursor END, \
         failing_since = ?5, failures = ?6, leased_by = ?7, leased_until = ?8, \
         due_at = CASE WHEN due_at <> ?10 THEN due_at WHEN ?8 > 0 THEN ?9 \
         ELSE min(?9, coalesce((SELECT min(next_at) FROM deliveries \
         WHERE app_id = ?1 AND endpoint_id = ?2 AND next_at IS NOT NULL), ?9)) END WHERE app_id = ?1 AND endpoint_id = ?2";
    let held = progress.lease_until.is_some();
    let values: [&dyn ToSql; 10] = [
        &ids.0,
        &ids.1,
        &bytes!(progress.from),
        &bytes!(progress.to),
        &progress.failing_since.map(Timestamp::as_millis),
        &progress.failures,
        &held.then_some(progress.worker),
        &progress.lease_until.map_or(0, Timestamp::as_millis),
        &progress.due_at.as_millis(),
        &progress.leased_until.as_millis(),
    ];
    connection.prepare_cached(sql)?.execute(values)?;
    trim(connection, progress)?;
    let sql = format!("SELECT {ENDPOINT} FROM endpoints WHERE app_id = ?1 AND endpoint_id = ?2");
    let saved = one(connection, &sql, params![ids.0, ids.1], codec::endpoint)?;
    let saved = saved.map_or(Saved::LeaseLost, |row| Saved::Done(Box::new(row)));
    Ok((saved, Finish::Commit))
}

/// Removes finished deliveries beyond the number that is kept, and old ones.
fn trim(connection: &Connection, progress: &Progress) -> Result<()> {
    let ids = (bytes!(progress.app_id), bytes!(progress.endpoint_id));
    let sql = "SELECT delivery_id FROM deliveries WHERE app_id = ?1 AND endpoint_id = ?2 \
         AND next_at IS NULL ORDER BY delivery_id DESC LIMIT 1 OFFSET ?3";
    let beyond: Option<[u8; 16]> = connection
        .prepare_cached(sql)?
        .query_row(params![ids.0, ids.1, limit(progress.keep)], |row| row.get(0))
        .optional()?;
    let old = crate::event::before(progress.keep_since).to_be_bytes();
    let sql = "DELETE FROM deliveries WHERE app_id = ?1 AND endpoint_id = ?2 \
         AND delivery_id <= ?3 AND next_at IS NULL";
    let last = beyond.map_or(old, |beyond| beyond.max(old));
    connection.prepare_cached(sql)?.execute(params![ids.0, ids.1, last]).map(|_| ())
}

fn wake(
    connection: &Connection,
    endpoints: &[(AppId, EndpointId)],
    now: Timestamp,
) -> Result<((), Finish), TransactionError> {
    let sql = "UPDATE endpoints SET due_at = ?3 \
         WHERE app_id = ?1 AND endpoint_id = ?2 AND due_at > ?3 AND disabled_at IS NULL";
    let mut woken = 0;
    for (app, endpoint) in endpoints {
        let params = params![bytes!(app), bytes!(endpoint), now.as_millis()];
        woken += connection.prepare_cached(sql)?.execute(params)?;
    }
    Ok(((), if woken > 0 { Finish::Commit } else { Finish::RollBack }))
}

/// Carries out a change.
pub(super) fn change(connection: &Connection, write: &EndpointWrite) -> Result<AppId> {
    let run = |sql: &str, values: &[&dyn ToSql]| {
        connection.prepare_cached(sql)?.execute(values).map(|_| ())
    };
    match write {
        EndpointWrite::Put(row) => put(connection, row, SETTINGS)?,
        EndpointWrite::Delivery(row) => {
            put_deliveries(connection, std::slice::from_ref(&**row))?;
        }
        EndpointWrite::Delete(app, endpoint) => {
            let sql = "DELETE FROM endpoints WHERE app_id = ?1 AND endpoint_id = ?2";
            run(sql, &[&bytes!(app), &bytes!(endpoint)])?;
        }
        EndpointWrite::Replay { app_id, endpoint_id, cursor, due_at } => {
            let sql = "UPDATE endpoints SET cursor = ?3, due_at = ?4 \
                 WHERE app_id = ?1 AND endpoint_id = ?2";
            let values: [&dyn ToSql; 4] =
                [&bytes!(app_id), &bytes!(endpoint_id), &bytes!(cursor), &due_at.as_millis()];
            run(sql, &values)?;
        }
        EndpointWrite::Disable { app_id, endpoint_id, at, reason } => {
            let sql = "UPDATE endpoints SET disabled_at = ?3, disabled_reason = ?4, \
                 leased_by = NULL, leased_until = 0 \
                 WHERE app_id = ?1 AND endpoint_id = ?2 AND disabled_at IS NULL";
            run(sql, &[&bytes!(app_id), &bytes!(endpoint_id), &at.as_millis(), reason])?;
        }
        EndpointWrite::Enable { app_id, endpoint_id, due_at } => {
            let sql = "UPDATE endpoints SET disabled_at = NULL, disabled_reason = NULL, \
                 failing_since = NULL, failures = 0, due_at = ?3 \
                 WHERE app_id = ?1 AND endpoint_id = ?2";
            run(sql, &[&bytes!(app_id), &bytes!(endpoint_id), &due_at.as_millis()])?;
        }
        EndpointWrite::Redeliver { app_id, endpoint_id, which, at } => {
            let (change, value): (&str, &dyn ToSql) = match which {
                // It leaves its batch, which was another message.
                Redelivery::One(delivery) => {
                    (", batch_id = NULL WHERE delivery_id = ?4", &bytes!(delivery))
                }
                Redelivery::FailedSince(since) => {
                    (" WHERE state = 'failed' AND attempted_at >= ?4", &since.as_millis())
                }
            };
            let sql = format!(
                "UPDATE deliveries SET state = 'waiting', attempts = 0, next_at = ?3{change} \
                 AND app_id = ?1 AND endpoint_id = ?2"
            );
            let ids = (bytes!(app_id), bytes!(endpoint_id));
            run(&sql, &[&ids.0, &ids.1, &at.as_millis(), value])?;
            let sql = "UPDATE endpoints SET due_at = min(due_at, ?3) \
                 WHERE app_id = ?1 AND endpoint_id = ?2";
            run(sql, &[&ids.0, &ids.1, &at.as_millis()])?;
        }
    }
    Ok(write.app_id())
}

/// Writes an endpoint as it was in another database.
pub(super) fn replace(connection: &Connection, row: &EndpointRow) -> Result<()> {
    put(connection, row, &columns_after(ENDPOINT, 2))
}

fn put(connection: &Connection, row: &EndpointRow, replaced: &[&str]) -> Result<()> {
    let sql = format!(
        "INSERT INTO endpoints ({ENDPOINT}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, \
         ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19) ON CONFLICT (app_id, endpoint_id) DO UPDATE SET {}",
        replacing(replaced)
    );
    connection
        .prepare_cached(&sql)?
        .execute(params![
            bytes!(row.app_id),
            bytes!(row.endpoint_id),
            row.url,
            row.description,
            row.format,
            row.batch,
            codec::json(&row.types)?,
            codec::json(&row.flows)?,
            row.secret,
            row.previous_secret,
            row.previous_until.map(Timestamp::as_millis),
            row.created_at.as_millis(),
            bytes!(row.cursor),
            row.failing_since.map(Timestamp::as_millis),
            row.failures,
            row.disabled_at.map(Timestamp::as_millis),
            row.disabled_reason,
            row.due_at.as_millis(),
            row.removals,
        ])
        .map(|_| ())
}

/// Removes the replies and errors from the deliveries of these events, and counts that, so that no
/// worker writes a reply that it is just receiving.
pub(super) fn forget_replies(
    connection: &Connection,
    app: AppId,
    events: &[EventId],
) -> Result<()> {
    let sql = "UPDATE endpoints SET removals = removals + 1 WHERE app_id = ?1";
    if connection.prepare_cached(sql)?.execute([bytes!(app)])? == 0 {
        return Ok(());
    }
    let sql = "UPDATE deliveries SET reply = NULL, error = NULL WHERE app_id = ?1 \
         AND event_id = ?2 AND (reply IS NOT NULL OR error IS NOT NULL)";
    let mut forget = connection.prepare_cached(sql)?;
    for event in events {
        forget.execute(params![bytes!(app), bytes!(event)])?;
    }
    Ok(())
}

pub(super) fn put_deliveries(connection: &Connection, rows: &[DeliveryRow]) -> Result<()> {
    let sql = format!(
        "INSERT INTO deliveries ({DELIVERY}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, \
         ?11, ?12, ?13, ?14) ON CONFLICT (app_id, endpoint_id, delivery_id) DO UPDATE SET {}",
        replacing(&columns_after(DELIVERY, 3))
    );
    let mut put = connection.prepare_cached(&sql)?;
    for row in rows {
        put.execute(params![
            bytes!(row.app_id),
            bytes!(row.endpoint_id),
            bytes!(row.delivery_id),
            bytes!(row.event_id),
            row.kind,
            row.state.as_str(),
            row.attempts,
            row.next_at.map(Timestamp::as_millis),
            row.attempted_at.as_millis(),
            row.status,
            row.latency_millis,
            row.reply,
            row.error,
            row.batch_id,
        ])?;
    }
    Ok(())
}
