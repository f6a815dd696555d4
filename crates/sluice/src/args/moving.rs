//! The command `move`.

use clap::Args;

#[derive(Debug, Args)]
#[command(
    long_about = "\
Copy everything from one database into another: apps, keys, flows, versions, drafts, tokens, the audit
log, responses and their idempotency keys.

The destination must be empty, or hold part of the same source from an interrupted move: run the same
command again to continue. At the end both databases are read completely and compared, table by table,
by counts and digests.

Stop every server on the source first. If the source changes during the move, the move reports it and
fails. The source is only read; nothing is deleted from it.

Use SLUICE_MOVE_FROM and SLUICE_MOVE_TO to keep a password out of the list of processes.",
    after_long_help = "\
Examples:
  sluice move --from sqlite:sluice-data/sluice.db --to postgres://sluice@db.example/sluice
  sluice move --from postgres://sluice@db.example/sluice --to sqlite:copy.db
  sluice move --from sqlite:sluice.db --to sqlite:compact.db"
)]
pub(crate) struct MoveArgs {
    /// Store to read: sqlite:PATH or postgres://…
    #[arg(long, env = "SLUICE_MOVE_FROM", value_name = "STORE", hide_env_values = true)]
    pub(crate) from: String,

    /// Store to write: sqlite:PATH or postgres://…
    #[arg(long, env = "SLUICE_MOVE_TO", value_name = "STORE", hide_env_values = true)]
    pub(crate) to: String,
}
