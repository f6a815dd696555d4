//! Test responses of flows. A table of apps: each statement of a flow runs on one node.

use async_trait::async_trait;
use sluice_flow::id::{AppId, FlowId, FormKey};
use sluice_flow::time::Timestamp;
use uuid::Uuid;

use super::PgStore;
use super::codec::{self, Cells, ReadCells as _, TEST_RESPONSE};
use super::failure::TransactionError;
use super::pool::Params;
use super::read::limit;
use super::transaction::Transaction;
use crate::{StoreResult, TestCursor, TestResponseRow, TestResponseStore, TestWrite};

#[async_trait]
impl TestResponseStore for PgStore {
    async fn list_test_responses(
        &self,
        app: AppId,
        flow: FlowId,
        after: Option<TestCursor>,
        rows: usize,
    ) -> StoreResult<Vec<TestResponseRow>> {
        let sql = format!(
            "SELECT {TEST_RESPONSE} FROM test_responses WHERE app_id = $1 AND flow_id = $2 \
             AND (received_at, form_key) < ($3, $4) \
             ORDER BY received_at DESC, form_key DESC LIMIT $5"
        );
        let (before, key) = match after {
            Some(after) => (after.received_at.as_millis(), after.form_key.uuid()),
            None => (i64::MAX, Uuid::max()),
        };
        let params: Params = &[&app.uuid(), &flow.uuid(), &before, &key, &limit(rows)];
        self.pool.many(&sql, params, codec::test_response).await
    }

    async fn list_old_tests(
        &self,
        app: Option<AppId>,
        before: Timestamp,
        rows: usize,
    ) -> StoreResult<Vec<(AppId, FlowId, FormKey)>> {
        let sql = "SELECT app_id, flow_id, form_key FROM test_responses \
             WHERE received_at < $1 AND ($3::uuid IS NULL OR app_id = $3) \
             ORDER BY received_at LIMIT $2";
        let app = app.map(AppId::uuid);
        let params: Params = &[&before.as_millis(), &limit(rows), &app];
        let read = |cells: &mut Cells| {
            Ok((
                cells.id(AppId::from_uuid)?,
                cells.id(FlowId::from_uuid)?,
                cells.id(FormKey::from_uuid)?,
            ))
        };
        self.pool.many(sql, params, read).await
    }
}

pub(super) async fn change(
    transaction: &Transaction,
    write: &TestWrite,
) -> Result<(), TransactionError> {
    match write {
        TestWrite::Add { row, keep } => {
            replace(transaction, row).await?;
            let sql = "DELETE FROM test_responses WHERE app_id = $1 AND flow_id = $2 \
                 AND form_key IN (SELECT form_key FROM test_responses \
                 WHERE app_id = $1 AND flow_id = $2 \
                 ORDER BY received_at DESC, form_key DESC OFFSET $3)";
            let params: Params = &[&row.app_id.uuid(), &row.flow_id.uuid(), &i64::from(*keep)];
            transaction.execute(sql, params).await
        }
        TestWrite::RemoveAll(app, flow) => {
            let sql = "DELETE FROM test_responses WHERE app_id = $1 AND flow_id = $2";
            transaction.execute(sql, &[&app.uuid(), &flow.uuid()]).await
        }
        TestWrite::Expire { app_id, before, forms } => {
            let sql = "DELETE FROM test_responses WHERE app_id = $1 AND received_at < $2 \
                 AND (flow_id, form_key) IN (SELECT * FROM unnest($3::uuid[], $4::uuid[]))";
            let (flows, keys): (Vec<Uuid>, Vec<Uuid>) =
                forms.iter().map(|(flow, form)| (flow.uuid(), form.uuid())).unzip();
            let params: Params = &[&app_id.uuid(), &before.as_millis(), &flows, &keys];
            transaction.execute(sql, params).await
        }
    }
    .map(|_| ())
}

/// Stores a row, replacing one of the same form.
pub(super) async fn replace(
    transaction: &Transaction,
    row: &TestResponseRow,
) -> Result<(), TransactionError> {
    let sql = format!(
        "INSERT INTO test_responses ({TEST_RESPONSE}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) \
         ON CONFLICT (app_id, flow_id, form_key) DO UPDATE SET number = excluded.number, \
         received_at = excluded.received_at, answers = excluded.answers, tags = excluded.tags, \
         score = excluded.score"
    );
    let ids = (row.app_id.uuid(), row.flow_id.uuid(), row.form_key.uuid());
    let (number, received_at) = (i64::from(row.number), row.received_at.as_millis());
    let params: Params =
        &[&ids.0, &ids.1, &ids.2, &number, &received_at, &row.answers, &row.tags, &row.score];
    transaction.execute(&sql, params).await.map(|_| ())
}
