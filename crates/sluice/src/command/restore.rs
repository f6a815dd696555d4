//! `sluice restore`: checks a whole backup, writes it into an empty store, and verifies the result.
//!
//! A new SQLite database is written under another name and renamed at the end, so that a restore
//! that was interrupted does not look like a store.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use sluice_engine::Store;
use sluice_engine::backup::{Backup, Contents};
use sluice_engine::restore::{self, RestoreError};
use sluice_engine::verify::MasterKey;

use super::backup::{PASSPHRASE, backup_error, check_file, passphrase};
use super::verify;
use crate::args::RestoreArgs;
use crate::backend::{self, StoreAddress};
use crate::failure::{Exit, Failure, Outcome, with_cause};
use crate::logging::{self, LogFormat};
use crate::output::{self, counted};
use crate::progress::Progress;
use crate::tuning::Tuning;
use crate::{config, master_key, new_file};

/// The ending of a database that is being restored.
const RESTORING: &str = ".restoring";

pub(crate) async fn run(args: RestoreArgs) -> Outcome {
    logging::start("warn", LogFormat::Text)?;
    let begin = Instant::now();
    let shown = args.file.display();
    if args.check {
        let contents = check_file(args.file.clone(), args.base, None).await?;
        output::line(format_args!("{shown}: {}: sound", summary(&contents)));
        return Ok(Exit::Done);
    }
    let is_folder = args.store.is_none();
    let (address, folder) = config::store_of(args.data, args.store)?;
    must_be_new(&address, &folder, is_folder).await?;
    let contents = check_file(args.file.clone(), args.base.clone(), None).await?;
    let keys = opened_keys(&contents, &args.file)?;
    let backup = Backup::open(&args.file, args.base.as_deref())
        .map_err(|error| backup_error(&error, &args.file))?;
    let filled = fill(&address, backup, &contents, &args.file).await?;
    if let Some(keys) = keys {
        let written = master_key::restore(&folder, &keys);
        let path = written.map_err(|error| {
            Failure::new(
                format!("the master key cannot be written to {}: {error}", folder.display()),
                "the store is restored; run this again into a new place once that is fixed",
            )
        })?;
        output::line(format_args!("the master key is restored to {}", path.display()));
    }
    filled.finish().await?;
    let seconds = begin.elapsed().as_secs_f64();
    output::line(format_args!(
        "{} restored from {shown} to {address} in {seconds:.1} s: equal and sound",
        summary(&contents)
    ));
    Ok(Exit::Done)
}

fn summary(contents: &Contents) -> String {
    let (records, responses) = (contents.records(), contents.responses());
    format!(
        "{}, {} among them, as of {}",
        counted(records, "record"),
        counted(responses, "response"),
        contents.header.created_at
    )
}

/// Refuses a place that holds anything: neither a store nor a master key is ever replaced.
async fn must_be_new(
    address: &StoreAddress,
    folder: &Path,
    is_folder: bool,
) -> Result<(), Failure> {
    if let StoreAddress::Sqlite(path) = address {
        remove_leftovers(path);
    }
    backend::must_be_empty(address).await?;
    let held = match fs::read_dir(folder) {
        Ok(entries) if is_folder => {
            let mut paths = entries.flatten().map(|entry| entry.path());
            // The root of a file system has it from the start.
            paths.find(|path| !path.ends_with("lost+found"))
        }
        _ => Some(master_key::path_in(folder)).filter(|path| path.symlink_metadata().is_ok()),
    };
    match held {
        Some(held) => Err(Failure::new(
            format!("the folder {} is not empty: it holds {}", folder.display(), held.display()),
            "name a folder that does not exist with --data; nothing was changed",
        )),
        None => Ok(()),
    }
}

/// The master keys of the backup; `None`, with a warning, if they cannot be restored.
fn opened_keys(contents: &Contents, file: &Path) -> Result<Option<Vec<MasterKey>>, Failure> {
    let passphrase = passphrase()?;
    let Some(sealed) = &contents.header.master_keys else {
        output::note(
            "warning: this backup does not hold the master key: put the key that belongs to it into the data folder \
             as master.key, or give it in SLUICE_MASTER_KEY, before you start the server",
        );
        return Ok(None);
    };
    let Some(passphrase) = passphrase else {
        output::note(format_args!(
            "warning: the master key is not restored: set {PASSPHRASE} to restore it with the rest"
        ));
        return Ok(None);
    };
    sealed.open(&passphrase).map(Some).ok_or_else(|| {
        Failure::new(
            format!("{PASSPHRASE} does not open the master key in {}", file.display()),
            "give the passphrase that the backup was made with, or unset it to restore without the key; nothing \
             was written",
        )
    })
}

/// A store that was written and is not at its final place yet.
struct Filled {
    /// The written file, and the name that it gets.
    rename: Option<(PathBuf, PathBuf)>,
}

impl Filled {
    async fn finish(self) -> Result<(), Failure> {
        let Some((written, path)) = self.rename else { return Ok(()) };
        let log = new_file::with_ending(&written, "-wal");
        if fs::metadata(&log).is_ok_and(|log| log.len() > 0) {
            return Err(Failure::new(
                format!("the database did not close cleanly: {} is left", log.display()),
                "check the disk, then run this again",
            ));
        }
        new_file::give_name(&written, &path).map_err(|error| {
            Failure::new(
                format!("{} cannot be renamed: {error}", written.display()),
                format!("it is complete: rename it to {}", path.display()),
            )
        })?;
        remove_leftovers(&path);
        Ok(())
    }
}

/// Removes the files of a restore that was interrupted.
fn remove_leftovers(path: &Path) {
    let partial = new_file::with_ending(path, RESTORING);
    for end in ["", "-wal", "-shm", ".marker"] {
        // Nearly always absent.
        let _absent = fs::remove_file(new_file::with_ending(&partial, end));
    }
}

async fn fill(
    address: &StoreAddress,
    backup: Backup,
    contents: &Contents,
    file: &Path,
) -> Result<Filled, Failure> {
    let (target, rename) = match address {
        StoreAddress::Sqlite(path) => {
            let partial = new_file::with_ending(path, RESTORING);
            (StoreAddress::Sqlite(partial.clone()), Some((partial, path.clone())))
        }
        StoreAddress::Postgres(_) => (address.clone(), None),
    };
    let store = backend::open(&target, &Tuning::default(), backend::Opening::default()).await?;
    let filled = write_and_verify(&store, backup, contents, file).await;
    store.close().await;
    match (&filled, &rename) {
        (Err(_), Some((_, path))) => remove_leftovers(path),
        (Err(_), None) => {
            output::note("the database holds a part of the backup: drop it before you try again")
        }
        (Ok(()), _) => {}
    }
    filled.map(|()| Filled { rename })
}

async fn write_and_verify(
    store: &Arc<dyn Store>,
    backup: Backup,
    contents: &Contents,
    file: &Path,
) -> Result<(), Failure> {
    let total = contents.records();
    let progress = Progress::start("restoring", 0, Some(total));
    let written = restore::write(store, backup, |records| progress.advance(records)).await;
    drop(progress);
    written.map_err(|error| restore_error(&error, file))?;
    let progress = Progress::start("comparing", 0, Some(total));
    let equal = restore::compare(store, contents, |records| progress.advance(records)).await;
    drop(progress);
    equal.map_err(|error| restore_error(&error, file))?;
    verify::check(&**store, verify::Skipped::Quiet).await.map(|_| ())
}

fn restore_error(error: &RestoreError, file: &Path) -> Failure {
    match error {
        RestoreError::Backup(error) => backup_error(error, file),
        RestoreError::Write(_) | RestoreError::Read(_) => Failure::new(
            with_cause(error),
            "check the free space there and that the database responds, then run this again",
        ),
        RestoreError::NotEqual => {
            Failure::new(error.to_string(), "do not use it; check its disk, then run this again")
        }
    }
}
