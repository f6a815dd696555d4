//! The counts of flows that limit their responses.
//!
//! A commit locks the rows of its limited flows until it ends, app by app and in id order, after
//! the invitations and before anything else. So concurrent commits of a flow follow one another,
//! and no two wait for each other.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use sluice_flow::closing::ClosingCounts;
use sluice_flow::id::{AppId, FlowId, FlowVersionId, ResponseId};
use uuid::Uuid;

use super::PgStore;
use super::codec::{self, CLOSING_COUNTS, Cells, ReadCells as _, closing_counts};
use super::failure::TransactionError;
use super::transaction::Transaction;
use crate::room::Room;
use crate::{ClosingCountsRow, ClosingStore, ClosingWrite, NewResponse, SetClosing, StoreResult};

#[async_trait]
impl ClosingStore for PgStore {
    async fn read_closing_counts(
        &self,
        app: AppId,
        flows: &[FlowId],
    ) -> StoreResult<Vec<ClosingCountsRow>> {
        let flows: Vec<Uuid> = flows.iter().map(|flow| flow.uuid()).collect();
        self.pool.many(&select(""), &[&app.uuid(), &flows], closing_counts).await
    }
}

fn select(after: &str) -> String {
    format!(
        "SELECT {CLOSING_COUNTS} FROM closing_counts WHERE app_id = $1 AND flow_id = ANY($2) {after}"
    )
}

/// Locks the counts of the flows of these responses; without limits, which is usual, no query is
/// sent.
pub(super) async fn lock(
    transaction: &Transaction,
    responses: impl Iterator<Item = &NewResponse>,
) -> Result<Room, TransactionError> {
    let mut by_app: BTreeMap<AppId, BTreeSet<FlowId>> = BTreeMap::new();
    for response in responses.filter(|response| !response.limits.is_empty()) {
        by_app.entry(response.row.app_id).or_default().insert(response.row.flow_id);
    }
    let mut room = Room::default();
    for (app, flows) in by_app {
        let ids: Vec<Uuid> = flows.iter().map(|flow| flow.uuid()).collect();
        let sql = select("ORDER BY flow_id FOR UPDATE");
        let mut found = BTreeMap::new();
        for row in transaction.query(&sql, &[&app.uuid(), &ids]).await? {
            let row = closing_counts(&mut Cells::new(&row))?;
            found.insert(row.flow_id, row.counts);
        }
        for flow in flows {
            room.note(app, flow, found.remove(&flow));
        }
    }
    Ok(room)
}

pub(super) async fn write(transaction: &Transaction, room: Room) -> Result<(), TransactionError> {
    for row in room.changed() {
        put(transaction, &row).await?;
    }
    Ok(())
}

pub(super) async fn put(
    transaction: &Transaction,
    row: &ClosingCountsRow,
) -> Result<(), TransactionError> {
    let sql = "INSERT INTO closing_counts (app_id, flow_id, counts) VALUES ($1, $2, $3) \
         ON CONFLICT (app_id, flow_id) DO UPDATE SET counts = excluded.counts";
    let counts = codec::json(&row.counts)?;
    let params = (row.app_id.uuid(), row.flow_id.uuid());
    transaction.execute(sql, &[&params.0, &params.1, &counts]).await.map(|_| ())
}

/// Writes a change, and returns its app.
pub(super) async fn change(
    transaction: &Transaction,
    write: &ClosingWrite,
) -> Result<Option<AppId>, TransactionError> {
    match write {
        ClosingWrite::Set(set) => {
            let stored = row(transaction, set.app_id, set.flow_id).await?.map(|row| row.counts);
            let rest = rest(transaction, set).await?;
            // Evaluating many conditions takes a while.
            let set = set.clone();
            let (app, flow) = (set.app_id, set.flow_id);
            let counted = tokio::task::spawn_blocking(move || set.counts(stored, rest.into_iter()));
            let counts =
                counted.await.map_err(|panicked| crate::StoreError::Failed(Box::new(panicked)))?;
            put_or_remove(transaction, app, flow, counts).await?;
        }
        ClosingWrite::Release { app_id, flow_id, counters } => {
            if let Some(mut found) = row(transaction, *app_id, *flow_id).await? {
                found.counts.release(counters);
                put(transaction, &found).await?;
            }
        }
    }
    Ok(Some(write.app_id()))
}

async fn row(
    transaction: &Transaction,
    app: AppId,
    flow: FlowId,
) -> Result<Option<ClosingCountsRow>, TransactionError> {
    let found =
        transaction.query(&select("FOR UPDATE"), &[&app.uuid(), &vec![flow.uuid()]]).await?;
    Ok(found.first().map(|row| closing_counts(&mut Cells::new(row))).transpose()?)
}

async fn put_or_remove(
    transaction: &Transaction,
    app_id: AppId,
    flow_id: FlowId,
    counts: ClosingCounts,
) -> Result<(), TransactionError> {
    if !counts.is_empty() {
        return put(transaction, &ClosingCountsRow { app_id, flow_id, counts }).await;
    }
    let sql = "DELETE FROM closing_counts WHERE app_id = $1 AND flow_id = $2";
    transaction.execute(sql, &[&app_id.uuid(), &flow_id.uuid()]).await.map(|_| ())
}

/// The responses that are not counted yet.
async fn rest(
    transaction: &Transaction,
    set: &SetClosing,
) -> Result<Vec<(FlowVersionId, String)>, TransactionError> {
    if set.limits.is_empty() {
        return Ok(Vec::new());
    }
    let after = set.counted_to.map_or(Uuid::nil(), ResponseId::uuid);
    let sql = "SELECT flow_version_id, answers FROM responses \
         WHERE app_id = $1 AND flow_id = $2 AND response_id > $3";
    let params = (set.app_id.uuid(), set.flow_id.uuid());
    let found = transaction.query(sql, &[&params.0, &params.1, &after]).await?;
    let read = |row| {
        let mut cells = Cells::new(row);
        Ok((cells.id(FlowVersionId::from_uuid)?, cells.text()?))
    };
    Ok(found.iter().map(read).collect::<StoreResult<Vec<_>>>()?)
}
