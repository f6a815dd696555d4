//! A view of everything at one instant, on a separate connection with an open transaction; and the
//! check of pages.
//!
//! While a view is open, the log cannot be reset: it grows with every write until the view ends.

use std::sync::Arc;

use async_trait::async_trait;
use rusqlite::{Connection, Result};
use sluice_flow::id::{AppId, FlowId, ResponseId};
use uuid::Uuid;

use super::read::export;
use super::{counts, failure};
use crate::{
    CountsQuery, Damage, FlowCounts, PageCheck, RecordCursor, RecordPage, StoreError, StoreResult,
    StoreView,
};

/// The most places that one check lists.
const PLACES_MAX: usize = 1_000;

pub(super) struct View {
    /// Absent while it reads, and after a read that was given up.
    connection: Option<Connection>,
    damage: Arc<Damage>,
}

impl View {
    pub(super) async fn open(connection: Connection, damage: Arc<Damage>) -> StoreResult<Self> {
        let mut view = Self { connection: Some(connection), damage };
        // The first read of a transaction fixes its instant.
        let begin = "BEGIN; SELECT count(*) FROM sqlite_schema";
        view.read(move |connection| connection.execute_batch(begin)).await?;
        Ok(view)
    }

    async fn read<T: Send + 'static>(
        &mut self,
        read: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
    ) -> StoreResult<T> {
        let connection = self.connection.take().ok_or(StoreError::Closed)?;
        let task = tokio::task::spawn_blocking(move || {
            let result = read(&connection);
            (connection, result)
        });
        let ended = task.await.map_err(|error| StoreError::Failed(Box::new(error)))?;
        let (connection, result) = ended;
        self.connection = Some(connection);
        result.map_err(|error| {
            failure::note_damage(&self.damage, &error);
            failure::of_read(error)
        })
    }
}

#[async_trait]
impl StoreView for View {
    async fn records(&mut self, after: &RecordCursor, limit: usize) -> StoreResult<RecordPage> {
        let after = after.clone();
        self.read(move |it| export::page_of_table(it, &after, limit)).await
    }

    async fn counts(&mut self, app: AppId, flow: FlowId) -> StoreResult<FlowCounts> {
        let query = CountsQuery::default();
        let read = self.read(move |it| counts::read(it, app, flow, &query)).await?;
        read.map_err(|damaged| StoreError::Corrupt(format!("{}: {}", damaged.day, damaged.why)))
    }
}

/// Pages, indexes, foreign keys, and the numbers that stand for ids in responses.
pub(super) fn check_pages(connection: &Connection) -> Result<PageCheck> {
    let instant = connection.unchecked_transaction()?;
    let mut damaged = Vec::new();
    for check in [integrity, foreign_keys, numbers] {
        match check(&instant, &mut damaged) {
            Err(error) if failure::is_file_damage(&error) => damaged.push(error.to_string()),
            result => result?,
        }
    }
    Ok(PageCheck { damaged, skipped: None })
}

fn integrity(connection: &Connection, damaged: &mut Vec<String>) -> Result<()> {
    let mut check = connection.prepare(&format!("PRAGMA integrity_check({PLACES_MAX})"))?;
    let mut lines = check.query([])?;
    while let Some(line) = lines.next()? {
        let line: String = line.get(0)?;
        // One row may hold several lines; the first only names the database.
        let lines = line.lines().filter(|line| *line != "ok" && !line.starts_with("***"));
        damaged.extend(lines.map(str::to_owned));
    }
    Ok(())
}

fn foreign_keys(connection: &Connection, damaged: &mut Vec<String>) -> Result<()> {
    let mut check =
        connection.prepare("SELECT DISTINCT \"table\", parent FROM pragma_foreign_key_check")?;
    let mut rows = check.query([])?;
    while let Some(row) = rows.next()? {
        let (table, parent): (String, String) = (row.get(0)?, row.get(1)?);
        damaged.push(format!("table {table}: a row references a missing row of {parent}"));
    }
    Ok(())
}

/// A response whose version has no number, or another flow, is found by no other read.
fn numbers(connection: &Connection, damaged: &mut Vec<String>) -> Result<()> {
    let sql = format!(
        "SELECT response_id FROM responses LEFT JOIN version_numbers AS known \
         ON known.version_number = responses.version_number \
         WHERE known.flow_number IS NOT responses.flow_number LIMIT {PLACES_MAX}"
    );
    let mut check = connection.prepare(&sql)?;
    let mut rows = check.query([])?;
    while let Some(row) = rows.next()? {
        let id: Vec<u8> = row.get(0)?;
        let id = Uuid::from_slice(&id).map_or_else(
            |_| "with an unreadable id".to_owned(),
            |id| ResponseId::from_uuid(id).to_string(),
        );
        damaged.push(format!("table responses: {id} belongs to a version without a number"));
    }
    Ok(())
}
