//! Connecting: every failure is reported so that an operator can act on it.
//!
//! The first connection is opened and checked outside the pool, so that the error has the actual
//! reason and not only that the pool has no connection. After the start, nothing here is needed
//! again: the pool reopens lost connections, however long it takes.

use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_postgres::Client;
use tokio_postgres::error::{Error, SqlState};

use super::failure::RedactedError;
use super::link::{Cause, Connector, NotOpened};

/// The oldest PostgreSQL that is tested, in the server's numbering.
const SERVER_MIN: i32 = 150_000;

/// How to use a database. The deadlines are ours, independent of the server's settings.
#[derive(Debug, Clone)]
pub struct Options {
    /// The most concurrent connections for reading and writing; one more listens for announcements.
    pub connections_max: usize,
    /// The most concurrent commits.
    pub lanes: usize,
    /// Whether to listen for announcements (LISTEN). If that is impossible, as behind some
    /// connection poolers, changes are found by polling.
    pub listen: bool,
    /// Whether to use only features that work when tables are distributed over several servers.
    /// Enabled automatically if tables are distributed with Citus.
    pub distributed: bool,
    /// For one host, until the session is ready.
    pub connect_deadline: Duration,
    /// For a free connection of the pool.
    pub checkout_deadline: Duration,
    /// For one statement.
    pub statement_deadline: Duration,
    /// For a COMMIT, including the synchronous standby; after it the outcome is in doubt.
    pub commit_deadline: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            connections_max: 16,
            lanes: 4,
            listen: true,
            distributed: false,
            connect_deadline: Duration::from_secs(5),
            checkout_deadline: Duration::from_secs(5),
            statement_deadline: Duration::from_secs(10),
            commit_deadline: Duration::from_secs(10),
        }
    }
}

/// Why a database cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    #[error("the connection URL cannot be used: {reason}")]
    Url { reason: String },
    #[error(
        "cannot reach PostgreSQL at {place}: {reason}; check that it runs, and the address in the URL"
    )]
    Unreachable { place: String, reason: String },
    #[error(
        "PostgreSQL at {place} refused the connection: {reason}; check user and password in the URL, and pg_hba.conf"
    )]
    NotAllowed { place: String, reason: String },
    #[error(
        "TLS with PostgreSQL at {place} failed: {reason}; name the issuer's certificate with sslrootcert=FILE, or use sslmode=disable on a network that you trust"
    )]
    Tls { place: String, reason: String },
    #[error(
        "PostgreSQL at {place} offers no TLS, but the URL requires it: switch it on there, or use sslmode=prefer"
    )]
    NoTls { place: String },
    #[error("PostgreSQL at {place} does not have the database: {reason}; create it with createdb")]
    NoDatabase { place: String, reason: String },
    #[error(
        "PostgreSQL at {place} is read-only (a standby?): name the primary in the URL, or all hosts of the cluster, separated by commas"
    )]
    ReadOnly { place: String },
    #[error("PostgreSQL {found} is too old; 15 or newer is needed")]
    OldServer { found: String },
    #[error(
        "PostgreSQL does not keep {setting}={expected} in our sessions (found {found}), so acknowledged rows could be lost: connect to it directly, or through a pooler that keeps the settings of a session"
    )]
    NotDurable { setting: &'static str, expected: &'static str, found: String },
    #[error(
        "the worker {worker} has synchronous_commit={found}, so acknowledged rows could be lost: set it to on there, for this user and database"
    )]
    WorkerNotDurable { worker: String, found: String },
    #[error(
        "the table {table} must be {expected}, but is {found}: run layout.sql on the coordinator"
    )]
    NotPlaced { table: String, expected: &'static str, found: String },
    #[error(
        "PostgreSQL accepted the connection but did not answer within {} s; check its load, its locks and its log", deadline.as_secs_f32()
    )]
    Silent { deadline: Duration },
    #[error("there is no database of Sluice at {place}: name the database of a server")]
    NoSchema { place: String },
    #[error(
        "the database at {place} has an older schema ({found}; this binary knows {known}): start a server with this binary on it once"
    )]
    OlderSchema { place: String, found: i64, known: i64 },
    #[error(
        "the database was written by a newer Sluice (schema {found}; this binary knows {known}): upgrade the binary"
    )]
    NewerSchema { found: i64, known: i64 },
    #[error(
        "the schema of the database is not the one that this binary created ({detail}): use the binary that wrote it, or a copy from a backup"
    )]
    OtherSchema { detail: String },
    #[error(
        "the schema cannot be brought up to date: {reason}; the user needs the right to create tables in an empty schema"
    )]
    Migration { reason: String },
    #[error(
        "the database at {place} holds a part of a backup (a restore was interrupted, or is still running): drop the database, create it again and restore again"
    )]
    Restoring { place: String },
}

pub(super) fn connector(url: &str, deadline: Duration) -> Result<Connector, ConnectError> {
    Connector::to(url, deadline).map_err(|reason| ConnectError::Url { reason })
}

/// Opens one connection and checks whether the server is suitable.
pub(super) async fn first(
    connector: &Connector,
    deadline: Duration,
) -> Result<(Client, JoinHandle<()>), ConnectError> {
    let (client, driver) = connector.open(std::sync::Arc::new(|| {})).await.map_err(why)?;
    let asked = "SELECT current_setting('server_version_num')::int, \
         current_setting('server_version'), current_setting('synchronous_commit'), \
         current_setting('client_min_messages')";
    let failed =
        |error: Error| unreachable("its first answer", RedactedError::new(&error).to_string());
    let row = answered(deadline, client.query_one(asked, &[])).await?.map_err(failed)?;
    let (number, found): (i32, String) = (row.get(0), row.get(1));
    if number < SERVER_MIN {
        return Err(ConnectError::OldServer { found });
    }
    kept(row.get(2), row.get(3))?;
    Ok((client, driver))
}

/// Checks the settings that durability depends on: a COMMIT waits for its sync and standby, and the
/// server sends a warning about one that did not wait.
fn kept(synchronous_commit: &str, client_min_messages: &str) -> Result<(), ConnectError> {
    let found = |found: &str| found.to_owned();
    match (synchronous_commit, client_min_messages) {
        ("on" | "remote_apply", "warning") => Ok(()),
        ("on" | "remote_apply", other) => Err(ConnectError::NotDurable {
            setting: "client_min_messages",
            expected: "warning",
            found: found(other),
        }),
        (other, _) => Err(ConnectError::NotDurable {
            setting: "synchronous_commit",
            expected: "on",
            found: found(other),
        }),
    }
}

/// Waits for an answer during startup, when there is no pool with its own deadlines yet.
pub(super) async fn answered<T>(
    deadline: Duration,
    answer: impl Future<Output = T>,
) -> Result<T, ConnectError> {
    timeout(deadline, answer).await.map_err(|_| ConnectError::Silent { deadline })
}

/// The most useful reason: an answer from one server takes precedence over silence from others.
fn why(NotOpened(causes): NotOpened) -> ConnectError {
    let mut silent = Vec::new();
    let mut reported = None;
    for (place, cause) in causes {
        match cause {
            Cause::Deadline => silent.push((place, "no answer in time".to_owned())),
            Cause::Pg(error) => match of_error(place, &error) {
                ConnectError::Unreachable { place, reason } => silent.push((place, reason)),
                other => reported = reported.or(Some(other)),
            },
        }
    }
    reported.unwrap_or_else(|| {
        let places: Vec<_> = silent.iter().map(|(place, _)| place.as_str()).collect();
        let reasons: Vec<_> = silent.iter().map(|(_, reason)| reason.as_str()).collect();
        unreachable(&places.join(" and "), reasons.join("; "))
    })
}

fn unreachable(place: &str, reason: String) -> ConnectError {
    ConnectError::Unreachable { place: place.to_owned(), reason }
}

fn of_error(place: String, error: &Error) -> ConnectError {
    let reason = RedactedError::new(error).to_string();
    if let Some(code) = error.code() {
        return match *code {
            SqlState::INVALID_PASSWORD | SqlState::INVALID_AUTHORIZATION_SPECIFICATION => {
                ConnectError::NotAllowed { place, reason }
            }
            SqlState::INVALID_CATALOG_NAME => ConnectError::NoDatabase { place, reason },
            _ => ConnectError::Unreachable { place, reason },
        };
    }
    let source = std::error::Error::source(error);
    let io = source.and_then(|source| source.downcast_ref::<std::io::Error>());
    let inner = io.and_then(std::io::Error::get_ref);
    if inner.is_some_and(|inner| inner.is::<rustls::Error>()) {
        return ConnectError::Tls { place, reason };
    }
    match (io, source.map(ToString::to_string)) {
        // The driver's own texts; it has no error kinds to match on.
        (Some(io), _) if io.to_string() == "database does not allow writes" => {
            ConnectError::ReadOnly { place }
        }
        (None, Some(text)) if text == "server does not support TLS" => {
            ConnectError::NoTls { place }
        }
        (None, Some(text)) if text.contains("TLS") => ConnectError::Tls { place, reason },
        (None, Some(text)) if text.contains("password") => {
            ConnectError::NotAllowed { place, reason }
        }
        _ => ConnectError::Unreachable { place, reason },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_setting_that_is_not_kept_is_named() {
        assert!(kept("on", "warning").is_ok() && kept("remote_apply", "warning").is_ok());
        for (settings, named) in [
            (("off", "warning"), "synchronous_commit=on in our sessions (found off)"),
            (("local", "error"), "synchronous_commit=on in our sessions (found local)"),
            (("on", "error"), "client_min_messages=warning in our sessions (found error)"),
        ] {
            let reported = kept(settings.0, settings.1).unwrap_err().to_string();
            assert!(reported.contains(named), "{reported}");
        }
    }
}
