//! The messages about a store that cannot be opened, with what an operator can do.

use std::ffi::OsStr;
use std::path::Path;

use sluice_store::postgres::ConnectError;
use sluice_store::sqlite::OpenError;

use crate::failure::{Exit, Failure};

/// What to do about a schema older than the binary when the command does not upgrade it.
const START_ONCE: &str = "start this binary on it once (sluice serve --no-demo), which brings it up to \
     date; nothing was changed in it";

pub(super) fn open_error(error: OpenError) -> Failure {
    let named = |path: &Path| path.display().to_string();
    match error {
        OpenError::OldSqlite { found } => Failure::new(
            format!("SQLite {found} can damage a database that several connections share"),
            "build Sluice with its bundled SQLite (3.51.3 or newer)",
        ),
        OpenError::Folder { path, source } => Failure::new(
            format!("cannot write in the folder {}: {source}", named(&path)),
            "choose another with --data FOLDER, or give this user write permission there",
        ),
        OpenError::Absent { path, other } => absent(&path, other.as_deref()),
        OpenError::Unopenable { path, reason } => Failure::new(
            format!("cannot open the database {}: {reason}", named(&path)),
            "check that this user can read and write the file and its folder",
        ),
        OpenError::Locked { path } => Failure::new(
            format!("the database {} is locked by another process", named(&path)),
            "wait for it to end or stop it; or choose another folder with --data",
        ),
        OpenError::NewerSchema { path, found, known } => Failure::new(
            format!(
                "the database {} was written by a newer Sluice (schema {found}, this binary supports {known})",
                named(&path)
            ),
            "upgrade this binary; an older one cannot read it",
        ),
        OpenError::NoSchema { path } => Failure::new(
            format!("there is no database of Sluice in {}", named(&path)),
            "name the file of an existing database; nothing was created in this one",
        ),
        OpenError::OlderSchema { path, found, known } => Failure::new(
            format!(
                "the database {} has an older schema ({found}, this binary supports {known})",
                named(&path)
            ),
            START_ONCE,
        ),
        OpenError::OtherSchema { path, detail } => Failure::new(
            format!("the schema of {} is not one that Sluice created: {detail}", named(&path)),
            "use the binary that wrote it, or restore it from a backup",
        ),
        OpenError::NotOurs { path } => Failure::new(
            format!("{} is not a database of Sluice, or it is damaged", named(&path)),
            "choose another folder with --data, or restore it from a backup",
        )
        .with_exit(Exit::Damaged),
        OpenError::Damaged { path, reason } => Failure::new(
            format!("the database {} is damaged: {reason}", named(&path)),
            "restore it from a backup; keep the damaged file until that has worked",
        )
        .with_exit(Exit::Damaged),
        OpenError::Setting { path, setting, expected, found } => Failure::new(
            format!("the database {} refuses {setting}={expected} ({found})", named(&path)),
            "put it on a local disk: network folders cannot keep it safe",
        ),
        OpenError::Thread(source) => Failure::new(
            format!("cannot start the thread that writes to the database: {source}"),
            "raise the limit of processes or memory for this user",
        ),
    }
}

fn absent(path: &Path, other: Option<&OsStr>) -> Failure {
    let shown = path.display();
    if super::has_leftovers(path) {
        return Failure::new(
            format!(
                "there is no database {shown}: a restore to it was interrupted, or is still running"
            ),
            "wait for that restore to end; if it was interrupted, run sluice restore again: it removes what \
             was left",
        );
    }
    let what = match other {
        Some(other) => format!(
            "there is no database {shown}, or it is empty, but its folder has {}",
            other.display()
        ),
        None => format!("there is no database {shown}, or it is empty, and --create=false is set"),
    };
    Failure::new(
        what,
        "check that the volume is mounted and that nothing moved the file, or restore it from a \
         backup; --create creates a new, empty database here",
    )
}

pub(super) fn connect_error(error: ConnectError) -> Failure {
    match error {
        ConnectError::Url { reason } => Failure::usage(
            format!("the URL of the database cannot be used: {reason}"),
            "write for example postgres://user:password@host/database?sslmode=require",
        ),
        ConnectError::Unreachable { place, reason } => Failure::new(
            format!("cannot reach PostgreSQL at {place}: {reason}"),
            "check that it runs there, and the address in the URL",
        ),
        ConnectError::NotAllowed { place, reason } => Failure::new(
            format!("PostgreSQL at {place} refused the connection: {reason}"),
            "check user and password in the URL, and pg_hba.conf on the server",
        ),
        ConnectError::Tls { place, reason } => Failure::new(
            format!("TLS with PostgreSQL at {place} failed: {reason}"),
            "name the issuer's certificate with sslrootcert=FILE in the URL, or use sslmode=disable on \
             a network that you trust",
        ),
        ConnectError::NoTls { place } => Failure::new(
            format!("PostgreSQL at {place} offers no TLS, but the URL requires it"),
            "switch it on there, or use sslmode=prefer in the URL",
        ),
        ConnectError::NoDatabase { place, reason } => Failure::new(
            format!("PostgreSQL at {place} does not have the database: {reason}"),
            "create it with createdb, or name another in the URL",
        ),
        ConnectError::ReadOnly { place } => Failure::new(
            format!("PostgreSQL at {place} is read-only: a standby, perhaps"),
            "name the primary in the URL, or all hosts of the cluster, separated by commas",
        ),
        ConnectError::OldServer { found } => {
            Failure::new(format!("PostgreSQL {found} is too old"), "use PostgreSQL 15 or newer")
        }
        ConnectError::NotDurable { setting, expected, found } => {
            not_durable(setting, expected, &found)
        }
        ConnectError::WorkerNotDurable { worker, found } => weak_worker(&worker, &found),
        ConnectError::NotPlaced { table, expected, found } => not_placed(&table, expected, &found),
        ConnectError::Silent { deadline } => Failure::new(
            format!("PostgreSQL accepted the connection but did not answer within {deadline:?}"),
            "check its load, its locks and its log, then start again",
        ),
        ConnectError::NoSchema { place } => Failure::new(
            format!("there is no database of Sluice at {place}"),
            "name the database of a server; nothing was created in this one",
        ),
        ConnectError::OlderSchema { place, found, known } => Failure::new(
            format!(
                "the database at {place} has an older schema ({found}, this binary supports {known})"
            ),
            START_ONCE,
        ),
        ConnectError::NewerSchema { found, known } => Failure::new(
            format!(
                "the database was written by a newer Sluice (schema {found}, this binary supports {known})"
            ),
            "upgrade this binary; an older one cannot read it",
        ),
        ConnectError::OtherSchema { detail } => Failure::new(
            format!("the schema of the database is not one that Sluice created: {detail}"),
            "use the binary that wrote it, or restore it from a backup",
        ),
        ConnectError::Migration { reason } => Failure::new(
            format!("the schema cannot be brought up to date: {reason}"),
            "give this user the right to create tables in an empty schema",
        ),
        ConnectError::Restoring { place } => half_restored(&place),
    }
}

fn half_restored(place: &str) -> Failure {
    Failure::new(
        format!(
            "the database at {place} holds a part of a backup: a restore into it was interrupted, \
             or is still running"
        ),
        "wait for that restore to end; if it was interrupted, drop the database, create it again, \
         and run sluice restore again",
    )
}

fn not_durable(setting: &str, expected: &str, found: &str) -> Failure {
    Failure::new(
        format!("PostgreSQL has {setting}={found}: acknowledged responses could be lost"),
        format!(
            "{setting}={expected} must stay in force once the service has set it: connect directly, \
             or through a pooler that pools by session"
        ),
    )
}

fn weak_worker(worker: &str, found: &str) -> Failure {
    Failure::new(
        format!(
            "the worker {worker} has synchronous_commit={found}: acknowledged responses could be lost"
        ),
        "set synchronous_commit=on on that worker, for this user and database too (ALTER SYSTEM, \
         ALTER ROLE, ALTER DATABASE), then start again",
    )
}

fn not_placed(table: &str, expected: &str, found: &str) -> Failure {
    Failure::new(
        format!("the database has workers of Citus, but the table {table} is {found}"),
        format!(
            "it must be {expected}: run layout.sql on the coordinator (docs/scaling.md, step 4)"
        ),
    )
}
