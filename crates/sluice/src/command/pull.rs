//! `sluice flow pull`: a flow as a file that `apply` leaves unchanged.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use sluice_flow::flow_key;
use sluice_flow::flow_settings::FlowSettings;

use super::target;
use crate::args::{FileFormat, PullArgs};
use crate::client::{Server, field};
use crate::failure::{Exit, Failure, Outcome};
use crate::new_file::with_ending;
use crate::output;
use crate::yaml_writer::to_yaml;

pub(crate) async fn run(args: PullArgs) -> Outcome {
    let server = Server::new(args.of.server.clone())?;
    let flow = target::flow(&server, &args.flow, args.of.app).await?;
    let flow = with_key(&server, flow, args.key.as_deref()).await?;
    let published = flow["published"]["flowVersionId"].as_str().filter(|_| !args.draft);
    let version = published.or_else(|| flow["draft"]["flowVersionId"].as_str());
    let Some(version) = version else {
        return Err(Failure::new("the flow has no draft", "leave out --draft"));
    };
    let mut version = server.get(&format!("/flow_versions/{version}"), &[]).await?;
    let settings = FlowSettings::from_flow(&flow).map_err(|_| {
        Failure::new("the flow cannot be read by this program", "use the release of the server")
    })?;
    let mut file = version["definition"].take();
    file["flow"] = settings.to_file();
    save(&args, &file)?;
    if published.is_none() {
        output::note("this is the draft: `sluice flow apply` publishes it");
    } else if !flow["draft"].is_null() {
        output::note("the flow also has a draft; --draft writes that one");
    }
    Ok(Exit::Done)
}

/// The flow, with a key that it has or gets.
async fn with_key(server: &Server, flow: Value, key: Option<&str>) -> Result<Value, Failure> {
    match (key, flow["key"].as_str()) {
        (None, Some(_)) => Ok(flow),
        (Some(key), Some(now)) if key == now => Ok(flow),
        (None, None) => Err(Failure::usage(
            "the flow has no key, by which a file could refer to it",
            "give it one with --key, such as --key product-feedback",
        )),
        (Some(key), _) => {
            if let Some(why) = flow_key::fault(key) {
                return Err(Failure::usage(format!("--key {why}"), "choose another key"));
            }
            let path = format!("/flows/{}", field(&flow, "flowId"));
            let changed = server.patch(&path, &json!({"key": key})).await?;
            output::note(format_args!("the flow now has the key {key}"));
            Ok(changed)
        }
    }
}

fn save(args: &PullArgs, file: &Value) -> Result<(), Failure> {
    let is_json = args.out.extension().is_some_and(|ending| ending == "json");
    let text =
        match args.format.unwrap_or(if is_json { FileFormat::Json } else { FileFormat::Yaml }) {
            FileFormat::Json => format!("{file:#}\n"),
            FileFormat::Yaml => to_yaml(file),
        };
    if args.out == Path::new("-") {
        let _gone = output::print(&text);
        return Ok(());
    }
    let part = with_ending(&args.out, ".part");
    let written = fs::write(&part, text).and_then(|()| fs::rename(&part, &args.out));
    written.map_err(|error| {
        let _gone = fs::remove_file(&part);
        Failure::new(format!("cannot write {}: {error}", args.out.display()), "check --out")
    })?;
    output::note(format_args!("{} written", args.out.display()));
    Ok(())
}
