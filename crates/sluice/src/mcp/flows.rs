//! Tools that read apps and flows.

use rmcp::schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use sluice_flow::id::{AppId, FlowVersionId};

use super::api::{Api, Pair, pair};
use super::error::ToolError;
use super::page::{Page, within};
use super::reply::{REPLY_BYTES_MAX, Reply};
use crate::args::FlowRef;
use crate::client::field;

/// Items of a page of the API, and how many pages one call reads.
const SCAN_ITEMS: usize = 100;
const SCAN_PAGES_MAX: usize = 10;
const FLOWS_DEFAULT: usize = 50;
const FLOWS_MAX: usize = 200;
/// The newest versions that `get_flow` lists.
const VERSIONS_LISTED_MAX: usize = 20;
/// A larger definition is not for an assistant.
const DEFINITION_BYTES_MAX: usize = 256 * 1024;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(crate = "rmcp::schemars")]
pub(super) struct ListApps {
    /// `next` of the previous page.
    #[serde(default)]
    after: Option<String>,
}

pub(super) async fn list_apps(api: &Api, args: ListApps) -> Result<Reply, ToolError> {
    let mut query = vec![pair("limit", SCAN_ITEMS)];
    query.extend(args.after.map(|after| pair("after", after)));
    let page = api.get("/apps", &query).await?;
    let apps = page["items"].as_array().into_iter().flatten();
    let shown: Vec<Value> =
        apps.map(|app| members(app, &["appId", "name", "createdAt", "retentionDays"])).collect();
    Ok(Reply::new(json!({"apps": shown, "next": page["next"]})))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(crate = "rmcp::schemars")]
pub(super) struct ListFlows {
    /// Id of the app (`app_`…); only needed if the token can see several.
    #[serde(default)]
    app: Option<String>,
    /// Only flows whose name, key or labels contain this text, ignoring case.
    #[serde(default)]
    search: Option<String>,
    /// Only flows with this label.
    #[serde(default)]
    label: Option<String>,
    /// Only flows in this state. Without it: all that are not archived.
    #[serde(default)]
    state: Option<FlowState>,
    /// Number of flows, 1 to 200; 50 without it.
    #[serde(default)]
    limit: Option<u32>,
    /// `next` of the previous page.
    #[serde(default)]
    after: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(crate = "rmcp::schemars", inline)]
enum FlowState {
    /// Never published.
    Draft,
    Published,
    Archived,
}

impl FlowState {
    fn new(flow: &Value) -> Self {
        match (&flow["archivedAt"], &flow["published"]) {
            (Value::String(_), _) => Self::Archived,
            (_, Value::Null) => Self::Draft,
            _ => Self::Published,
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Draft => "draft",
            Self::Published => "published",
            Self::Archived => "archived",
        }
    }
}

impl ListFlows {
    fn selects(&self, flow: &Value) -> bool {
        let state = FlowState::new(flow);
        let in_state = match self.state {
            Some(wanted) => state == wanted,
            None => state != FlowState::Archived,
        };
        let Some(search) = &self.search else { return in_state };
        let search = search.to_lowercase();
        let labels = flow["labels"].as_array().into_iter().flatten();
        let mut texts = [&flow["name"], &flow["key"]].into_iter().chain(labels);
        in_state
            && texts.any(|it| it.as_str().is_some_and(|it| it.to_lowercase().contains(&search)))
    }
}

pub(super) async fn list_flows(api: &Api, args: ListFlows) -> Result<Reply, ToolError> {
    let app = the_app(api, args.app.as_deref()).await?;
    let mut listed = Page::new(within(args.limit, FLOWS_DEFAULT, FLOWS_MAX), REPLY_BYTES_MAX);
    let mut after = args.after.clone();
    let mut more = false;
    'pages: for _ in 0..SCAN_PAGES_MAX {
        let mut query = vec![pair("limit", SCAN_ITEMS)];
        query.extend(args.label.as_ref().map(|label| pair("label", label)));
        query.extend(after.as_ref().map(|after| pair("after", after)));
        let page = api.get(&format!("/apps/{app}/flows"), &query).await?;
        more = !page["next"].is_null();
        for flow in page["items"].as_array().into_iter().flatten() {
            if args.selects(flow) && !listed.push(brief(flow)) {
                more = true;
                break 'pages;
            }
            after = flow["flowId"].as_str().map(str::to_owned);
        }
        if !more {
            break;
        }
    }
    let next = after.filter(|_| more);
    Ok(Reply::new(json!({"appId": app, "flows": listed.items, "next": next})))
}

fn brief(flow: &Value) -> Value {
    let mut shown = members(flow, &["flowId", "name", "kind", "key", "labels", "liveWindow"]);
    shown["state"] = json!(FlowState::new(flow).as_str());
    shown["version"] = flow["published"]["number"].clone();
    shown["hasUnpublishedChanges"] = json!(!flow["draft"].is_null());
    shown
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(crate = "rmcp::schemars")]
pub(super) struct GetFlow {
    /// Id (fl_…) or key of the flow.
    flow: String,
    /// Which definition: `draft`, `published`, or a flowVersionId (fv_…). Without it: the draft, or
    /// the published one if there is no draft.
    #[serde(default)]
    definition: Option<String>,
}

pub(super) async fn get_flow(api: &Api, args: GetFlow) -> Result<Reply, ToolError> {
    let flow = the_flow(api, &args.flow).await?;
    let id = field(&flow, "flowId");
    let newest = [pair("limit", VERSIONS_LISTED_MAX)];
    let versions = api.get(&format!("/flows/{id}/versions"), &newest).await?;
    let shown = Shown::read(api, &flow, args.definition.as_deref()).await?;
    if shown.definition.to_string().len() > DEFINITION_BYTES_MAX {
        return Err(ToolError::new(format!(
            "The definition is larger than {} KiB. Edit it in the console, or as a file: \
             `sluice flow pull {id}`.",
            DEFINITION_BYTES_MAX / 1024
        )));
    }
    let mut reply = members(
        &flow,
        &[
            "flowId",
            "appId",
            "name",
            "kind",
            "key",
            "labels",
            "published",
            "liveWindow",
            "graceWindowSeconds",
            "closeAfter",
            "quotas",
            "counted",
            "createdAt",
            "archivedAt",
        ],
    );
    reply["draftTag"] = json!(shown.draft_tag);
    reply["hasUnpublishedChanges"] = json!(!flow["draft"].is_null());
    reply["versions"] = versions["items"].clone();
    reply["hasOlderVersions"] = json!(!versions["next"].is_null());
    reply["definitionOf"] = json!(shown.of);
    reply["definition"] = shown.definition;
    reply["faults"] = shown.faults;
    Ok(Reply::new(reply))
}

/// A definition of a flow.
struct Shown {
    definition: Value,
    /// What prevents publishing; only of a draft.
    faults: Value,
    draft_tag: String,
    of: String,
}

impl Shown {
    async fn read(api: &Api, flow: &Value, wanted: Option<&str>) -> Result<Self, ToolError> {
        let published = flow["published"]["flowVersionId"].as_str();
        let version = match wanted {
            None | Some("draft") => match draft(api, field(flow, "flowId")).await? {
                Some(mut draft) => {
                    return Ok(Self {
                        definition: draft["definition"].take(),
                        faults: draft["faults"].take(),
                        draft_tag: field(&draft, "tag").to_owned(),
                        of: "draft".to_owned(),
                    });
                }
                None if wanted.is_some() => {
                    return Err(ToolError::new(
                        "The flow has no unpublished changes: read its published definition.",
                    ));
                }
                None => published,
            },
            Some("published") => published,
            Some(id) => Some(id),
        };
        let version = version.ok_or_else(|| ToolError::new("The flow was never published."))?;
        let version: FlowVersionId = version.parse().map_err(|_| {
            ToolError::new("definition must be draft, published, or a flowVersionId (fv_…)")
        })?;
        let mut version = api.get(&format!("/flow_versions/{version}"), &[]).await?;
        if version["flowId"] != flow["flowId"] {
            return Err(ToolError::new("That version belongs to another flow."));
        }
        Ok(Self {
            definition: version["definition"].take(),
            faults: Value::Null,
            draft_tag: field(flow, "draftTag").to_owned(),
            of: match &version["number"] {
                Value::Null => "draft".to_owned(),
                number => format!("version {number}"),
            },
        })
    }
}

/// The draft of a flow with its tag and its faults, if there is one.
pub(super) async fn draft(api: &Api, flow_id: &str) -> Result<Option<Value>, ToolError> {
    match api.get(&format!("/flows/{flow_id}/draft"), &[]).await {
        Ok(draft) => Ok(Some(draft)),
        Err(error) if error.has_code("draft_not_found") => Ok(None),
        Err(error) => Err(error),
    }
}

/// The app that a call names, that of the profile, or the only one that the token can see.
pub(super) async fn the_app(api: &Api, app: Option<&str>) -> Result<String, ToolError> {
    let app = app.map(str::to_owned).or_else(|| api.default_app());
    if let Some(app) = app {
        let id: AppId = app.parse().map_err(|_| {
            ToolError::new("app must be the id of an app (app_…); list_apps has them")
        })?;
        return Ok(id.to_string());
    }
    let page = api.get("/apps", &[pair("limit", SCAN_ITEMS)]).await?;
    match page["items"].as_array().map(Vec::as_slice) {
        Some([app]) => Ok(field(app, "appId").to_owned()),
        Some([]) | None => Err(ToolError::new(
            "This token can see no app. Ask the user to create one: `sluice app create NAME`.",
        )),
        Some(_) => {
            Err(ToolError::new("There are several apps: choose one with list_apps and name it."))
        }
    }
}

/// A flow by its id or its key.
pub(super) async fn the_flow(api: &Api, flow: &str) -> Result<Value, ToolError> {
    let reference = flow.parse::<FlowRef>();
    let key = match reference.map_err(|message| ToolError::new(format!("flow {message}")))? {
        FlowRef::Id(id) => return api.get(&format!("/flows/{id}"), &[]).await,
        FlowRef::Key(key) => key,
    };
    let apps = match api.default_app() {
        Some(app) => vec![app],
        None => {
            let page = api.get("/apps", &[pair("limit", SCAN_ITEMS)]).await?;
            let items = page["items"].as_array().into_iter().flatten();
            items.map(|app| field(app, "appId").to_owned()).collect()
        }
    };
    let mut found = Vec::new();
    for app in apps {
        let query: [Pair; 2] = [pair("key", &key), pair("limit", 1)];
        let mut page = api.get(&format!("/apps/{app}/flows"), &query).await?;
        found.extend(page["items"].as_array_mut().and_then(|items| items.pop()));
    }
    match found.len() {
        1 => Ok(found.remove(0)),
        0 => Err(ToolError::new(format!("There is no flow with the key {key}; see list_flows."))),
        _ => Err(ToolError::new(format!(
            "Several apps have a flow with the key {key}: name it by its id (fl_…)."
        ))),
    }
}

/// Some members of an object.
pub(super) fn members(object: &Value, names: &[&str]) -> Value {
    let some: Map<String, Value> =
        names.iter().map(|name| ((*name).to_owned(), object[*name].clone())).collect();
    Value::Object(some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_are_found_by_name_key_and_label_and_archived_ones_only_on_demand() {
        let flow = |archived: Value| {
            json!({"name": "Über uns", "key": "about-us", "labels": ["Team"],
                   "published": null, "archivedAt": archived})
        };
        let selects = |args: Value, flow: &Value| {
            serde_json::from_value::<ListFlows>(args).unwrap().selects(flow)
        };
        for (search, found) in [("über", true), ("ABOUT", true), ("team", true), ("lunch", false)]
        {
            assert_eq!(selects(json!({"search": search}), &flow(Value::Null)), found, "{search}");
        }
        let archived = flow(json!("2026-11-15T02:00:00.000Z"));
        assert!(!selects(json!({}), &archived));
        assert!(selects(json!({"state": "archived"}), &archived));
        assert!(!selects(json!({"state": "published"}), &flow(Value::Null)));
    }
}
