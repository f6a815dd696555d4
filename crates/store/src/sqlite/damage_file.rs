//! The file beside a database that remembers that damage was found in it. Not in the database, which
//! may lose what is written to it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::path::Path;

use super::marker::{beside, folder_of};

const SUFFIX: &str = ".damaged";

/// What was found, if anything was.
pub(super) fn read(path: &Path) -> Option<String> {
    match fs::read_to_string(beside(path, SUFFIX)) {
        Ok(text) => Some(text.lines().next().unwrap_or("it is not known where").to_owned()),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => Some(format!("the file that remembers it cannot be read: {error}")),
    }
}

/// Remembers what was found, durably. What is remembered already is kept.
pub(super) fn write(path: &Path, what: &str) {
    match try_write(path, what) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        Err(error) => tracing::error!(%error, "the damage cannot be remembered: do not restart"),
    }
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

/// Forgets what was found.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(beside(path, SUFFIX)) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
