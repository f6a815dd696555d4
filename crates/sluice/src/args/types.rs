//! The command `types`.

use clap::Args;

use super::FlowOf;

#[derive(Debug, Args)]
#[command(
    long_about = "\
Write the TypeScript type of the answers to a flow, for the package in sdk/typescript.

Options, scales and words become exact types, so that a wrong answer does not compile. Given a file, the
type is that of the file, and no server is needed; given the id or the key of a flow, it is that of its latest
published version, together with the id. A file is preferred to a key of the same name.",
    after_long_help = "\
Examples:
  sluice types fl_… > src/feedback.ts
  sluice types lunch --name Feedback
  sluice types survey.yaml --name Feedback"
)]
pub(crate) struct TypesArgs {
    /// A JSON or YAML file (- reads stdin), or the id or key of a published flow
    #[arg(value_name = "FLOW")]
    pub(crate) flow: String,

    /// Name in the types [default: the name of the flow, or the title in the file]
    #[arg(long)]
    pub(crate) name: Option<String>,

    #[command(flatten)]
    pub(crate) of: FlowOf,
}
