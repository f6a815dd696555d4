//! The command `invite`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use sluice_flow::id::AssignmentId;
use sluice_flow::time::Timestamp;

use super::{FlowOf, FlowRef, JsonArg, ServerArgs};

#[derive(Debug, Subcommand)]
pub(crate) enum InviteCommand {
    /// Invite one person; prints the personal link
    Add(InviteAddArgs),
    /// Invite everyone in a CSV file and write their links to another file
    Import(InviteImportArgs),
    /// List the invitations to a flow, and count them by state
    List(InviteListArgs),
    /// Revoke an invitation
    Revoke {
        #[arg(value_name = "INVITATION_ID")]
        invitation: AssignmentId,

        #[command(flatten)]
        server: ServerArgs,
    },
}

#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  sluice invite add fl_… --email ada@example.com
  sluice invite add fl_… --user-id 4711 --expires 2027-01-01T00:00:00Z")]
pub(crate) struct InviteAddArgs {
    /// Id or key of the flow
    #[arg(value_name = "FLOW")]
    pub(crate) flow: FlowRef,

    /// E-mail address of the person
    #[arg(long, value_name = "ADDRESS", required_unless_present = "user_id")]
    pub(crate) email: Option<String>,

    /// Your id for the person
    #[arg(long, value_name = "ID")]
    pub(crate) user_id: Option<String>,

    /// Expiry of the link, such as 2027-01-01T00:00:00Z [default: never]
    #[arg(long, value_name = "TIME")]
    pub(crate) expires: Option<Timestamp>,

    /// Invite the person even if they have an open invitation
    #[arg(long)]
    pub(crate) again: bool,

    /// Let the server send them the link by e-mail
    #[arg(long, requires = "email")]
    pub(crate) send_email: bool,

    #[command(flatten)]
    pub(crate) of: FlowOf,
}

#[derive(Debug, Args)]
#[command(
    long_about = "\
Invite everyone in a CSV file.

The first line names the columns, in any order: userId, email, expiresAt; userId or email is required.
All lines are checked before anyone is invited; each invalid line is printed with its number (exit
code 3). The output has the columns userId, email, expiresAt, flowAssignmentId, link.

If the import is interrupted, the output holds the links that were created. To continue, run it again
with --skip-invited and another --out.",
    after_long_help = "\
Examples:
  sluice invite import fl_… people.csv --out links.csv
  sluice invite import fl_… people.csv --out more.csv --skip-invited"
)]
pub(crate) struct InviteImportArgs {
    /// Id or key of the flow
    #[arg(value_name = "FLOW")]
    pub(crate) flow: FlowRef,

    /// CSV file of the people to invite
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// Output file for the links; must not exist
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,

    /// Skip people who have an open invitation to this flow
    #[arg(long)]
    pub(crate) skip_invited: bool,

    /// Let the server send everybody their link by e-mail; all of them need an address
    #[arg(long)]
    pub(crate) send_email: bool,

    #[command(flatten)]
    pub(crate) of: FlowOf,
}

#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  sluice invite list lunch
  sluice invite list fl_… --state opened")]
pub(crate) struct InviteListArgs {
    /// Id or key of the flow
    #[arg(value_name = "FLOW")]
    pub(crate) flow: FlowRef,

    /// Only invitations in this state
    #[arg(long, value_enum)]
    pub(crate) state: Option<StateArg>,

    #[command(flatten)]
    pub(crate) json: JsonArg,

    #[command(flatten)]
    pub(crate) of: FlowOf,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum StateArg {
    Sent,
    Opened,
    Completed,
    Expired,
    Revoked,
}

impl StateArg {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Sent => "sent",
            Self::Opened => "opened",
            Self::Completed => "completed",
            Self::Expired => "expired",
            Self::Revoked => "revoked",
        }
    }
}
