//! Tools that write: drafts, publishing, closing. And those that show first what that would do.

use rmcp::schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use sluice_flow::definition::{self, Definition, Fault, difference};

use super::api::{Api, pair};
use super::error::ToolError;
use super::flows::{draft, members, the_app, the_flow};
use super::reply::Reply;
use crate::client::{faults_in, field};
use crate::flow_file::{self, FlowFile, Unreadable};

/// Faults that one reply lists.
const FAULTS_LISTED_MAX: usize = 100;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(crate = "rmcp::schemars")]
pub(super) struct CheckDefinition {
    /// The definition, as `get_definition_guide` describes it.
    #[schemars(with = "serde_json::Map<String, Value>")]
    definition: Value,
}

pub(super) async fn check_definition(_: &Api, args: CheckDefinition) -> Result<Reply, ToolError> {
    let file = read(&args.definition)?;
    let faults = file.faults();
    let questions = match definition::check(&file.definition) {
        Ok(checked) => json!(checked.questions().len()),
        Err(_) => Value::Null,
    };
    Ok(Reply::new(json!({
        "canBePublished": faults.is_empty(),
        "questions": questions,
        "faults": listed(&faults),
        "faultsLeftOut": faults.len().saturating_sub(FAULTS_LISTED_MAX),
        "warnings": listed(&file.warnings()),
    })))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(crate = "rmcp::schemars")]
pub(super) struct CreateFlow {
    /// Id of the app (`app_`…); only needed if the token can see several.
    #[serde(default)]
    app: Option<String>,
    /// Name that authors see, 1 to 200 characters.
    name: String,
    /// Kind of the flow; `survey` without it.
    #[serde(default)]
    kind: FlowKind,
    /// A short name by which the flow can be found later: letters a to z, digits and hyphens.
    #[serde(default)]
    key: Option<String>,
    /// The definition of the first draft.
    #[schemars(with = "serde_json::Map<String, Value>")]
    definition: Value,
    /// Only to repeat a call whose outcome is unknown: the key that its error named.
    #[serde(default)]
    idempotency_key: Option<String>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(crate = "rmcp::schemars", inline)]
enum FlowKind {
    #[default]
    Survey,
    Form,
    Message,
}

impl FlowKind {
    fn as_str(self) -> &'static str {
        match self {
            Self::Survey => "survey",
            Self::Form => "form",
            Self::Message => "message",
        }
    }
}

pub(super) async fn create_flow(api: &Api, args: CreateFlow) -> Result<Reply, ToolError> {
    let definition = read_for_draft(&args.definition)?;
    let app = the_app(api, args.app.as_deref()).await?;
    let mut body = json!({"name": args.name, "kind": args.kind.as_str(), "definition": definition});
    if let Some(key) = args.key {
        body["key"] = json!(key);
    }
    let path = format!("/apps/{app}/flows");
    let made = api.post(&path, &[], Some(&body), args.idempotency_key).await?;
    let mut reply = members(&made, &["flowId", "appId", "name", "kind", "key", "draftTag"]);
    // The reply names the draft without its faults; the server has the same rules.
    add_faults(&mut reply, &definition::check_new(&definition).err().unwrap_or_default());
    reply["note"] = json!("This is a draft. Respondents see it after publish_flow.");
    Ok(Reply::new(reply))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(crate = "rmcp::schemars")]
pub(super) struct UpdateDraft {
    /// Id (fl_…) or key of the flow.
    flow: String,
    /// The whole new definition: it replaces the draft.
    #[schemars(with = "serde_json::Map<String, Value>")]
    definition: Value,
    /// `draftTag` of the state that you changed, from `get_flow` or from your last update. If
    /// someone else has saved since, nothing is changed.
    draft_tag: String,
}

pub(super) async fn update_draft(api: &Api, args: UpdateDraft) -> Result<Reply, ToolError> {
    let definition = read_for_draft(&args.definition)?;
    let flow = the_flow(api, &args.flow).await?;
    let id = field(&flow, "flowId");
    let query = [pair("draftTag", &args.draft_tag)];
    let saved = api.put(&format!("/flows/{id}/draft"), &query, &definition).await?;
    let mut reply = json!({"flowId": id, "draftTag": saved["tag"]});
    add_faults(&mut reply, &faults_in(&saved["faults"]));
    reply["note"] = json!("The draft is saved. Respondents see it after publish_flow.");
    Ok(Reply::new(reply))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(crate = "rmcp::schemars")]
pub(super) struct DiffDraft {
    /// Id (fl_…) or key of the flow.
    flow: String,
}

pub(super) async fn diff_draft(api: &Api, args: DiffDraft) -> Result<Reply, ToolError> {
    let flow = the_flow(api, &args.flow).await?;
    let id = field(&flow, "flowId");
    let Some(draft) = draft(api, id).await? else {
        let reply = json!({"flowId": id, "draftTag": flow["draftTag"], "changes": [],
                           "note": "There are no unpublished changes."});
        return Ok(Reply::new(reply));
    };
    let published = match flow["published"]["flowVersionId"].as_str() {
        None => None,
        Some(version) => Some(api.get(&format!("/flow_versions/{version}"), &[]).await?),
    };
    let mut reply = json!({"flowId": id, "draftTag": draft["tag"]});
    reply["comparedWithVersion"] =
        published.as_ref().map_or(Value::Null, |version| version["number"].clone());
    let before = published.map(|version| definition::check(&version["definition"]));
    let after = definition::check(&draft["definition"]);
    match (before, after) {
        (_, Err(_)) => reply["note"] = json!("The draft has faults: fix them, then compare."),
        (Some(Err(_)), _) => {
            return Err(ToolError::new(
                "The published version cannot be read by this program: use the release of the server.",
            ));
        }
        (None, Ok(after)) => {
            let questions = after.questions().len();
            reply["note"] = json!(format!("The first version, with {questions} questions."));
        }
        (Some(Ok(before)), Ok(after)) => reply["changes"] = changes(&before, &after),
    }
    add_faults(&mut reply, &faults_in(&draft["faults"]));
    Ok(Reply::new(reply))
}

/// Each change in words; `breaksResults` says why results from before and after are not comparable.
fn changes(before: &Definition, after: &Definition) -> Value {
    let changes = difference(before, after);
    if changes.is_empty() && before != after {
        return json!([{"text": "Details of the definition changed"}]);
    }
    let shown = changes.into_iter().map(|change| match change.breaks {
        Some(why) => json!({"text": change.text, "breaksResults": why}),
        None => json!({"text": change.text}),
    });
    shown.collect()
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(crate = "rmcp::schemars")]
pub(super) struct PublishFlow {
    /// Id (fl_…) or key of the flow.
    flow: String,
    /// `draftTag` of the draft that the user has agreed to, from `get_flow`, `diff_draft` or your
    /// last update. If someone else has saved since, nothing is published.
    draft_tag: String,
    /// Only to repeat a call whose outcome is unknown: the key that its error named.
    #[serde(default)]
    idempotency_key: Option<String>,
}

pub(super) async fn publish_flow(api: &Api, args: PublishFlow) -> Result<Reply, ToolError> {
    let flow = the_flow(api, &args.flow).await?;
    let id = field(&flow, "flowId");
    let query = [pair("draftTag", &args.draft_tag)];
    let path = format!("/flows/{id}/publish");
    let published = api.post(&path, &query, None, args.idempotency_key).await?;
    let mut reply = members(&published, &["flowVersionId", "number", "publishedAt"]);
    reply["flowId"] = json!(id);
    reply["warnings"] = listed(&faults_in(&published["warnings"]));
    Ok(Reply::new(reply))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(crate = "rmcp::schemars")]
pub(super) struct OpenOrClose {
    /// Id (fl_…) or key of the flow.
    flow: String,
    /// Only to repeat a call whose outcome is unknown: the key that its error named.
    #[serde(default)]
    idempotency_key: Option<String>,
}

pub(super) async fn close_flow(api: &Api, args: OpenOrClose) -> Result<Reply, ToolError> {
    open_or_close(api, args, "close").await
}

pub(super) async fn reopen_flow(api: &Api, args: OpenOrClose) -> Result<Reply, ToolError> {
    open_or_close(api, args, "reopen").await
}

async fn open_or_close(api: &Api, args: OpenOrClose, action: &str) -> Result<Reply, ToolError> {
    let flow = the_flow(api, &args.flow).await?;
    let path = format!("/flows/{}/{action}", field(&flow, "flowId"));
    let changed = api.post(&path, &[], None, args.idempotency_key).await?;
    Ok(Reply::new(members(&changed, &["flowId", "name", "liveWindow", "closeAfter", "counted"])))
}

/// A definition; some assistants send it as a text.
fn read(given: &Value) -> Result<FlowFile, ToolError> {
    let (text, ending) = match given {
        Value::String(text) => (text.clone(), ""),
        value => (value.to_string(), "json"),
    };
    flow_file::parse(&text, ending).map_err(|why| match why {
        Unreadable::Missing(why) | Unreadable::Syntax(why) => {
            ToolError::new(format!("definition {why}"))
        }
    })
}

fn read_for_draft(given: &Value) -> Result<Value, ToolError> {
    let file = read(given)?;
    if file.has_settings() {
        return Err(ToolError::new(
            "definition must not have the member `flow`: settings of the flow are not part of it.",
        ));
    }
    Ok(file.definition)
}

fn add_faults(reply: &mut Value, faults: &[Fault]) {
    reply["canBePublished"] = json!(faults.is_empty());
    reply["faults"] = listed(faults);
    reply["faultsLeftOut"] = json!(faults.len().saturating_sub(FAULTS_LISTED_MAX));
}

fn listed(faults: &[Fault]) -> Value {
    let shown = faults.iter().take(FAULTS_LISTED_MAX);
    shown.map(|fault| json!({"place": fault.pointer, "message": fault.message})).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_definition_may_be_an_object_or_a_text() {
        let object = json!({"title": "t", "questions": []});
        for given in [object.clone(), json!(object.to_string()), json!("title: t\nquestions: []")] {
            assert_eq!(read_for_draft(&given).unwrap(), object, "{given}");
        }
        let message = read_for_draft(&json!("{\"title\": ")).unwrap_err().to_string();
        assert!(message.contains("is not JSON"), "{message}");
        assert!(read_for_draft(&json!({"flow": {"key": "k"}})).is_err());
    }

    #[test]
    fn changes_say_which_of_them_break_results() {
        let definition = |kind: &str| {
            let question = json!({"id": "q", "type": kind, "prompt": "How?"});
            definition::check(&json!({"title": "t", "questions": [question]})).unwrap()
        };
        let changes = changes(&definition("nps"), &definition("yesNo"));
        assert!(
            changes[0]["text"].is_string() && changes[0]["breaksResults"].is_string(),
            "{changes}"
        );
    }
}
