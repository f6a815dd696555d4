//! Recounts a day of a flow from its responses: if its counts cannot be read, if an operator
//! requests it, or if other tags may now be the most frequent.
//!
//! Everything is read at one instant. A commit or removal that was not committed at that instant
//! appends its own delta, and neither its rows nor the delta are seen here, so no writer has to
//! wait. Only folds and scans are excluded, by the lock of the flow: one that ended after that
//! instant wrote what is deleted here, so this transaction fails and is retried.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use sluice_flow::counts::TAGS_RECOUNT_RESPONSES_MAX;
use sluice_flow::id::{AppId, FlowId, ResponseId};
use sluice_flow::time::Day;
use uuid::Uuid;

use super::codec::{self, Cells, RESPONSE, ReadCells as _};
use super::count_rows::{self, Lock};
use super::failure::TransactionError;
use super::pool::{Params, Pool};
use super::read::{BY_ID, IN_SPAN, id_after, limit};
use super::transaction::{Transaction, end};
use crate::counting::{DamagedDay, RECOUNT_ROWS, Recount, ids_of};
use crate::{StoreError, StoreResult};

/// How often to retry after a lost race, and the pause before each retry.
const RACES_MAX: u32 = 50;
const RACE_PAUSE: Duration = Duration::from_millis(50);

/// Recounts a day with unreadable counts.
pub(super) async fn damaged_day(
    pool: &Arc<Pool>,
    app: AppId,
    flow: FlowId,
    DamagedDay { day, why }: DamagedDay,
) -> StoreResult<()> {
    tracing::warn!(%flow, %day, %why, "rebuilding the counts of a day");
    count(pool, app, flow, day).await.map(|_| ())
}

/// Recounts a day to find its most frequent tags. A day with too many responses stays as it is, and
/// so does one with responses that are not counted yet.
pub(super) async fn tags_of_day(
    pool: &Arc<Pool>,
    app: AppId,
    flow: FlowId,
    day: Day,
) -> StoreResult<()> {
    let sql = "SELECT coalesce(sum(responses), 0)::bigint <= $4 AND NOT EXISTS ( \
         SELECT FROM count_scans WHERE app_id = $1 AND flow_id = $2 AND passed IS NOT NULL) FROM ( \
         SELECT responses FROM counts \
         WHERE app_id = $1 AND flow_id = $2 AND segment = '' AND day = $3 \
         UNION ALL SELECT responses FROM count_deltas \
         WHERE app_id = $1 AND flow_id = $2 AND day = $3) AS parts";
    let params: Params = &[&app.uuid(), &flow.uuid(), &day.number(), &TAGS_RECOUNT_RESPONSES_MAX];
    if pool.one(sql, params, |cells: &mut Cells| cells.take()).await? == Some(true) {
        count(pool, app, flow, day).await?;
    }
    Ok(())
}

/// Recounts all days of a flow and returns the number of counted responses.
pub(super) async fn flow(pool: &Arc<Pool>, app: AppId, flow: FlowId) -> StoreResult<u64> {
    let mut responses = 0;
    for day in days(pool, app, flow).await? {
        responses += count(pool, app, flow, day).await?;
    }
    Ok(responses)
}

async fn count(pool: &Arc<Pool>, app: AppId, flow: FlowId, day: Day) -> StoreResult<u64> {
    for _ in 1..RACES_MAX {
        pool.may_commit()?;
        let transaction = Transaction::begun_at_one_instant(pool)
            .await
            .map_err(TransactionError::of_statement)?;
        match count_in(&transaction, app, flow, day).await {
            Err(error) if error.lost_a_race() => {
                transaction.abort(error).await;
                tokio::time::sleep(RACE_PAUSE).await;
            }
            body => return end(transaction, body).await,
        }
    }
    Err(StoreError::Failed("the counts of a flow were locked by other transactions".into()))
}

async fn count_in(
    transaction: &Transaction,
    app: AppId,
    flow: FlowId,
    day: Day,
) -> Result<u64, TransactionError> {
    let locked = count_rows::lock(transaction, app, flow, Lock::ToFold).await?;
    let Some(passed) = locked else { return Err(TransactionError::Race) };
    let (app_id, flow_id) = (app.uuid(), flow.uuid());
    for table in ["count_deltas", "counts"] {
        let sql = format!("DELETE FROM {table} WHERE app_id = $1 AND flow_id = $2 AND day = $3");
        transaction.execute(&sql, &[&app_id, &flow_id, &day.number()]).await?;
    }
    let sql = format!("SELECT counted, {RESPONSE} FROM responses WHERE {IN_SPAN} {BY_ID} LIMIT $5");
    let (start, before) = ids_of(day);
    let mut after = start;
    let mut recount = Recount::default();
    loop {
        let params: Params = &[&app_id, &flow_id, &after, &before, &limit(RECOUNT_ROWS)];
        let mut rows = Vec::new();
        for row in transaction.query(&sql, params).await? {
            let mut cells = Cells::new(&row);
            let at_once: bool = cells.take()?;
            rows.push((at_once, codec::response(&mut cells)?));
        }
        let definitions =
            count_rows::definitions(transaction, app, rows.iter().map(|(_, row)| row)).await?;
        recount.add(&definitions, &rows, passed).map_err(StoreError::from)?;
        match rows.last() {
            Some((_, last)) if rows.len() >= RECOUNT_ROWS => {
                after = id_after(last.response_id.uuid());
            }
            _ if recount.begins_second_pass() => after = start,
            _ => break,
        }
    }
    let responses = recount.responses;
    for (key, daily) in recount.into_daily_counts() {
        count_rows::write(transaction, &key, daily).await?;
    }
    // Its deltas are deleted, and nothing else records them.
    count_rows::add_unindexed(transaction, app, flow, responses.cast_signed()).await?;
    Ok(responses)
}

/// The days on which a flow has responses or counts.
async fn days(pool: &Arc<Pool>, app: AppId, flow: FlowId) -> StoreResult<BTreeSet<Day>> {
    let (app, flow) = (app.uuid(), flow.uuid());
    let counted = "SELECT day FROM counts WHERE app_id = $1 AND flow_id = $2 \
         UNION SELECT day FROM count_deltas WHERE app_id = $1 AND flow_id = $2";
    let read = |cells: &mut Cells| Ok(Day::from_number(cells.take()?));
    let mut days = BTreeSet::from_iter(pool.many(counted, &[&app, &flow], read).await?);
    let sql = format!("SELECT response_id FROM responses WHERE {IN_SPAN} {BY_ID} LIMIT 1");
    let read = |cells: &mut Cells| cells.id(ResponseId::from_uuid);
    let mut after = Uuid::nil();
    loop {
        let params: Params = &[&app, &flow, &after, &Uuid::max()];
        let Some(id) = pool.many_by_index(&sql, params, read).await?.first().copied() else {
            break;
        };
        let day = id.made_at().day();
        days.insert(day);
        after = ids_of(day).1;
    }
    Ok(days)
}
