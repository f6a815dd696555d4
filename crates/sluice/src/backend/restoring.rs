//! A store that a backup is being written into. It cannot be used before it is complete: a SQLite
//! database has another name until then, and a PostgreSQL database has a mark.

use std::fs::{self, File};
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
    place: Place,
}

enum Place {
    /// The written file, and the name that it gets.
    File {
        written: PathBuf,
        path: PathBuf,
    },
    Database(Arc<PgStore>),
}

impl Restoring {
    /// Opens an empty store. What an interrupted restore left there is replaced if it is a file.
    pub(crate) async fn begin(address: &StoreAddress) -> Result<Self, Failure> {
        match address {
            StoreAddress::Sqlite(path) => {
                remove_leftovers(path);
                let written = with_ending(path, RESTORING);
                let address = StoreAddress::Sqlite(written.clone());
                let store = open(&address, &Tuning::default(), Opening::default()).await?;
                Ok(Self { store, place: Place::File { written, path: path.clone() } })
            }
            StoreAddress::Postgres(url) => {
                let options = postgres::Options::default();
                let connected = PgStore::connect_to_restore(url, options).await;
                let store = Arc::new(connected.map_err(connect_error)?);
                let place = Place::Database(Arc::clone(&store));
                Ok(Self { store, place })
            }
        }
    }

    pub(crate) fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// Everything is restored: from now on the store can be used.
    pub(crate) async fn finish(self) -> Result<(), Failure> {
        match self.place {
            Place::File { written, path } => {
                self.store.close().await;
                finish_file(&written, &path)
            }
            Place::Database(store) => {
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
        match self.place {
            Place::File { path, .. } => {
                remove_leftovers(&path);
                "nothing was left there"
            }
            Place::Database(_) => DROP_DATABASE,
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

fn remove_leftovers(path: &Path) {
    for file in leftovers(path) {
        // Nearly always absent.
        let _absent = fs::remove_file(file);
    }
}

/// Whether a process is restoring to this path now: it holds a lock on the marker.
pub(super) fn is_running(path: &Path) -> bool {
    let [.., marker] = leftovers(path);
    let is_locked = |file: File| matches!(file.try_lock(), Err(fs::TryLockError::WouldBlock));
    File::open(marker).is_ok_and(is_locked)
}
