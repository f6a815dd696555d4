//! `sluice flow push`, `publish` and `list`, and the other commands for flows.

use serde_json::{Value, json};

use super::{apply, check, flow_state, pull, target};
use crate::args::{FlowCommand, ListArgs, PublishArgs, PushArgs};
use crate::client::{CallError, Server, faults_in, faults_of, field};
use crate::failure::{Exit, Failure, Outcome};
use crate::flow_file::{self, FlowFile, Unreadable};
use crate::output::{self, counted, quoted};

pub(crate) async fn run(command: FlowCommand) -> Outcome {
    match command {
        FlowCommand::Check(args) => check::run(&args),
        FlowCommand::Push(args) => push(*args).await,
        FlowCommand::Publish(args) => publish(args).await,
        FlowCommand::Apply(args) => apply::apply(args).await,
        FlowCommand::Diff(args) => apply::diff(args).await,
        FlowCommand::Pull(args) => pull::run(*args).await,
        FlowCommand::Window(args) => flow_state::window(args).await,
        FlowCommand::Retire(args) => flow_state::retire(args).await,
        FlowCommand::Archive(args) => flow_state::archive(args).await,
        FlowCommand::List(args) => list(args).await,
        FlowCommand::Versions(args) => flow_state::versions(args).await,
    }
}

async fn push(args: PushArgs) -> Outcome {
    let shown = args.file.display().to_string();
    let file = flow_file::read(&args.file).map_err(|unreadable| match unreadable {
        Unreadable::Missing(reason) => check::unreadable(&args.file, &reason),
        Unreadable::Syntax(reason) => {
            Failure::new(format!("{shown} {reason}"), "nothing was sent").with_exit(Exit::Faults)
        }
    })?;
    let server = Server::new(args.server.clone())?;
    let is_new = args.flow.is_none();
    let (flow, draft) = match &args.flow {
        Some(flow) => {
            let flow = target::flow_id(&server, flow, args.app).await?;
            let draft = server.put(&format!("/flows/{flow}/draft"), &file.definition).await?;
            (flow, draft)
        }
        None => create(&server, &args, &file).await?,
    };
    output::line(format_args!("flowId         {flow}"));
    output::line(format_args!("flowVersionId  {}", field(&draft, "flowVersionId")));
    if is_new {
        output::note(format_args!(
            "this is a new flow; to change it later: sluice flow push {shown} --flow {flow}"
        ));
    }
    if file.has_settings() {
        output::note("the settings under `flow` are not pushed; `sluice flow apply` uses them");
    }
    let reported = faults_of(&draft);
    let faults = if reported.is_empty() { file.faults() } else { file.explained(reported) };
    if !faults.is_empty() {
        check::print(&shown, &faults);
        let count = counted(faults.len() as u64, "fault");
        output::note(format_args!("the draft is saved; {count} to fix before it can be published"));
        return Ok(Exit::Faults);
    }
    if args.publish {
        return publish_flow(&server, &flow).await;
    }
    output::note(format_args!("the draft is saved; publish it with: sluice flow publish {flow}"));
    Ok(Exit::Done)
}

/// Creates the flow, and returns its id and its draft.
async fn create(
    server: &Server,
    args: &PushArgs,
    file: &FlowFile,
) -> Result<(String, Value), Failure> {
    let app = target::app(server, args.app).await?;
    let title = file.definition["title"].as_str();
    let name = args.name.as_deref().or(title).ok_or_else(|| {
        Failure::usage("the new flow needs a name", "give --name, or a title in the file")
    })?;
    let body = json!({"name": name, "kind": args.kind.as_str(), "definition": file.definition});
    let made = server.post(&format!("/apps/{app}/flows"), Some(&body)).await?;
    Ok((field(&made, "flowId").to_owned(), made["draft"].clone()))
}

async fn publish(args: PublishArgs) -> Outcome {
    let server = Server::new(args.of.server)?;
    let flow = target::flow_id(&server, &args.flow, args.of.app).await?;
    publish_flow(&server, &flow).await
}

async fn publish_flow(server: &Server, flow: &str) -> Outcome {
    let before = server.get(&format!("/flows/{flow}"), &[]).await?;
    let published = match server.post(&format!("/flows/{flow}/publish"), None).await {
        Ok(published) => published,
        Err(CallError::Faults(faults)) => {
            check::print(flow, &faults);
            let count = counted(faults.len() as u64, "fault");
            output::note(format_args!("not published: the draft has {count}"));
            return Ok(Exit::Faults);
        }
        Err(error) => return Err(error.into()),
    };
    output::line(format_args!(
        "published version {} of {} at {}",
        published["number"],
        quoted(field(&before, "name")),
        field(&published, "publishedAt"),
    ));
    output::line(format_args!("flowVersionId  {}", field(&published, "flowVersionId")));
    check::print_warnings(flow, &faults_in(&published["warnings"]));
    // The publish has succeeded, so failing to read the previous version is not an error.
    let newest_two = [("limit", "2".to_owned())];
    let versions = server.get(&format!("/flows/{flow}/versions"), &newest_two).await;
    let versions = versions.map(|mut page| page["items"].take()).unwrap_or_default();
    if let Some(line) = previous_version_note(&before["published"], &versions) {
        output::line(line);
    }
    Ok(Exit::Done)
}

/// Describes how long the previous version still accepts responses.
fn previous_version_note(before: &Value, versions: &Value) -> Option<String> {
    let id = before["flowVersionId"].as_str()?;
    let now = versions.as_array()?.iter().find(|version| version["flowVersionId"] == id)?;
    let number = &now["number"];
    let (superseded, until) = (now["supersededAt"].as_str()?, now["graceEndsAt"].as_str()?);
    Some(if superseded == until {
        format!("version {number} ({id}) accepts no more responses (its grace window is 0)")
    } else {
        format!("version {number} ({id}) accepts responses until {until} (its grace window)")
    })
}

async fn list(args: ListArgs) -> Outcome {
    let server = Server::new(args.server)?;
    let apps = match args.app {
        Some(app) => vec![app.to_string()],
        None => {
            let apps = server.list("/apps").await?;
            apps.iter().map(|app| field(app, "appId").to_owned()).collect()
        }
    };
    let mut any = false;
    for app in apps {
        for flow in server.list(&format!("/apps/{app}/flows")).await? {
            any = true;
            output::line(args.json.shown(&flow, |flow| flow_line(&app, flow)));
        }
    }
    if !any {
        output::note("no flows; create one with: sluice flow push FILE");
    }
    Ok(Exit::Done)
}

fn flow_line(app: &str, flow: &Value) -> String {
    let state = match (&flow["archivedAt"], &flow["published"]) {
        (Value::String(_), _) => "archived".to_owned(),
        (_, Value::Null) => "draft".to_owned(),
        (_, published) => match &published["number"] {
            Value::Number(number) => format!("version {number}"),
            _ => "published".to_owned(),
        },
    };
    let (id, kind) = (field(flow, "flowId"), field(flow, "kind"));
    let key = flow["key"].as_str().map(|key| format!("  key={key}")).unwrap_or_default();
    format!("{id}  {app}  {kind:<7}  {state:<10}  {}{key}", quoted(field(flow, "name")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_note_about_the_previous_version_follows_from_its_times() {
        let version = |until: &str| {
            json!({"flowVersionId": "fv_1", "number": 3, "graceEndsAt": until,
                   "supersededAt": "2026-11-15T02:00:00.000Z"})
        };
        let before = json!({"flowVersionId": "fv_1"});
        let fate = |until| previous_version_note(&before, &json!([version(until)])).unwrap();
        assert!(fate("2026-11-16T02:00:00.000Z").contains("until 2026-11-16T02:00:00.000Z"));
        assert!(fate("2026-11-15T02:00:00.000Z").contains("no more"));
        assert_eq!(previous_version_note(&Value::Null, &json!([version("x")])), None);
    }

    #[test]
    fn a_flow_is_one_line_with_its_state() {
        for (flow, state) in [
            (json!({"published": null}), "draft"),
            (json!({"published": {"number": 4}}), "version 4"),
            (json!({"published": {"number": 4}, "archivedAt": "2026"}), "archived"),
        ] {
            assert!(flow_line("app_1", &flow).contains(state), "{flow}");
        }
    }
}
