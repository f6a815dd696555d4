//! The command `verify`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
#[command(
    long_about = "\
Check that everything stored is sound.

Reads the whole database: its pages and indexes, every row, the digest of every response, references
between rows, the idempotency keys and consents of responses, and the counts of every flow, computed again
from its responses. Names every damaged place with its table and ids. Changes no data, and works while servers run: it checks the state at its start.

A server that found damage refuses submissions, also after a restart. If everything is sound again, this
removes the mark that it left; then restart the server.

On PostgreSQL, indexes are checked with the extension amcheck if it is installed.

Exit codes:
  0  sound
  1  damaged; each line on stdout is a place
  2  the check could not run",
    after_long_help = "\
Examples:
  sluice verify
  sluice verify --data /var/lib/sluice
  sluice verify --store postgres://sluice@db.example/sluice"
)]
pub(crate) struct VerifyArgs {
    /// Folder of the server [default: ./sluice-data]
    #[arg(long, env = "SLUICE_DATA", value_name = "FOLDER")]
    pub(crate) data: Option<PathBuf>,

    /// The store: sqlite:PATH or postgres://… [default: sqlite:<data>/sluice.db]
    #[arg(long, env = "SLUICE_STORE", value_name = "STORE", hide_env_values = true)]
    pub(crate) store: Option<String>,
}
