//! The commands for what a copy sends.

use clap::{Args, Subcommand};

use super::{JsonArg, ServerArgs};

#[derive(Debug, Subcommand)]
pub(crate) enum OutboundCommand {
    /// Show whether e-mails, webhooks and published events are on hold, and how much is pending
    Status(OutboundStatusArgs),
    /// Send e-mails and webhooks again, after a restore or a move
    Resume(OutboundResumeArgs),
}

#[derive(Debug, Args)]
pub(crate) struct OutboundStatusArgs {
    #[command(flatten)]
    pub(crate) json: JsonArg,

    #[command(flatten)]
    pub(crate) server: ServerArgs,
}

#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  sluice outbound resume --drop-waiting     after a restore: the original may have sent it
  sluice outbound resume --send-waiting     after a move: the original was stopped")]
pub(crate) struct OutboundResumeArgs {
    /// Send what is pending
    #[arg(long, conflicts_with = "drop_waiting", required_unless_present = "drop_waiting")]
    pub(crate) send_waiting: bool,

    /// Discard pending e-mails and events from before the hold; what was created since then is sent
    #[arg(long)]
    pub(crate) drop_waiting: bool,

    #[command(flatten)]
    pub(crate) server: ServerArgs,
}
