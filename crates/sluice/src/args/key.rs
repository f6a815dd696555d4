//! The master key of signing secrets.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum KeyCommand {
    /// Seal every signing secret with a new master key
    Rotate(RotateArgs),
}

#[derive(Debug, Args)]
#[command(
    long_about = "\
Seal every signing secret with a new master key.

With the file master.key in the data folder, all of it is done at once, also while a server runs on it.
With SLUICE_MASTER_KEY, which every node has, a new key is printed, and then what to do on the nodes.

A rotation that was cut short is run again: old and new key are both known until it is done.",
    after_long_help = "\
Examples:
  sluice key rotate
  sluice key rotate --data /var/lib/sluice
  SLUICE_MASTER_KEY=NEW,OLD sluice key rotate --store postgres://sluice@db.example/sluice"
)]
pub(crate) struct RotateArgs {
    /// Folder of the server [default: ./sluice-data]
    #[arg(long, env = "SLUICE_DATA", value_name = "FOLDER")]
    pub(crate) data: Option<PathBuf>,

    /// The store: sqlite:PATH or postgres://… [default: sqlite:<data>/sluice.db]
    #[arg(long, env = "SLUICE_STORE", value_name = "STORE", hide_env_values = true)]
    pub(crate) store: Option<String>,

    /// Revoke secrets whose master key is lost for good
    #[arg(long)]
    pub(crate) revoke_unreadable: bool,
}
