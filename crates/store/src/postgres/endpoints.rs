//! Webhook endpoints and deliveries. Tables of the instance: workers look for what is due in all
//! apps.

use std::sync::Arc;

use async_trait::async_trait;
use sluice_flow::id::{AppId, DeliveryId, EndpointId, EventId};
use sluice_flow::time::Timestamp;
use uuid::Uuid;

use super::codec::{self, Cells, DELIVERY, ENDPOINT, ReadCells as _};
use super::failure::TransactionError;
use super::pool::{Params, Pool};
use super::read::limit;
use super::transaction::{Transaction, end};
use super::{PgStore, delivery_health, to_the_end};
use crate::endpoint::{SETTINGS, columns_after, replacing};
use crate::{
    Backlog, Claim, DeliveryQuery, DeliveryRow, DeliveryState, EndpointHealth, EndpointLane,
    EndpointRow, EndpointStore, EndpointWrite, Progress, Redelivery, Saved, StoreResult,
};

type Done<T = ()> = Result<T, TransactionError>;

#[async_trait]
impl EndpointStore for PgStore {
    async fn list_endpoints(&self, app: AppId) -> StoreResult<Vec<EndpointRow>> {
        let sql =
            format!("SELECT {ENDPOINT} FROM endpoints WHERE app_id = $1 ORDER BY endpoint_id");
        self.pool.many(&sql, &[&app.uuid()], codec::endpoint).await
    }

    async fn list_deliveries(&self, query: &DeliveryQuery) -> StoreResult<Vec<DeliveryRow>> {
        let sql = format!(
            "SELECT {DELIVERY} FROM deliveries WHERE app_id = $1 AND endpoint_id = $2 \
             AND delivery_id < $3 AND ($4::text IS NULL OR state = $4) \
             ORDER BY delivery_id DESC LIMIT $5"
        );
        let before = query.after.map_or(Uuid::max(), DeliveryId::uuid);
        let state = query.state.map(|state| state.as_str());
        let ids = (query.app_id.uuid(), query.endpoint_id.uuid());
        let params: Params = &[&ids.0, &ids.1, &before, &state, &limit(query.limit)];
        self.pool.many(&sql, params, codec::delivery).await
    }

    async fn find_delivery(
        &self,
        app: AppId,
        endpoint: EndpointId,
        delivery: DeliveryId,
    ) -> StoreResult<Option<DeliveryRow>> {
        let sql = format!(
            "SELECT {DELIVERY} FROM deliveries \
             WHERE app_id = $1 AND endpoint_id = $2 AND delivery_id = $3"
        );
        let params: Params = &[&app.uuid(), &endpoint.uuid(), &delivery.uuid()];
        self.pool.one(&sql, params, codec::delivery).await
    }

    async fn due_deliveries(
        &self,
        app: AppId,
        endpoint: EndpointId,
        now: Timestamp,
        rows: usize,
    ) -> StoreResult<(Vec<DeliveryRow>, usize)> {
        let (app, endpoint) = (app.uuid(), endpoint.uuid());
        let sql = format!(
            "SELECT {DELIVERY} FROM deliveries WHERE app_id = $1 AND endpoint_id = $2 \
             AND next_at <= $3 \
             ORDER BY next_at, coalesce(batch_id, '') COLLATE \"C\", delivery_id LIMIT $4"
        );
        let params: Params = &[&app, &endpoint, &now.as_millis(), &limit(rows)];
        let found = self.pool.many(&sql, params, codec::delivery).await?;
        let sql = "SELECT count(*) FROM deliveries \
             WHERE app_id = $1 AND endpoint_id = $2 AND next_at IS NOT NULL";
        let count = |cells: &mut Cells| cells.take::<i64>();
        let waiting = self.pool.one(sql, &[&app, &endpoint], count).await?;
        Ok((found, waiting.and_then(|it| usize::try_from(it).ok()).unwrap_or_default()))
    }

    async fn claim_endpoints(&self, claim: Claim) -> StoreResult<Vec<EndpointRow>> {
        let pool = Arc::clone(&self.pool);
        to_the_end(async move { take(&pool, &claim).await }).await
    }

    async fn save_progress(&self, progress: Progress) -> StoreResult<Saved> {
        let pool = Arc::clone(&self.pool);
        to_the_end(async move { save(&pool, &progress).await }).await
    }

    async fn wake_endpoints(
        &self,
        endpoints: Vec<(AppId, EndpointId)>,
        due_at: Timestamp,
    ) -> StoreResult<Vec<(AppId, EndpointId)>> {
        let pool = Arc::clone(&self.pool);
        to_the_end(async move { wake(&pool, &endpoints, due_at).await }).await
    }

    async fn apps_with_endpoints(&self) -> StoreResult<Vec<AppId>> {
        let sql = "SELECT DISTINCT app_id FROM endpoints WHERE disabled_at IS NULL ORDER BY app_id";
        self.pool.many(sql, &[], |cells| cells.id(AppId::from_uuid)).await
    }

    async fn delivery_backlog(&self) -> StoreResult<Backlog> {
        // Version 15 has no min(uuid).
        let sql = "SELECT count(*), (min(delivery_id::text))::uuid FROM deliveries \
             WHERE next_at IS NOT NULL";
        let backlog = |cells: &mut Cells| {
            let waiting = cells.integer()?.cast_unsigned();
            let oldest = cells.optional_id(DeliveryId::from_uuid)?.map(DeliveryId::made_at);
            Ok(Backlog { waiting, oldest })
        };
        Ok(self.pool.one(sql, &[], backlog).await?.unwrap_or_default())
    }

    async fn endpoint_health(
        &self,
        app: AppId,
        waiting_max: usize,
    ) -> StoreResult<Vec<EndpointHealth>> {
        delivery_health::health(&self.pool, app, waiting_max).await
    }

    async fn delivery_times(
        &self,
        app: AppId,
        endpoint: EndpointId,
        each_max: usize,
    ) -> StoreResult<Vec<(DeliveryState, Timestamp)>> {
        delivery_health::times(&self.pool, app, endpoint, each_max).await
    }
}

/// Endpoints of a lane that a worker can take at `$1`; `$2` are the slow ones.
fn free(lane: EndpointLane) -> String {
    const FREE: &str = "disabled_at IS NULL AND due_at <= $1 AND leased_until <= $1";
    const KNOWN: &str = "endpoint_id = ANY($2::uuid[])";
    match lane {
        EndpointLane::Prompt => format!("{FREE} AND NOT {KNOWN}"),
        EndpointLane::Slow => format!("{FREE} AND {KNOWN}"),
    }
}

/// Endpoints that another worker is just taking are skipped.
async fn take(pool: &Arc<Pool>, claim: &Claim) -> StoreResult<Vec<EndpointRow>> {
    let now = claim.now.as_millis();
    // Usually none is due; that needs no transaction.
    let (free, slow) = (free(claim.lane), uuids(&claim.slow));
    let any = format!("SELECT 1::bigint FROM endpoints WHERE {free} LIMIT 1");
    if pool.one(&any, &[&now, &slow], |cells| cells.take::<i64>()).await?.is_none() {
        return Ok(Vec::new());
    }
    pool.may_commit()?;
    let transaction = Transaction::begun(pool).await.map_err(TransactionError::of_statement)?;
    let body = async {
        let sql = format!(
            "SELECT {ENDPOINT} FROM endpoints WHERE {free} \
             ORDER BY due_at LIMIT $3 FOR UPDATE SKIP LOCKED"
        );
        let rows = transaction.query(&sql, &[&now, &slow, &limit(claim.limit)]).await?;
        let taken: StoreResult<Vec<EndpointRow>> =
            rows.iter().map(|row| codec::endpoint(&mut Cells::new(row))).collect();
        let taken = taken?;
        let apps: Vec<Uuid> = taken.iter().map(|row| row.app_id.uuid()).collect();
        let ids: Vec<Uuid> = taken.iter().map(|row| row.endpoint_id.uuid()).collect();
        let sql = "UPDATE endpoints SET leased_by = $3, leased_until = $4, due_at = $4 \
             FROM unnest($1::uuid[], $2::uuid[]) AS taken (app, id) \
             WHERE endpoints.app_id = taken.app AND endpoints.endpoint_id = taken.id";
        let worker = Uuid::from_bytes(claim.worker);
        transaction.execute(sql, &[&apps, &ids, &worker, &claim.until.as_millis()]).await?;
        Ok(taken)
    };
    let taken = body.await;
    end(transaction, taken).await
}

fn uuids(endpoints: &[EndpointId]) -> Vec<Uuid> {
    endpoints.iter().map(|endpoint| endpoint.uuid()).collect()
}

async fn save(pool: &Arc<Pool>, progress: &Progress) -> StoreResult<Saved> {
    pool.may_commit()?;
    let transaction = Transaction::begun(pool).await.map_err(TransactionError::of_statement)?;
    let saved = save_in(&transaction, progress).await;
    end(transaction, saved).await
}

async fn save_in(transaction: &Transaction, progress: &Progress) -> Done<Saved> {
    let (app, endpoint) = (progress.app_id.uuid(), progress.endpoint_id.uuid());
    let worker = Uuid::from_bytes(progress.worker);
    let held = "SELECT removals FROM endpoints WHERE app_id = $1 AND endpoint_id = $2 \
         AND leased_by = $3 AND leased_until = $4 AND disabled_at IS NULL FOR UPDATE";
    let lease: Params = &[&app, &endpoint, &worker, &progress.leased_until.as_millis()];
    let held = transaction.query(held, lease).await?;
    let Some(row) = held.first() else { return Ok(Saved::LeaseLost) };
    let removals = Cells::new(row).number()?;
    if progress.is_outdated(removals) {
        return Ok(Saved::RepliesRemoved { removals });
    }
    put_deliveries(transaction, &progress.deliveries).await?;
    if !progress.dropped.is_empty() {
        let gone: Vec<Uuid> = progress.dropped.iter().map(|id| id.uuid()).collect();
        let sql = "DELETE FROM deliveries \
             WHERE app_id = $1 AND endpoint_id = $2 AND delivery_id = ANY($3)";
        transaction.execute(sql, &[&app, &endpoint, &gone]).await?;
    }
    // If the lease continues, as given; otherwise with the next waiting delivery, if that is
    // earlier.
    let sql = "UPDATE endpoints SET cursor = CASE WHEN cursor = $3 THEN $4 ELSE cursor END, \
         failing_since = $5, failures = $6, leased_by = $7, leased_until = $8::bigint, \
         due_at = CASE WHEN due_at <> $10 THEN due_at WHEN $8::bigint > 0 THEN $9 \
         ELSE least($9, (SELECT min(next_at) FROM deliveries \
         WHERE app_id = $1 AND endpoint_id = $2 AND next_at IS NOT NULL)) END WHERE app_id = $1 AND endpoint_id = $2";
    let held_by = progress.lease_until.map(|_| worker);
    let until = progress.lease_until.map_or(0, Timestamp::as_millis);
    let params: Params = &[
        &app,
        &endpoint,
        &progress.from.uuid(),
        &progress.to.uuid(),
        &progress.failing_since.map(Timestamp::as_millis),
        &i64::from(progress.failures),
        &held_by,
        &until,
        &progress.due_at.as_millis(),
        &progress.leased_until.as_millis(),
    ];
    transaction.execute(sql, params).await?;
    trim(transaction, progress).await?;
    let sql = format!("SELECT {ENDPOINT} FROM endpoints WHERE app_id = $1 AND endpoint_id = $2");
    let rows = transaction.query(&sql, &[&app, &endpoint]).await?;
    let Some(row) = rows.first() else { return Ok(Saved::LeaseLost) };
    Ok(Saved::Done(Box::new(codec::endpoint(&mut Cells::new(row))?)))
}

/// Removes finished deliveries beyond the number that is kept, and old ones.
async fn trim(transaction: &Transaction, progress: &Progress) -> Done {
    let old = Uuid::from_u128(crate::event::before(progress.keep_since));
    let sql = "DELETE FROM deliveries WHERE app_id = $1 AND endpoint_id = $2 \
         AND next_at IS NULL AND delivery_id <= greatest($3, (SELECT delivery_id \
         FROM deliveries WHERE app_id = $1 AND endpoint_id = $2 AND next_at IS NULL \
         ORDER BY delivery_id DESC LIMIT 1 OFFSET $4))";
    let ids = (progress.app_id.uuid(), progress.endpoint_id.uuid());
    let params: Params = &[&ids.0, &ids.1, &old, &limit(progress.keep)];
    transaction.execute(sql, params).await.map(|_| ())
}

async fn wake(
    pool: &Arc<Pool>,
    endpoints: &[(AppId, EndpointId)],
    now: Timestamp,
) -> StoreResult<Vec<(AppId, EndpointId)>> {
    let apps: Vec<Uuid> = endpoints.iter().map(|(app, _)| app.uuid()).collect();
    let ids: Vec<Uuid> = endpoints.iter().map(|(_, id)| id.uuid()).collect();
    pool.may_commit()?;
    let transaction = Transaction::begun(pool).await.map_err(TransactionError::of_statement)?;
    let body = async {
        let late = "(app_id, endpoint_id) IN \
             (SELECT * FROM unnest($1::uuid[], $2::uuid[])) AND due_at > $3 \
             AND disabled_at IS NULL";
        // What another transaction is just changing is skipped, and not waited for.
        let sql = format!(
            "UPDATE endpoints SET due_at = $3 WHERE (app_id, endpoint_id) IN \
             (SELECT app_id, endpoint_id FROM endpoints WHERE {late} FOR UPDATE SKIP LOCKED)"
        );
        let params: Params = &[&apps, &ids, &now.as_millis()];
        transaction.execute(&sql, params).await?;
        let sql = format!("SELECT app_id, endpoint_id FROM endpoints WHERE {late}");
        let skipped = transaction.query(&sql, params).await?;
        let skipped: StoreResult<Vec<_>> = skipped
            .iter()
            .map(|row| {
                let mut cells = Cells::new(row);
                Ok((cells.id(AppId::from_uuid)?, cells.id(EndpointId::from_uuid)?))
            })
            .collect();
        Ok(skipped?)
    };
    let skipped = body.await;
    end(transaction, skipped).await
}

/// Carries out a change.
pub(super) async fn change(transaction: &Transaction, write: &EndpointWrite) -> Done<AppId> {
    match write {
        EndpointWrite::Put(row) => put(transaction, row, SETTINGS).await?,
        EndpointWrite::Delivery(row) => {
            put_deliveries(transaction, std::slice::from_ref(&**row)).await?;
        }
        EndpointWrite::Delete(app, endpoint) => {
            let sql = "DELETE FROM endpoints WHERE app_id = $1 AND endpoint_id = $2";
            transaction.execute(sql, &[&app.uuid(), &endpoint.uuid()]).await?;
        }
        EndpointWrite::Replay { app_id, endpoint_id, cursor, due_at } => {
            let sql = "UPDATE endpoints SET cursor = $3, due_at = $4 \
                 WHERE app_id = $1 AND endpoint_id = $2";
            let ids = (app_id.uuid(), endpoint_id.uuid());
            let params: Params = &[&ids.0, &ids.1, &cursor.uuid(), &due_at.as_millis()];
            transaction.execute(sql, params).await?;
        }
        EndpointWrite::Disable { app_id, endpoint_id, at, reason } => {
            let sql = "UPDATE endpoints SET disabled_at = $3, disabled_reason = $4, \
                 leased_by = NULL, leased_until = 0 \
                 WHERE app_id = $1 AND endpoint_id = $2 AND disabled_at IS NULL";
            let ids = (app_id.uuid(), endpoint_id.uuid());
            let params: Params = &[&ids.0, &ids.1, &at.as_millis(), reason];
            transaction.execute(sql, params).await?;
        }
        EndpointWrite::Enable { app_id, endpoint_id, due_at } => {
            let sql = "UPDATE endpoints SET disabled_at = NULL, disabled_reason = NULL, \
                 failing_since = NULL, failures = 0, due_at = $3 \
                 WHERE app_id = $1 AND endpoint_id = $2";
            let params: Params = &[&app_id.uuid(), &endpoint_id.uuid(), &due_at.as_millis()];
            transaction.execute(sql, params).await?;
        }
        EndpointWrite::Redeliver { app_id, endpoint_id, which, at } => {
            redeliver(transaction, (app_id.uuid(), endpoint_id.uuid()), *which, *at).await?;
        }
    }
    Ok(write.app_id())
}

async fn redeliver(
    transaction: &Transaction,
    (app, endpoint): (Uuid, Uuid),
    which: Redelivery,
    at: Timestamp,
) -> Done {
    // The endpoint first, as a worker that saves: the other order could deadlock.
    let sql = "UPDATE endpoints SET due_at = least(due_at, $3) \
         WHERE app_id = $1 AND endpoint_id = $2";
    transaction.execute(sql, &[&app, &endpoint, &at.as_millis()]).await?;
    let set = "UPDATE deliveries SET state = 'waiting', attempts = 0, next_at = $3";
    let of = "WHERE app_id = $1 AND endpoint_id = $2 AND";
    let at = at.as_millis();
    match which {
        // It leaves its batch, which was another message.
        Redelivery::One(delivery) => {
            let sql = format!("{set}, batch_id = NULL {of} delivery_id = $4");
            transaction.execute(&sql, &[&app, &endpoint, &at, &delivery.uuid()]).await
        }
        Redelivery::FailedSince(since) => {
            let sql = format!("{set} {of} state = 'failed' AND attempted_at >= $4");
            transaction.execute(&sql, &[&app, &endpoint, &at, &since.as_millis()]).await
        }
    }
    .map(|_| ())
}

/// Writes an endpoint as it was in another database.
pub(super) async fn replace(transaction: &Transaction, row: &EndpointRow) -> Done {
    put(transaction, row, &columns_after(ENDPOINT, 2)).await
}

async fn put(transaction: &Transaction, row: &EndpointRow, replaced: &[&str]) -> Done {
    let sql = format!(
        "INSERT INTO endpoints ({ENDPOINT}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, \
         $12, $13, $14, $15, $16, $17, $18, $19) ON CONFLICT (app_id, endpoint_id) DO UPDATE SET {}",
        replacing(replaced)
    );
    let (types, flows) = (codec::json(&row.types)?, codec::json(&row.flows)?);
    let times = [row.previous_until, row.failing_since, row.disabled_at];
    let [previous_until, failing_since, disabled_at] =
        times.map(|time| time.map(Timestamp::as_millis));
    let params: Params = &[
        &row.app_id.uuid(),
        &row.endpoint_id.uuid(),
        &row.url,
        &row.description,
        &row.format,
        &row.batch,
        &types,
        &flows,
        &row.secret,
        &row.previous_secret,
        &previous_until,
        &row.created_at.as_millis(),
        &row.cursor.uuid(),
        &failing_since,
        &i64::from(row.failures),
        &disabled_at,
        &row.disabled_reason,
        &row.due_at.as_millis(),
        &i64::from(row.removals),
    ];
    transaction.execute(&sql, params).await.map(|_| ())
}

/// Removes the replies and errors from the deliveries of these events, and counts that, so that no
/// worker writes a reply that it is just receiving.
pub(super) async fn forget_replies(
    transaction: &Transaction,
    app: AppId,
    events: &[EventId],
) -> Done {
    let ids: Vec<Uuid> = events.iter().map(|event| event.uuid()).collect();
    // First the endpoints, as workers do that write deliveries.
    let lock = "SELECT FROM endpoints WHERE app_id = $1 ORDER BY endpoint_id FOR UPDATE";
    if transaction.query(lock, &[&app.uuid()]).await?.is_empty() {
        return Ok(());
    }
    let count = "UPDATE endpoints SET removals = removals + 1 WHERE app_id = $1";
    transaction.execute(count, &[&app.uuid()]).await?;
    let sql = "UPDATE deliveries SET reply = NULL, error = NULL WHERE app_id = $1 \
         AND event_id = ANY($2) AND (reply IS NOT NULL OR error IS NOT NULL)";
    transaction.execute(sql, &[&app.uuid(), &ids]).await.map(|_| ())
}

pub(super) async fn put_deliveries(transaction: &Transaction, rows: &[DeliveryRow]) -> Done {
    if rows.is_empty() {
        return Ok(());
    }
    let sql = format!(
        "INSERT INTO deliveries ({DELIVERY}) SELECT * FROM unnest($1::uuid[], $2::uuid[], \
         $3::uuid[], $4::uuid[], $5::text[], $6::text[], $7::bigint[], $8::bigint[], \
         $9::bigint[], $10::bigint[], $11::bigint[], $12::text[], $13::text[], $14::text[]) \
         ON CONFLICT (app_id, endpoint_id, delivery_id) DO UPDATE SET {}",
        replacing(&columns_after(DELIVERY, 3))
    );
    let ids = |id: fn(&DeliveryRow) -> Uuid| rows.iter().map(id).collect::<Vec<Uuid>>();
    let numbers = |it: fn(&DeliveryRow) -> i64| rows.iter().map(it).collect::<Vec<i64>>();
    let options =
        |it: fn(&DeliveryRow) -> Option<i64>| rows.iter().map(it).collect::<Vec<Option<i64>>>();
    let kinds: Vec<&str> = rows.iter().map(|row| row.kind.as_str()).collect();
    let states: Vec<&str> = rows.iter().map(|row| row.state.as_str()).collect();
    let replies: Vec<Option<&str>> = rows.iter().map(|row| row.reply.as_deref()).collect();
    let errors: Vec<Option<&str>> = rows.iter().map(|row| row.error.as_deref()).collect();
    let batches: Vec<Option<&str>> = rows.iter().map(|row| row.batch_id.as_deref()).collect();
    let params: Params = &[
        &ids(|row| row.app_id.uuid()),
        &ids(|row| row.endpoint_id.uuid()),
        &ids(|row| row.delivery_id.uuid()),
        &ids(|row| row.event_id.uuid()),
        &kinds,
        &states,
        &numbers(|row| i64::from(row.attempts)),
        &options(|row| row.next_at.map(Timestamp::as_millis)),
        &numbers(|row| row.attempted_at.as_millis()),
        &options(|row| row.status.map(i64::from)),
        &numbers(|row| i64::from(row.latency_millis)),
        &replies,
        &errors,
        &batches,
    ];
    transaction.execute(&sql, params).await.map(|_| ())
}
