//! A store that a backup is being written into. It cannot be used before it is complete: a SQLite
//! database has another name until then, and a PostgreSQL database has a mark.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sluice_engine::Store;
use sluice_store::UpkeepStore as _;
use sluice_store::postgres::{self, PgStore};

use super::refusals::connect_error;
use super::{Opening, RESTORING, StoreAddress, leftovers, open};
use crate::failure::{Failure, with_cause};
use crate::new_file::{give_name, with_ending};
use crate::tuning::Tuning;

pub(crate) struct Restoring {
    store: Arc<dyn Store>,
    target: RestoreTarget,
}

enum RestoreTarget {
    /// The written file, and the name that it gets.
    File {
        written: PathBuf,
        path: PathBuf,
        /// Held until the end, so that no other restore to this path begins.
        lock: File,
    },
    Database(Arc<PgStore>),
}

impl Restoring {
    /// Opens an empty store. What an interrupted restore left there is replaced if it is a file.
    pub(crate) async fn begin(address: &StoreAddress) -> Result<Self, Failure> {
        match address {
            StoreAddress::Sqlite(path) => {
                let lock = lock(path)?;
                remove_leftovers(path);
                let written = with_ending(path, RESTORING);
                let address = StoreAddress::Sqlite(written.clone());
                let store = open(&address, &Tuning::default(), Opening::default()).await?;
                Ok(Self {
                    store,
                    target: RestoreTarget::File { written, path: path.clone(), lock },
                })
            }
            StoreAddress::Postgres(url) => {
                let options = postgres::Options::default();
                let connected = PgStore::connect_to_restore(url, options).await;
                let store = Arc::new(connected.map_err(connect_error)?);
                let target = RestoreTarget::Database(Arc::clone(&store));
                Ok(Self { store, target })
            }
        }
    }

    pub(crate) fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// Everything is restored: from now on the store can be used.
    pub(crate) async fn finish(self) -> Result<(), Failure> {
        match self.target {
            RestoreTarget::File { written, path, lock } => {
                self.store.close().await;
                finish_file(&written, &path)?;
                remove_lock(&path, lock);
                Ok(())
            }
            RestoreTarget::Database(store) => {
                let ended = store.end_restore().await;
                store.close().await;
                ended.map_err(|error| {
                    Failure::new(
                        format!("the mark of the restore cannot be removed: {}", with_cause(&error)),
                        "everything is restored: run DELETE FROM marks WHERE name = 'restoring' there",
                    )
                })
            }
        }
    }

    /// Gives up. Returns what is left there, for the operator.
    pub(crate) async fn discard(self) -> &'static str {
        self.store.close().await;
        match self.target {
            RestoreTarget::File { path, lock, .. } => {
                remove_leftovers(&path);
                remove_lock(&path, lock);
                "nothing was left there"
            }
            RestoreTarget::Database(_) => DROP_DATABASE,
        }
    }
}

const DROP_DATABASE: &str =
    "the database holds a part of the backup: drop it, and create it again, before you try again";

fn finish_file(written: &Path, path: &Path) -> Result<(), Failure> {
    let log = with_ending(written, "-wal");
    if fs::metadata(&log).is_ok_and(|log| log.len() > 0) {
        return Err(Failure::new(
            format!("the database did not close cleanly: {} is left", log.display()),
            "check the disk, then run this again",
        ));
    }
    give_name(written, path).map_err(|error| {
        Failure::new(
            format!("{} cannot be renamed: {error}", written.display()),
            format!("it is complete: rename it to {}", path.display()),
        )
    })?;
    remove_leftovers(path);
    Ok(())
}

/// All but the lock.
fn remove_leftovers(path: &Path) {
    let [files @ .., _lock] = leftovers(path);
    for file in files {
        // Nearly always absent.
        let _absent = fs::remove_file(file);
    }
}

/// Takes the lock for restoring to this path. It is released when the process ends.
fn lock(path: &Path) -> Result<File, Failure> {
    let [.., file] = leftovers(path);
    let opened = file
        .parent()
        .map_or(Ok(()), fs::create_dir_all)
        .and_then(|()| OpenOptions::new().create(true).truncate(false).write(true).open(&file));
    let opened = opened.map_err(|error| {
        Failure::new(
            format!("cannot write {}: {error}", file.display()),
            "choose another folder with --data, or give this user write permission there",
        )
    })?;
    match opened.try_lock() {
        Err(TryLockError::WouldBlock) => Err(is_running(path)),
        // A file system without locks protects from nothing.
        Err(TryLockError::Error(_)) | Ok(()) => Ok(opened),
    }
}

/// The file goes first: nobody can then wait for a lock that is about to vanish.
fn remove_lock(path: &Path, lock: File) {
    let [.., file] = leftovers(path);
    let _absent = fs::remove_file(file);
    drop(lock);
}

/// Fails if a process is restoring to this path now.
pub(super) fn must_not_be_running(path: &Path) -> Result<(), Failure> {
    let [.., lock] = leftovers(path);
    let is_locked = |file: File| matches!(file.try_lock(), Err(TryLockError::WouldBlock));
    match File::open(lock).is_ok_and(is_locked) {
        true => Err(is_running(path)),
        false => Ok(()),
    }
}

fn is_running(path: &Path) -> Failure {
    Failure::new(
        format!("another process is restoring a backup to {}", path.display()),
        "wait for it to end, or name another folder; nothing was changed",
    )
}
