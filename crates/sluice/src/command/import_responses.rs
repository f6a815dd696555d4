//! `sluice import responses`: the rows of a file as responses of a flow.
//!
//! Rows are sent to the public API, so they pass every rule that a submission passes. Each has a
//! key made of its content, so that a row that was stored before is not stored again.

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufRead as _, BufReader, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use sluice_flow::definition::{self, Definition};
use sluice_flow::issue::Code;
use sluice_flow::payload::Generation;
use sluice_import::responses::{FileKind, ImportTarget, Mapping, Plan, Row, RowError, Rows};

use super::import::server;
use super::target;
use crate::args::{ImportResponsesArgs, RowFormat};
use crate::client::{CallError, Server, field};
use crate::failure::{Exit, Failure, Outcome};
use crate::flow_file::{self, Unreadable};
use crate::new_file::with_ending;
use crate::output::{self, counted, quoted};
use crate::progress::Progress;

/// Rows in one request, and the bytes of their submissions.
const BATCH_ROWS_MAX: usize = 50;
const BATCH_BYTES_MAX: usize = 200_000;
/// How often a request is tried while the server is away, and the longest pause between.
const TRIES_MAX: u32 = 12;
const PAUSE_MAX: Duration = Duration::from_secs(30);
/// How many refused rows are printed.
const SHOWN_MAX: u64 = 10;

pub(crate) async fn run(args: ImportResponsesArgs) -> Outcome {
    tokio::select! {
        outcome = import(args) => outcome,
        _ = tokio::signal::ctrl_c() => {
            output::note("interrupted; run the same command again to continue");
            Ok(Exit::Interrupted)
        }
    }
}

async fn import(args: ImportResponsesArgs) -> Outcome {
    let file = Input::new(&args)?;
    let (rows, names) = file.scan()?;
    let mapping = read_mapping(args.map.as_deref())?;
    let server = server(&args.of.server)?;
    let flow = target::flow_id(&server, &args.flow, args.of.app).await?;
    let target = Target::find(&server, &flow).await?;
    let goal = ImportTarget {
        definition: &target.definition,
        flow_id: &flow,
        flow_version_id: &target.flow_version_id,
    };
    let plan = Plan::new(goal, &names, mapping, args.admitted);
    if !print_columns(&plan, &args) {
        output::note("nothing was sent: give the unknown columns in --map, or --skip-unknown");
        return Ok(Exit::Faults);
    }
    if !args.dry_run && !args.notify {
        refuse_webhooks(&server, &target.app_id, &flow, rows).await?;
    }
    let refused = args.refused.clone().unwrap_or_else(|| with_ending(&args.file, ".refused.jsonl"));
    let work = if args.dry_run { "judging" } else { "importing" };
    let mut run = Run {
        server: &server,
        key: &target.api_key,
        procedure: if args.dry_run { "response.validate" } else { "response.submit" },
        plan,
        waiting: Vec::new(),
        waiting_bytes: 0,
        refused: Refused { path: refused, file: None },
        progress: Progress::start(work, 0, Some(rows)),
        counts: Counts::default(),
    };
    for row in file.rows()? {
        run.add(row).await?;
    }
    run.send().await?;
    run.finish(&args)
}

/// The file to import.
struct Input {
    path: PathBuf,
    kind: FileKind,
    delimiter: u8,
}

impl Input {
    fn new(args: &ImportResponsesArgs) -> Result<Self, Failure> {
        let path = args.file.clone();
        let ending = path.extension().and_then(|it| it.to_str()).unwrap_or_default();
        let by_name = match ending.to_ascii_lowercase().as_str() {
            "csv" | "tsv" => Some(RowFormat::Csv),
            "jsonl" | "ndjson" => Some(RowFormat::Jsonl),
            _ => None,
        };
        let format = args.format.or(by_name).ok_or_else(|| {
            let remedy = "give --format csv or --format jsonl";
            Failure::usage(format!("cannot tell the format of {}", path.display()), remedy)
        })?;
        let kind = match format {
            RowFormat::Csv => FileKind::Csv,
            RowFormat::Jsonl => FileKind::Jsonl,
        };
        let mut first = String::new();
        if kind == FileKind::Csv {
            let read = open(&path)?.read_line(&mut first);
            read.map_err(|error| cannot_read(&path, &error.to_string()))?;
        }
        let count = |delimiter: char| first.matches(delimiter).count();
        let delimiter = [(',', b','), (';', b';'), ('\t', b'\t')];
        // The first of equals; `max_by_key` would take the last.
        let delimiter = delimiter.into_iter().rev().max_by_key(|(it, _)| count(*it));
        let delimiter = delimiter.map_or(b',', |(_, byte)| byte);
        Ok(Self { path, kind, delimiter })
    }

    fn rows(&self) -> Result<Rows<BufReader<File>>, Failure> {
        let rows = Rows::new(self.kind, open(&self.path)?, self.delimiter);
        rows.map_err(|reason| cannot_read(&self.path, &reason).with_exit(Exit::Faults))
    }

    /// The number of rows, and the names of all columns.
    fn scan(&self) -> Result<(u64, Vec<String>), Failure> {
        let rows = self.rows()?;
        let mut names: Vec<String> = rows.names().to_vec();
        let mut known: HashSet<String> = names.iter().cloned().collect();
        let mut count = 0;
        for row in rows {
            count += 1;
            let cells = row.map(|row| row.cells).unwrap_or_default();
            for name in cells.into_keys() {
                if known.insert(name.clone()) {
                    names.push(name);
                }
            }
        }
        Ok((count, names))
    }
}

fn open(path: &Path) -> Result<BufReader<File>, Failure> {
    let file = File::open(path).map_err(|error| cannot_read(path, &error.to_string()))?;
    Ok(BufReader::new(file))
}

fn cannot_read(path: &Path, reason: &str) -> Failure {
    Failure::new(format!("{}: {reason}", path.display()), "give a CSV or JSON Lines file")
}

fn read_mapping(path: Option<&Path>) -> Result<Mapping, Failure> {
    let Some(path) = path else { return Ok(Mapping::default()) };
    let fault = |reason: String| {
        Failure::usage(format!("{}: {reason}", path.display()), "see docs/import/responses.md")
    };
    let file = flow_file::read(path).map_err(|unreadable| match unreadable {
        Unreadable::Missing(reason) | Unreadable::Syntax(reason) => fault(reason),
    })?;
    Mapping::read(&file.definition).map_err(fault)
}

/// The version that rows are submitted to.
struct Target {
    app_id: String,
    api_key: String,
    flow_version_id: String,
    definition: Definition,
}

impl Target {
    async fn find(server: &Server, flow: &str) -> Result<Self, Failure> {
        let row = server.get(&format!("/flows/{flow}"), &[]).await?;
        let Some(version) = row["published"]["flowVersionId"].as_str() else {
            return Err(Failure::new(
                format!("{flow} has no published version"),
                format!("publish it with: sluice flow publish {flow}"),
            ));
        };
        let app_id = field(&row, "appId").to_owned();
        let app = server.get(&format!("/apps/{app_id}"), &[]).await?;
        let api_key = app["apiKeys"].get(0).and_then(Value::as_str).map(str::to_owned);
        let api_key = api_key.ok_or_else(|| {
            Failure::new("the app has no API key", "create one in the console or the admin API")
        })?;
        let published = server.get(&format!("/flow_versions/{version}"), &[]).await?;
        let definition = definition::check(&published["definition"]).map_err(|_| {
            Failure::new("this version is newer than this program", "use the release of the server")
        })?;
        Ok(Self { app_id, api_key, flow_version_id: version.to_owned(), definition })
    }
}

/// Prints what each column becomes. Returns whether the import may continue.
fn print_columns(plan: &Plan<'_>, args: &ImportResponsesArgs) -> bool {
    let mut unknown = 0;
    for column in plan.columns() {
        let becomes = column.becomes.as_deref().unwrap_or("unknown");
        unknown += u64::from(column.becomes.is_none());
        if !args.json {
            output::line(format_args!("column {} -> {}", quoted(&column.name), quoted(becomes)));
        }
    }
    unknown == 0 || args.skip_unknown
}

/// Webhooks would send an event for each row.
async fn refuse_webhooks(server: &Server, app: &str, flow: &str, rows: u64) -> Result<(), Failure> {
    let wants = |list: &Value, name: &str| {
        list.as_array().is_none_or(|list| list.is_empty() || list.iter().any(|it| it == name))
    };
    let endpoints = server.list(&format!("/apps/{app}/webhooks")).await;
    let endpoints = endpoints.map_err(|error| match error {
        CallError::Refused(_) => Failure::new(
            "this token cannot see whether webhooks would send an event for each row",
            "use one with the scope admin, or give --notify",
        ),
        error => error.into(),
    })?;
    let active = endpoints.iter().filter(|endpoint| {
        endpoint["disabledAt"].is_null()
            && wants(&endpoint["types"], "response.created")
            && wants(&endpoint["flows"], flow)
    });
    match active.count() as u64 {
        0 => Ok(()),
        count => Err(Failure::new(
            format!("{} would get {}", counted(count, "webhook"), counted(rows, "event")),
            "give --notify if that is what you want, or restrict the webhooks to other flows",
        )),
    }
}

/// The outcomes of the rows.
#[derive(Default)]
struct Counts {
    rows: u64,
    accepted: u64,
    /// Of the accepted, those that an earlier run stored.
    earlier: u64,
    /// Of `earlier`, the rows that were stored differently: for another version, or with another
    /// mapping.
    different: u64,
    refused: u64,
}

struct Run<'r> {
    server: &'r Server,
    key: &'r str,
    procedure: &'static str,
    plan: Plan<'r>,
    /// The rows of the next request, and the bytes of their submissions.
    waiting: Vec<(Row, Value)>,
    waiting_bytes: usize,
    refused: Refused,
    progress: Progress,
    counts: Counts,
}

impl Run<'_> {
    async fn add(&mut self, row: Result<Row, RowError>) -> Result<(), Failure> {
        self.counts.rows += 1;
        let mut row = match row {
            Ok(row) => row,
            Err(error) => {
                self.progress.advance(1);
                return self.refuse(error.number, &error.reason, &error.to_refused_json());
            }
        };
        match self.plan.submission(&mut row, Generation::LATEST.as_str()) {
            Err(reasons) => {
                self.progress.advance(1);
                self.refuse(row.number, &reasons.join(" "), &row.to_refused_json(&reasons))
            }
            Ok(submission) => {
                let bytes = submission.to_string().len();
                let is_full = self.waiting.len() >= BATCH_ROWS_MAX
                    || self.waiting_bytes + bytes > BATCH_BYTES_MAX;
                if is_full {
                    self.send().await?;
                }
                self.waiting_bytes += bytes;
                self.waiting.push((row, submission));
                Ok(())
            }
        }
    }

    /// Sends the waiting rows, again while the server is away.
    async fn send(&mut self) -> Result<(), Failure> {
        self.waiting_bytes = 0;
        let mut waiting = std::mem::take(&mut self.waiting);
        let mut tries = 0;
        while !waiting.is_empty() {
            let inputs: Vec<&Value> = waiting.iter().map(|(_, submission)| submission).collect();
            let left = match self.server.procedure(self.key, self.procedure, &inputs).await {
                Ok(reply) => self.settle(waiting, reply)?,
                Err(CallError::Away(failure) | CallError::Later(failure)) if tries >= TRIES_MAX => {
                    return Err(failure);
                }
                Err(CallError::Away(_) | CallError::Later(_)) => waiting,
                Err(error) => return Err(error.into()),
            };
            if !left.is_empty() {
                tries += 1;
                if tries > TRIES_MAX {
                    return Err(Failure::new(
                        "the server is overloaded",
                        "run the same command again to continue",
                    ));
                }
                let pause = Duration::from_millis(250 << tries.min(8)).min(PAUSE_MAX);
                tokio::time::sleep(pause).await;
            }
            waiting = left;
        }
        Ok(())
    }

    /// Counts the outcomes of a batch. Returns the rows to send again.
    fn settle(
        &mut self,
        rows: Vec<(Row, Value)>,
        (items, all_earlier): (Vec<Value>, bool),
    ) -> Result<Vec<(Row, Value)>, Failure> {
        let mut left = Vec::new();
        for ((row, submission), item) in rows.into_iter().zip(items) {
            let data = &item["result"]["data"];
            match data["success"].as_bool() {
                Some(true) => {
                    self.counts.accepted += 1;
                    self.counts.earlier += u64::from(all_earlier);
                    self.progress.advance(1);
                }
                Some(false) if is_stored(&row, data) => {
                    self.counts.accepted += 1;
                    self.counts.earlier += 1;
                    self.counts.different += 1;
                    self.progress.advance(1);
                }
                Some(false) => {
                    let texts = data["errors"]["formErrors"].as_array().into_iter().flatten();
                    let reasons: Vec<String> =
                        texts.filter_map(Value::as_str).map(str::to_owned).collect();
                    self.progress.advance(1);
                    self.refuse(row.number, &reasons.join(" "), &row.to_refused_json(&reasons))?;
                }
                None => {
                    let status = item["error"]["data"]["httpStatus"].as_u64().unwrap_or(500);
                    if status != 429 && status < 500 {
                        let message = field(&item["error"], "message").to_owned();
                        return Err(Failure::new(
                            format!("the server reports: {message}"),
                            "an app that requires identity tokens accepts no imports",
                        ));
                    }
                    left.push((row, submission));
                }
            }
        }
        Ok(left)
    }

    fn refuse(&mut self, number: u64, reason: &str, line: &Value) -> Result<(), Failure> {
        self.counts.refused += 1;
        if self.counts.refused <= SHOWN_MAX {
            output::note(format_args!("row {number}: {}", reason.replace(char::is_control, " ")));
        }
        self.refused.write(line)
    }

    fn finish(mut self, args: &ImportResponsesArgs) -> Outcome {
        let Counts { rows, accepted, earlier, different, refused } = self.counts;
        self.refused.close()?;
        drop(self.progress);
        let path = self.refused.path.display().to_string();
        if args.json {
            let columns: Vec<Value> = (self.plan.columns().iter())
                .map(|column| json!({"name": column.name, "becomes": column.becomes}))
                .collect();
            let result = json!({
                "dryRun": args.dry_run, "rows": rows, "accepted": accepted,
                // Only storing a row finds whether it is there.
                "earlier": (!args.dry_run).then_some(earlier),
                "refused": refused, "columns": columns,
                "refusedFile": (refused > 0).then_some(path),
            });
            output::line(result);
        } else {
            let (rows, new) = (counted(rows, "row"), accepted - earlier);
            if args.dry_run {
                output::line(format_args!(
                    "{rows}: {accepted} would be accepted, {refused} refused"
                ));
                output::note("a dry run does not find which rows an earlier run has stored");
            } else {
                output::line(format_args!(
                    "{rows}: {new} imported, {earlier} already there, {refused} refused"
                ));
            }
            if different > 0 {
                let (were, stay) = match different {
                    1 => ("was", "it stays as it was"),
                    _ => ("were", "they stay as they were"),
                };
                output::note(format_args!(
                    "{different} of these rows {were} stored for another version, or with another \
                     --map or --admitted; {stay}"
                ));
            }
            if refused > 0 {
                output::line(format_args!("refused rows with their reasons: {path}"));
            }
        }
        Ok(if refused > 0 { Exit::Faults } else { Exit::Done })
    }
}

/// Whether a refusal means that an earlier run stored the row: its key is made of its content, and
/// is in use. The submission differs, because the flow was published again since, for example.
fn is_stored(row: &Row, refusal: &Value) -> bool {
    let is_reused = |issue: &Value| issue["code"] == Code::IdempotencyKeyReused.as_str();
    let issues = refusal["errors"]["issues"].as_array();
    row.key.is_some()
        && !row.is_fixed
        && issues.is_some_and(|issues| !issues.is_empty() && issues.iter().all(is_reused))
}

/// The file of refused rows.
struct Refused {
    path: PathBuf,
    file: Option<BufWriter<File>>,
}

impl Refused {
    /// Adds a row. The file is created with the first one.
    fn write(&mut self, line: &Value) -> Result<(), Failure> {
        let path = self.path.clone();
        let failed = |error| cannot_write(&path, &error);
        if self.file.is_none() {
            self.file = Some(BufWriter::new(File::create(&path).map_err(failed)?));
        }
        match &mut self.file {
            Some(file) => writeln!(file, "{line}").map_err(failed),
            None => Ok(()),
        }
    }

    fn close(&mut self) -> Result<(), Failure> {
        match &mut self.file {
            Some(file) => file.flush().map_err(|error| cannot_write(&self.path, &error)),
            None => Ok(()),
        }
    }
}

fn cannot_write(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(format!("cannot write {}: {error}", path.display()), "check --refused")
}
