//! The disk space that submissions leave free, so that administration, deletion and sign-in still
//! work when the disk is nearly full.
//!
//! Free pages inside the database file count as free space, since SQLite fills them before the file
//! grows: otherwise deleting responses would never make room for submissions. But a write goes to
//! the log first, which needs space outside the file, so half of the reserve must be free on the
//! disk itself.

use std::path::{Path, PathBuf};

use rusqlite::Connection;

use crate::DiskSpace;

/// The default reserve, if the operator sets no other: this many bytes, 256 MiB, ...
const RESERVE_BYTES_DEFAULT: u64 = 256 * 1024 * 1024;
/// ... or this fraction of the filesystem, whichever is smaller: 5 %.
const RESERVE_PARTS: u64 = 20;

/// The reserve of one database.
#[derive(Debug)]
pub(super) struct Reserve {
    folder: PathBuf,
    log: PathBuf,
    bytes: u64,
}

impl Reserve {
    /// The reserve of the disk with this file; `bytes` is the operator's setting, 0 means none.
    pub(super) fn new(database: &Path, bytes: Option<u64>) -> Self {
        let folder = match database.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
            _ => PathBuf::from("."),
        };
        let default = || {
            let total = space(&folder).map_or(0, |(_, total)| total);
            RESERVE_BYTES_DEFAULT.min(total / RESERVE_PARTS)
        };
        let mut log = database.as_os_str().to_owned();
        log.push("-wal");
        Self { bytes: bytes.unwrap_or_else(default), folder, log: log.into() }
    }

    /// Free space now. Absent if the system does not report it.
    pub(super) fn space(&self) -> Option<DiskSpace> {
        let (free_bytes, _) = space(&self.folder)?;
        let log_bytes = std::fs::metadata(&self.log).map_or(0, |it| it.len());
        Some(DiskSpace { free_bytes, reserve_bytes: self.bytes, log_bytes })
    }

    /// Whether submissions may be stored.
    pub(super) fn has_room(&self, connection: &Connection) -> bool {
        if self.bytes == 0 {
            return true;
        }
        let Some((free_bytes, _)) = space(&self.folder) else { return true };
        free_bytes >= self.bytes
            || is_enough(free_bytes, reusable_bytes(connection).unwrap_or(0), self.bytes)
    }
}

/// Whether free pages of the database make up for the space missing on the disk.
fn is_enough(free: u64, reusable: u64, reserve: u64) -> bool {
    free >= reserve / 2 && free.saturating_add(reusable) >= reserve
}

/// Unused bytes of the database file.
fn reusable_bytes(connection: &Connection) -> rusqlite::Result<u64> {
    let number = |pragma| connection.pragma_query_value(None, pragma, |row| row.get::<_, u32>(0));
    Ok(u64::from(number("freelist_count")?) * u64::from(number("page_size")?))
}

/// Free and total bytes of the filesystem with this folder, as available to this user.
#[cfg(unix)]
fn space(folder: &Path) -> Option<(u64, u64)> {
    let found = rustix::fs::statvfs(folder).ok()?;
    let bytes = |blocks: u64| blocks.saturating_mul(found.f_frsize);
    Some((bytes(found.f_bavail), bytes(found.f_blocks)))
}

#[cfg(not(unix))]
fn space(_: &Path) -> Option<(u64, u64)> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_pages_count_as_room_while_half_of_the_reserve_is_free_on_the_disk() {
        for (free, reusable, enough) in
            [(99, 0, false), (99, 1, true), (50, 49, false), (50, 50, true), (49, 1_000, false)]
        {
            assert_eq!(is_enough(free, reusable, 100), enough, "{free} {reusable}");
        }
    }
}
