//! A store for one test, on the backend of this test run: SQLite in the test's folder, or the
//! database of the folder.

#[path = "database.rs"]
mod database;

use std::path::Path;
use std::sync::Arc;

use sluice_store::Store;
use sluice_store::postgres::{self, PgStore};
use sluice_store::sqlite::{self, SqliteStore};

pub(crate) async fn open(folder: &Path) -> Arc<dyn Store> {
    match database::of_folder(folder) {
        Some(url) => Arc::new(PgStore::connect(&url, postgres::Options::default()).await.unwrap()),
        None => {
            let path = folder.join("sluice.db");
            Arc::new(SqliteStore::open(&path, sqlite::Options::default()).unwrap())
        }
    }
}
