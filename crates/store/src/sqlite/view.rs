//! A view of everything at one instant, on a separate connection with an open transaction.
//!
//! While a view is open, the log cannot be reset: it grows with every write until the view ends.

use std::any::Any;
use std::sync::Arc;

use async_trait::async_trait;
use rusqlite::{Connection, Result};
use sluice_flow::id::{AppId, FlowId};

use super::read::export;
use super::readers::{AnyRead, result_of};
use super::{counts, failure};
use crate::{
    CountsQuery, Damage, FlowCounts, RecordCursor, RecordPage, StoreError, StoreResult, StoreView,
};

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
        let read: AnyRead = Box::new(move |connection| Ok(Box::new(read(connection)?)));
        result_of(self.run(read).await?)
    }

    async fn run(&mut self, read: AnyRead) -> StoreResult<Box<dyn Any + Send>> {
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
