//! The storage backends, by address. Only this module names a backend.
//!
//! Every address, whether from a flag, a variable or a file, goes through [`StoreAddress::parse`];
//! every store is opened by [`open`]. An address is shown without the part before the host, which
//! may contain a password.

mod refusals;
mod restoring;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sluice_engine::Store;
use sluice_store::postgres::{self, ConnectError, PgStore};
pub(crate) use sluice_store::sqlite::CreatePolicy;
use sluice_store::sqlite::{self, OpenError, SqliteStore};
use sluice_store::{DamageMark, MovingStore as _, UpkeepStore as _};

use crate::failure::Failure;
use crate::new_file;
use crate::tuning::Tuning;
use refusals::{connect_error, open_error};
pub(crate) use restoring::Restoring;

/// The ending of a SQLite database that is being restored.
const RESTORING: &str = ".restoring";

/// Where responses are stored.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum StoreAddress {
    Sqlite(PathBuf),
    /// The whole URL, as it was given.
    Postgres(String),
}

impl StoreAddress {
    /// Parses the address given with a flag.
    pub(crate) fn parse(flag: &str, text: &str) -> Result<Self, Failure> {
        if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            return Ok(Self::Postgres(text.to_owned()));
        }
        match text.strip_prefix("sqlite:") {
            Some(path) if !path.is_empty() => Ok(Self::Sqlite(path.into())),
            // The address is not repeated: with another scheme it may contain a password.
            _ => Err(Failure::usage(
                format!("the store address of --{flag} is not recognised"),
                format!(
                    "write for example --{flag} sqlite:/var/lib/sluice/sluice.db, or \
                     --{flag} postgres://user@host/database"
                ),
            )),
        }
    }
}

impl StoreAddress {
    /// Whether both addresses name the same store. Two different URLs of one database are not
    /// detected.
    pub(crate) fn is_same_as(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Sqlite(one), Self::Sqlite(two)) => {
                one == two
                    || one
                        .canonicalize()
                        .ok()
                        .is_some_and(|one| two.canonicalize().ok() == Some(one))
            }
            (one, two) => one == two,
        }
    }
}

impl fmt::Display for StoreAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(path) => path.display().fmt(f),
            Self::Postgres(url) => f.write_str(&without_secrets(url)),
        }
    }
}

impl fmt::Debug for StoreAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StoreAddress({self})")
    }
}

/// Hosts and database of a URL, without user, password and parameters. Only the scheme if the parts
/// cannot be separated safely.
fn without_secrets(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let (place, parameters) = rest.split_once('?').unwrap_or((rest, ""));
    let (user, place) = place.rsplit_once('@').unwrap_or(("", place));
    match user.contains(['@', '/']) || parameters.contains('@') {
        true => "postgres://…".to_owned(),
        false => format!("postgres://{place}"),
    }
}

/// How to open a store in a file.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Opening {
    /// In bytes; absent means the default.
    pub(crate) disk_reserve: Option<u64>,
    pub(crate) create: CreatePolicy,
}

/// Opens the store, creating and upgrading it if needed.
pub(crate) async fn open(
    address: &StoreAddress,
    tuning: &Tuning,
    Opening { disk_reserve, create }: Opening,
) -> Result<Arc<dyn Store>, Failure> {
    match address {
        StoreAddress::Sqlite(path) => {
            let options =
                sqlite::Options { disk_reserve_bytes: disk_reserve, create, ..Default::default() };
            open_sqlite(path.clone(), options, SqliteStore::open).await
        }
        StoreAddress::Postgres(url) => {
            let connected = PgStore::connect(url, options(tuning)).await;
            connected.map(|store| Arc::new(store) as _).map_err(connect_error)
        }
    }
}

fn options(tuning: &Tuning) -> postgres::Options {
    postgres::Options {
        connections_max: tuning.connections,
        lanes: tuning.write_lanes,
        listen: tuning.listen,
        connect_deadline: tuning.connect_timeout,
        statement_deadline: tuning.statement_timeout,
        commit_deadline: tuning.commit_timeout,
        ..postgres::Options::default()
    }
}

/// For commands that must not create a database: fails if the file does not exist.
pub(crate) fn require_existing(address: &StoreAddress) -> Result<(), Failure> {
    match address {
        StoreAddress::Sqlite(path) if !path.exists() => Err(Failure::new(
            format!("there is no database {}", path.display()),
            "name the file of an existing database, such as sqlite:sluice-data/sluice.db",
        )),
        _ => Ok(()),
    }
}

/// Checks that nothing is stored at an address, without creating or changing anything there. Files
/// that an interrupted restore left do not count.
pub(crate) async fn must_be_empty(address: &StoreAddress) -> Result<(), Failure> {
    let holds_data = || {
        Failure::new(
            format!("{address} is not empty"),
            "name a folder or file that does not exist, or a newly created database; nothing was changed",
        )
    };
    match address {
        StoreAddress::Sqlite(path) => {
            // A mark of damage would stop the new store.
            let files =
                ["", "-wal", "-shm", ".damaged"].map(|end| new_file::with_ending(path, end));
            if files.iter().any(|file| file.symlink_metadata().is_ok()) {
                return Err(holds_data());
            }
            restoring::must_not_be_running(path)
        }
        StoreAddress::Postgres(url) => {
            match PgStore::connect_to_read(url, postgres::Options::default()).await {
                Err(ConnectError::NoSchema { .. }) => Ok(()),
                Err(ConnectError::OlderSchema { .. }) => Err(holds_data()),
                Err(error) => Err(connect_error(error)),
                Ok(store) => {
                    let first = store.export_records(None, 1).await;
                    store.close().await;
                    match first {
                        Ok(records) if records.is_empty() => Ok(()),
                        Ok(_) => Err(holds_data()),
                        Err(error) => Err(Failure::new(error.to_string(), "")),
                    }
                }
            }
        }
    }
}

/// Whether an interrupted restore to this address left the file.
pub(crate) fn is_left_by_restore(address: &StoreAddress, file: &Path) -> bool {
    match address {
        StoreAddress::Sqlite(path) => leftovers(path).iter().any(|it| it == file),
        StoreAddress::Postgres(_) => false,
    }
}

fn has_leftovers(path: &Path) -> bool {
    leftovers(path).iter().any(|file| file.symlink_metadata().is_ok())
}

/// The files of a restore to a SQLite database that was interrupted, or is running.
fn leftovers(path: &Path) -> [PathBuf; 6] {
    let partial = new_file::with_ending(path, RESTORING);
    ["", "-wal", "-shm", ".damaged", ".marker", ".lock"]
        .map(|end| new_file::with_ending(&partial, end))
}

/// Opens a store for reading. It must exist; nothing in it is created or upgraded.
pub(crate) async fn open_to_read(address: &StoreAddress) -> Result<Arc<dyn Store>, Failure> {
    require_existing(address)?;
    match address {
        StoreAddress::Sqlite(path) => {
            open_sqlite(path.clone(), sqlite::Options::default(), SqliteStore::open_to_read).await
        }
        StoreAddress::Postgres(url) => {
            let connected = PgStore::connect_to_read(url, postgres::Options::default()).await;
            connected.map(|store| Arc::new(store) as _).map_err(connect_error)
        }
    }
}

/// Forgets the damage that was found in a store, because it was checked and is sound. Returns false
/// if damage was found again since the mark was read.
pub(crate) async fn forget_damage(
    address: &StoreAddress,
    mark: &DamageMark,
) -> Result<bool, Failure> {
    match address {
        StoreAddress::Sqlite(path) => SqliteStore::forget_damage(path, mark).map_err(|error| {
            Failure::new(
                format!("everything is sound, but the mark of damage cannot be removed: {error}"),
                format!("delete {}.damaged", path.display()),
            )
        }),
        StoreAddress::Postgres(url) => {
            let forgotten = PgStore::forget_damage(url, postgres::Options::default(), mark).await;
            forgotten.map_err(|error| {
                connect_error(error).with_remedy(
                    "everything is sound, but the mark of damage is left: give a user that may write, or remove it \
                     with DELETE FROM marks WHERE name = 'damaged'",
                )
            })
        }
    }
}

async fn open_sqlite(
    path: PathBuf,
    options: sqlite::Options,
    open: fn(&Path, sqlite::Options) -> Result<SqliteStore, OpenError>,
) -> Result<Arc<dyn Store>, Failure> {
    let shown = path.display().to_string();
    let opened = tokio::task::spawn_blocking(move || open(&path, options));
    match opened.await {
        Ok(Ok(store)) => Ok(Arc::new(store)),
        Ok(Err(error)) => Err(open_error(error)),
        Err(error) => Err(Failure::new(format!("cannot open {shown}: {error}"), "")),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn an_invalid_address_is_refused_without_repeating_it() {
        for (text, shown) in [
            ("sqlite:a/b.db", "a/b.db"),
            ("postgres://h/d", "postgres://h/d"),
            ("postgresql://u:p%40ss@h1:1,h2/d?password=x", "postgres://h1:1,h2/d"),
            ("postgres://u:p@ss/w?rd@h/d", "postgres://…"),
            ("postgres://u:p@ss@h/d", "postgres://…"),
        ] {
            let address = StoreAddress::parse("store", text).unwrap();
            assert_eq!(address.to_string(), shown, "{text}");
            assert_eq!(format!("{address:?}"), format!("StoreAddress({shown})"));
        }
        for text in ["sqlite:", "", "a.db", "mysql://user:password@host", "postgres:x"] {
            let failure = StoreAddress::parse("from", text).unwrap_err().to_string();
            assert!(failure.contains("--from") && !failure.contains("password"), "{failure}");
        }
    }

    #[test]
    fn an_open_error_names_the_store_and_the_remedy() {
        let path = || Path::new("folder/sluice.db").to_owned();
        let io = || std::io::Error::from(std::io::ErrorKind::PermissionDenied);
        for (error, remedy) in [
            (OpenError::Folder { path: path(), source: io() }, "--data"),
            (OpenError::Unopenable { path: path(), reason: "odd".into() }, "read and write"),
            (OpenError::Locked { path: path() }, "wait"),
            (OpenError::NewerSchema { path: path(), found: 9, known: 1 }, "upgrade"),
            (OpenError::NoSchema { path: path() }, "nothing was created"),
            (OpenError::OlderSchema { path: path(), found: 1, known: 2 }, "sluice serve"),
            (OpenError::OtherSchema { path: path(), detail: "odd".into() }, "backup"),
            (OpenError::NotOurs { path: path() }, "backup"),
            (OpenError::Damaged { path: path(), reason: "odd".into() }, "backup"),
        ] {
            let message = open_error(error).to_string();
            let lines: Vec<&str> = message.lines().collect();
            assert!(lines[0].contains("folder/sluice.db"), "{message}");
            assert!(lines.len() == 2 && lines[1].contains(remedy), "{message}");
        }
    }

    #[test]
    fn the_postgresql_defaults_are_those_of_the_store() {
        let ours = format!("{:?}", options(&Tuning::default()));
        assert_eq!(ours, format!("{:?}", postgres::Options::default()));
    }

    #[test]
    fn a_connect_error_names_the_server_and_the_remedy() {
        let (place, deadline) = (|| "db1:5432, database d".to_owned(), Duration::from_secs(10));
        let not_kept = |setting, expected, found: &str| ConnectError::NotDurable {
            setting,
            expected,
            found: found.to_owned(),
        };
        for (error, what, remedy) in [
            (
                not_kept("synchronous_commit", "on", "off"),
                "has synchronous_commit=off",
                "synchronous_commit=on must stay in force",
            ),
            (
                not_kept("client_min_messages", "warning", "error"),
                "has client_min_messages=error",
                "client_min_messages=warning must stay in force",
            ),
            (
                ConnectError::WorkerNotDurable { worker: "w1:5432".into(), found: "off".into() },
                "the worker w1:5432 has synchronous_commit=off",
                "synchronous_commit=on on that worker",
            ),
            (
                ConnectError::NotPlaced {
                    table: "feed".into(),
                    expected: "on the coordinator",
                    found: "not placed".into(),
                },
                "the table feed is not placed",
                "layout.sql",
            ),
            (ConnectError::Silent { deadline }, "did not answer within 10s", "its locks"),
            (ConnectError::NoSchema { place: place() }, "no database of Sluice at db1", "name the"),
            (ConnectError::Restoring { place: place() }, "at db1", "create it again"),
            (
                ConnectError::OlderSchema { place: place(), found: 1, known: 2 },
                "older schema (1, this binary supports 2)",
                "sluice serve",
            ),
        ] {
            let message = connect_error(error).to_string();
            let lines: Vec<&str> = message.lines().collect();
            assert!(lines.len() == 2 && lines[0].contains(what), "{message}");
            assert!(lines[1].contains(remedy), "{message}");
        }
    }

    #[tokio::test]
    async fn a_connect_error_does_not_contain_the_password() {
        for (url, what) in [
            ("postgres://u:secret@127.0.0.1:1/d", "127.0.0.1:1"),
            ("postgres://u:secret@127.0.0.1:none/d", "cannot be used"),
        ] {
            let address = StoreAddress::parse("store", url).unwrap();
            let message = open(&address, &Tuning::default(), Opening::default())
                .await
                .err()
                .unwrap()
                .to_string();
            assert!(message.contains(what) && !message.contains("secret"), "{message}");
            assert_eq!(message.lines().count(), 2, "{message}");
        }
    }
}
