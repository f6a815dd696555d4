//! The master key, which seals signing secrets and is not in the database: a file beside it, or an
//! environment variable.
//!
//! Both hold one key, or several during a rotation: the first seals, all of them open. The file is
//! created at the first start, readable only by its owner; a file that others can read is refused.
//! It is read again whenever it is needed, so a running server sees a rotation.

use std::fs::{self, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sluice_engine::verify::{MasterKey, MasterKeySource};

use crate::failure::Failure;
use crate::new_file;

pub(crate) const VARIABLE: &str = "SLUICE_MASTER_KEY";
const FILE: &str = "master.key";

/// Where the master keys come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum MasterKeys {
    /// From the variable.
    Given(Vec<MasterKey>),
    File(PathBuf),
}

impl MasterKeys {
    /// Parses the variable's value, or uses the file in this folder.
    pub(crate) fn from_variable(variable: Option<String>, folder: &Path) -> Result<Self, Failure> {
        let Some(text) = variable else { return Ok(Self::File(folder.join(FILE))) };
        parse(&text).map(Self::Given).ok_or_else(|| {
            Failure::usage(
                format!("{VARIABLE} is not a master key"),
                "it must be 32 random bytes in base64, such as the output of: openssl rand -base64 32 \
                 (two of them with a comma between, the new one first, while the key is rotated)",
            )
        })
    }

    pub(crate) fn source(&self) -> Arc<dyn MasterKeySource> {
        match self {
            Self::Given(keys) => Arc::new(keys.clone()),
            Self::File(path) => Arc::new(KeyFile(path.clone())),
        }
    }

    /// The keys, without creating any.
    pub(crate) fn existing(&self) -> Result<Vec<MasterKey>, String> {
        match self {
            Self::Given(keys) => Ok(keys.clone()),
            Self::File(path) => {
                read(path)?.ok_or_else(|| format!("there is no file {}", path.display()))
            }
        }
    }

    /// Checks that a key can be read; creates the file if there is none.
    pub(crate) fn prepare(&self) -> Result<(), Failure> {
        let Self::File(path) = self else { return Ok(()) };
        read_or_create(path).map(|_| ()).map_err(|why| {
            let remedy = format!("fix the file, or give the key in {VARIABLE}");
            Failure::new(format!("the master key: {why}"), remedy)
        })
    }
}

#[derive(Debug)]
struct KeyFile(PathBuf);

impl MasterKeySource for KeyFile {
    fn keys(&self) -> Result<Vec<MasterKey>, String> {
        read_or_create(&self.0)
    }

    fn existing(&self) -> Result<Vec<MasterKey>, String> {
        read(&self.0)?.ok_or_else(|| format!("{} is missing", self.0.display()))
    }
}

fn parse(text: &str) -> Option<Vec<MasterKey>> {
    let words = text.split([',', '\n']).map(str::trim).filter(|word| !word.is_empty());
    let keys: Option<Vec<MasterKey>> = words.map(MasterKey::parse).collect();
    keys.filter(|keys| !keys.is_empty())
}

fn read_or_create(path: &Path) -> Result<Vec<MasterKey>, String> {
    match read(path)? {
        Some(keys) => Ok(keys),
        None => {
            let made = write_first(path, &MasterKey::random());
            made.map_err(|error| format!("cannot write {}: {error}", path.display()))?;
            // Another process may have created the file first: its key is used then.
            read(path)?.ok_or_else(|| format!("{} has disappeared", path.display()))
        }
    }
}

fn read(path: &Path) -> Result<Option<Vec<MasterKey>>, String> {
    let shown = path.display();
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(format!("cannot read {shown}: {error}")),
    };
    if is_open_to_others(path) {
        return Err(format!("{shown} can be read by others: chmod 600 {shown}"));
    }
    let keys = parse(&text);
    keys.map(Some).ok_or_else(|| format!("{shown} contains no master key (32 bytes in base64)"))
}

#[cfg(unix)]
fn is_open_to_others(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    fs::metadata(path).is_ok_and(|found| found.permissions().mode() & 0o077 != 0)
}

#[cfg(not(unix))]
fn is_open_to_others(_: &Path) -> bool {
    false
}

/// Writes the file atomically, if there is none.
fn write_first(path: &Path, key: &MasterKey) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let temporary = temporary_path(path);
    write_private(&temporary, std::slice::from_ref(key))?;
    // A link, unlike a rename, does not replace an existing file.
    let linked = match fs::hard_link(&temporary, path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        linked => linked,
    };
    match fs::remove_file(&temporary) {
        // A rotation has removed it: see `Rotating`.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        removed => removed?,
    }
    linked?;
    sync_folder(path)
}

/// The lock for rotating the keys of a file. Two concurrent rotations would each create a key, seal
/// with it, and drop the other's. The system releases the lock if the process is killed.
#[derive(Debug)]
pub(crate) struct RotationLock(
    #[expect(dead_code, reason = "dropping it releases the lock")] fs::File,
);

impl RotationLock {
    pub(crate) fn begin(path: &Path) -> Result<Self, String> {
        let lock_path = path.with_extension("key.lock");
        // The file may exist already and belong to another user.
        let lock = OpenOptions::new().append(true).create(true).open(&lock_path);
        let lock = lock.or_else(|_| fs::File::open(&lock_path));
        let lock = lock.map_err(|error| format!("cannot open {}: {error}", lock_path.display()))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err("is being rotated already".to_owned()),
            Err(TryLockError::Error(error)) => {
                return Err(format!("cannot lock {}: {error}", lock_path.display()));
            }
        }
        remove_temporary_files(path)
            .map_err(|error| format!("cannot remove old copies: {error}"))?;
        Ok(Self(lock))
    }
}

/// Removes temporary files of a process that was killed while writing: they contain keys, old ones
/// included.
fn remove_temporary_files(path: &Path) -> io::Result<()> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return Ok(()) };
    let start = format!("{}.", name.to_string_lossy());
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix(&start));
        if number.is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit())) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Replaces the keys in the file atomically.
pub(crate) fn replace(path: &Path, keys: &[MasterKey]) -> io::Result<()> {
    let temporary = temporary_path(path);
    write_private(&temporary, keys)?;
    keep_owner(path, &temporary)?;
    fs::rename(&temporary, path)?;
    sync_folder(path)
}

/// Users who could read the file can read its replacement: the rotation may run as root, and the
/// server as another user.
#[cfg(unix)]
fn keep_owner(before: &Path, after: &Path) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt as _, chown};
    let (was, is) = (fs::metadata(before)?, fs::metadata(after)?);
    match (was.uid(), was.gid()) == (is.uid(), is.gid()) {
        true => Ok(()),
        false => chown(after, Some(was.uid()), Some(was.gid())),
    }
}

#[cfg(not(unix))]
fn keep_owner(_: &Path, _: &Path) -> io::Result<()> {
    Ok(())
}

fn temporary_path(path: &Path) -> PathBuf {
    path.with_extension(format!("key.{}", std::process::id()))
}

fn write_private(path: &Path, keys: &[MasterKey]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    let mut file = options.open(path)?;
    for key in keys {
        writeln!(file, "{}", key.to_base64())?;
    }
    file.sync_all()
}

fn sync_folder(path: &Path) -> io::Result<()> {
    match path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        Some(folder) => fs::File::open(folder)?.sync_all(),
        None => fs::File::open(".")?.sync_all(),
    }
}

/// The path of the key file in a folder.
pub(crate) fn path_in(folder: &Path) -> PathBuf {
    folder.join(FILE)
}

/// Writes keys to a file of the folder that does not exist yet, for a restore.
pub(crate) fn restore(folder: &Path, keys: &[MasterKey]) -> io::Result<PathBuf> {
    fs::create_dir_all(folder)?;
    let path = path_in(folder);
    let temporary = temporary_path(&path);
    write_private(&temporary, keys)?;
    new_file::give_name(&temporary, &path)?;
    Ok(path)
}

/// The keys in a file, for its rotation.
pub(crate) fn keys_in(path: &Path) -> Result<Vec<MasterKey>, String> {
    read_or_create(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_created_once_and_only_for_its_owner() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data").join(FILE);
        let made = read_or_create(&path).unwrap();
        assert_eq!(made.len(), 1);
        assert_eq!(read_or_create(&path).unwrap(), made);
        assert!(!is_open_to_others(&path));
        let only = fs::read_dir(path.parent().unwrap()).unwrap().count();
        assert_eq!(only, 1, "no temporary file is left");
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_others_may_read_is_refused() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE);
        read_or_create(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let failed = read_or_create(&path).unwrap_err();
        assert!(failed.contains("chmod 600"), "{failed}");
    }

    /// Only root can change a file's owner; other users skip this test.
    #[cfg(unix)]
    #[test]
    fn a_rotated_file_keeps_its_owner() {
        use std::os::unix::fs::{MetadataExt as _, chown};
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE);
        read_or_create(&path).unwrap();
        let other = chown(&path, Some(65_534), Some(65_534)).is_ok();
        let before = fs::metadata(&path).unwrap().uid();
        replace(&path, &[MasterKey::random()]).unwrap();
        let after = fs::metadata(&path).unwrap();
        assert_eq!((after.uid(), after.mode() & 0o777), (before, 0o600));
        assert!(!other || before == 65_534);
    }

    #[test]
    fn a_variable_holds_one_key_or_several() {
        let (one, two) = (MasterKey::random(), MasterKey::random());
        let given = |text: String| MasterKeys::from_variable(Some(text), Path::new("x"));
        let both = format!("{}, {}", one.to_base64(), two.to_base64());
        assert_eq!(given(one.to_base64()), Ok(MasterKeys::Given(vec![one.clone()])));
        assert_eq!(given(both), Ok(MasterKeys::Given(vec![one, two])));
        for text in ["", "secret", ",", "AAAA"] {
            assert!(given(text.to_owned()).is_err(), "{text}");
        }
        assert_eq!(
            MasterKeys::from_variable(None, Path::new("x")),
            Ok(MasterKeys::File("x/master.key".into()))
        );
    }

    #[test]
    fn rotations_are_exclusive_and_remove_leftover_files() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE);
        read_or_create(&path).unwrap();
        for (name, is_ours) in [("master.key.123", true), ("master.key.old", false)] {
            fs::write(folder.path().join(name), "x").unwrap();
            let first = RotationLock::begin(&path).unwrap();
            assert!(RotationLock::begin(&path).unwrap_err().contains("rotated already"));
            drop(first);
            assert_eq!(folder.path().join(name).exists(), !is_ours, "{name}");
        }
        RotationLock::begin(&path).unwrap();
    }

    #[test]
    fn keys_are_replaced_atomically() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE);
        let old = read_or_create(&path).unwrap();
        let both = vec![MasterKey::random(), old[0].clone()];
        replace(&path, &both).unwrap();
        assert_eq!(read_or_create(&path).unwrap(), both);
    }
}
