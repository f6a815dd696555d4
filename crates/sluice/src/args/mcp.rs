//! The command `mcp`.

use clap::Args;

use super::ServerArgs;

#[derive(Debug, Args)]
#[command(
    long_about = "\
Serve tools for an assistant, over the Model Context Protocol on stdin and stdout.

The assistant starts this command itself: name it in the assistant's configuration. It can then write and check
flows, publish them, and read results, as far as the scopes of the token allow. Give it a dedicated token, with
the scope read if it should only read: `sluice token create --name assistant --scope read`. What respondents wrote is marked as
untrusted text in every reply. docs/assistants.md shows the configuration of common assistants.",
    after_long_help = "\
Examples:
  SLUICE_TOKEN=… sluice mcp --server https://feedback.example.com
  sluice mcp --profile work --read-only"
)]
pub(crate) struct McpArgs {
    /// Offer only the tools that change nothing
    #[arg(long)]
    pub(crate) read_only: bool,

    #[command(flatten)]
    pub(crate) server: ServerArgs,
}
