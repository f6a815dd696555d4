//! Flows: surveys, forms and messages.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::State;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sluice_engine::branding::design_of;
use sluice_engine::rows::{FlowState, Page, Scope};
use sluice_engine::{Actor, AdminError, AdminResult, ClosingState, Engine, draft_tag};
use sluice_flow::closing::ALL;
use sluice_flow::definition::{Fault, Kind};
use sluice_flow::id::{AppId, FlowId, FlowVersionId};
use sluice_flow::time::{Timestamp, Window};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::auth::Caller;
use super::design::{Design, DesignPatch};
use super::page::{Limit, List, cursor, limit_schema};
use super::pointer;
use super::reply::{self, BodyErrors, CommonErrors, Problem, QueryErrors, Reply};
use super::request::{Body, PathParam, Query};
use super::schema::{self, GraceSeconds, given};

pub(super) fn routes() -> OpenApiRouter<Arc<Engine>> {
    OpenApiRouter::default().routes(routes!(create, list)).routes(routes!(get, update, archive))
}

/// A new flow.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "an object")]
#[schema(example = json!({
    "name": "Product feedback", "kind": "survey",
    "definition": {
        "title": "How are we doing?",
        "questions": [{"id": "nps", "type": "nps", "prompt": "Would you recommend us?", "required": true}]
    }
}))]
struct NewFlow {
    /// 1 to 200 characters.
    name: String,
    #[schema(schema_with = schema::kind)]
    kind: Kind,
    /// The first draft; without one it starts empty. See `/schemas/definition.json`.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Object, required = false)]
    definition: Option<Value>,
    /// The name by which flow files refer to it: 1 to 64 letters a to z, digits, hyphens and dots,
    /// unique in the app.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = String, required = false)]
    key: Option<String>,
}

impl NewFlow {
    /// Reads a body. If other members are faulty, the engine never checks the definition, so its
    /// type is checked here and reported with them.
    fn read(body: Value) -> AdminResult<Self> {
        let is_wrong = body.get("definition").is_some_and(|definition| !definition.is_object());
        pointer::read(body).map_err(|mut faults| {
            if is_wrong {
                faults.push(Fault::new("/definition", "must be a JSON object"));
            }
            AdminError::Invalid(faults)
        })
    }
}

/// Changes to a flow; absent fields stay as they are. None of them requires publishing.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "an object")]
#[schema(example = json!({
    "liveWindow": {"startsAt": "2026-12-01T08:00:00.000Z", "endsAt": null}
}))]
struct FlowPatch {
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false)]
    name: Option<String>,
    /// Replaces the whole window: an end that is left out is open.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = LiveWindow, required = false)]
    live_window: Option<Window>,
    /// How many seconds a superseded version still accepts responses, 0 to 31,622,400; null for
    /// the app's setting.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<u32>, required = false)]
    grace_window_seconds: Option<Option<GraceSeconds>>,
    /// The number of responses after which the flow is closed, 1 to 1,000,000,000; null for any
    /// number. Responses that are already stored count.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<u32>, required = false)]
    close_after: Option<Value>,
    /// Replaces all labels: at most 10, each of 1 to 30 characters without a comma.
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false)]
    labels: Option<Vec<String>>,
    /// Replaces all quotas; at most 50.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Vec<Quota>, required = false)]
    quotas: Option<Value>,
    /// How its hosted page looks; null for the app's design.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<DesignPatch>, required = false)]
    design: Option<Option<DesignPatch>>,
    /// The name by which flow files refer to it; null for none.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<String>, required = false)]
    key: Option<Option<String>>,
}

/// How many responses that satisfy a condition are accepted.
#[derive(Debug, Serialize, ToSchema)]
struct Quota {
    /// Letters, digits, `_` and `-`, unique in the flow.
    id: String,
    /// A condition as in `visibleIf`, about any questions of the published version or the draft.
    #[schema(value_type = Object)]
    when: Value,
    limit: u32,
}

/// How many responses the limits of a flow have counted.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Counted)]
struct LimitCounts {
    responses: u64,
    /// By the id of the quota.
    quotas: BTreeMap<String, u64>,
}

/// A survey, form or message, with its draft and its published version.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({
    "flowId": "fl_01KA2VgdPrWYDVgYy3wLpB", "appId": "app_01KA2VgdPrWYDVgYy3wLpA",
    "name": "Product feedback", "kind": "survey", "key": "product-feedback", "labels": ["product"],
    "draft": null, "draftTag": "7c1b9e0f52d84a36b1c0a9e4",
    "published": {
        "flowVersionId": "fv_01KA2VgdPrWYDVgYy3wLpC", "number": 1,
        "publishedAt": "2026-11-15T02:00:00.000Z"
    },
    "liveWindow": {"startsAt": null, "endsAt": null}, "graceWindowSeconds": null,
    "closeAfter": 200,
    "quotas": [{"id": "students", "when": {"question": "job", "equals": "student"}, "limit": 50}],
    "counted": {"responses": 37, "quotas": {"students": 12}},
    "design": {
        "accentColor": "#0a7d4f", "background": null, "font": null, "corners": "round",
        "theme": null, "logo": null, "darkLogo": null, "nextText": null, "backText": null,
        "sendText": null
    },
    "createdAt": "2026-11-15T01:58:12.345Z", "archivedAt": null
}))]
pub(super) struct Flow {
    #[schema(value_type = String)]
    flow_id: FlowId,
    #[schema(value_type = String)]
    app_id: AppId,
    name: String,
    #[schema(schema_with = schema::kind)]
    kind: Kind,
    /// The name by which flow files refer to it; null if it has none.
    #[schema(required = true)]
    key: Option<String>,
    /// Words by which authors find it.
    labels: Vec<String>,
    /// What an author edits; null after a publish, until the next edit.
    #[schema(required = true)]
    draft: Option<DraftRef>,
    /// Identifies what an editor starts from: the draft, or the published definition if there is no
    /// draft. Send it as the parameter `draftTag` when you save or publish the draft, so that
    /// nothing that someone else saved meanwhile is lost.
    draft_tag: String,
    /// The version that new respondents get; null if none is published.
    #[schema(required = true)]
    published: Option<PublishedRef>,
    live_window: LiveWindow,
    #[schema(required = true)]
    grace_window_seconds: Option<u32>,
    /// The number of responses after which the flow is closed; null for any number.
    #[schema(required = true)]
    close_after: Option<u32>,
    quotas: Vec<Quota>,
    /// What `closeAfter` and the quotas have counted; null if the flow has neither.
    #[schema(required = true)]
    counted: Option<LimitCounts>,
    design: Design,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[schema(value_type = Option<String>, format = DateTime, required = true)]
    archived_at: Option<Timestamp>,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct DraftRef {
    #[schema(value_type = String)]
    flow_version_id: FlowVersionId,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct PublishedRef {
    #[schema(value_type = String)]
    flow_version_id: FlowVersionId,
    number: u32,
    #[schema(value_type = Option<String>, format = DateTime, required = true)]
    published_at: Option<Timestamp>,
}

/// When responses are accepted: from `startsAt`, and before `endsAt`. Null means no limit.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct LiveWindow {
    #[schema(value_type = Option<String>, format = DateTime)]
    starts_at: Option<Timestamp>,
    #[schema(value_type = Option<String>, format = DateTime)]
    ends_at: Option<Timestamp>,
}

impl Flow {
    fn new(state: FlowState, ClosingState { closing, counts }: ClosingState) -> Self {
        let draft_tag = draft_tag(&state);
        let draft = state.draft.map(|draft| DraftRef { flow_version_id: draft.flow_version_id });
        let published = state.current.map(|version| PublishedRef {
            flow_version_id: version.flow_version_id,
            number: version.number,
            published_at: version.times.published_at,
        });
        let Window { starts_at, ends_at } = state.flow.live;
        let design = Design::new(&design_of(&state.flow));
        Self {
            flow_id: state.flow.flow_id,
            app_id: state.flow.app_id,
            name: state.flow.name,
            kind: state.flow.kind,
            key: state.flow.key,
            labels: state.flow.labels,
            draft,
            draft_tag,
            published,
            live_window: LiveWindow { starts_at, ends_at },
            grace_window_seconds: state.flow.grace_window_seconds,
            counted: (!closing.is_empty()).then(|| LimitCounts {
                responses: counts.get(ALL),
                quotas: closing
                    .quotas
                    .iter()
                    .map(|it| (it.id.clone(), counts.get(&it.id)))
                    .collect(),
            }),
            close_after: closing.close_after,
            quotas: closing
                .quotas
                .into_iter()
                .map(|it| Quota { id: it.id, when: it.when, limit: it.limit })
                .collect(),
            design,
            created_at: state.flow.created_at,
            archived_at: state.flow.archived_at,
        }
    }
}

/// Which flows.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ListQuery {
    #[serde(default)]
    #[param(schema_with = limit_schema, required = false)]
    limit: Limit,
    /// `next` of the previous page.
    #[serde(default, deserialize_with = "cursor")]
    #[param(value_type = Option<String>)]
    after: Option<FlowId>,
    /// Only those with exactly this label.
    label: Option<String>,
    /// Only the one with this key.
    key: Option<String>,
}

/// Create a flow
///
/// It starts as a draft, which has its `flowVersionId` from the start.
#[utoipa::path(
    post, path = "/apps/{appId}/flows", operation_id = "createFlow", tag = "Flows",
    security(("adminToken" = ["write"])),
    request_body = NewFlow,
    responses(
        (status = 201, description = "The flow", body = Flow),
        (status = 409, description = "`key_taken`: another flow of the app has this key", body = Problem, content_type = "application/problem+json"),
        CommonErrors, BodyErrors,
    ),
)]
async fn create(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    PathParam(app): PathParam<AppId>,
    Body(new): Body<Value>,
) -> Reply {
    let new = NewFlow::read(new)?;
    let NewFlow { name, kind, definition, key } = new;
    let new = sluice_engine::NewFlow { name, kind, definition };
    let app = engine.app(&actor, Scope::Write, app).await?;
    let made = match &key {
        Some(key) => app.create_keyed_flow(&new, key).await?,
        None => app.create_flow(&new).await?,
    };
    reply::created(Flow::new(made, ClosingState::default()))
}

/// List the flows of an app
///
/// Oldest first, archived ones included. The pictures of designs (`logo`, `darkLogo`) are null in
/// lists: read a flow for its own.
#[utoipa::path(
    get, path = "/apps/{appId}/flows", operation_id = "listFlows", tag = "Flows",
    security(("adminToken" = ["read"])),
    params(ListQuery),
    responses(
        (status = 200, description = "A page of flows", body = List<Flow>),
        CommonErrors, QueryErrors,
    ),
)]
async fn list(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    PathParam(app): PathParam<AppId>,
    Query(query): Query<ListQuery>,
) -> Reply {
    let page = Page { after: query.after, limit: query.limit.and_one() };
    let app = engine.app(&actor, Scope::Read, app).await?;
    let found = match &query.key {
        None => app.list_flows(query.label, page).await?,
        Some(key) => {
            let found = app.flow_by_key(key).await?.into_iter();
            let has_label = |it: &FlowState| {
                query.label.as_ref().is_none_or(|label| it.flow.labels.contains(label))
            };
            let is_after = |it: &FlowState| query.after.is_none_or(|after| it.flow.flow_id > after);
            found.filter(|it| has_label(it) && is_after(it)).collect()
        }
    };
    let limits = app.closing_of_flows(&found).await?;
    let flows = found.into_iter().zip(limits).map(|(state, it)| Flow::new(state, it)).collect();
    reply::ok(List::new(flows, query.limit, |flow: &Flow| flow.flow_id.to_string()))
}

/// Read a flow
#[utoipa::path(
    get, path = "/flows/{flowId}", operation_id = "getFlow", tag = "Flows",
    security(("adminToken" = ["read"])),
    responses(
        (status = 200, description = "The flow", body = Flow),
        CommonErrors,
    ),
)]
async fn get(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    PathParam(flow): PathParam<FlowId>,
) -> Reply {
    reply::ok(read(&engine, &actor, flow).await?)
}

/// Change a flow
///
/// Takes effect at once, for every version, without a publish. New limits count the responses that
/// are already stored, which takes a moment if there are many. A grace window counts from the next
/// publish on: that of a version that is already superseded was fixed at that time.
#[utoipa::path(
    patch, path = "/flows/{flowId}", operation_id = "updateFlow", tag = "Flows",
    security(("adminToken" = ["write"])),
    request_body = FlowPatch,
    responses(
        (status = 200, description = "The flow as it is now", body = Flow),
        (status = 409, description = "`flow_archived`, `key_taken`", body = Problem, content_type = "application/problem+json"),
        CommonErrors, BodyErrors,
    ),
)]
async fn update(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    PathParam(flow): PathParam<FlowId>,
    Body(patch): Body<FlowPatch>,
) -> Reply {
    let patch = sluice_engine::FlowPatch {
        name: patch.name,
        key: patch.key,
        live_window: patch.live_window,
        grace_window_seconds: patch.grace_window_seconds.map(|grace| grace.map(u32::from)),
        close_after: patch.close_after.map(|limit| limit_of(&limit)),
        quotas: patch.quotas,
        labels: patch.labels,
        design: patch.design.map(|design| design.map(DesignPatch::changes)),
        ..sluice_engine::FlowPatch::default()
    };
    engine.flow(&actor, Scope::Write, flow).await?.update(&patch).await?;
    reply::ok(read(&engine, &actor, flow).await?)
}

pub(super) async fn read(engine: &Engine, actor: &Actor, flow: FlowId) -> AdminResult<Flow> {
    let found = engine.flow(actor, Scope::Read, flow).await?;
    let limits = found.closing().await?;
    Ok(Flow::new(found.into_state(), limits))
}

/// A limit as it was sent; anything else becomes 0, which the engine refuses.
fn limit_of(value: &Value) -> Option<u32> {
    let limit = value.as_number().and_then(pointer::whole);
    let limit = limit.and_then(|limit| u32::try_from(limit).ok());
    if value.is_null() { None } else { Some(limit.unwrap_or(0)) }
}

/// Archive a flow
///
/// The public no longer finds it or its versions; its responses stay. Archiving it again changes
/// nothing.
#[utoipa::path(
    delete, path = "/flows/{flowId}", operation_id = "archiveFlow", tag = "Flows",
    security(("adminToken" = ["write"])),
    responses(
        (status = 204, description = "Archived"),
        CommonErrors,
    ),
)]
async fn archive(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    PathParam(flow): PathParam<FlowId>,
) -> Reply {
    engine.flow(&actor, Scope::Write, flow).await?.archive().await?;
    reply::done()
}
