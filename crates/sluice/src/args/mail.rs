//! The commands for the mail server.

use clap::{Args, Subcommand};

use super::ServerArgs;

#[derive(Debug, Subcommand)]
pub(crate) enum MailCommand {
    /// Send a test e-mail through the mail server of a running server
    Test(MailTestArgs),
}

#[derive(Debug, Args)]
pub(crate) struct MailTestArgs {
    #[arg(value_name = "ADDRESS")]
    pub(crate) address: String,

    #[command(flatten)]
    pub(crate) server: ServerArgs,
}
