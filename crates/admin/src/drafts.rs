//! The draft of a flow: saved as sent, with the faults that prevent publishing.

use std::sync::Arc;

use axum::extract::State;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sluice_engine::Engine;
use sluice_engine::rows::Scope;
use sluice_flow::id::{FlowId, FlowVersionId};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::auth::Caller;
use super::reply::{self, BodyErrors, CommonErrors, FaultOut, Problem, Reply};
use super::request::{Body, PathParam, Query};

pub(super) fn routes() -> OpenApiRouter<Arc<Engine>> {
    OpenApiRouter::default().routes(routes!(get, put))
}

/// A draft, and its faults.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({
    "flowVersionId": "fv_01KA2VgdPrWYDVgYy3wLpC", "tag": "7c1b9e0f52d84a36b1c0a9e4",
    "definition": {"title": "How are we doing?", "questions": []},
    "faults": [{"pointer": "/questions", "message": "must have at least one question"}]
}))]
struct Draft {
    #[schema(value_type = String)]
    flow_version_id: FlowVersionId,
    /// Identifies exactly this draft: `draftTag` of the next save, or of the publish.
    tag: String,
    /// As it was sent.
    #[schema(value_type = Object)]
    definition: Value,
    /// What prevents publishing; an empty list means that it can be published.
    faults: Vec<FaultOut>,
}

impl From<sluice_engine::Draft> for Draft {
    fn from(draft: sluice_engine::Draft) -> Self {
        Self {
            flow_version_id: draft.flow_version_id,
            tag: draft.tag,
            definition: draft.definition,
            faults: draft.faults.into_iter().map(FaultOut::from).collect(),
        }
    }
}

/// The draft that a change is based on.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct SeenDraft {
    /// The `draftTag` of the flow, or the `tag` of its draft, as it was read.
    pub(super) draft_tag: Option<String>,
}

/// Read the draft
///
/// There is none after a publish, until the next edit.
#[utoipa::path(
    get, path = "/flows/{flowId}/draft", operation_id = "getDraft", tag = "Drafts",
    security(("adminToken" = ["read"])),
    responses(
        (status = 200, description = "The draft", body = Draft),
        (status = 404, description = "`flow_not_found`, `draft_not_found`", body = Problem, content_type = "application/problem+json"),
        CommonErrors,
    ),
)]
async fn get(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    PathParam(flow): PathParam<FlowId>,
) -> Reply {
    let draft = engine.flow(&actor, Scope::Read, flow).await?.draft().await?;
    reply::ok(Draft::from(draft))
}

/// Save the draft
///
/// The body is a definition (`/schemas/definition.json`). It may still have faults: they are
/// returned, and only publishing requires that there are none. After a publish this opens a new
/// draft. With `draftTag` it is saved only if the flow still has this one; without it, the current
/// draft is replaced.
#[utoipa::path(
    put, path = "/flows/{flowId}/draft", operation_id = "putDraft", tag = "Drafts",
    security(("adminToken" = ["write"])),
    params(SeenDraft),
    request_body(content = Object, description = "A definition", example = json!({
        "title": "How are we doing?",
        "questions": [
            {"id": "nps", "type": "nps", "prompt": "Would you recommend us?", "required": true},
            {"id": "why", "type": "longText", "prompt": "Why?", "visibleIf": {"question": "nps", "lessThan": 7}}
        ]
    })),
    responses(
        (status = 200, description = "The draft", body = Draft),
        (status = 409, description = "`flow_archived`; `draft_changed`: the `draftTag` is not the current one", body = Problem, content_type = "application/problem+json"),
        CommonErrors, BodyErrors,
    ),
)]
async fn put(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    PathParam(flow): PathParam<FlowId>,
    Query(seen): Query<SeenDraft>,
    Body(definition): Body<Value>,
) -> Reply {
    let flow = engine.flow(&actor, Scope::Write, flow).await?;
    let draft = match seen.draft_tag {
        Some(tag) => flow.put_draft_seen(definition, &tag).await?,
        None => flow.put_draft(definition).await?,
    };
    reply::ok(Draft::from(draft))
}
