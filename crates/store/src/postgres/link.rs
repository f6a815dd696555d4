//! One connection: opened to the first host that serves, set up, and driven by a separate task.
//!
//! The task reads everything that the server sends unprompted. One such notice is dangerous: when a
//! COMMIT that waits for its synchronous standby is cancelled, the server answers *success* and
//! adds a warning that the row may not be on the standby. The warning comes first, so the task ends
//! the connection on it, and the success is never seen: the waiter for that COMMIT sees a lost
//! connection, so the outcome is in doubt.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::tls_stream::MakeRustlsConnect;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_postgres::error::{DbError, Severity};
use tokio_postgres::tls::TlsStream;
use tokio_postgres::{AsyncMessage, Client, Config, Connection, Error, Socket};

use super::dsn::Dsn;
use super::tls;

/// Settings of every session. A weaker `synchronous_commit`, set for the role or the database,
/// would lose acknowledged rows; a stricter one is left alone. A `client_min_messages` above
/// `warning` would hide that a COMMIT was not replicated. The server's own timeouts are a fallback
/// for sessions that outlive this process; they do not interrupt a COMMIT.
const SET_UP: &str = "SELECT set_config('synchronous_commit', CASE current_setting('synchronous_commit') \
     WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, false), \
     set_config('client_min_messages', 'warning', false), \
     set_config('statement_timeout', '30s', false), \
     set_config('lock_timeout', '15s', false), \
     set_config('idle_in_transaction_session_timeout', '30s', false)";

/// Additionally, for sessions that must not write: the server itself enforces it.
const READ_ONLY: &str = "SET default_transaction_read_only = on";

/// Called when a notification arrives; does nothing on most connections.
pub(super) type Heard = Arc<dyn Fn() + Send + Sync>;

/// Why no connection could be opened, for each host that was tried.
#[derive(Debug)]
pub(super) struct NotOpened(pub(super) Vec<(String, Cause)>);

#[derive(Debug)]
pub(super) enum Cause {
    Pg(Error),
    Deadline,
}

/// Opens connections to one database.
#[derive(Clone)]
pub(super) struct Connector {
    dsn: Dsn,
    tls: MakeRustlsConnect,
    /// For one host, from the first packet to the session's settings.
    deadline: Duration,
    reads_only: bool,
    /// Index in the URL of the host that served last. It is tried first, so that a silent host
    /// before it costs its deadline once, and not with every connection.
    served_last: Arc<AtomicUsize>,
}

impl Connector {
    /// The error is the reason why the URL cannot be used.
    pub(super) fn to(url: &str, deadline: Duration) -> Result<Self, String> {
        let dsn = Dsn::parse(url)?;
        let tls = tls::connector(&dsn)?;
        let served_last = Arc::new(AtomicUsize::new(0));
        Ok(Self { dsn, tls, deadline, reads_only: false, served_last })
    }

    /// The address of the host that served last, for messages.
    pub(super) fn place(&self) -> String {
        let last = self.dsn.hosts.get(self.served_last.load(Ordering::Relaxed));
        last.map(Dsn::place).unwrap_or_default()
    }

    /// The same, for read-only sessions.
    pub(super) fn for_reading(self) -> Self {
        Self { reads_only: true, ..self }
    }

    /// The time within which `open` has ended.
    pub(super) fn longest(&self) -> Duration {
        self.deadline * u32::try_from(self.dsn.hosts.len()).unwrap_or(u32::MAX)
    }

    pub(super) async fn open(&self, heard: Heard) -> Result<(Client, JoinHandle<()>), NotOpened> {
        let mut causes = Vec::new();
        let first = self.served_last.load(Ordering::Relaxed);
        let hosts = || self.dsn.hosts.iter().enumerate();
        let others = hosts().filter(|(place, _)| *place != first);
        for (place, config) in hosts().skip(first).take(1).chain(others) {
            let cause = match timeout(self.deadline, self.open_one(config, &heard)).await {
                Ok(Ok(opened)) => {
                    self.served_last.store(place, Ordering::Relaxed);
                    return Ok(opened);
                }
                Ok(Err(error)) => Cause::Pg(error),
                Err(_) => Cause::Deadline,
            };
            causes.push((Dsn::place(config), cause));
        }
        Err(NotOpened(causes))
    }

    async fn open_one(
        &self,
        config: &Config,
        heard: &Heard,
    ) -> Result<(Client, JoinHandle<()>), Error> {
        let (client, connection) = config.connect(self.tls.clone()).await?;
        let driver = tokio::spawn(drive(connection, Arc::clone(heard)));
        client.batch_execute(SET_UP).await?;
        if self.reads_only {
            client.batch_execute(READ_ONLY).await?;
        }
        Ok((client, driver))
    }

    /// For the pool, which accepts only errors of the driver.
    pub(super) async fn open_first(&self) -> Result<(Client, JoinHandle<()>), Error> {
        let causes = match self.open(Arc::new(|| {})).await {
            Ok(opened) => return Ok(opened),
            Err(NotOpened(causes)) => causes,
        };
        for (place, cause) in causes {
            match cause {
                Cause::Pg(error) => return Err(error),
                Cause::Deadline => tracing::warn!(place, "PostgreSQL does not answer"),
            }
        }
        // Every host was silent; the pool's own deadline ends this.
        std::future::pending().await
    }
}

/// Runs the connection until it ends.
async fn drive<S: TlsStream + Unpin>(mut connection: Connection<Socket, S>, heard: Heard) {
    while let Some(message) = poll_fn(|context| connection.poll_message(context)).await {
        match message {
            Ok(AsyncMessage::Notice(notice)) if was_not_replicated(&notice) => {
                let warning = notice.message();
                tracing::error!(
                    warning,
                    "a commit was not confirmed by the standby; connection ended"
                );
                return;
            }
            Ok(AsyncMessage::Notice(notice)) => {
                tracing::debug!(notice = notice.message(), "notice from PostgreSQL");
            }
            Ok(AsyncMessage::Notification(_)) => heard(),
            Ok(_) => {}
            Err(error) => {
                let error = super::failure::RedactedError::new(&error);
                tracing::warn!(%error, "a connection to PostgreSQL ended");
                return;
            }
        }
    }
}

/// Whether the notice reports that a COMMIT did not wait for its standby. The text may be in any
/// language; the location in the server's source is not.
fn was_not_replicated(notice: &DbError) -> bool {
    let from = |part: Option<&str>, name: &str| part.is_some_and(|part| part.contains(name));
    notice.parsed_severity() == Some(Severity::Warning)
        && (from(notice.routine(), "SyncRep")
            || from(notice.file(), "syncrep.c")
            || notice.message().contains("synchronous replication"))
}
