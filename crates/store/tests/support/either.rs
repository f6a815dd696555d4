//! A store for one test, on the backend of this test run.
//!
//! SQLite in the test's folder; or, if `SLUICE_TEST_STORE=postgres://…` names a server, a database
//! there that belongs to the folder, so that several stores on one folder share it, as several
//! processes do. The databases are not dropped: the script that started the server deletes it
//! (`scripts/postgres`).

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::SystemTime;

use sluice_store::Store;
use sluice_store::postgres::{self, PgStore};
use sluice_store::sqlite::{self, SqliteStore};

pub(crate) async fn open(folder: &Path) -> Arc<dyn Store> {
    let Ok(server) = std::env::var("SLUICE_TEST_STORE") else {
        let path = folder.join("sluice.db");
        return Arc::new(SqliteStore::open(&path, sqlite::Options::default()).unwrap());
    };
    let remembered = folder.join("database-url");
    if !remembered.exists() {
        std::fs::write(&remembered, new_database(&server)).unwrap();
    }
    let url = std::fs::read_to_string(&remembered).unwrap();
    Arc::new(PgStore::connect(&url, postgres::Options::default()).await.unwrap())
}

/// Creates a database for this test alone, and returns its URL.
fn new_database(server: &str) -> String {
    static MADE: AtomicU32 = AtomicU32::new(0);
    let time = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_nanos();
    let count = MADE.fetch_add(1, Ordering::Relaxed);
    let name = format!("test_{}_{time}_{count}", std::process::id());
    let mut psql = Command::new("psql");
    psql.args(["-X", "-q", "-d", server, "-c", &format!("CREATE DATABASE {name}")]);
    let output = psql.output().unwrap_or_else(|error| panic!("psql does not run: {error}"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let (place, parameters) = server.split_once('?').unwrap_or((server, ""));
    let (host, _) = place.rsplit_once('/').unwrap();
    format!("{host}/{name}?{parameters}")
}
