//! The command `recount`.

use std::path::PathBuf;

use clap::Args;
use sluice_flow::id::AppId;

use super::FlowRef;

#[derive(Debug, Args)]
#[command(
    long_about = "\
Rebuild the counts of responses: of a flow, of an app, or all.

Every write updates the counts, so this is rarely needed. Run it after an upgrade during which older
nodes without counts stored or deleted responses, or after responses were changed by hand. The counters of
limits (closeAfter, quotas) are set to the responses that are stored now. It works day
by day while servers are running; the results of a day are correct as soon as that day is done.",
    after_long_help = "\
Examples:
  sluice recount
  sluice recount --data /var/lib/sluice --flow fl_…
  sluice recount --store postgres://sluice@db.example/sluice"
)]
pub(crate) struct RecountArgs {
    /// Only this flow, by its id or key
    #[arg(long, value_name = "FLOW", conflicts_with = "app")]
    pub(crate) flow: Option<FlowRef>,

    /// Only the flows of this app
    #[arg(long, value_name = "ID")]
    pub(crate) app: Option<AppId>,

    /// Folder of the server [default: ./sluice-data]
    #[arg(long, env = "SLUICE_DATA", value_name = "FOLDER")]
    pub(crate) data: Option<PathBuf>,

    /// The store: sqlite:PATH or postgres://… [default: sqlite:<data>/sluice.db]
    #[arg(long, env = "SLUICE_STORE", value_name = "STORE", hide_env_values = true)]
    pub(crate) store: Option<String>,
}
