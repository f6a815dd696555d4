//! Counts of what visitors did: adds to them, reads them, imports them.

use async_trait::async_trait;
use rusqlite::{Connection, Result, ToSql, params};
use sluice_flow::id::{AppId, FlowId};

use super::SqliteStore;
use super::codec::{Cells, VISIT_COUNT, bytes, visit_count};
use super::transaction::{Finish, TransactionError};
use crate::{StoreResult, VisitCountRow, VisitCountsQuery, VisitStore};

#[async_trait]
impl VisitStore for SqliteStore {
    async fn add_visit_counts(&self, counts: Vec<VisitCountRow>) -> StoreResult<()> {
        self.writer.add_visit_counts(counts).await
    }

    async fn read_visit_counts(
        &self,
        app: AppId,
        flow: FlowId,
        query: &VisitCountsQuery,
    ) -> StoreResult<Vec<VisitCountRow>> {
        let query = *query;
        self.readers.read(move |it| read(it, app, flow, &query)).await
    }
}

/// Adds to counts, in a transaction.
pub(super) fn add(
    connection: &Connection,
    counts: &[VisitCountRow],
) -> Result<((), Finish), TransactionError> {
    if counts.is_empty() {
        return Ok(((), Finish::RollBack));
    }
    for row in counts {
        put(connection, row, "visits + excluded.visits")?;
    }
    Ok(((), Finish::Commit))
}

/// Writes a count as it was in another database.
pub(super) fn replace(connection: &Connection, row: &VisitCountRow) -> Result<()> {
    put(connection, row, "excluded.visits")
}

fn put(connection: &Connection, row: &VisitCountRow, visits: &str) -> Result<()> {
    let sql = format!(
        "INSERT INTO visit_counts ({VISIT_COUNT}) VALUES (?1, ?2, ?3, ?4, ?5, ?6) \
         ON CONFLICT DO UPDATE SET visits = {visits}"
    );
    let values: [&dyn ToSql; 6] = [
        &bytes!(row.app_id),
        &bytes!(row.flow_id),
        &row.day.number(),
        &bytes!(row.flow_version_id),
        &row.counter,
        &row.visits.cast_signed(),
    ];
    connection.prepare_cached(&sql)?.execute(values).map(|_| ())
}

fn read(
    connection: &Connection,
    app: AppId,
    flow: FlowId,
    query: &VisitCountsQuery,
) -> Result<Vec<VisitCountRow>> {
    let (from, to) = query.days();
    let sql = "SELECT app_id, flow_id, min(day), flow_version_id, counter, sum(visits) \
         FROM visit_counts WHERE app_id = ?1 AND flow_id = ?2 AND day BETWEEN ?3 AND ?4 \
         GROUP BY flow_version_id, counter ORDER BY flow_version_id, counter";
    let mut statement = connection.prepare_cached(sql)?;
    let of = params![bytes!(app), bytes!(flow), from, to];
    statement.query_map(of, |row| visit_count(&mut Cells::new(row)))?.collect()
}
