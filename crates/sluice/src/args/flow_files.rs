//! The commands for flows as code, and for the state of flows.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueEnum};
use sluice_flow::flow_key;
use sluice_flow::id::{AppId, FlowId};
use sluice_flow::time::Timestamp;

use super::server::{JsonArg, ServerArgs};

#[derive(Debug, Args)]
#[command(
    long_about = "\
Make flows match their files.

Each file has a key under `flow`, by which its flow is found again. A flow that does not exist is created; one
that differs gets the new settings and a new version; one that matches its file is left unchanged. The command
prints what it changes in words, and checks all files before it changes anything.

A draft with changes that are not in the file belongs to someone else: the command stops and lists them,
unless you give --overwrite-draft. If someone saves the same flow at the same time, one of the two commands
stops without a change to that flow.",
    after_long_help = "\
A file:
  flow:
    key: lunch
    labels: [food]
  title: Lunch
  questions:
    - { id: taste, type: rating, prompt: How was lunch? }

Examples:
  sluice flow apply flows/*.yaml
  sluice flow apply flows/*.yaml --dry-run       exit code 2 if something would change
  sluice flow apply lunch.yaml --app app_…"
)]
pub(crate) struct ApplyArgs {
    /// JSON or YAML files; - reads stdin
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// App of the flows [default: the only app that the token has access to]
    #[arg(long, value_name = "APP_ID")]
    pub(crate) app: Option<AppId>,

    /// Only print what would change; the exit code is 2 if something would
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Replace drafts that have other changes
    #[arg(long)]
    pub(crate) overwrite_draft: bool,

    #[command(flatten)]
    pub(crate) server: ServerArgs,
}

#[derive(Debug, Args)]
#[command(
    long_about = "\
Print how flow files differ from the flows on the server, in words.

The same as `sluice flow apply --dry-run`: the exit code is 0 without a difference, 2 with one, and 1 if it
failed or a draft with other changes would stop an apply.",
    after_long_help = "Example:\n  sluice flow diff flows/*.yaml"
)]
pub(crate) struct DiffArgs {
    /// JSON or YAML files; - reads stdin
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// App of the flows [default: the only app that the token has access to]
    #[arg(long, value_name = "APP_ID")]
    pub(crate) app: Option<AppId>,

    /// As if drafts that have other changes were to be replaced
    #[arg(long)]
    pub(crate) overwrite_draft: bool,

    #[command(flatten)]
    pub(crate) server: ServerArgs,
}

#[derive(Debug, Args)]
#[command(
    long_about = "\
Write a flow into a file that `sluice flow apply` leaves unchanged.

The file has the published definition, or the draft if nothing is published, and the settings that differ
from those of a new flow. A flow without a key gets the one that you give with --key.",
    after_long_help = "\
Examples:
  sluice flow pull lunch --out lunch.yaml
  sluice flow pull fl_… --key lunch --out lunch.yaml
  sluice flow pull lunch --draft --format json"
)]
pub(crate) struct PullArgs {
    /// Id or key of the flow
    #[arg(value_name = "FLOW")]
    pub(crate) flow: FlowRef,

    /// Give the flow this key first
    #[arg(long)]
    pub(crate) key: Option<String>,

    /// The draft instead of the published definition
    #[arg(long)]
    pub(crate) draft: bool,

    /// The file to write; - writes to stdout
    #[arg(long, value_name = "FILE", default_value = "-")]
    pub(crate) out: PathBuf,

    /// Format of the file [default: json if its name ends so, otherwise yaml]
    #[arg(long, value_enum)]
    pub(crate) format: Option<FileFormat>,

    #[command(flatten)]
    pub(crate) of: FlowOf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FileFormat {
    Yaml,
    Json,
}

#[derive(Debug, Args)]
#[command(
    long_about = "\
Retire a version at once, without a grace window.

No client can fetch it any more, and it accepts no responses; those it has stay. Without --version it is the
published one, so that nothing is published until you publish again. `sluice flow versions` lists the
numbers.",
    after_long_help = "\
Examples:
  sluice flow retire lunch
  sluice flow retire lunch --version 3"
)]
pub(crate) struct RetireArgs {
    /// Id or key of the flow
    #[arg(value_name = "FLOW")]
    pub(crate) flow: FlowRef,

    /// Number of the version [default: the published one]
    #[arg(long, value_name = "NUMBER")]
    pub(crate) version: Option<u32>,

    #[command(flatten)]
    pub(crate) of: FlowOf,
}

#[derive(Debug, Args)]
#[command(
    long_about = "\
List the versions of a flow, newest first: number, state, id, and when it was published.

open: it accepts responses; grace: it still does, although a newer one is published; scheduled: not yet;
closed: no longer; retired: it was retired, or its flow is archived.",
    after_long_help = "Examples:\n  sluice flow versions lunch\n  sluice flow versions lunch --json"
)]
pub(crate) struct VersionsArgs {
    /// Id or key of the flow
    #[arg(value_name = "FLOW")]
    pub(crate) flow: FlowRef,

    #[command(flatten)]
    pub(crate) json: JsonArg,

    #[command(flatten)]
    pub(crate) of: FlowOf,
}

#[derive(Debug, Args)]
#[command(
    group = clap::ArgGroup::new("end").required(true).multiple(true).args(["opens", "closes"]),
    long_about = "\
Set when a flow accepts responses.

It takes effect at once and for all versions. An end that you do not give stays as it is.",
    after_long_help = "\
Examples:
  sluice flow window lunch --opens 2026-12-01T08:00:00Z --closes 2026-12-24T00:00:00Z
  sluice flow window lunch --closes now
  sluice flow window lunch --opens any --closes never"
)]
pub(crate) struct WindowArgs {
    /// Id or key of the flow
    #[arg(value_name = "FLOW")]
    pub(crate) flow: FlowRef,

    /// From when: a time such as 2026-12-01T08:00:00Z, or any
    #[arg(long, value_name = "TIME", value_parser = opens)]
    pub(crate) opens: Option<WindowEnd>,

    /// Until when: a time such as 2026-12-24T00:00:00Z, now, or never
    #[arg(long, value_name = "TIME", value_parser = closes)]
    pub(crate) closes: Option<WindowEnd>,

    #[command(flatten)]
    pub(crate) of: FlowOf,
}

#[derive(Debug, Args)]
#[command(
    long_about = "\
Archive a flow: the public no longer finds it or its versions. Its responses stay.",
    after_long_help = "\
Examples:
  sluice flow archive lunch
  sluice flow archive lunch --restore"
)]
pub(crate) struct ArchiveArgs {
    /// Id or key of the flow
    #[arg(value_name = "FLOW")]
    pub(crate) flow: FlowRef,

    /// Bring an archived flow back
    #[arg(long)]
    pub(crate) restore: bool,

    #[command(flatten)]
    pub(crate) of: FlowOf,
}

/// Where to find a flow.
#[derive(Debug, Clone, Args)]
pub(crate) struct FlowOf {
    /// App of the flow, if its key is used in several
    #[arg(long, value_name = "APP_ID")]
    pub(crate) app: Option<AppId>,

    #[command(flatten)]
    pub(crate) server: ServerArgs,
}

/// A flow by its id or its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FlowRef {
    Id(FlowId),
    Key(String),
}

impl FromStr for FlowRef {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse() {
            Ok(id) => Ok(Self::Id(id)),
            Err(_) if flow_key::fault(text).is_none() => Ok(Self::Key(text.to_owned())),
            Err(_) => Err("must be the id (fl_…) or the key of a flow".to_owned()),
        }
    }
}

/// One end of a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WindowEnd {
    Open,
    Now,
    At(Timestamp),
}

fn opens(text: &str) -> Result<WindowEnd, String> {
    match text {
        "any" => Ok(WindowEnd::Open),
        text => text
            .parse()
            .map(WindowEnd::At)
            .map_err(|_| "must be a time such as 2026-12-01T08:00:00Z, or any".to_owned()),
    }
}

fn closes(text: &str) -> Result<WindowEnd, String> {
    match text {
        "never" => Ok(WindowEnd::Open),
        "now" => Ok(WindowEnd::Now),
        text => text
            .parse()
            .map(WindowEnd::At)
            .map_err(|_| "must be a time such as 2026-12-24T00:00:00Z, now or never".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_is_named_by_its_id_or_its_key() {
        let id = "fl_0000000000000000000000";
        assert_eq!(id.parse(), Ok(FlowRef::Id(id.parse().unwrap())));
        assert_eq!("lunch".parse(), Ok(FlowRef::Key("lunch".to_owned())));
        for text in ["", "fl_1", "Lunch"] {
            assert!(text.parse::<FlowRef>().is_err(), "{text}");
        }
    }

    #[test]
    fn an_end_of_a_window_is_a_time_or_a_word() {
        assert_eq!(opens("any"), Ok(WindowEnd::Open));
        assert_eq!(closes("never"), Ok(WindowEnd::Open));
        assert_eq!(closes("now"), Ok(WindowEnd::Now));
        assert!(matches!(opens("2026-12-01T08:00:00Z"), Ok(WindowEnd::At(_))));
        assert!(opens("now").is_err() && opens("never").is_err() && closes("any").is_err());
    }
}
