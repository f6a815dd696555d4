//! `sluice flow versions`, `retire`, `window` and `archive`.

use serde_json::{Value, json};

use super::target;
use crate::args::{ArchiveArgs, RetireArgs, VersionsArgs, WindowArgs, WindowEnd};
use crate::client::{Server, field};
use crate::failure::{Exit, Failure, Outcome};
use crate::output;

pub(crate) async fn versions(args: VersionsArgs) -> Outcome {
    let server = Server::new(args.of.server)?;
    let flow = target::flow_id(&server, &args.flow, args.of.app).await?;
    let versions = server.list(&format!("/flows/{flow}/versions")).await?;
    for version in &versions {
        output::line(args.json.shown(version, version_line));
    }
    if versions.is_empty() {
        output::note(format_args!("no versions; publish one with: sluice flow publish {flow}"));
    }
    Ok(Exit::Done)
}

fn version_line(version: &Value) -> String {
    let (id, status) = (field(version, "flowVersionId"), field(version, "status"));
    let until = match (status, version["graceEndsAt"].as_str()) {
        ("grace", Some(until)) => format!("  until {until}"),
        _ => String::new(),
    };
    let (number, published) = (&version["number"], field(version, "publishedAt"));
    format!("{number}  {status:<9}  {id}  {published}{until}")
}

pub(crate) async fn retire(args: RetireArgs) -> Outcome {
    let server = Server::new(args.of.server.clone())?;
    let flow = target::flow(&server, &args.flow, args.of.app).await?;
    let id = field(&flow, "flowId");
    let version = match args.version {
        None => {
            flow["published"]["flowVersionId"].as_str().map(str::to_owned).ok_or_else(|| {
                Failure::new(
                    "the flow has no published version",
                    "name an older one with --version NUMBER",
                )
            })?
        }
        Some(number) => {
            let versions = server.list(&format!("/flows/{id}/versions")).await?;
            let found = versions.iter().find(|it| it["number"] == number).ok_or_else(|| {
                Failure::new(
                    format!("the flow has no version {number}"),
                    format!(
                        "it has {} published versions; `sluice flow versions {id}` lists them",
                        versions.len()
                    ),
                )
            })?;
            field(found, "flowVersionId").to_owned()
        }
    };
    let retired = server.post(&format!("/flow_versions/{version}/retire"), None).await?;
    output::line(format_args!(
        "retired version {} ({version}) at {}",
        retired["number"],
        field(&retired, "retiredAt")
    ));
    Ok(Exit::Done)
}

pub(crate) async fn window(args: WindowArgs) -> Outcome {
    let server = Server::new(args.of.server.clone())?;
    let flow = target::flow(&server, &args.flow, args.of.app).await?;
    let path = format!("/flows/{}", field(&flow, "flowId"));
    let closes_now = args.closes == Some(WindowEnd::Now);
    let mut window = flow["liveWindow"].clone();
    for (name, end) in [("startsAt", args.opens), ("endsAt", args.closes)] {
        match end {
            None | Some(WindowEnd::Now) => {}
            Some(WindowEnd::Open) => window[name] = Value::Null,
            Some(WindowEnd::At(time)) => window[name] = json!(time),
        }
    }
    let mut changed = flow.clone();
    if window != flow["liveWindow"] {
        changed = server.patch(&path, &json!({"liveWindow": window})).await?;
    }
    if closes_now {
        // The server's clock decides when that is.
        changed = server.post(&format!("{path}/close"), None).await?;
    }
    let end = |name: &str, open: &str| match changed["liveWindow"][name].as_str() {
        Some(time) => time.to_owned(),
        None => open.to_owned(),
    };
    output::line(format_args!("opens   {}", end("startsAt", "any time")));
    output::line(format_args!("closes  {}", end("endsAt", "never")));
    Ok(Exit::Done)
}

pub(crate) async fn archive(args: ArchiveArgs) -> Outcome {
    let server = Server::new(args.of.server.clone())?;
    let flow = target::flow(&server, &args.flow, args.of.app).await?;
    let id = field(&flow, "flowId");
    if args.restore {
        server.post(&format!("/flows/{id}/restore"), None).await?;
        output::line(format_args!("restored {id}"));
    } else {
        server.delete(&format!("/flows/{id}"), &[]).await?;
        output::line(format_args!("archived {id}; --restore brings it back"));
    }
    Ok(Exit::Done)
}
