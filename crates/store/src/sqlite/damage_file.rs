//! The file beside a database that records damage found in it. It is not in the database, which may
//! lose new writes.
//!
//! The writer thread writes and reads it, after each of its jobs and once a second. So a failed
//! attempt is repeated, and other processes see it soon.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use super::marker::{beside, folder_of};
use crate::{Damage, DamageMark};

const SUFFIX: &str = ".damaged";

#[derive(Debug)]
pub(super) struct DamageFile {
    database: PathBuf,
    /// What was found and is not written yet.
    waiting: Mutex<Option<String>>,
}

impl DamageFile {
    pub(super) fn beside(database: &Path) -> Self {
        Self { database: database.to_owned(), waiting: Mutex::default() }
    }

    /// Leaves it to the writer thread to write this. While something waits, a second adds nothing.
    pub(super) fn remember(&self, what: &str) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.get_or_insert_with(|| what.to_owned());
    }

    /// Writes the waiting damage, durably. Damage that is already stored stays, with a new time: a
    /// check that began before then does not remove it.
    pub(super) fn write(&self) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(what) = &*waiting else { return };
        let written = match try_write(&self.database, what) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => renew(&self.database),
            written => written,
        };
        match written {
            Ok(()) => *waiting = None,
            Err(error) => {
                tracing::error!(%error, "cannot save the damage marker: do not restart");
            }
        }
    }

    /// Records damage that another process has found. A failure to read the file says nothing about
    /// the database: too many files may be open. The next attempt follows a second later.
    pub(super) fn look(&self, damage: &Damage) {
        if damage.found().is_some() {
            return;
        }
        match read(&self.database) {
            Ok(None) => {}
            Ok(Some(mark)) => damage.found_by_another(&mark.what),
            Err(error) => tracing::debug!(%error, "cannot read the file that records damage"),
        }
    }
}

/// The damage that was found before this start, if any.
pub(super) fn found_before(path: &Path) -> Option<DamageMark> {
    read(path).unwrap_or_else(|error| {
        let what = format!("cannot read the file that records it: {error}");
        Some(DamageMark { what, stamp: String::new() })
    })
}

fn read(path: &Path) -> io::Result<Option<DamageMark>> {
    let text = match fs::read_to_string(beside(path, SUFFIX)) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let what = text.lines().next().unwrap_or("it is not known where").to_owned();
    Ok(Some(DamageMark { what, stamp: stamp(path)? }))
}

/// When damage was last found.
fn stamp(path: &Path) -> io::Result<String> {
    let modified = fs::metadata(beside(path, SUFFIX))?.modified()?;
    Ok(format!("{modified:?}"))
}

fn renew(path: &Path) -> io::Result<()> {
    let file = OpenOptions::new().write(true).open(beside(path, SUFFIX))?;
    file.set_modified(SystemTime::now())
}

fn try_write(path: &Path, what: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(beside(path, SUFFIX))?;
    file.write_all(what.lines().next().unwrap_or_default().as_bytes())?;
    file.write_all(b"\n\nSluice found this damage. Run sluice verify: it removes this file if everything is sound.\n")?;
    file.sync_all()?;
    File::open(folder_of(path))?.sync_all()
}

/// Removes the mark, unless damage was found again since it was read. Returns false if it stays.
pub(super) fn remove(path: &Path, mark: &DamageMark) -> io::Result<bool> {
    match stamp(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(true),
        Err(error) => return Err(error),
        Ok(stamp) if stamp != mark.stamp => return Ok(false),
        Ok(_) => {}
    }
    match fs::remove_file(beside(path, SUFFIX)) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(true),
    }
}
