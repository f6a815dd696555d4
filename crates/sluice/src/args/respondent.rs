//! The commands for the data stored about one respondent.

use clap::{Args, Subcommand, ValueEnum};
use sluice_engine::rows::AnswersOnErasure;
use sluice_flow::id::{AppId, RespondentId};

use super::{JsonArg, ServerArgs};

#[derive(Debug, Subcommand)]
pub(crate) enum RespondentCommand {
    /// List the respondents of an app, by the day they were first seen
    List {
        #[arg(value_name = "APP_ID")]
        app: AppId,

        #[command(flatten)]
        json: JsonArg,

        #[command(flatten)]
        server: ServerArgs,
    },
    /// Print the responses of a respondent over all flows, one JSON object per line
    Responses {
        #[command(flatten)]
        who: RespondentArgs,

        #[command(flatten)]
        server: ServerArgs,
    },
    /// Show a respondent: identities, responses per flow, and consents
    #[command(after_long_help = "\
Examples:
  sluice respondent show rp_…
  sluice respondent show --app app_… --email ann@example.com")]
    Show {
        #[command(flatten)]
        who: RespondentArgs,

        #[command(flatten)]
        server: ServerArgs,
    },
    /// Print everything stored about a respondent or an invitee, as one JSON object
    #[command(after_long_help = "\
Needs a token with the scope export. Example:
  sluice respondent export --app app_… --user-id u-1 > u-1.json")]
    Export {
        #[command(flatten)]
        who: RespondentArgs,

        #[command(flatten)]
        server: ServerArgs,
    },
    /// Permanently erase a respondent or an invitee, and keep or delete the answers
    #[command(after_long_help = "\
Needs a token with the scope erase. It cannot be undone. Examples:
  sluice respondent erase rp_… --answers keep
  sluice respondent erase --app app_… --email ann@example.com --answers delete")]
    Erase {
        #[command(flatten)]
        who: RespondentArgs,

        /// keep: unlink the answers from the person; delete: delete them too
        #[arg(long, value_enum)]
        answers: AnswersArg,

        #[command(flatten)]
        server: ServerArgs,
    },
}

/// One respondent, by id or by identity.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("who").required(true).args(["respondent", "user_id", "email"]))]
pub(crate) struct RespondentArgs {
    #[arg(value_name = "RESPONDENT_ID")]
    pub(crate) respondent: Option<RespondentId>,

    /// App of the respondent, with --user-id or --email
    #[arg(long, value_name = "APP_ID", conflicts_with = "respondent")]
    pub(crate) app: Option<AppId>,

    /// The respondent with this userId
    #[arg(long, value_name = "USER_ID", requires = "app")]
    pub(crate) user_id: Option<String>,

    /// The respondent with this e-mail address
    #[arg(long, value_name = "ADDRESS", requires = "app")]
    pub(crate) email: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum AnswersArg {
    Keep,
    Delete,
}

impl From<AnswersArg> for AnswersOnErasure {
    fn from(answers: AnswersArg) -> Self {
        match answers {
            AnswersArg::Keep => Self::Keep,
            AnswersArg::Delete => Self::Delete,
        }
    }
}
