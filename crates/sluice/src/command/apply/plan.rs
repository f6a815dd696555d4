//! What a file changes about its flow on the server.

use serde_json::{Map, Value, json};
use sluice_flow::definition::{self, Definition, Fault, Kind, difference};
use sluice_flow::flow_settings::{self, FlowSettings};

use super::super::target;
use crate::client::{Server, field};
use crate::failure::{Exit, Failure};
use crate::flow_file::FlowFile;
use crate::output::counted;

/// A file without faults.
#[derive(Debug)]
pub(super) struct Source {
    /// The path as it was given.
    pub(super) shown: String,
    pub(super) key: String,
    pub(super) settings: FlowSettings,
    /// As it is in the file.
    pub(super) definition: Value,
    pub(super) checked: Definition,
}

impl Source {
    pub(super) fn new(shown: String, file: &FlowFile) -> Result<Self, Vec<Fault>> {
        let mut faults = file.faults();
        let checked = definition::check_new(&file.definition);
        let settings = file.settings(checked.as_ref().ok());
        if let Ok(FlowSettings { key: None, .. }) = settings {
            let message = "is required: a name for this flow that stays, such as product-feedback";
            faults.insert(0, Fault::new("/flow/key", message));
        }
        match (checked, settings) {
            (Ok(checked), Ok(settings)) if faults.is_empty() => {
                let key = settings.key.clone().unwrap_or_default();
                Ok(Self { shown, key, settings, definition: file.definition.clone(), checked })
            }
            _ => Err(faults),
        }
    }

    pub(super) fn name(&self) -> &str {
        self.settings.name.as_deref().unwrap_or_else(|| self.checked.title())
    }

    pub(super) fn kind(&self) -> Kind {
        self.settings.kind.unwrap_or(Kind::Survey)
    }
}

#[derive(Debug)]
pub(super) struct Plan {
    pub(super) source: Source,
    pub(super) planned: Planned,
    pub(super) texts: Vec<Text>,
    /// What the author should know.
    pub(super) notes: Vec<String>,
    /// Why it cannot be carried out: the flow has a draft with other changes.
    pub(super) conflict: Option<Failure>,
}

/// One change in words.
#[derive(Debug)]
pub(super) struct Text {
    pub(super) text: String,
    /// Why results from before and after are not comparable, if they are not.
    pub(super) breaks: Option<&'static str>,
}

#[derive(Debug)]
pub(super) enum Planned {
    Create,
    Update(Box<Update>),
}

/// What to write to an existing flow.
#[derive(Debug)]
pub(super) struct Update {
    pub(super) flow_id: String,
    /// Identifies the state that was compared.
    pub(super) draft_tag: String,
    /// The settings that were compared.
    pub(super) before: FlowSettings,
    pub(super) patch: Map<String, Value>,
    pub(super) saves_draft: bool,
    pub(super) publishes: bool,
}

impl Plan {
    /// Compares a file with the flow that has its key.
    pub(super) async fn new(
        server: &Server,
        app: &str,
        source: Source,
        overwrite_draft: bool,
    ) -> Result<Self, Failure> {
        let Some(flow) = target::keyed(server, app, &source.key).await? else {
            return Ok(Self::create(source));
        };
        check_same_flow(&flow, &source)?;
        let before = FlowSettings::from_flow(&flow).map_err(|_| newer_server())?;
        let published = read_published(server, &flow).await?;
        let draft = read_draft(server, &flow).await?;
        let patch = flow_settings::patch(&before, &source.settings);
        let definition = Some(&source.checked);
        let of_settings = flow_settings::difference(&before, &source.settings, definition);
        let mut texts: Vec<Text> = of_settings.into_iter().map(plain).collect();
        let publishes = published.as_ref() != Some(&source.checked);
        let (mut notes, mut saves_draft, mut conflict) = (Vec::new(), false, None);
        let of_draft = DraftState::new(draft.as_ref(), published.as_ref(), &source.checked);
        if publishes {
            texts.extend(match &published {
                Some(published) => definition_texts(published, &source.checked),
                None => vec![nothing_published(server, &flow, &source.checked).await?],
            });
            if matches!(of_draft, DraftState::Other(_)) && !overwrite_draft {
                conflict = Some(foreign_draft(&of_draft, &source).about(&source.shown));
            }
            saves_draft = !matches!(of_draft, DraftState::AsInFile);
        } else if let DraftState::Other(_) = of_draft {
            notes.push("the flow has a draft with other changes, which stays".to_owned());
        }
        let planned = Planned::Update(Box::new(Update {
            flow_id: field(&flow, "flowId").to_owned(),
            draft_tag: field(&flow, "draftTag").to_owned(),
            before,
            patch,
            saves_draft,
            publishes,
        }));
        Ok(Self { source, planned, texts, notes, conflict })
    }

    fn create(source: Source) -> Self {
        let kind = json!(source.kind());
        let kind = kind.as_str().unwrap_or_default();
        let questions = counted(source.checked.questions().len() as u64, "question");
        let new = format!("New {kind} “{}” with {questions}", source.name());
        let before = FlowSettings {
            key: source.settings.key.clone(),
            name: source.settings.name.clone(),
            labels: Some(Vec::new()),
            live_window: Some(Default::default()),
            grace_window_seconds: Some(None),
            close_after: Some(None),
            quotas: Some(Vec::new()),
            ..FlowSettings::default()
        };
        let definition = Some(&source.checked);
        let settings = flow_settings::difference(&before, &source.settings, definition);
        let texts = std::iter::once(new).chain(settings).map(plain).collect();
        Self { source, planned: Planned::Create, texts, notes: Vec::new(), conflict: None }
    }

    /// Whether the flow is as in the file.
    pub(super) fn is_empty(&self) -> bool {
        match &self.planned {
            Planned::Create => false,
            Planned::Update(update) => update.patch.is_empty() && !update.publishes,
        }
    }
}

/// The draft of a flow, compared with its file.
enum DraftState {
    /// There is none, or it is as published.
    Unchanged,
    AsInFile,
    /// It has other changes, described here.
    Other(Vec<String>),
}

impl DraftState {
    fn new(draft: Option<&Value>, published: Option<&Definition>, file: &Definition) -> Self {
        let Some(draft) = draft else { return Self::Unchanged };
        match definition::check(draft) {
            Ok(draft) if draft == *file => Self::AsInFile,
            Ok(draft) if Some(&draft) == published => Self::Unchanged,
            Ok(draft) => {
                let changes = published.map(|before| difference(before, &draft));
                Self::Other(changes.unwrap_or_default().into_iter().map(|it| it.text).collect())
            }
            Err(_) => Self::Other(Vec::new()),
        }
    }
}

fn foreign_draft(draft: &DraftState, source: &Source) -> Failure {
    let mut listed = String::new();
    if let DraftState::Other(changes) = draft {
        changes.iter().for_each(|change| listed.push_str(&format!("\n  {change}")));
    }
    let key = &source.key;
    Failure::new(
        format!("the flow has a draft with changes that are not in the file{listed}"),
        format!(
            "read it with `sluice flow pull {key} --draft`, or replace it with --overwrite-draft"
        ),
    )
}

fn check_same_flow(flow: &Value, source: &Source) -> Result<(), Failure> {
    let key = &source.key;
    if !flow["archivedAt"].is_null() {
        return Err(Failure::new(
            format!("the flow with the key {key} is archived"),
            format!("bring it back with: sluice flow archive {key} --restore"),
        ));
    }
    let is_other = source.settings.kind.is_some_and(|kind| json!(kind) != flow["kind"]);
    if is_other {
        let kind = field(flow, "kind");
        return Err(Failure::new(
            format!("the flow with the key {key} is a {kind}, and its kind cannot change"),
            "correct the kind in the file, or choose another key",
        )
        .with_exit(Exit::Faults));
    }
    Ok(())
}

async fn read_published(server: &Server, flow: &Value) -> Result<Option<Definition>, Failure> {
    let Some(version) = flow["published"]["flowVersionId"].as_str() else { return Ok(None) };
    let version = server.get(&format!("/flow_versions/{version}"), &[]).await?;
    let definition = definition::check(&version["definition"]).map_err(|_| newer_server())?;
    Ok(Some(definition))
}

async fn read_draft(server: &Server, flow: &Value) -> Result<Option<Value>, Failure> {
    if flow["draft"].is_null() {
        return Ok(None);
    }
    let path = format!("/flow_versions/{}", field(&flow["draft"], "flowVersionId"));
    let mut draft = server.get(&path, &[]).await?;
    Ok(Some(draft["definition"].take()))
}

pub(super) fn newer_server() -> Failure {
    Failure::new("the flow cannot be read by this program", "use the release of the server")
}

/// What is published of a flow that has no published version: because it never had one, or because
/// it was retired.
async fn nothing_published(
    server: &Server,
    flow: &Value,
    file: &Definition,
) -> Result<Text, Failure> {
    let path = format!("/flows/{}/versions", field(flow, "flowId"));
    let versions = server.get(&path, &[("limit", "1".to_owned())]).await?;
    let was_published = versions["items"].as_array().is_some_and(|items| !items.is_empty());
    let what = if was_published { "Published again" } else { "First version" };
    let questions = counted(file.questions().len() as u64, "question");
    Ok(plain(format!("{what}, with {questions}")))
}

/// The changes of the definition.
fn definition_texts(published: &Definition, file: &Definition) -> Vec<Text> {
    let changes = difference(published, file);
    if changes.is_empty() {
        return vec![plain("Details of the definition changed".to_owned())];
    }
    changes.into_iter().map(|it| Text { text: it.text, breaks: it.breaks }).collect()
}

fn plain(text: String) -> Text {
    Text { text, breaks: None }
}
