//! Carries out a plan: writes the draft, the settings, then the new version.
//!
//! The draft comes first, because quotas may ask about its questions. Each write names the state
//! that was compared, so that nothing that someone else saved meanwhile is replaced.

use serde_json::{Map, Value, json};
use sluice_flow::flow_settings::{self, FlowSettings};

use super::super::check;
use super::plan::{Plan, Planned, Source, Update, newer_server};
use crate::client::{CallError, Server, faults_in, faults_of, field};
use crate::failure::{Exit, Failure, Outcome};
use crate::output::{self, counted};

/// How often settings are compared and saved, if the flow changes in between.
const ATTEMPTS_MAX: u32 = 5;

pub(super) async fn run(server: &Server, app: &str, plan: &Plan) -> Outcome {
    let source = &plan.source;
    match &plan.planned {
        Planned::Create => create(server, app, source).await,
        Planned::Update(update) => self::update(server, source, update).await,
    }
}

async fn create(server: &Server, app: &str, source: &Source) -> Outcome {
    let body = json!({
        "key": source.key, "name": source.name(), "kind": source.kind(),
        "definition": source.definition,
    });
    let made = server.post(&format!("/apps/{app}/flows"), Some(&body)).await?;
    let flow = field(&made, "flowId");
    output::line(format_args!("  created {flow}"));
    let before = FlowSettings::from_flow(&made).map_err(|_| newer_server())?;
    let patch = flow_settings::patch(&before, &source.settings);
    save_settings(server, flow, source, &before, patch).await?;
    publish(server, source, flow, field(&made, "draftTag")).await
}

async fn update(server: &Server, source: &Source, update: &Update) -> Outcome {
    let flow = &update.flow_id;
    let mut tag = update.draft_tag.clone();
    let mut patch = update.patch.clone();
    let mut before = update.before.clone();
    if update.saves_draft {
        if !patch.is_empty() {
            // Before anything is written.
            unchanged_tag(server, flow, source, &before).await?;
        }
        let path = format!("/flows/{flow}/draft");
        let draft = server.put_if(&path, &source.definition, &tag).await?;
        let faults = faults_of(&draft);
        if !faults.is_empty() {
            return Ok(not_published(source, &faults));
        }
        tag = field(&draft, "tag").to_owned();
        // A draft with another title may have renamed the flow.
        before.name = None;
        patch.extend(source.settings.name.as_ref().map(|name| ("name".to_owned(), json!(name))));
    }
    save_settings(server, flow, source, &before, patch).await?;
    if update.publishes {
        return publish(server, source, flow, &tag).await;
    }
    output::line("  settings saved");
    Ok(Exit::Done)
}

/// Saves settings if they are still those of `before`. Other changes to the flow, such as a saved
/// draft, do not prevent it.
async fn save_settings(
    server: &Server,
    flow: &str,
    source: &Source,
    before: &FlowSettings,
    patch: Map<String, Value>,
) -> Result<(), Failure> {
    if patch.is_empty() {
        return Ok(());
    }
    let body = Value::Object(patch);
    let mut attempt = 1;
    loop {
        let tag = unchanged_tag(server, flow, source, before).await?;
        match server.patch_if(&format!("/flows/{flow}"), &body, &tag).await {
            Err(CallError::Changed(_)) if attempt < ATTEMPTS_MAX => attempt += 1,
            result => return Ok(result.map(|_| ())?),
        }
    }
}

/// The entity tag of the flow, whose settings must be as they were compared.
async fn unchanged_tag(
    server: &Server,
    flow: &str,
    source: &Source,
    before: &FlowSettings,
) -> Result<String, Failure> {
    let (flow, tag) = server.get_tagged(&format!("/flows/{flow}")).await?;
    let mut now = FlowSettings::from_flow(&flow).map_err(|_| newer_server())?;
    if before.name.is_none() {
        now.name = None;
    }
    if now == *before {
        return Ok(tag);
    }
    let changes = flow_settings::difference(before, &now, Some(&source.checked));
    let listed: String = changes.iter().map(|change| format!("\n  {change}")).collect();
    Err(Failure::new(
        format!("the settings of the flow were changed meanwhile{listed}"),
        "run the command again: it compares with what is there now",
    ))
}

async fn publish(server: &Server, source: &Source, flow: &str, tag: &str) -> Outcome {
    match server.post_if(&format!("/flows/{flow}/publish"), tag).await {
        Ok(published) => {
            let (number, version) = (&published["number"], field(&published, "flowVersionId"));
            output::line(format_args!("  published version {number} ({version})"));
            check::print_warnings(&source.shown, &faults_in(&published["warnings"]));
            Ok(Exit::Done)
        }
        Err(CallError::Faults(faults)) => Ok(not_published(source, &faults)),
        Err(error) => Err(error.into()),
    }
}

fn not_published(source: &Source, faults: &[sluice_flow::definition::Fault]) -> Exit {
    check::print(&source.shown, faults);
    let count = counted(faults.len() as u64, "fault");
    output::note(format_args!("{}: saved as a draft, not published: {count}", source.shown));
    Exit::Faults
}
