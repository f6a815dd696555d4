//! Moving a database to another one.

use clap::Args;

#[derive(Debug, Args)]
#[command(
    long_about = "\
Copy everything from one database into another: apps, keys, flows, versions, drafts, tokens, the audit
log, responses and their idempotency keys.

The destination must be empty, or hold the beginning of the same source: what a move that was cut short
has left. Then the copying goes on where it ended; run the same command again. At the end both are read
as a whole and compared, table by table, by counts and digests.

Stop every server on the source first. If the source is written to all the same, the move says so and
fails. The source is only read, and nothing is deleted from it.

SLUICE_MOVE_FROM and SLUICE_MOVE_TO keep a password out of the list of processes.",
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
