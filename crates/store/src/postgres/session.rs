//! A session of the pool: one connection, the task that drives it, and its prepared statements.

use std::collections::HashMap;
use std::fmt;
use std::ops::Deref;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use deadpool::managed::{Manager, Metrics, RecycleError, RecycleResult};
use tokio::task::JoinHandle;
use tokio_postgres::{Client, Error, Statement};

use super::link::Connector;

/// A connection that was idle for this long is tested before it is used.
const IDLE_TRUSTED: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(super) struct Session {
    client: Client,
    driver: JoinHandle<()>,
    /// By their SQL; the number of statements is fixed.
    statements: Mutex<HashMap<Box<str>, Statement>>,
}

impl Session {
    /// Costs one exchange the first time; free afterwards.
    pub(super) async fn prepare_cached(&self, sql: &str) -> Result<Statement, Error> {
        let known =
            self.statements.lock().unwrap_or_else(PoisonError::into_inner).get(sql).cloned();
        if let Some(statement) = known {
            return Ok(statement);
        }
        let statement = self.client.prepare(sql).await?;
        let mut statements = self.statements.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(statements.entry(sql.into()).or_insert(statement).clone())
    }
}

impl Deref for Session {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

/// Opens sessions for the pool, and tests those that were idle.
pub(super) struct Sessions(pub(super) Connector);

impl fmt::Debug for Sessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Sessions").field(&self.0.place()).finish()
    }
}

impl Manager for Sessions {
    type Type = Session;
    type Error = Error;

    async fn create(&self) -> Result<Session, Error> {
        let (client, driver) = self.0.open_first().await?;
        Ok(Session { client, driver, statements: Mutex::default() })
    }

    async fn recycle(&self, session: &mut Session, used: &Metrics) -> RecycleResult<Error> {
        if session.is_closed() {
            return Err(RecycleError::message("the connection is closed"));
        }
        if used.last_used() >= IDLE_TRUSTED {
            session.batch_execute("").await?;
        }
        Ok(())
    }
}
