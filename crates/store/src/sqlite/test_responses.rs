//! Test responses of flows.

use async_trait::async_trait;
use rusqlite::{Connection, Result, params};
use sluice_flow::id::{AppId, FlowId, FormKey};
use sluice_flow::time::Timestamp;

use super::SqliteStore;
use super::codec::{self, ReadCells as _, TEST_RESPONSE, bytes};
use super::read::{limit, many};
use crate::{StoreResult, TestCursor, TestResponseRow, TestResponseStore, TestWrite};

#[async_trait]
impl TestResponseStore for SqliteStore {
    async fn list_test_responses(
        &self,
        app: AppId,
        flow: FlowId,
        after: Option<TestCursor>,
        limit: usize,
    ) -> StoreResult<Vec<TestResponseRow>> {
        self.readers.read(move |it| newest(it, app, flow, after, limit)).await
    }

    async fn list_old_tests(
        &self,
        app: Option<AppId>,
        before: Timestamp,
        rows: usize,
    ) -> StoreResult<Vec<(AppId, FlowId, FormKey)>> {
        let of_app = if app.is_some() { "app_id = ?3" } else { "?3 IS NULL" };
        let sql = format!(
            "SELECT app_id, flow_id, form_key FROM test_responses \
             WHERE received_at < ?1 AND {of_app} ORDER BY received_at LIMIT ?2"
        );
        let app = app.map(|app| bytes!(app));
        let read = move |it: &Connection| {
            many(it, &sql, params![before.as_millis(), limit(rows), app], |cells| {
                Ok((
                    cells.id(AppId::from_uuid)?,
                    cells.id(FlowId::from_uuid)?,
                    cells.id(FormKey::from_uuid)?,
                ))
            })
        };
        self.readers.read(read).await
    }
}

fn newest(
    connection: &Connection,
    app: AppId,
    flow: FlowId,
    after: Option<TestCursor>,
    rows: usize,
) -> Result<Vec<TestResponseRow>> {
    let sql = format!(
        "SELECT {TEST_RESPONSE} FROM test_responses WHERE app_id = ?1 AND flow_id = ?2 \
         AND (received_at, form_key) < (?3, ?4) ORDER BY received_at DESC, form_key DESC LIMIT ?5"
    );
    let (before, key) = match after {
        Some(after) => (after.received_at.as_millis(), bytes!(after.form_key)),
        None => (i64::MAX, [0xFF; 16]),
    };
    let params = params![bytes!(app), bytes!(flow), before, key, limit(rows)];
    many(connection, &sql, params, codec::test_response)
}

pub(super) fn change(connection: &Connection, write: &TestWrite) -> Result<()> {
    match write {
        TestWrite::Add { row, keep } => {
            replace(connection, row)?;
            let sql = "DELETE FROM test_responses WHERE app_id = ?1 AND flow_id = ?2 \
                 AND form_key IN (SELECT form_key FROM test_responses \
                 WHERE app_id = ?1 AND flow_id = ?2 \
                 ORDER BY received_at DESC, form_key DESC LIMIT -1 OFFSET ?3)";
            connection.prepare_cached(sql)?.execute(params![
                bytes!(row.app_id),
                bytes!(row.flow_id),
                keep
            ])
        }
        TestWrite::RemoveAll(app, flow) => connection
            .prepare_cached("DELETE FROM test_responses WHERE app_id = ?1 AND flow_id = ?2")?
            .execute(params![bytes!(app), bytes!(flow)]),
        TestWrite::Expire { app_id, before, forms } => {
            let sql = "DELETE FROM test_responses WHERE app_id = ?1 AND flow_id = ?2 \
                 AND form_key = ?3 AND received_at < ?4";
            let mut statement = connection.prepare_cached(sql)?;
            forms.iter().try_fold(0, |count, (flow, form)| {
                let ids = (bytes!(app_id), bytes!(flow), bytes!(form));
                let params = params![ids.0, ids.1, ids.2, before.as_millis()];
                Ok(count + statement.execute(params)?)
            })
        }
    }
    .map(|_| ())
}

/// Stores a row, replacing one of the same form.
pub(super) fn replace(connection: &Connection, row: &TestResponseRow) -> Result<()> {
    let sql = format!(
        "INSERT INTO test_responses ({TEST_RESPONSE}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) \
         ON CONFLICT (app_id, flow_id, form_key) DO UPDATE SET number = excluded.number, \
         received_at = excluded.received_at, answers = excluded.answers, tags = excluded.tags, \
         score = excluded.score"
    );
    connection
        .prepare_cached(&sql)?
        .execute(params![
            bytes!(row.app_id),
            bytes!(row.flow_id),
            bytes!(row.form_key),
            row.number,
            row.received_at.as_millis(),
            row.answers,
            row.tags,
            row.score,
        ])
        .map(|_| ())
}
