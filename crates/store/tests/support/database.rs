//! The database of a test folder, if `SLUICE_TEST_STORE=postgres://…` names a server. It belongs to
//! the folder, so that several processes and stores on one folder share it. The databases are not
//! dropped: the script that started the server deletes it (`scripts/postgres`).

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::SystemTime;

/// Its URL; none if this test run uses SQLite.
pub(crate) fn of_folder(folder: &Path) -> Option<String> {
    let server = std::env::var("SLUICE_TEST_STORE").ok()?;
    let remembered = folder.join("database-url");
    if !remembered.exists() {
        std::fs::write(&remembered, new_database(&server)).unwrap();
    }
    Some(std::fs::read_to_string(&remembered).unwrap())
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
