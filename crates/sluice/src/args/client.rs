//! The commands for authors and operators of a running server.

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand, ValueEnum};
use sluice_engine::export::{ExportFormat, FORMATS, ValuesAs};
use sluice_flow::id::{AppId, FlowVersionId, TokenId};
use sluice_flow::time::Timestamp;

use super::flow_files::{
    ApplyArgs, ArchiveArgs, DiffArgs, FlowOf, FlowRef, PullArgs, RetireArgs, VersionsArgs,
    WindowArgs,
};
use super::server::{JsonArg, ServerArgs};

#[derive(Debug, Subcommand)]
pub(crate) enum FlowCommand {
    /// List every fault of flow files, offline
    Check(CheckArgs),
    /// Send a flow file to a server, as a new flow or as the draft of one
    Push(Box<PushArgs>),
    /// Publish the draft of a flow as its next version
    Publish(PublishArgs),
    /// Create, update and publish flows, so that they match their files
    Apply(ApplyArgs),
    /// Print how flow files differ from the flows on the server
    Diff(DiffArgs),
    /// Write a flow into a file for apply
    Pull(Box<PullArgs>),
    /// Set when a flow accepts responses
    Window(WindowArgs),
    /// Retire a version of a flow at once
    Retire(RetireArgs),
    /// Archive a flow, or bring it back
    Archive(ArchiveArgs),
    /// List the flows of an app
    List(ListArgs),
    /// List the versions of a flow
    Versions(VersionsArgs),
}

#[derive(Debug, Args)]
#[command(
    long_about = "\
List every fault of flow files, offline.

Each fault is one line: the file, the place in it (a JSON Pointer), and how to fix it. The exit code is
0 without faults and 3 with any, which suits a commit hook or a build.",
    after_long_help = "\
Examples:
  sluice flow check survey.yaml
  sluice flow check flows/*.json
  generate-survey | sluice flow check -"
)]
pub(crate) struct CheckArgs {
    /// JSON or YAML files; - reads stdin
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
}

#[derive(Debug, Args)]
#[command(
    long_about = "\
Send a flow file to a server.

With --flow the file replaces the draft of that flow; otherwise it becomes a new flow, each time that it
is pushed. A draft with faults is saved; its faults are printed and the exit code is 3. Nothing is public
until it is published.",
    after_long_help = "\
Examples:
  sluice flow push survey.yaml                          a new flow, if the token has access to one app
  sluice flow push survey.yaml --app app_… --kind form
  sluice flow push survey.yaml --flow fl_… --publish    the next version of a flow, published"
)]
pub(crate) struct PushArgs {
    /// JSON or YAML file; - reads stdin
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

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

    /// Also publish it
    #[arg(long)]
    pub(crate) publish: bool,

    #[command(flatten)]
    pub(crate) server: ServerArgs,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum KindArg {
    Survey,
    Form,
    Message,
}

impl KindArg {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Survey => "survey",
            Self::Form => "form",
            Self::Message => "message",
        }
    }
}

#[derive(Debug, Args)]
#[command(
    long_about = "\
Publish the draft of a flow as its next version.

The previous version accepts responses during the flow's grace window (one day by default), so that
respondents who have it open can still answer.",
    after_long_help = "Examples:\n  sluice flow publish fl_…\n  sluice flow publish lunch"
)]
pub(crate) struct PublishArgs {
    /// Id or key of the flow
    #[arg(value_name = "FLOW")]
    pub(crate) flow: FlowRef,

    #[command(flatten)]
    pub(crate) of: FlowOf,
}

#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n  sluice flow list\n  sluice flow list --app app_…")]
pub(crate) struct ListArgs {
    /// Only this app [default: every app that the token has access to]
    #[arg(long, value_name = "APP_ID")]
    pub(crate) app: Option<AppId>,

    #[command(flatten)]
    pub(crate) json: JsonArg,

    #[command(flatten)]
    pub(crate) server: ServerArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ResponsesCommand {
    /// Print responses as they arrive
    Tail(TailArgs),
    /// Write all responses of a flow into a file
    Export(Box<ExportArgs>),
    /// Write the IDs and labels of all questions and options into a CSV file
    Codebook(CodebookArgs),
}

#[derive(Debug, Args)]
#[command(
    long_about = "\
Print responses as they arrive, each once, one per line.

If the server restarts, the command waits for it. Ctrl-C ends it with exit code 0.",
    after_long_help = "\
Examples:
  sluice responses tail lunch
  sluice responses tail fl_… --since all --format json > responses.jsonl
  sluice responses tail fl_… --since 2026-11-15T00:00:00Z --limit 10"
)]
pub(crate) struct TailArgs {
    /// Id or key of the flow
    #[arg(value_name = "FLOW")]
    pub(crate) flow: FlowRef,

    /// Where to start: now, all, or a time such as 2026-11-15T00:00:00Z
    #[arg(long, default_value = "now", value_name = "WHEN")]
    pub(crate) since: Since,

    /// text: time, id and answers; json: the whole response
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: TailFormat,

    /// Stop after this number of responses
    #[arg(long, value_name = "COUNT")]
    pub(crate) limit: Option<u64>,

    /// Time between requests while there is nothing new
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = interval)]
    pub(crate) interval: std::time::Duration,

    #[command(flatten)]
    pub(crate) of: FlowOf,
}

#[derive(Debug, Args)]
#[command(
    long_about = "\
Write all responses of a flow into a file, over all its versions, oldest first.

Responses that arrive after the start are not included. The command writes FILE.part and renames it when it
is complete; if the export fails, FILE.part is removed.

With --follow the command writes what is new into a folder, by UTC day, and waits for more: JSON Lines into one
file for each day, Parquet into one file for each batch. It can be ended and started again at any time: each
response is written once. Ctrl-C ends it with exit code 0. The token needs the scopes read and export.",
    after_long_help = "\
Examples:
  sluice responses export lunch --out responses.csv
  sluice responses export fl_… --values labels --out responses.csv
  sluice responses export fl_… --format parquet --out responses.parquet --from 2026-11-01T00:00:00Z
  sluice responses export fl_… --format jsonl --out - --answer nps=10 --tag plan=pro | head
  sluice responses export fl_… --follow responses/
  sluice responses export fl_… --follow responses/ --format parquet --once     for a daily job"
)]
pub(crate) struct ExportArgs {
    /// Id or key of the flow
    #[arg(value_name = "FLOW")]
    pub(crate) flow: FlowRef,

    /// Format of the file [default: csv; with --follow jsonl]
    #[arg(long, value_parser = export_format())]
    pub(crate) format: Option<&'static ExportFormat>,

    #[arg(long, value_parser = export_values(), help = values_help())]
    pub(crate) values: Option<ValuesAs>,

    /// Only these columns, in this order, such as receivedAt,answer.nps,tag.plan [default: all]
    #[arg(long, value_name = "COLUMNS")]
    pub(crate) columns: Option<String>,

    /// The file to write; - writes to stdout
    #[arg(long, value_name = "FILE", required_unless_present = "follow")]
    pub(crate) out: Option<PathBuf>,

    /// Keep writing new responses to daily files in this folder; resumes where it stopped
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["out", "to"])]
    pub(crate) follow: Option<PathBuf>,

    /// With --follow: exit once all current responses are written
    #[arg(long, requires = "follow")]
    pub(crate) once: bool,

    /// With --follow: time between requests while there is nothing new
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = interval)]
    pub(crate) interval: std::time::Duration,

    /// Only responses to this version
    #[arg(long, value_name = "FLOW_VERSION_ID")]
    pub(crate) version: Option<FlowVersionId>,

    /// Only responses received at this time or later, such as 2026-11-15T00:00:00Z
    #[arg(long, value_name = "TIME")]
    pub(crate) from: Option<Timestamp>,

    /// Only responses received before this time
    #[arg(long, value_name = "TIME")]
    pub(crate) to: Option<Timestamp>,

    /// Only responses with this admission
    #[arg(long, value_parser = ["collection_only", "admitted"])]
    pub(crate) admission: Option<String>,

    /// Only responses with this tag, NAME=VALUE; repeatable
    #[arg(long = "tag", value_name = "NAME=VALUE", value_parser = pair)]
    pub(crate) tags: Vec<(String, String)>,

    /// Only responses with this answer, QUESTION=VALUE; repeatable
    #[arg(long = "answer", value_name = "QUESTION=VALUE", value_parser = pair)]
    pub(crate) answers: Vec<(String, String)>,

    /// Only responses whose text answers contain all these words
    #[arg(long, value_name = "WORDS")]
    pub(crate) search: Option<String>,

    #[command(flatten)]
    pub(crate) of: FlowOf,
}

#[derive(Debug, Args)]
#[command(
    long_about = "\
Write a CSV file with every question and option of every published version: their ids, and their texts.

It explains an export with ids.",
    after_long_help = "\
Example:
  sluice responses codebook fl_… --out codebook.csv"
)]
pub(crate) struct CodebookArgs {
    /// Id or key of the flow
    #[arg(value_name = "FLOW")]
    pub(crate) flow: FlowRef,

    /// The file to write; - writes to stdout
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,

    #[command(flatten)]
    pub(crate) of: FlowOf,
}

/// The formats of the table, each with its summary as help.
fn export_format() -> impl TypedValueParser<Value = &'static ExportFormat> {
    let value = |format: &&ExportFormat| PossibleValue::new(format.name).help(format.summary);
    PossibleValuesParser::new(FORMATS.iter().map(value))
        .try_map(|name| ExportFormat::named(&name).ok_or("is not a format"))
}

fn values_help() -> String {
    let labelled = FORMATS.iter().filter(|format| format.values_as == ValuesAs::Labels);
    let names: Vec<&str> = labelled.map(|format| format.name).collect();
    let names = names.join(" and ");
    format!(
        "What questions and options are called [default: labels in {names}, ids in other formats]"
    )
}

fn export_values() -> impl TypedValueParser<Value = ValuesAs> {
    PossibleValuesParser::new(ValuesAs::ALL.iter().map(|values| values.as_str()))
        .try_map(|name| ValuesAs::named(&name).ok_or("is neither ids nor labels"))
}

fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("must be a name, = and a value".to_owned()),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TailFormat {
    Text,
    Json,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Since {
    Now,
    All,
    At(Timestamp),
}

impl std::str::FromStr for Since {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "now" => Ok(Self::Now),
            "all" => Ok(Self::All),
            text => text
                .parse()
                .map(Self::At)
                .map_err(|_| "must be now, all, or a time such as 2026-11-15T00:00:00Z".to_owned()),
        }
    }
}

fn interval(text: &str) -> Result<std::time::Duration, String> {
    /// A shorter interval would keep the server busy.
    const SECONDS_MIN: f64 = 0.05;
    const SECONDS_MAX: f64 = 3600.0;
    let seconds = text.parse::<f64>().ok();
    let allowed = seconds.filter(|seconds| (SECONDS_MIN..=SECONDS_MAX).contains(seconds));
    allowed
        .map(std::time::Duration::from_secs_f64)
        .ok_or_else(|| format!("must be a number of seconds from {SECONDS_MIN} to {SECONDS_MAX}"))
}

#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Create an admin token; it is printed once
    Create(TokenArgs),
    /// List admin tokens without their secrets, revoked ones included
    List {
        #[command(flatten)]
        json: JsonArg,

        #[command(flatten)]
        server: ServerArgs,
    },
    /// Revoke an admin token: calls with it are refused from now on
    Revoke {
        #[arg(value_name = "TOKEN_ID")]
        id: TokenId,

        #[command(flatten)]
        server: ServerArgs,
    },
}

#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  sluice token create --name dashboards --scope read
  sluice token create --name ci --scope write --app app_… --expires 2027-01-01T00:00:00Z")]
pub(crate) struct TokenArgs {
    /// What the token is for
    #[arg(long)]
    pub(crate) name: String,

    /// Scope of the token; repeatable (write includes read, admin includes all)
    #[arg(long = "scope", required = true, value_name = "SCOPE", value_delimiter = ',')]
    #[arg(value_parser = ["read", "write", "export", "erase", "admin"])]
    pub(crate) scopes: Vec<String>,

    /// Restrict the token to this app
    #[arg(long, value_name = "APP_ID")]
    pub(crate) app: Option<AppId>,

    /// Expiry time, such as 2027-01-01T00:00:00Z [default: never]
    #[arg(long, value_name = "TIME")]
    pub(crate) expires: Option<Timestamp>,

    #[command(flatten)]
    pub(crate) server: ServerArgs,
}
