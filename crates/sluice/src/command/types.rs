//! `sluice types`: the TypeScript type of the answers to a flow.

use std::path::Path;

use serde_json::Value;
use sluice_flow::definition::{self, Definition};
use sluice_flow::typescript::{PublishedFlow, module};

use super::{check, target};
use crate::args::{FlowRef, TypesArgs};
use crate::client::{Server, field};
use crate::failure::{Exit, Failure, Outcome};
use crate::flow_file::{self, Unreadable};
use crate::output::{self, counted};

pub(crate) async fn run(args: TypesArgs) -> Outcome {
    match args.flow.parse::<FlowRef>() {
        Ok(flow) if !is_file(&args.flow, &flow) => of_published(&flow, args).await,
        _ => of_file(&args),
    }
}

/// A name that is not an id is a file if there is one, or if it ends as a file does: a missing file
/// is not a key.
fn is_file(name: &str, flow: &FlowRef) -> bool {
    let path = Path::new(name);
    let ending = path.extension().and_then(|it| it.to_str()).unwrap_or_default();
    let is_key = matches!(flow, FlowRef::Key(_));
    is_key && (name == "-" || path.exists() || matches!(ending, "json" | "yaml" | "yml"))
}

async fn of_published(flow: &FlowRef, args: TypesArgs) -> Outcome {
    let server = Server::new(args.of.server)?;
    let row = target::flow(&server, flow, args.of.app).await?;
    let flow = field(&row, "flowId");
    let Some(version) = row["published"]["flowVersionId"].as_str() else {
        return Err(Failure::new(
            format!("{flow} has no published version"),
            format!("publish it with: sluice flow publish {flow}"),
        ));
    };
    let version = server.get(&format!("/flow_versions/{version}"), &[]).await?;
    let definition = read(&version["definition"]).ok_or_else(|| {
        Failure::new("this version is newer than this program", "use the release of the server")
    })?;
    let number = version["number"].as_u64().unwrap_or_default();
    let name = args.name.as_deref().unwrap_or_else(|| field(&row, "name"));
    let published = PublishedFlow { id: flow, number };
    print(&module(&definition, name, Some(published)))
}

fn of_file(args: &TypesArgs) -> Outcome {
    let path = Path::new(&args.flow);
    let file = flow_file::read(path).map_err(|unreadable| match unreadable {
        Unreadable::Missing(reason) => check::unreadable(path, &reason)
            .with_remedy("give a JSON or YAML file, or the id (fl_…) or key of a flow"),
        Unreadable::Syntax(reason) => {
            Failure::new(format!("{} {reason}", args.flow), "").with_exit(Exit::Faults)
        }
    })?;
    let Some(definition) = read(&file.definition) else {
        let faults = file.faults();
        check::print(&args.flow, &faults);
        output::note(counted(faults.len() as u64, "fault"));
        return Ok(Exit::Faults);
    };
    print(&module(&definition, args.name.as_deref().unwrap_or(definition.title()), None))
}

fn read(definition: &Value) -> Option<Definition> {
    definition::check(definition).ok()
}

fn print(module: &str) -> Outcome {
    // A reader that closed the pipe has what it wanted.
    let _gone = output::print(module);
    Ok(Exit::Done)
}
