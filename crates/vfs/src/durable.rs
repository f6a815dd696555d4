//! When a file is known to be durable, so that a further sync would do nothing.
//!
//! All of these must hold:
//!
//! - Nothing was written through this handle since its last sync, and that sync succeeded.
//! - No other program has written: the file is the same, with the same length and time of change. A
//!   commit holds SQLite's write lock from its first write to the end of its sync, so another
//!   program writes only after that. The clock of files advances in steps of up to 10 ms; as the
//!   sync took longer than [`SLOW_SYNC`], such a write gets a later time.
//! - The sync is of the same kind.
//!
//! A failed sync leaves the file not durable: the next one is passed on, and fails or succeeds.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::Duration;

/// A sync that takes this long is slow. After a faster one, nothing is omitted.
pub(crate) const SLOW_SYNC: Duration = Duration::from_millis(50);

/// Which file this is, and when it was changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    device: u64,
    inode: u64,
    bytes: u64,
    changed: (i64, i64),
}

impl Stamp {
    pub(crate) fn read(path: &Path) -> Option<Self> {
        let file = std::fs::metadata(path).ok()?;
        let (device, inode, bytes) = (file.dev(), file.ino(), file.len());
        Some(Self { device, inode, bytes, changed: (file.mtime(), file.mtime_nsec()) })
    }
}

/// What is known of one open file.
#[derive(Debug, Default)]
pub(crate) struct Durable(Option<(i32, Stamp)>);

impl Durable {
    /// The file is about to be changed, or synced.
    pub(crate) fn reset(&mut self) {
        self.0 = None;
    }

    /// A sync of this kind has succeeded.
    pub(crate) fn note_sync(
        &mut self,
        kind: i32,
        took: Duration,
        file: impl FnOnce() -> Option<Stamp>,
    ) {
        self.0 = if took >= SLOW_SYNC { file().map(|stamp| (kind, stamp)) } else { None };
    }

    /// Whether a sync of this kind would do nothing.
    pub(crate) fn is_known(&self, kind: i32, file: impl FnOnce() -> Option<Stamp>) -> bool {
        self.0.is_some_and(|(known, stamp)| known == kind && file() == Some(stamp))
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{File, write};

    use super::*;

    const KIND: i32 = 2;

    /// A file that was just synced, and what is known of it.
    fn synced(path: &Path, took: Duration) -> Durable {
        write(path, "frames").unwrap();
        // Long ago, so that any later change has another time.
        File::options()
            .write(true)
            .open(path)
            .unwrap()
            .set_modified(std::time::UNIX_EPOCH)
            .unwrap();
        let mut durable = Durable::default();
        durable.note_sync(KIND, took, || Stamp::read(path));
        durable
    }

    #[test]
    fn a_slow_sync_makes_a_file_durable_until_anything_changes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let is_known = |durable: &Durable| durable.is_known(KIND, || Stamp::read(&path));
        assert!(!is_known(&Durable::default()), "nothing is known of a new file");
        assert!(is_known(&synced(&path, SLOW_SYNC)));
        assert!(!is_known(&synced(&path, SLOW_SYNC / 2)), "a fast disk");
        assert!(
            !synced(&path, SLOW_SYNC).is_known(KIND + 1, || Stamp::read(&path)),
            "another kind"
        );

        let mut written = synced(&path, SLOW_SYNC);
        written.reset();
        assert!(!is_known(&written), "written through this handle, or a sync that failed");
    }

    #[test]
    fn what_another_program_changes_is_not_durable() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        type Change = fn(&Path);
        let changes: [(&str, Change); 5] = [
            ("the same length", |path| write(path, "FRAMES").unwrap()),
            ("longer", |path| write(path, "frames and more").unwrap()),
            ("emptied", |path| drop(File::create(path).unwrap())),
            ("removed", |path| std::fs::remove_file(path).unwrap()),
            ("another file", |path| {
                let other = path.with_extension("other");
                std::fs::copy(path, &other).unwrap();
                let file = File::options().write(true).open(&other).unwrap();
                file.set_modified(std::time::UNIX_EPOCH).unwrap();
                std::fs::rename(other, path).unwrap();
            }),
        ];
        for (name, change) in changes {
            let durable = synced(&path, SLOW_SYNC);
            change(&path);
            assert!(!durable.is_known(KIND, || Stamp::read(&path)), "{name}");
        }
    }
}
