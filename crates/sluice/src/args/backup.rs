//! The commands `backup` and `restore`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
#[command(
    long_about = "\
Write everything into one file: apps, keys, flows, versions, drafts, tokens, users, the audit log,
respondents, invitations, responses and their idempotency keys, and the counts of visits.

Servers may run meanwhile: the backup is the state at its start, and nothing acknowledged before is
missing. The file is read again and checked before it gets its name; only its owner can read it. It can
be restored into SQLite or PostgreSQL, whichever it was made from. An existing file is never replaced.

With SLUICE_BACKUP_PASSPHRASE (12 characters or more) the backup also holds the master key, sealed with
that passphrase. Without it, keep the master key elsewhere: without the key, signing secrets and second
factors cannot be read after a restore.

With --since, only responses that are not in that full backup are written, and which ones of it still
exist: nothing that was deleted or erased since comes back. To restore, name both files.",
    after_long_help = "\
Examples:
  sluice backup /backup/sluice-full.gz --data /var/lib/sluice
  sluice backup /backup/sluice-day.gz --since /backup/sluice-full.gz --data /var/lib/sluice
  sluice backup - --store postgres://sluice@db.example/sluice | age -r age1… > sluice.age"
)]
pub(crate) struct BackupArgs {
    /// File to write; - for standard output
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// Write an incremental backup: what is not in this full backup
    #[arg(long, value_name = "FULL")]
    pub(crate) since: Option<PathBuf>,

    /// Folder of the server [default: ./sluice-data]
    #[arg(long, env = "SLUICE_DATA", value_name = "FOLDER")]
    pub(crate) data: Option<PathBuf>,

    /// The store: sqlite:PATH or postgres://… [default: sqlite:<data>/sluice.db]
    #[arg(long, env = "SLUICE_STORE", value_name = "STORE", hide_env_values = true)]
    pub(crate) store: Option<String>,
}

#[derive(Debug, Args)]
#[command(
    long_about = "\
Restore a backup into a new data folder, or into an empty PostgreSQL database.

The whole file is checked before anything is written. A folder or database that holds anything is
refused. At the end the restored store is read completely, compared with the backup and verified.

If the backup holds the master key, it is restored with the passphrase in SLUICE_BACKUP_PASSPHRASE.",
    after_long_help = "\
Examples:
  sluice restore /backup/sluice-full.gz --data /var/lib/sluice-new
  sluice restore /backup/sluice-day.gz --base /backup/sluice-full.gz --data /var/lib/sluice-new
  sluice restore /backup/sluice-full.gz --store postgres://sluice@db.example/empty --data /etc/sluice
  sluice restore /backup/sluice-full.gz --check"
)]
pub(crate) struct RestoreArgs {
    /// Backup to read
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// The full backup that an incremental one was made from
    #[arg(long, value_name = "FULL")]
    pub(crate) base: Option<PathBuf>,

    /// Only check the file; write nothing
    #[arg(long)]
    pub(crate) check: bool,

    /// Folder to create [default: ./sluice-data]
    #[arg(long, env = "SLUICE_DATA", value_name = "FOLDER")]
    pub(crate) data: Option<PathBuf>,

    /// The store to fill: sqlite:PATH or postgres://… [default: sqlite:<data>/sluice.db]
    #[arg(long, env = "SLUICE_STORE", value_name = "STORE", hide_env_values = true)]
    pub(crate) store: Option<String>,
}
