//! The schema of the database: which migrations it needs, and how they are applied.
//!
//! If several nodes start at once, one migrates; the others wait and find nothing left to do. The
//! lock is a plain table lock, held by a second connection: it is released with its connection, so
//! a killed node blocks no other. Each migration and its row in the history are one transaction, so
//! a killed node leaves the schema as it was before that migration, and the next node continues.
//!
//! A migration may take long, on this node or on another. A hanging server must not block startup:
//! a wait without a deadline lasts only while the server answers on the other connection.

use std::time::Duration;

use tokio::time::timeout;
use tokio_postgres::Client;
use tokio_postgres::error::{Error, SqlState};

use super::connect::{self, ConnectError};
use super::failure::RedactedError;
use super::link::Connector;
use crate::schema::{self, Applied, Migration, Mismatch, POSTGRES};

/// How long to wait for another node that migrates.
const LOCK_DEADLINE: Duration = Duration::from_secs(120);
/// How often the other connection is tested meanwhile.
const BEAT: Duration = Duration::from_secs(1);
/// How often to try to create the lock table while another node creates it too.
const LOCK_TRIES: u32 = 5;

const MAKE_HISTORY: &str = "CREATE TABLE IF NOT EXISTS schema_history (
    version    bigint PRIMARY KEY,
    name       text NOT NULL,
    checksum   text NOT NULL,
    applied_at bigint NOT NULL
)";

/// Applies the migrations that the database does not have yet.
pub(super) async fn bring_up_to_date(
    client: &mut Client,
    connector: &Connector,
    deadline: Duration,
) -> Result<(), ConnectError> {
    if pending(client, deadline).await?.is_empty() {
        return Ok(());
    }
    let (lock, _driver) = connect::first(connector, deadline).await?;
    attended(client, deadline, take_lock(&lock, deadline)).await??;
    // Another node may have migrated while this one waited.
    let pending = pending(client, deadline).await?;
    if pending.is_empty() {
        return Ok(());
    }
    let unlimited = client.batch_execute("SET statement_timeout = 0; SET lock_timeout = 0");
    connect::answered(deadline, unlimited).await?.map_err(|error| cannot(&error))?;
    for migration in pending {
        let applied = attended(&lock, deadline, apply(client, migration)).await?;
        applied.map_err(|error| cannot(&error))?;
    }
    Ok(())
}

/// Refuses a schema that would have to be created or migrated; changes nothing.
pub(super) async fn must_be_current(
    client: &Client,
    place: String,
    deadline: Duration,
) -> Result<(), ConnectError> {
    if pending(client, deadline).await?.is_empty() {
        return Ok(());
    }
    let applied = connect::answered(deadline, history(client)).await?;
    let applied = applied.map_err(|error| cannot(&error))?;
    let known = schema::newest(POSTGRES);
    Err(match applied.last() {
        Some(newest) => ConnectError::OlderSchema { place, found: newest.version, known },
        None => ConnectError::NoSchema { place },
    })
}

async fn apply(client: &mut Client, migration: &Migration) -> Result<(), Error> {
    let transaction = client.transaction().await?;
    transaction.batch_execute(MAKE_HISTORY).await?;
    transaction.batch_execute(migration.sql).await?;
    let record = "INSERT INTO schema_history (version, name, checksum, applied_at) \
         VALUES ($1, $2, $3, (extract(epoch FROM now()) * 1000)::bigint)";
    let (version, checksum) = (&migration.version, &migration.checksum());
    transaction.execute(record, &[version, &migration.name, checksum]).await?;
    transaction.commit().await
}

/// Waits for something slow, as long as the server answers on another connection.
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

/// Takes the lock and holds it until the connection is closed.
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
            let reason = "another node has been migrating for two minutes".to_owned();
            Err(ConnectError::Migration { reason })
        }
    }
}

/// `IF NOT EXISTS` does not prevent a conflict between two sessions that create a table at once.
pub(super) fn made_by_another(error: &Error) -> bool {
    matches!(
        error.code(),
        Some(
            &SqlState::UNIQUE_VIOLATION | &SqlState::DUPLICATE_TABLE | &SqlState::DUPLICATE_OBJECT
        )
    )
}

/// The migrations that the database does not have yet; a history that this binary did not write is
/// an error.
async fn pending(
    client: &Client,
    deadline: Duration,
) -> Result<&'static [Migration], ConnectError> {
    let applied = connect::answered(deadline, history(client)).await?;
    let applied = applied.map_err(|error| cannot(&error))?;
    schema::pending(POSTGRES, &applied).map_err(|mismatch| match mismatch {
        Mismatch::Newer { found, known } => ConnectError::NewerSchema { found, known },
        Mismatch::Different { version } => {
            ConnectError::OtherSchema { detail: Mismatch::detail(version) }
        }
    })
}

/// The migrations that were applied to the database, oldest first.
async fn history(client: &Client) -> Result<Vec<Applied>, Error> {
    let found = client.query_one("SELECT to_regclass('schema_history') IS NOT NULL", &[]).await?;
    if !found.try_get::<_, bool>(0)? {
        return Ok(Vec::new());
    }
    let all = "SELECT version, checksum FROM schema_history ORDER BY version";
    let rows = client.query(all, &[]).await?;
    let applied =
        rows.iter().map(|row| Ok(Applied { version: row.try_get(0)?, checksum: row.try_get(1)? }));
    applied.collect()
}

fn cannot(error: &Error) -> ConnectError {
    ConnectError::Migration { reason: RedactedError::new(error).to_string() }
}
