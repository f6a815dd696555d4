//! `sluice backup`: writes everything into one file, and reads it again before it gets its name.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, IsTerminal as _, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use sluice_engine::backup::{self, Backup, BackupError, Contents, IncludedKeys};
use sluice_engine::clock::{Clock as _, SystemClock};
use sluice_engine::{Store, StoreError};

use crate::args::BackupArgs;
use crate::failure::{Exit, Failure, Outcome, with_cause};
use crate::logging::{self, LogFormat};
use crate::master_key::{self, MasterKeys};
use crate::output::{self, counted};
use crate::progress::Progress;
use crate::{backend, config, new_file};

/// The passphrase that seals the master key in a backup.
pub(crate) const PASSPHRASE: &str = "SLUICE_BACKUP_PASSPHRASE";
const STDOUT: &str = "-";

pub(crate) async fn run(args: BackupArgs) -> Outcome {
    logging::start("warn", LogFormat::Text)?;
    let begin = Instant::now();
    let to_stdout = args.file.as_os_str() == STDOUT;
    must_be_free(&args.file, to_stdout)?;
    let (address, folder) = config::store_of(args.data, args.store)?;
    let keys = sealed_keys(&folder)?;
    let base = args.since.as_deref().map(open_base).transpose()?;
    let store = backend::open_to_read(&address).await?;
    let written = match to_stdout {
        true => {
            let written = write(&store, &args.file, io::stdout(), keys, base).await;
            written.map(|(contents, _)| contents)
        }
        false => write_file(&store, &args.file, keys, base, args.since.as_deref()).await,
    };
    store.close().await;
    let contents = written?;
    let (records, responses) = (contents.records(), counted(contents.responses(), "response"));
    let seconds = begin.elapsed().as_secs_f64();
    let (shown, created) = (args.file.display(), contents.header.created_at);
    match to_stdout {
        true => output::note(format_args!(
            "{} of {address}, {responses} among them, as of {created}, in {seconds:.1} s. Standard output cannot \
             be read again: check the file with sluice restore FILE --check",
            counted(records, "record")
        )),
        false => output::line(format_args!(
            "{shown}: {} of {address}, {responses} among them, as of {created}, in {seconds:.1} s: verified",
            counted(records, "record")
        )),
    }
    Ok(Exit::Done)
}

/// An existing file is never replaced.
fn must_be_free(file: &Path, to_stdout: bool) -> Result<(), Failure> {
    if to_stdout && io::stdout().is_terminal() {
        return Err(Failure::usage(
            "a backup is not shown on a terminal",
            "name a file, or send standard output to a file or a program",
        ));
    }
    match !to_stdout && file.symlink_metadata().is_ok() {
        true => Err(Failure::new(
            format!("{} exists already", file.display()),
            "choose another name: a backup never replaces a file",
        )),
        false => Ok(()),
    }
}

/// The master keys sealed with the passphrase; `None`, with a warning, if they are left out.
fn sealed_keys(folder: &Path) -> Result<Option<IncludedKeys>, Failure> {
    let Some(passphrase) = passphrase()? else {
        output::note(format_args!(
            "warning: the master key is not in this backup: set {PASSPHRASE} to include it, or keep a copy of the \
             key elsewhere. Without it, signing secrets and second factors cannot be read after a restore."
        ));
        return Ok(None);
    };
    let keys = MasterKeys::from_variable(config::variable(master_key::VARIABLE), folder)?;
    let keys = keys.existing().map_err(|why| {
        Failure::new(
            format!("the master key cannot be read: {why}"),
            format!(
                "name the data folder with --data, give the key in {}, or unset {PASSPHRASE} to leave it out",
                master_key::VARIABLE
            ),
        )
    })?;
    let sealed = IncludedKeys::new(keys, &passphrase);
    sealed.map(Some).ok_or_else(|| {
        Failure::new("the master key cannot be sealed", "free some memory, then run this again")
    })
}

/// The passphrase, if it is set.
pub(crate) fn passphrase() -> Result<Option<String>, Failure> {
    let Some(passphrase) = config::variable(PASSPHRASE) else { return Ok(None) };
    match passphrase.chars().count() >= backup::SealedKeys::PASSPHRASE_CHARS_MIN {
        true => Ok(Some(passphrase)),
        false => Err(Failure::usage(
            format!("{PASSPHRASE} is too short"),
            format!("use {} characters or more", backup::SealedKeys::PASSPHRASE_CHARS_MIN),
        )),
    }
}

fn open_base(file: &Path) -> Result<Backup, Failure> {
    Backup::open(file, None).map_err(|error| {
        let error = match error {
            BackupError::BaseNeeded => BackupError::IncrementalBase,
            error => error,
        };
        backup_error(&error, file)
    })
}

/// Writes beside the file, and gives it its name once it was read again without an error.
async fn write_file(
    store: &Arc<dyn Store>,
    file: &Path,
    keys: Option<IncludedKeys>,
    base: Option<Backup>,
    since: Option<&Path>,
) -> Result<Contents, Failure> {
    let partial = new_file::with_ending(file, ".partial");
    let failed = |error| backup_error(&BackupError::Write(error), file);
    let out = create(&partial).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => Failure::new(
            format!("{} exists already", partial.display()),
            "another backup is writing it, or was interrupted: then delete it and run this again",
        ),
        _ => failed(error),
    })?;
    let made = async {
        let (contents, out) = write(store, file, BufWriter::new(out), keys, base).await?;
        let out = out.into_inner().map_err(|error| failed(error.into_error()))?;
        out.sync_all().map_err(failed)?;
        must_read_back(&partial, since, &contents).await?;
        new_file::give_name(&partial, file).map_err(failed)?;
        Ok(contents)
    };
    let made: Result<_, Failure> = made.await;
    made.inspect_err(|_| {
        // The error matters more.
        let _left = fs::remove_file(&partial);
    })
}

/// Only its owner can read a backup: it holds personal data.
fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    options.open(path)
}

async fn write<W: Write + Send + 'static>(
    store: &Arc<dyn Store>,
    file: &Path,
    out: W,
    keys: Option<IncludedKeys>,
    base: Option<Backup>,
) -> Result<(Contents, W), Failure> {
    let progress = Progress::start("writing", 0, None);
    let advance = |records| progress.advance(records);
    let written = backup::write(store, out, SystemClock.now(), keys, base, advance).await;
    let (contents, mut out) = written.map_err(|error| backup_error(&error, file))?;
    out.flush().map_err(|error| backup_error(&BackupError::Write(error), file))?;
    Ok((contents, out))
}

/// Reads the file that was written, and compares it with what was written.
async fn must_read_back(
    partial: &Path,
    since: Option<&Path>,
    contents: &Contents,
) -> Result<(), Failure> {
    let total = contents.records();
    let (file, base) = (partial.to_owned(), since.map(Path::to_owned));
    let read = check_file(file, base, Some(total)).await?;
    match read == *contents {
        true => Ok(()),
        false => Err(Failure::new(
            "the file does not hold what was written",
            "check the disk, then run this again",
        )),
    }
}

/// Reads a whole backup.
pub(crate) async fn check_file(
    file: PathBuf,
    base: Option<PathBuf>,
    total: Option<u64>,
) -> Result<Contents, Failure> {
    let shown = file.clone();
    let checking = tokio::task::spawn_blocking(move || {
        let progress = Progress::start("checking", 0, total);
        let backup = Backup::open(&file, base.as_deref())?;
        backup.check(|records| progress.advance(records))
    });
    let checked = checking.await.map_err(|error| Failure::new(error.to_string(), ""))?;
    checked.map_err(|error| backup_error(&error, &shown))
}

pub(crate) fn backup_error(error: &BackupError, file: &Path) -> Failure {
    let file = file.display();
    let remedy = match error {
        BackupError::Store(StoreError::Corrupt(_) | StoreError::Damaged(_)) => {
            "the store is damaged and was not backed up; keep earlier backups, and run sluice verify"
        }
        BackupError::Store(_) => "check that the database responds, then run this again",
        BackupError::OtherKey => {
            "give the key that the server uses: name its data folder with --data, or set SLUICE_MASTER_KEY as it does"
        }
        BackupError::Write(_) => {
            "check the free space and the permissions there, then run this again"
        }
        BackupError::Read(_) => "check the name and the permissions of the file",
        BackupError::NotABackup => "name a file that sluice backup has written",
        BackupError::Newer { .. } => "use a binary of that version or newer",
        BackupError::CutOff { .. } | BackupError::Damaged(_) => {
            "use another backup; nothing was written"
        }
        BackupError::BaseNeeded => "name the full backup that it was made from with --base",
        BackupError::NoBase => "leave --base out",
        BackupError::OtherBase => "name the full backup that it was made from with --base",
        BackupError::IncrementalBase => "name a full backup",
    };
    match error {
        BackupError::Store(_) | BackupError::OtherKey => Failure::new(with_cause(error), remedy),
        _ => Failure::new(format!("{file}: {error}"), remedy),
    }
}
