//! The command `types`.

use clap::Args;

use super::ServerArgs;

#[derive(Debug, Args)]
#[command(
    long_about = "\
Write the TypeScript type of the answers to a flow, for the package in sdk/typescript.

Options, scales and words become exact types, so that a wrong answer does not compile. Given a flow id, the
type is that of its latest published version, together with the id; given a file, it is that of the file, and
no server is needed.",
    after_long_help = "\
Examples:
  sluice types fl_… > src/feedback.ts
  sluice types survey.yaml --name Feedback"
)]
pub(crate) struct TypesArgs {
    /// Id of a published flow, or a JSON or YAML file; - reads stdin
    #[arg(value_name = "FLOW")]
    pub(crate) flow: String,

    /// Name in the types [default: the name of the flow, or the title in the file]
    #[arg(long)]
    pub(crate) name: Option<String>,

    #[command(flatten)]
    pub(crate) server: ServerArgs,
}
