//! `sluice import FORMAT FILE`: creates a flow from a definition of another tool.

use std::io::Read as _;
use std::path::Path;

use serde_json::{Value, json};
use sluice_import::{Entry, FILE_BYTES_MAX, Format, Imported, Outcome as Became, Report, import};

use super::{check, target};
use crate::args::{ImportArgs, ServerArgs};
use crate::client::{Server, field};
use crate::failure::{Exit, Failure, Outcome};
use crate::output::{self, counted, quoted};

pub(crate) async fn run(args: ImportArgs) -> Outcome {
    let (Some(format), Some(file)) = (args.format, &args.file) else {
        return Err(Failure::usage("a format and a file are needed", "see sluice import --help"));
    };
    let imported = read(format, file)?;
    let definition = written(&imported)?;
    if !args.json && args.out.as_deref() != Some(Path::new("-")) {
        print(&imported);
    }
    let flow = keep(&args, &imported, &definition).await?;
    if args.json {
        output::line(as_json(format, &imported, flow.as_deref())?);
    }
    Ok(Exit::Done)
}

/// The server of a command.
pub(super) fn server(args: &ServerArgs) -> Result<Server, Failure> {
    Server::new(args.clone())
}

fn read(format: &Format, path: &Path) -> Result<Imported, Failure> {
    let unreadable = |error: std::io::Error| {
        check::unreadable(path, &error.to_string()).with_remedy(format!("give {}", format.summary))
    };
    let source: Box<dyn std::io::Read> = if path == Path::new("-") {
        Box::new(std::io::stdin().lock())
    } else {
        Box::new(std::fs::File::open(path).map_err(unreadable)?)
    };
    let mut bytes = Vec::new();
    source.take(FILE_BYTES_MAX as u64 + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    import(format, &bytes).map_err(|reason| {
        let remedy = format!("{} needs {}", format.label, format.summary);
        Failure::new(format!("{} {reason}", path.display()), remedy).with_exit(Exit::Faults)
    })
}

/// The definition as text, its fields in their usual order.
fn written(imported: &Imported) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(&imported.definition);
    text.map_err(|error| Failure::new(format!("cannot write the definition: {error}"), ""))
}

/// Writes the definition to a file or a server. Returns the id of the flow.
async fn keep(
    args: &ImportArgs,
    imported: &Imported,
    definition: &str,
) -> Result<Option<String>, Failure> {
    if let Some(out) = args.out.as_deref().filter(|_| !args.dry_run) {
        if out == Path::new("-") {
            output::line(definition);
            return Ok(None);
        }
        std::fs::write(out, format!("{definition}\n")).map_err(|error| {
            Failure::new(format!("cannot write {}: {error}", out.display()), "check --out")
        })?;
        output::note(format_args!("{} written", out.display()));
        return Ok(None);
    }
    if args.dry_run {
        output::note("dry run: nothing was written");
        return Ok(None);
    }
    let server = server(&args.server)?;
    let flow = draft(&server, args, imported).await?;
    output::note(format_args!("the draft is saved; publish it with: sluice flow publish {flow}"));
    Ok(Some(flow))
}

/// Creates the flow, or replaces the draft of one. Never publishes.
async fn draft(server: &Server, args: &ImportArgs, imported: &Imported) -> Result<String, Failure> {
    let definition = imported.definition.to_json();
    let flow = match &args.flow {
        Some(flow) => {
            let flow = target::flow_id(server, flow, args.app).await?;
            server.put(&format!("/flows/{flow}/draft"), &definition).await?;
            flow
        }
        None => {
            let app = target::app(server, args.app).await?;
            let name = args.name.as_deref().unwrap_or(imported.definition.title());
            let body = json!({"name": name, "kind": args.kind.as_str(), "definition": definition});
            let made = server.post(&format!("/apps/{app}/flows"), Some(&body)).await?;
            field(&made, "flowId").to_owned()
        }
    };
    if !args.json {
        output::line(format_args!("flowId      {flow}"));
    }
    Ok(flow)
}

fn print(imported: &Imported) {
    let report = &imported.report;
    for entry in &report.entries {
        print_entry(entry);
    }
    let questions = imported.definition.questions().len() as u64;
    let title = quoted(imported.definition.title());
    output::line(format_args!("{title}: {}", counted(questions, "question")));
    output::line(summary(report));
}

fn print_entry(entry: &Entry) {
    output::line(entry_line(entry));
    for text in entry.reason.iter().chain(&entry.changes) {
        output::line(format_args!("            {}", shown(text)));
    }
}

fn entry_line(entry: &Entry) -> String {
    let outcome = match entry.outcome() {
        Became::Mapped => "mapped",
        Became::Changed => "changed",
        Became::NotMapped => "not mapped",
    };
    let place = if entry.place.is_empty() { "-".to_owned() } else { shown(&entry.place) };
    let id = entry.id.as_deref().map(|id| format!(" = {}", shown(id))).unwrap_or_default();
    format!("{outcome:<10}  {place}  {}{id}", shown(&entry.element))
}

/// Texts of the source on one line, without what a terminal would interpret.
fn shown(text: &str) -> String {
    let is_safe = |c: char| {
        !c.is_control()
            && !matches!(c, '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.chars().map(|c| if is_safe(c) { c } else { ' ' }).collect()
}

fn summary(report: &Report) -> String {
    let count = |outcome| report.count(outcome);
    format!(
        "{}: {} mapped, {} mapped with a change, {} not mapped",
        counted(report.entries.len() as u64, "element"),
        count(Became::Mapped),
        count(Became::Changed),
        count(Became::NotMapped),
    )
}

fn as_json(format: &Format, imported: &Imported, flow: Option<&str>) -> Result<String, Failure> {
    let report = &imported.report;
    let result: Value = json!({
        "format": format.name,
        "flowId": flow,
        "mapped": report.count(Became::Mapped),
        "changed": report.count(Became::Changed),
        "notMapped": report.count(Became::NotMapped),
        "elements": report.entries,
        "definition": imported.definition.to_json(),
    });
    serde_json::to_string_pretty(&result)
        .map_err(|error| Failure::new(format!("cannot write the report: {error}"), ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_source_reaches_the_terminal_as_a_command() {
        let hostile = "\u{1b}]0;title\u{7}\u{9b}31m\u{202e}x";
        let entry = Entry {
            place: hostile.to_owned(),
            element: hostile.to_owned(),
            id: Some(hostile.to_owned()),
            changes: Vec::new(),
            reason: None,
        };
        let line = entry_line(&entry);
        assert_eq!(line.matches("]0;title").count(), 3);
        assert!(!line.contains(['\u{1b}', '\u{7}', '\u{9b}', '\u{202e}']), "{line:?}");
    }
}
