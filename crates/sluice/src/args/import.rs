//! `sluice import`: definitions and responses of other tools.

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand, ValueEnum};
use sluice_flow::id::AppId;
use sluice_import::{FORMATS, Format};

use super::client::KindArg;
use super::flow_files::{FlowOf, FlowRef};
use super::server::ServerArgs;

#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    long_about = "\
Create a flow from a definition of another tool, or import responses.

Every element of the file is listed with what became of it: mapped, mapped with a change, or not mapped. A
flow is created as a draft and is never published. --dry-run only prints the list; --out writes the
definition to a file instead. docs/import has a page for each format.",
    after_long_help = "\
Examples:
  sluice import typeform form.json --dry-run
  sluice import xlsform form.xlsx --app app_… --kind form
  sluice import surveyjs survey.json --out survey.json
  sluice import responses answers.csv --flow fl_… --dry-run"
)]
pub(crate) struct ImportArgs {
    #[command(subcommand)]
    pub(crate) responses: Option<ImportCommand>,

    /// Format of the file
    #[arg(value_parser = format(), value_name = "FORMAT", required = true)]
    pub(crate) format: Option<&'static Format>,

    /// The file; - reads stdin
    #[arg(value_name = "FILE", required = true)]
    pub(crate) file: Option<PathBuf>,

    /// Only list what would become of each element
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Write the definition to this file, and nothing to a server; - writes to stdout
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,

    /// Print the list as JSON, with the definition
    #[arg(long)]
    pub(crate) json: bool,

    /// Update the draft of this flow, by its id or key
    #[arg(long, value_name = "FLOW", conflicts_with_all = ["name", "kind"])]
    pub(crate) flow: Option<FlowRef>,

    /// App of the flow [default: the only app that the token has access to]
    #[arg(long, value_name = "APP_ID")]
    pub(crate) app: Option<AppId>,

    /// Name of the new flow [default: the title in the file]
    #[arg(long)]
    pub(crate) name: Option<String>,

    /// Kind of the new flow
    #[arg(long, value_enum, default_value = "survey")]
    pub(crate) kind: KindArg,

    #[command(flatten)]
    pub(crate) server: ServerArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ImportCommand {
    /// Import responses from CSV or JSON Lines
    Responses(ImportResponsesArgs),
}

#[derive(Debug, Args)]
#[command(
    long_about = "\
Import responses from CSV or JSON Lines into the published version of a flow.

Columns are matched with questions by id or text; columns of exports of Sluice are recognised. Each row is
judged by the rules of the flow. Rows that are refused are written to FILE.refused.jsonl with the reasons;
fix them there and import that file. Run the same command again after an interruption: no row is stored
twice. A response is stored with the time of the import; its original time is the tag import.submittedAt.",
    after_long_help = "\
Examples:
  sluice import responses answers.csv --flow fl_… --dry-run
  sluice import responses answers.csv --flow fl_… --map map.yaml
  sluice import responses export.jsonl --flow fl_…"
)]
pub(crate) struct ImportResponsesArgs {
    /// CSV or JSON Lines
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// Import into this flow, by its id or key; it must be published and open
    #[arg(long, value_name = "FLOW")]
    pub(crate) flow: FlowRef,

    /// Format of the file [default: by its ending]
    #[arg(long, value_enum)]
    pub(crate) format: Option<RowFormat>,

    /// What columns and values are, as JSON or YAML; see docs/import/responses.md
    #[arg(long, value_name = "FILE")]
    pub(crate) map: Option<PathBuf>,

    /// Judge every row and store nothing; does not find which rows are there already
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Import although some columns are unknown; they are left out
    #[arg(long)]
    pub(crate) skip_unknown: bool,

    /// The respondents agreed to be linked to their answers, where no column says otherwise
    #[arg(long)]
    pub(crate) admitted: bool,

    /// Import although webhooks send an event for each response
    #[arg(long)]
    pub(crate) notify: bool,

    /// Where refused rows are written [default: FILE.refused.jsonl]; replaced by each run
    #[arg(long, value_name = "FILE")]
    pub(crate) refused: Option<PathBuf>,

    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) of: FlowOf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RowFormat {
    Csv,
    Jsonl,
}

/// The formats of the table, each with its summary as help.
fn format() -> impl TypedValueParser<Value = &'static Format> {
    let value = |format: &Format| PossibleValue::new(format.name).help(format.summary);
    PossibleValuesParser::new(FORMATS.iter().map(value))
        .try_map(|name| Format::named(&name).ok_or("is not a format"))
}
