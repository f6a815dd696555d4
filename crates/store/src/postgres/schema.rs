//! The schema and its history: what this binary knows, and what the database says of itself.
//!
//! Of several nodes that start at once one migrates, with a plain lock on a table, held by a second
//! connection; the others wait for it and find nothing left to do. All pending migrations and their
//! entries in the history are one transaction, so a node that is killed half way leaves the schema as
//! it was, its lock goes with its connection, and the next node begins again.
//!
//! A migration may take long, and so may another node's. A server that hangs must not: whatever is
//! waited for without a deadline is waited for only while the other connection is answered.

use std::time::Duration;

use tokio::time::timeout;
use tokio_postgres::Client;
use tokio_postgres::error::{Error, SqlState};

use super::connect::{self, ConnectError};
use super::failure::Told;
use super::link::Connector;

/// How long to wait for another node that migrates.
const LOCK_DEADLINE: Duration = Duration::from_secs(120);
/// How often the other connection asks for a sign of life meanwhile.
const BEAT: Duration = Duration::from_secs(1);
/// How often to try to make the table that is locked, while another node makes it too.
const LOCK_TRIES: u32 = 5;

mod embedded {
    refinery::embed_migrations!("src/postgres/migrations");
}

/// Brings the schema to what this binary knows, or says why that cannot be.
pub(super) async fn bring_up_to_date(
    client: &mut Client,
    connector: &Connector,
    deadline: Duration,
) -> Result<(), ConnectError> {
    if is_current(client, deadline).await? {
        return Ok(());
    }
    let (lock, _driver) = connect::first(connector, deadline).await?;
    attended(client, deadline, take_lock(&lock, deadline)).await??;
    // Another node may have done it while this one waited.
    if is_current(client, deadline).await? {
        return Ok(());
    }
    let unlimited = client.batch_execute("SET statement_timeout = 0; SET lock_timeout = 0");
    connect::answered(deadline, unlimited).await?.map_err(|error| cannot(&error))?;
    let runner = embedded::migrations::runner().set_grouped(true);
    let done = attended(&lock, deadline, runner.run_async(client)).await?;
    done.map(|_| ()).map_err(|error| {
        let source = std::error::Error::source(&error)
            .and_then(|source| source.downcast_ref::<Error>())
            .map(|source| Told::of(source).to_string());
        ConnectError::Migration { reason: source.unwrap_or_else(|| error.to_string()) }
    })
}

/// Looks whether the schema is the one that this binary knows, and changes nothing.
pub(super) async fn must_be_current(
    client: &Client,
    place: String,
    deadline: Duration,
) -> Result<(), ConnectError> {
    if is_current(client, deadline).await? {
        return Ok(());
    }
    let found = applied(client, deadline).await?.last().map(|(version, _)| i64::from(*version));
    let runner = embedded::migrations::runner();
    let versions = runner.get_migrations().iter().map(refinery::Migration::version);
    let known = versions.max().map_or(0, i64::from);
    Err(match found {
        Some(found) => ConnectError::OlderSchema { place, found, known },
        None => ConnectError::NoSchema { place },
    })
}

/// Waits for something that may take long, for as long as another connection is answered.
async fn attended<T>(
    other: &Client,
    deadline: Duration,
    work: impl Future<Output = T>,
) -> Result<T, ConnectError> {
    let silence = async {
        loop {
            tokio::time::sleep(BEAT).await;
            let answer = connect::answered(deadline, other.batch_execute("SELECT")).await;
            match answer {
                Ok(Ok(())) => {}
                Ok(Err(error)) => return cannot(&error),
                Err(silent) => return silent,
            }
        }
    };
    tokio::select! {
        done = work => Ok(done),
        error = silence => Err(error),
    }
}

/// Holds the lock until the connection is closed.
async fn take_lock(client: &Client, deadline: Duration) -> Result<(), ConnectError> {
    let mut tries = 0;
    loop {
        let make = client.batch_execute("CREATE TABLE IF NOT EXISTS migration_lock ()");
        tries += 1;
        match connect::answered(deadline, make).await? {
            Ok(()) => break,
            Err(error) if made_by_another(&error) && tries < LOCK_TRIES => {}
            Err(error) => return Err(cannot(&error)),
        }
    }
    let lock = "SET statement_timeout = 0; SET lock_timeout = 0; \
         SET idle_in_transaction_session_timeout = 0; \
         BEGIN; LOCK TABLE migration_lock IN ACCESS EXCLUSIVE MODE";
    match timeout(LOCK_DEADLINE, client.batch_execute(lock)).await {
        Ok(result) => result.map_err(|error| cannot(&error)),
        Err(_) => {
            let reason = "another node has been at it for two minutes".to_owned();
            Err(ConnectError::Migration { reason })
        }
    }
}

/// `IF NOT EXISTS` does not keep two sessions apart that make a table at the same moment.
pub(super) fn made_by_another(error: &Error) -> bool {
    matches!(
        error.code(),
        Some(
            &SqlState::UNIQUE_VIOLATION | &SqlState::DUPLICATE_TABLE | &SqlState::DUPLICATE_OBJECT
        )
    )
}

/// Whether every known migration is there; a history that this binary did not write is an error.
async fn is_current(client: &Client, deadline: Duration) -> Result<bool, ConnectError> {
    let applied = applied(client, deadline).await?;
    let runner = embedded::migrations::runner();
    let mut known: Vec<_> = runner.get_migrations().iter().collect();
    known.sort_by_key(|migration| migration.version());
    let newest_known = known.last().map_or(0, |migration| i64::from(migration.version()));
    let newest_applied = applied.last().map_or(0, |(version, _)| i64::from(*version));
    if newest_applied > newest_known {
        return Err(ConnectError::NewerSchema { found: newest_applied, known: newest_known });
    }
    for ((version, checksum), migration) in applied.iter().zip(&known) {
        if i64::from(*version) != i64::from(migration.version())
            || *checksum != migration.checksum().to_string()
        {
            let detail = format!("migration {version} differs");
            return Err(ConnectError::OtherSchema { detail });
        }
    }
    Ok(applied.len() == known.len())
}

async fn applied(client: &Client, deadline: Duration) -> Result<Vec<(i32, String)>, ConnectError> {
    let history = connect::answered(deadline, history(client)).await?;
    history.map_err(|error| cannot(&error))
}

/// The versions in the database's history with their checksums, oldest first.
async fn history(client: &Client) -> Result<Vec<(i32, String)>, Error> {
    let exists = "SELECT to_regclass('refinery_schema_history') IS NOT NULL";
    if !client.query_one(exists, &[]).await?.try_get::<_, bool>(0)? {
        return Ok(Vec::new());
    }
    let all = "SELECT version, checksum FROM refinery_schema_history ORDER BY version";
    let rows = client.query(all, &[]).await?;
    rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect()
}

fn cannot(error: &Error) -> ConnectError {
    ConnectError::Migration { reason: Told::of(error).to_string() }
}
