//! `sluice restore`: checks a whole backup, writes it into an empty store, and verifies the result.
//!
//! Until then the store cannot be used, so that a restore that was interrupted does not look like a
//! store ([`Restoring`]).

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use sluice_engine::Store;
use sluice_engine::backup::{Backup, Contents};
use sluice_engine::restore::{self, RestoreError};
use sluice_engine::verify::MasterKey;

use super::backup::{PASSPHRASE, backup_error, check_file, passphrase};
use super::{outbound, verify};
use crate::args::RestoreArgs;
use crate::backend::{self, Restoring, StoreAddress};
use crate::config;
use crate::failure::{Exit, Failure, Outcome, with_cause};
use crate::logging::{self, LogFormat};
use crate::master_key::{self, MasterKeys};
use crate::output::{self, counted};
use crate::progress::Progress;

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
    must_have_same_key(&folder, keys.as_deref().ok())?;
    let keys = keys.inspect_err(|warning| output::note(warning)).ok();
    let backup = Backup::open(&args.file, args.base.as_deref())
        .map_err(|error| backup_error(&error, &args.file))?;
    let restoring = Restoring::begin(&address).await?;
    let written = write_and_verify(restoring.store(), backup, &contents, &args.file).await;
    // Before the store can be used: what was due in the backup may have been sent since.
    let held = match written {
        Ok(()) => outbound::hold(restoring.store()).await,
        Err(failure) => Err(failure),
    };
    let key = held.and_then(|held| {
        let key = keys.map(|keys| write_key(&folder, &keys)).transpose()?;
        Ok((key, held))
    });
    let (key, held) = match key {
        Ok(key) => key,
        Err(failure) => {
            output::note(restoring.discard().await);
            return Err(failure);
        }
    };
    restoring.finish().await?;
    if let Some(path) = key {
        output::line(format_args!("the master key is restored to {}", path.display()));
    }
    let seconds = begin.elapsed().as_secs_f64();
    output::line(format_args!(
        "{} restored from {shown} to {address} in {seconds:.1} s: equal and sound",
        summary(&contents)
    ));
    output::note(held);
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
    backend::must_be_empty(address).await?;
    if !is_folder {
        return Ok(());
    }
    let Ok(entries) = fs::read_dir(folder) else { return Ok(()) };
    // A restore that was interrupted may have written the key: it is compared later.
    let key = master_key::path_in(folder);
    let mut paths = entries.flatten().map(|entry| entry.path());
    let held = paths.find(|path| {
        // The root of a file system has lost+found from the start.
        !path.ends_with("lost+found") && !backend::is_left_by_restore(address, path) && *path != key
    });
    held.map_or(Ok(()), |held| Err(not_empty(folder, &held)))
}

/// Refuses a master key that is not the one of the backup.
fn must_have_same_key(folder: &Path, keys: Option<&[MasterKey]>) -> Result<(), Failure> {
    let path = master_key::path_in(folder);
    if path.symlink_metadata().is_err() {
        return Ok(());
    }
    match MasterKeys::File(path.clone()).existing() {
        Ok(found) if Some(&*found) == keys => Ok(()),
        _ => Err(not_empty(folder, &path)),
    }
}

fn not_empty(folder: &Path, held: &Path) -> Failure {
    Failure::new(
        format!("the folder {} is not empty: it holds {}", folder.display(), held.display()),
        "name a folder that does not exist with --data; nothing was changed",
    )
}

fn write_key(folder: &Path, keys: &[MasterKey]) -> Result<PathBuf, Failure> {
    let path = master_key::path_in(folder);
    if path.symlink_metadata().is_ok() {
        must_have_same_key(folder, Some(keys))?;
        return Ok(path);
    }
    master_key::restore(folder, keys).map_err(|error| {
        Failure::new(
            format!("the master key cannot be written to {}: {error}", folder.display()),
            format!(
                "the backup is not restored: check that folder, then run this again, or unset {PASSPHRASE} \
                 to restore without the key"
            ),
        )
    })
}

/// The master keys of the backup; a warning if they cannot be restored.
fn opened_keys(
    contents: &Contents,
    file: &Path,
) -> Result<Result<Vec<MasterKey>, String>, Failure> {
    let passphrase = passphrase()?;
    let Some(sealed) = &contents.header.master_keys else {
        return Ok(Err("warning: this backup does not hold the master key: put the key that belongs to it into the \
             data folder as master.key, or give it in SLUICE_MASTER_KEY, before you start the server"
            .to_owned()));
    };
    let Some(passphrase) = passphrase else {
        return Ok(Err(format!(
            "warning: the master key is not restored: set {PASSPHRASE} to restore it with the rest"
        )));
    };
    sealed.open(&passphrase).map(Ok).ok_or_else(|| {
        Failure::new(
            format!("{PASSPHRASE} does not open the master key in {}", file.display()),
            "give the passphrase that the backup was made with, or unset it to restore without the key; nothing \
             was written",
        )
    })
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
