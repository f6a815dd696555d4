//! Reports.

use async_trait::async_trait;
use rusqlite::{Connection, Result, params};
use sluice_flow::id::{AppId, FlowId, ReportId};
use sluice_flow::time::Timestamp;

use super::SqliteStore;
use super::codec::{self, REPORT, bytes};
use super::read::{many, one};
use crate::{ReportHash, ReportRow, ReportStore, StoreResult};

#[async_trait]
impl ReportStore for SqliteStore {
    async fn find_report(&self, hash: &ReportHash) -> StoreResult<Option<ReportRow>> {
        let hash = *hash;
        self.readers.read(move |it| by_hash(it, &hash)).await
    }

    async fn list_reports(&self, app: AppId, flow: FlowId) -> StoreResult<Vec<ReportRow>> {
        self.readers.read(move |it| of_flow(it, app, flow)).await
    }
}

fn by_hash(connection: &Connection, hash: &ReportHash) -> Result<Option<ReportRow>> {
    let sql = format!("SELECT {REPORT} FROM reports WHERE hash = ?1");
    one(connection, &sql, [hash], codec::report)
}

fn of_flow(connection: &Connection, app: AppId, flow: FlowId) -> Result<Vec<ReportRow>> {
    let sql = format!(
        "SELECT {REPORT} FROM reports WHERE app_id = ?1 AND flow_id = ?2 ORDER BY report_id DESC"
    );
    many(connection, &sql, params![bytes!(app), bytes!(flow)], codec::report)
}

pub(super) fn put(connection: &Connection, row: &ReportRow) -> Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO reports (app_id, flow_id, report_id, hash, title, questions, filters, \
             shows_texts, password, created_by, created_at, expires_at, revoked_at) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13) \
             ON CONFLICT (app_id, report_id) DO UPDATE SET flow_id = excluded.flow_id, \
             hash = excluded.hash, title = excluded.title, questions = excluded.questions, \
             filters = excluded.filters, shows_texts = excluded.shows_texts, \
             password = excluded.password, created_by = excluded.created_by, \
             created_at = excluded.created_at, expires_at = excluded.expires_at, \
             revoked_at = excluded.revoked_at",
        )?
        .execute(params![
            bytes!(row.app_id),
            bytes!(row.flow_id),
            bytes!(row.report_id),
            row.hash,
            row.title,
            codec::json(&row.questions)?,
            codec::json(&row.filters)?,
            row.shows_texts,
            row.password,
            row.created_by,
            row.created_at.as_millis(),
            row.expires_at.map(Timestamp::as_millis),
            row.revoked_at.map(Timestamp::as_millis),
        ])
        .map(|_| ())
}

pub(super) fn delete(connection: &Connection, app: AppId, report: ReportId) -> Result<()> {
    connection
        .prepare_cached("DELETE FROM reports WHERE app_id = ?1 AND report_id = ?2")?
        .execute(params![bytes!(app), bytes!(report)])
        .map(|_| ())
}
