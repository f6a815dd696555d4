//! SQLite: one file, one thread that writes, a few connections that read.
//!
//! Reading order: [`OpenError`] (what can go wrong at startup), `connection` (the settings that
//! durability depends on), `migrations/` (the tables), `writer` (the thread), `commit` and `apply`
//! (its writes), `files`, `marker` and `damage_file` (files that are removed or damaged),
//! `response_keys` and `version_numbers` (the integers in a response's row), `import_records`
//! (records of another database), `read/`. Several processes may have the same file open: SQLite's
//! locks serialise them, and each sees the changes of the others in the change feed.
//!
//! Deliberately absent: any retry of a failed write. A failure is reported; an unknown outcome
//! stops the writer.

mod admin_requests;
mod apply;
mod assets;
mod claims;
mod closing;
mod codec;
mod commit;
mod connection;
mod count_rows;
mod counts;
mod damage_file;
mod delivery_health;
mod disk;
mod endpoints;
mod events;
mod expiry;
mod failure;
mod files;
mod import_records;
mod invitations;
mod log;
mod log_gate;
mod mails;
mod marker;
mod moving;
mod open;
mod open_error;
mod page_check;
mod people;
mod put;
mod read;
mod readers;
mod reclaim;
mod recount;
mod removal;
mod reports;
mod response_keys;
mod response_row;
mod roles;
mod schema;
mod short_paths;
mod sinks;
mod skip_index;
mod status;
mod test_responses;
mod transaction;
mod version_numbers;
mod view;
mod visits;
mod writer;

use std::path::Path;
use std::sync::Arc;

use connection::ConnectionRole;

pub use connection::Options;
pub use marker::CreatePolicy;
pub use open_error::OpenError;

use crate::{Damage, DamageMark};

/// A store in one SQLite file.
#[derive(Debug)]
pub struct SqliteStore {
    writer: writer::Writer,
    readers: readers::Readers,
    reserve: Arc<disk::Reserve>,
    damage: Arc<Damage>,
    /// How far the log of events may be read.
    gate: Arc<log_gate::LogGate>,
}

impl SqliteStore {
    /// Opens the database, creating and migrating it if needed, and leaves a marker beside it.
    /// Blocks briefly, or up to `busy_timeout` if another process holds the lock.
    pub fn open(path: &Path, options: Options) -> Result<Self, OpenError> {
        let connection = open::open(path, &options)?;
        let marker = marker::Marker::put(path).map_err(|source| OpenError::Folder {
            path: marker::folder_of(path).to_owned(),
            source,
        })?;
        let reserve = Arc::new(disk::Reserve::new(path, options.disk_reserve_bytes));
        let found_before = damage_file::found_before(path);
        let damage_file = Arc::new(damage_file::DamageFile::beside(path));
        let file = Arc::clone(&damage_file);
        let damage = Arc::new(Damage::new(found_before, move |what| file.remember(what)));
        let gate = Arc::new(log_gate::LogGate::default());
        let limits = writer::Limits {
            reserve: Arc::clone(&reserve),
            log_pages_max: options.log_pages_max(),
            damage: Arc::clone(&damage),
            damage_file,
            gate: Arc::clone(&gate),
        };
        let writer = writer::Writer::start(connection, path, limits, marker)?;
        let readers = readers::Readers::new(path, ConnectionRole::Reader, options, &damage);
        Ok(Self { writer, readers, reserve, damage, gate })
    }

    /// Opens an existing database with the schema of this binary; any other is refused. Nothing is
    /// written to its file or log, and every write fails: the store is closed for them.
    pub fn open_to_read(path: &Path, options: Options) -> Result<Self, OpenError> {
        open::must_be_current(path, &options)?;
        let reserve = Arc::new(disk::Reserve::new(path, options.disk_reserve_bytes));
        let damage = Arc::new(Damage::only(damage_file::found_before(path)));
        let readers = readers::Readers::new(path, ConnectionRole::ReadOnly, options, &damage);
        let gate = Arc::default();
        Ok(Self { writer: writer::Writer::closed(), readers, reserve, damage, gate })
    }

    /// Forgets the damage that was found in a database, because it was checked and is sound.
    /// Returns false if damage was found again since the mark was read. A server that has the
    /// database open still refuses submissions until it is restarted.
    pub fn forget_damage(path: &Path, mark: &DamageMark) -> std::io::Result<bool> {
        damage_file::remove(path, mark)
    }
}
