//! Publishable keys of apps, and the master key of signing secrets.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use sluice_flow::id::{ApiKey, AppId};

use super::{JsonArg, ServerArgs};

#[derive(Debug, Subcommand)]
pub(crate) enum KeyCommand {
    /// Create a publishable key of an app
    Create(KeyCreateArgs),
    /// List the active publishable keys
    List(KeyListArgs),
    /// Revoke a publishable key: calls with it are refused within a second
    Revoke(KeyRevokeArgs),
    /// Seal every signing secret with a new master key
    Rotate(RotateArgs),
}

#[derive(Debug, Args)]
#[command(
    long_about = "\
Create a publishable key of an app.

It grants reading published flows and submitting, nothing else. To replace a key, create a new one, deploy it, and
revoke the old one.",
    after_long_help = "Example:\n  sluice key create --app app_…"
)]
pub(crate) struct KeyCreateArgs {
    /// The app [default: the only app that the token has access to]
    #[arg(long, value_name = "APP_ID")]
    pub(crate) app: Option<AppId>,

    #[command(flatten)]
    pub(crate) server: ServerArgs,
}

#[derive(Debug, Args)]
pub(crate) struct KeyListArgs {
    /// Only this app [default: every app that the token has access to]
    #[arg(long, value_name = "APP_ID")]
    pub(crate) app: Option<AppId>,

    #[command(flatten)]
    pub(crate) json: JsonArg,

    #[command(flatten)]
    pub(crate) server: ServerArgs,
}

#[derive(Debug, Args)]
pub(crate) struct KeyRevokeArgs {
    #[arg(value_name = "API_KEY")]
    pub(crate) key: ApiKey,

    /// The app of the key [default: found by the key]
    #[arg(long, value_name = "APP_ID")]
    pub(crate) app: Option<AppId>,

    #[command(flatten)]
    pub(crate) server: ServerArgs,
}

#[derive(Debug, Args)]
#[command(
    long_about = "\
Seal every signing secret with a new master key.

With the file master.key in the data folder the rotation is complete at once, even while a server is running.
With SLUICE_MASTER_KEY, which every node has, the command prints a new key and the steps for the nodes.

Run an interrupted rotation again: the old and the new key are both valid until it is done.",
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

    /// Revoke secrets whose master key is permanently lost
    #[arg(long)]
    pub(crate) revoke_unreadable: bool,
}
