//! Files that are taken away from under an open database: nothing more is acknowledged, and no new
//! database takes the place of one that is missing.
//!
//! Without the checks of `sqlite::files`, each of the commits below succeeds and is lost.

#![cfg(unix)]
use crate::support::rows;

use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use sluice_store::roles::*;
use sluice_store::sqlite::{CreatePolicy, OpenError, Options, SqliteStore};
use sluice_store::{At, Change, Outcome, StoreError, Write};
use tempfile::TempDir;

use rows::{app_row, flow_row, response};

struct Database {
    folder: TempDir,
    store: SqliteStore,
    revision: u64,
    stored: u32,
}

impl Database {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store =
            SqliteStore::open(&folder.path().join("sluice.db"), Options::default()).unwrap();
        let rows = vec![Write::App(app_row()), Write::Flow(flow_row())];
        store.apply(At::Instance, Change::new(|| rows)).await.unwrap();
        let revision = store.find_app(app_row().app_id).await.unwrap().unwrap().public_revision;
        let mut database = Self { folder, store, revision, stored: 0 };
        // So that the file has more than its first page, and an older state.
        for _ in 0..2 {
            fs::copy(database.path(), database.folder.path().join("older")).unwrap();
            for _ in 0..20 {
                database.commit().await.unwrap();
            }
            let other = Connection::open(database.path()).unwrap();
            other.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
            // As every second.
            database.store.check_files().await.unwrap();
        }
        for _ in 0..3 {
            database.commit().await.unwrap();
        }
        // The clock of a file system may have steps of some milliseconds.
        std::thread::sleep(std::time::Duration::from_millis(20));
        database
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("sluice.db")
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("sluice.db-wal")
    }

    async fn commit(&mut self) -> Result<(), StoreError> {
        self.stored += 1;
        let outcomes = self.store.commit(vec![response(2, self.stored, self.revision)]).await?;
        assert_eq!(outcomes, [Outcome::Stored]);
        Ok(())
    }
}

/// After this, neither a commit nor a check succeeds, and the reason names the file.
async fn check(what: &str, file: &str, reason: &str, disturb: impl Fn(&Database)) {
    for by in ["commit", "check", "check_files"] {
        let mut database = Database::new().await;
        disturb(&database);
        let noticed = match by {
            "commit" => database.commit().await,
            "check" => database.store.check().await,
            _ => database.store.check_files().await,
        };
        assert!(matches!(noticed, Err(StoreError::Unknown(_))), "{what}, {by}: {noticed:?}");
        let why = database.store.why_stopped().unwrap().to_owned();
        assert!(why.contains(file) && why.contains(reason), "{what}, {by}: {why}");
        let later = database.commit().await;
        assert!(matches!(later, Err(StoreError::Closed)), "{what}, {by}: {later:?}");
    }
}

fn copy(from: &Path) -> PathBuf {
    let copy = from.with_extension("copy");
    fs::copy(from, &copy).unwrap();
    copy
}

#[tokio::test]
async fn a_database_that_is_removed_or_replaced_stops_the_store() {
    check("removed", "sluice.db ", "removed", |it| fs::remove_file(it.path()).unwrap()).await;
    check("renamed", "sluice.db ", "removed", |it| {
        fs::rename(it.path(), it.folder.path().join("old.db")).unwrap();
    })
    .await;
    check("another file in its place", "sluice.db ", "replaced", |it| {
        fs::rename(copy(&it.path()), it.path()).unwrap();
    })
    .await;
}

#[tokio::test]
async fn a_database_that_is_overwritten_or_cut_off_in_place_stops_the_store() {
    check("an older copy on top", "sluice.db ", "overwritten", |it| {
        fs::copy(it.folder.path().join("older"), it.path()).unwrap();
    })
    .await;
    check("emptied", "sluice.db ", "overwritten", |it| fs::write(it.path(), "").unwrap()).await;
    check("cut off", "sluice.db ", "overwritten", |it| {
        OpenOptions::new().write(true).open(it.path()).unwrap().set_len(8192).unwrap();
    })
    .await;
}

#[tokio::test]
async fn a_log_that_is_removed_emptied_or_cut_off_stops_the_store() {
    check("removed", "sluice.db-wal", "removed", |it| fs::remove_file(it.log()).unwrap()).await;
    check("replaced", "sluice.db-wal", "replaced", |it| {
        fs::rename(copy(&it.log()), it.log()).unwrap();
    })
    .await;
    check("emptied", "sluice.db-wal", "cut off", |it| fs::write(it.log(), "").unwrap()).await;
    check("cut off", "sluice.db-wal", "cut off", |it| {
        let bytes = fs::metadata(it.log()).unwrap().len();
        OpenOptions::new().write(true).open(it.log()).unwrap().set_len(bytes - 4_120).unwrap();
    })
    .await;
}

/// Checkpoints of ours and of others write to the database and empty the log, too.
#[tokio::test]
async fn checkpoints_of_this_and_of_other_processes_are_no_disturbance() {
    let mut database = Database::new().await;
    let other = Connection::open(database.path()).unwrap();
    for mode in ["PASSIVE", "FULL", "RESTART", "TRUNCATE", "PASSIVE", "TRUNCATE"] {
        other.query_row(&format!("PRAGMA wal_checkpoint({mode})"), [], |_| Ok(())).unwrap();
        database.store.check_files().await.unwrap();
        for _ in 0..3 {
            database.commit().await.unwrap();
            database.store.check_files().await.unwrap();
        }
    }
    let second = SqliteStore::open(&database.path(), Options::default()).unwrap();
    other.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    second.check_files().await.unwrap();
    database.store.check_files().await.unwrap();
    second.close().await;
    drop(other);
    database.commit().await.unwrap();
    let app = app_row().app_id;
    let expected = database.store.find_app(app).await.unwrap().unwrap().revision;
    // Emptied by the store itself, after a deletion.
    let id = response(2, 1, 0).row.response_id;
    let change = Change::new(move || vec![Write::DeleteResponse(id)]);
    database.store.apply(At::App { app, expected }, change).await.unwrap();
    for _ in 0..3 {
        database.store.check_files().await.unwrap();
        database.commit().await.unwrap();
    }
    database.store.close().await;
}

fn open(path: &Path, create: CreatePolicy) -> Result<SqliteStore, OpenError> {
    SqliteStore::open(path, Options { create, ..Options::default() })
}

#[tokio::test]
async fn a_missing_database_is_created_only_where_nothing_else_is() {
    use CreatePolicy::{Always, InEmptyFolder, Never};
    let refused = |path: &Path, create, other: Option<&str>| {
        let error = open(path, create).err();
        let Some(OpenError::Absent { other: found, .. }) = &error else { panic!("{error:?}") };
        assert_eq!(found.as_deref(), other.map(std::ffi::OsStr::new));
        assert!(!path.exists() || fs::metadata(path).unwrap().len() == 0, "created");
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data/sluice.db");
    refused(&path, Never, None);
    fs::create_dir_all(path.with_file_name("lost+found")).unwrap();
    // A first start that was killed leaves an empty file.
    fs::write(&path, "").unwrap();
    open(&path, InEmptyFolder).unwrap().close().await;
    open(&path, Never).unwrap().close().await;

    fs::remove_file(&path).unwrap();
    refused(&path, InEmptyFolder, Some("sluice.db.marker"));
    fs::write(&path, "").unwrap();
    refused(&path, InEmptyFolder, Some("sluice.db.marker"));
    fs::remove_file(path.with_file_name("sluice.db.marker")).unwrap();
    fs::write(path.with_file_name("sluice.db-wal"), "pages").unwrap();
    refused(&path, InEmptyFolder, Some("sluice.db-wal"));
    fs::remove_file(path.with_file_name("sluice.db-wal")).unwrap();
    open(&path, InEmptyFolder).unwrap().close().await;
    fs::remove_file(&path).unwrap();
    open(&path, Always).unwrap().close().await;
}
