//! Reports. A table of the instance, where a report is found by the secret of its link alone.

use async_trait::async_trait;
use sluice_flow::id::{AppId, FlowId, ReportId};
use sluice_flow::time::Timestamp;

use super::PgStore;
use super::codec::{self, REPORT};
use super::failure::TransactionError;
use super::pool::Params;
use super::transaction::Transaction;
use crate::{ReportHash, ReportRow, ReportStore, StoreError, StoreResult};

#[async_trait]
impl ReportStore for PgStore {
    async fn find_report(&self, hash: &ReportHash) -> StoreResult<Option<ReportRow>> {
        let sql = format!("SELECT {REPORT} FROM reports WHERE hash = $1");
        self.pool.one(&sql, &[&hash.as_slice()], codec::report).await
    }

    async fn list_reports(&self, app: AppId, flow: FlowId) -> StoreResult<Vec<ReportRow>> {
        let sql = format!(
            "SELECT {REPORT} FROM reports WHERE app_id = $1 AND flow_id = $2 \
             ORDER BY report_id DESC"
        );
        self.pool.many(&sql, &[&app.uuid(), &flow.uuid()], codec::report).await
    }
}

/// The flow may be on another server, so it is checked in the directory and not by a foreign key.
pub(super) async fn put(
    transaction: &Transaction,
    row: &ReportRow,
) -> Result<(), TransactionError> {
    let sql = "INSERT INTO reports (app_id, flow_id, report_id, hash, title, questions, filters, \
         shows_texts, password, created_by, created_at, expires_at, revoked_at) \
         SELECT $1::uuid, $2::uuid, $3::uuid, $4::bytea, $5::text, $6::text, $7::text, $8::boolean, \
         $9::text, $10::text, $11::bigint, $12::bigint, $13::bigint \
         FROM id_directory WHERE id = $2 AND app_id = $1 \
         ON CONFLICT (app_id, report_id) DO UPDATE SET flow_id = excluded.flow_id, \
         hash = excluded.hash, title = excluded.title, questions = excluded.questions, \
         filters = excluded.filters, shows_texts = excluded.shows_texts, \
         password = excluded.password, created_by = excluded.created_by, \
         created_at = excluded.created_at, expires_at = excluded.expires_at, \
         revoked_at = excluded.revoked_at";
    let ids = (row.app_id.uuid(), row.flow_id.uuid(), row.report_id.uuid());
    let hash = row.hash.as_slice();
    let (questions, filters) = (codec::json(&row.questions)?, codec::json(&row.filters)?);
    let created_at = row.created_at.as_millis();
    let ends = [row.expires_at, row.revoked_at].map(|time| time.map(Timestamp::as_millis));
    let params: Params = &[
        &ids.0,
        &ids.1,
        &ids.2,
        &hash,
        &row.title,
        &questions,
        &filters,
        &row.shows_texts,
        &row.password,
        &row.created_by,
        &created_at,
        &ends[0],
        &ends[1],
    ];
    match transaction.execute(sql, params).await? {
        0 => Err(StoreError::Failed("a report names a flow that does not exist".into()).into()),
        _ => Ok(()),
    }
}

pub(super) async fn delete(
    transaction: &Transaction,
    app: AppId,
    report: ReportId,
) -> Result<(), TransactionError> {
    let sql = "DELETE FROM reports WHERE app_id = $1 AND report_id = $2";
    transaction.execute(sql, &[&app.uuid(), &report.uuid()]).await.map(|_| ())
}
