//! Counts of what visitors did: adds to them, reads them, imports them.
//!
//! Several nodes add to the same rows. All do it in the order of keys, so none waits for another
//! that waits for it.

use std::sync::{Arc, LazyLock};

use async_trait::async_trait;
use sluice_flow::id::{AppId, FlowId};

use super::by_app::{AppColumn, ByApp, groups};
use super::codec::visit_count;
use super::failure::TransactionError;
use super::pool::{Params, Pool};
use super::transaction::{Transaction, end};
use super::{PgStore, to_the_end};
use crate::{StoreResult, VisitCountRow, VisitCountsQuery, VisitStore};

#[async_trait]
impl VisitStore for PgStore {
    async fn add_visit_counts(&self, counts: Vec<VisitCountRow>) -> StoreResult<()> {
        let pool = Arc::clone(&self.pool);
        to_the_end(async move { add(&pool, counts).await }).await
    }

    async fn read_visit_counts(
        &self,
        app: AppId,
        flow: FlowId,
        query: &VisitCountsQuery,
    ) -> StoreResult<Vec<VisitCountRow>> {
        let (from, to) = query.days();
        let sql = "SELECT app_id, flow_id, min(day), flow_version_id, counter, \
             sum(visits)::bigint FROM visit_counts \
             WHERE app_id = $1 AND flow_id = $2 AND day BETWEEN $3 AND $4 \
             GROUP BY app_id, flow_id, flow_version_id, counter ORDER BY flow_version_id, counter";
        self.pool.many(sql, &[&app.uuid(), &flow.uuid(), &from, &to], visit_count).await
    }
}

static ADD: LazyLock<ByApp> = LazyLock::new(|| insert("visit_counts.visits + excluded.visits"));
static REPLACE: LazyLock<ByApp> = LazyLock::new(|| insert("excluded.visits"));

fn insert(visits: &str) -> ByApp {
    let columns = [
        ("flow_id", "uuid"),
        ("day", "bigint"),
        ("flow_version_id", "uuid"),
        ("counter", "text"),
        ("visits", "bigint"),
    ];
    let key = "app_id, flow_id, day, flow_version_id, counter";
    let after = format!("ON CONFLICT ({key}) DO UPDATE SET visits = {visits}");
    ByApp::insert("visit_counts", &columns, &after)
}

async fn add(pool: &Arc<Pool>, mut counts: Vec<VisitCountRow>) -> StoreResult<()> {
    if counts.is_empty() {
        return Ok(());
    }
    counts.sort_by_cached_key(|row| (row.app_id, row.key()));
    let transaction = Transaction::begun(pool).await.map_err(TransactionError::of_statement)?;
    let body = put(&transaction, &ADD, counts.iter().collect()).await;
    end(transaction, body).await
}

/// Writes counts as they were in another database.
pub(super) async fn replace(
    transaction: &Transaction,
    rows: Vec<&VisitCountRow>,
) -> Result<(), TransactionError> {
    put(transaction, &REPLACE, rows).await
}

async fn put(
    transaction: &Transaction,
    sql: &ByApp,
    rows: Vec<&VisitCountRow>,
) -> Result<(), TransactionError> {
    let is_spread = transaction.is_spread();
    for rows in groups(is_spread, rows.into_iter(), |row| row.app_id) {
        let apps = AppColumn::new(is_spread, rows.iter().map(|row| row.app_id));
        let flows: Vec<_> = rows.iter().map(|row| row.flow_id.uuid()).collect();
        let days: Vec<_> = rows.iter().map(|row| i64::from(row.day.number())).collect();
        let versions: Vec<_> = rows.iter().map(|row| row.flow_version_id.uuid()).collect();
        let counters: Vec<_> = rows.iter().map(|row| row.counter.as_str()).collect();
        let visits: Vec<_> = rows.iter().map(|row| row.visits.cast_signed()).collect();
        let params: Params = &[apps.param(), &flows, &days, &versions, &counters, &visits];
        transaction.execute(sql.form(is_spread), params).await?;
    }
    Ok(())
}
