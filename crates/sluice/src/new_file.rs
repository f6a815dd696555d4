//! A file that is written under a temporary name and renamed once it is complete. It never replaces
//! a file that exists.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// The path with an ending after its last letter.
pub(crate) fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// Gives a complete file its name, durably.
pub(crate) fn give_name(written: &Path, path: &Path) -> io::Result<()> {
    // A link, unlike a rename, does not replace a file that appeared meanwhile.
    match fs::hard_link(written, path) {
        Ok(()) => fs::remove_file(written)?,
        Err(error) if error.kind() == ErrorKind::AlreadyExists => return Err(error),
        // Some file systems have no links.
        Err(_) if path.symlink_metadata().is_err() => fs::rename(written, path)?,
        Err(error) => return Err(error),
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_given_once() {
        let folder = tempfile::tempdir().unwrap();
        let (one, path) = (folder.path().join("one.partial"), folder.path().join("one"));
        assert_eq!(with_ending(&path, ".partial"), one);
        fs::write(&one, "first").unwrap();
        give_name(&one, &path).unwrap();
        assert!(!one.exists());
        fs::write(&one, "second").unwrap();
        assert_eq!(give_name(&one, &path).unwrap_err().kind(), ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&path).unwrap(), b"first");
        assert!(one.exists());
    }
}
