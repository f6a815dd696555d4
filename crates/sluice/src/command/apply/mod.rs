//! `sluice flow apply` and `diff`: flows that match their files.
//!
//! All files are read, checked and compared with the server before anything is written
//! ([`plan`]); [`execute`] then writes what differs. The difference in words is that of the console
//! and of the settings (`sluice_flow`).

mod execute;
mod plan;

use std::collections::HashMap;
use std::path::PathBuf;

use sluice_flow::definition::Fault;
use sluice_flow::id::AppId;

use self::plan::{Plan, Planned, Source};
use super::{check, target};
use crate::args::{ApplyArgs, DiffArgs, ServerArgs};
use crate::client::Server;
use crate::failure::{Exit, Failure, Outcome};
use crate::flow_file::{self, Unreadable};
use crate::output::{self, counted};

/// Exit code 2 means that something would change, so no fault has it.
pub(crate) async fn apply(args: ApplyArgs) -> Outcome {
    run(args).await.map_err(Failure::never_usage)
}

/// The same as a dry run of `apply`.
pub(crate) async fn diff(args: DiffArgs) -> Outcome {
    let DiffArgs { files, app, overwrite_draft, server } = args;
    apply(ApplyArgs { files, app, dry_run: true, overwrite_draft, server }).await
}

async fn run(args: ApplyArgs) -> Outcome {
    let Some(sources) = sources(&args.files)? else { return Ok(Exit::Faults) };
    let (server, app, mut plans) =
        planned(args.server, args.app, sources, args.overwrite_draft).await?;
    if args.dry_run {
        return Ok(report(&plans));
    }
    if let Some(conflict) = plans.iter_mut().find_map(|plan| plan.conflict.take()) {
        return Err(conflict);
    }
    let mut changed = 0;
    for plan in &plans {
        print(plan);
        if plan.is_empty() {
            continue;
        }
        let done = execute::run(&server, &app, plan).await;
        match done.map_err(|failure| failure.about(&plan.source.shown))? {
            Exit::Done => changed += 1,
            other => return Ok(other),
        }
    }
    output::line(summary(&plans, changed, "changed"));
    Ok(Exit::Done)
}

async fn planned(
    server: ServerArgs,
    app: Option<AppId>,
    sources: Vec<Source>,
    overwrite_draft: bool,
) -> Result<(Server, String, Vec<Plan>), Failure> {
    let server = Server::new(server)?;
    let app = target::app(&server, app).await?;
    let mut plans = Vec::new();
    for source in sources {
        let shown = source.shown.clone();
        let plan = Plan::new(&server, &app, source, overwrite_draft).await;
        plans.push(plan.map_err(|failure| failure.about(&shown))?);
    }
    Ok((server, app, plans))
}

/// Reads and checks all files; `None` if any has faults, which are printed.
fn sources(files: &[PathBuf]) -> Result<Option<Vec<Source>>, Failure> {
    let (mut sources, mut faults) = (Vec::<Source>::new(), 0);
    let mut files_by_key = HashMap::new();
    for path in files {
        let shown = path.display().to_string();
        let read = match flow_file::read(path) {
            Ok(file) => Source::new(shown.clone(), &file),
            Err(Unreadable::Missing(reason)) => return Err(check::unreadable(path, &reason)),
            Err(Unreadable::Syntax(message)) => Err(vec![Fault::new("", message)]),
        };
        let read = read.and_then(|source| match files_by_key.get(&source.key) {
            Some(other) => {
                let message = format!("{other} has the same key, {}", source.key);
                Err(vec![Fault::new("/flow/key", message)])
            }
            None => Ok(source),
        });
        match read {
            Ok(source) => {
                files_by_key.insert(source.key.clone(), shown);
                sources.push(source);
            }
            Err(found) => {
                check::print(&shown, &found);
                faults += found.len() as u64;
            }
        }
    }
    if faults > 0 {
        output::note(format_args!("nothing was changed: {}", counted(faults, "fault")));
        return Ok(None);
    }
    Ok(Some(sources))
}

/// Prints all plans, without carrying them out, and what would stop them.
fn report(plans: &[Plan]) -> Exit {
    plans.iter().for_each(print);
    let conflicts: Vec<&Failure> = plans.iter().filter_map(|it| it.conflict.as_ref()).collect();
    let would_change =
        plans.iter().filter(|plan| !plan.is_empty() && plan.conflict.is_none()).count() as u64;
    let summary = summary(plans, would_change, "would change");
    match conflicts.len() {
        0 => output::line(summary),
        stopped => output::line(format_args!("{summary}, {stopped} stopped by a draft")),
    }
    conflicts.iter().for_each(|conflict| output::print_failure(conflict));
    match (conflicts.is_empty(), would_change) {
        (false, _) => Exit::Failed,
        (true, 0) => Exit::Done,
        (true, _) => Exit::WouldChange,
    }
}

fn summary(plans: &[Plan], changed: u64, verb: &str) -> String {
    let unchanged = plans.iter().filter(|plan| plan.is_empty()).count();
    format!("{}: {changed} {verb}, {unchanged} unchanged", counted(plans.len() as u64, "file"))
}

/// One line for the file, and one for each change.
fn print(plan: &Plan) {
    let Source { shown, key, .. } = &plan.source;
    let summary = match &plan.planned {
        Planned::Create => "new flow".to_owned(),
        Planned::Update(_) if plan.is_empty() => "no changes".to_owned(),
        Planned::Update(_) => counted(plan.texts.len() as u64, "change"),
    };
    output::line(format_args!("{shown}: {key}: {summary}"));
    for text in &plan.texts {
        output::line(format_args!("  {}", text.text));
        if let Some(breaks) = text.breaks {
            output::line(format_args!("    {breaks}"));
        }
    }
    for note in &plan.notes {
        output::note(format_args!("{shown}: {note}"));
    }
}
