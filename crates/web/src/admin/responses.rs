//! Stored responses. Their JSON columns are embedded as they are stored.

use std::sync::Arc;

use axum::extract::State;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sluice_engine::rows::{Order, ResponseRow, Scope};
use sluice_engine::{AdminResult, Engine, Paging, ResponseFilter};
use sluice_flow::id::{FlowId, FlowVersionId, RespondentId, ResponseId};
use sluice_flow::submission::Admission;
use sluice_flow::time::Timestamp;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::auth::Caller;
use super::page::{Limit, List, cursor, limit_schema};
use super::reply::{self, BadQuery, Guarded, Problem, Reply};
use super::request::{AtId, FilteredQuery};
use super::schema::{self, stored};

pub(super) fn routes() -> OpenApiRouter<Arc<Engine>> {
    OpenApiRouter::default().routes(routes!(list)).routes(routes!(get, delete))
}

/// Which responses.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ResponseQuery {
    #[serde(default)]
    #[param(schema_with = limit_schema, required = false)]
    limit: Limit,
    /// `next` of the page before.
    #[serde(default, deserialize_with = "cursor")]
    #[param(value_type = Option<String>)]
    after: Option<ResponseId>,
    /// Only those to this `flowVersionId`.
    #[param(value_type = Option<String>)]
    version: Option<FlowVersionId>,
    /// Only those received at this time or later (RFC 3339; encode `+` as `%2B`).
    #[param(value_type = Option<String>, format = DateTime)]
    from: Option<Timestamp>,
    /// Only those received before this time.
    #[param(value_type = Option<String>, format = DateTime)]
    to: Option<Timestamp>,
    /// Only those whose respondent decided so.
    #[param(schema_with = schema::admission, required = false)]
    admission: Option<Admission>,
    /// Only those in whose texts every one of these words occurs; the case of letters does not matter.
    search: Option<String>,
    #[serde(default)]
    #[param(schema_with = schema::order, required = false)]
    order: Order,
}

/// A stored response.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({
    "responseId": "rs_01KA2VgdPrWYDVgYy3wLpD", "flowId": "fl_01KA2VgdPrWYDVgYy3wLpB",
    "flowVersionId": "fv_01KA2VgdPrWYDVgYy3wLpC", "receivedAt": "2026-11-15T02:10:00.000Z",
    "respondentAnalyticsAdmission": "collection_only", "answers": {"nps": "9"},
    "identities": [], "identityVerified": false, "respondentId": null,
    "metadata": {"tags": {"plan": "pro"}}, "context": {"locale": "en"}, "flowAssignmentId": null
}))]
pub(super) struct Response {
    #[schema(value_type = String)]
    response_id: ResponseId,
    #[schema(value_type = String)]
    flow_id: FlowId,
    #[schema(value_type = String)]
    flow_version_id: FlowVersionId,
    #[schema(value_type = String, format = DateTime)]
    received_at: Timestamp,
    #[schema(schema_with = schema::admission)]
    respondent_analytics_admission: Admission,
    /// By question id: a string or an array of strings.
    #[schema(value_type = Object)]
    answers: Box<RawValue>,
    /// Each with its `type`, `value`, and `verified`: whether an access token proved it. Empty with
    /// `collection_only`.
    #[schema(value_type = Vec<Object>)]
    identities: Box<RawValue>,
    /// Whether an access token proved the `userId`.
    identity_verified: bool,
    #[schema(value_type = Option<String>, required = true)]
    respondent_id: Option<RespondentId>,
    metadata: Metadata,
    #[schema(value_type = Object)]
    context: Box<RawValue>,
    #[schema(required = true)]
    flow_assignment_id: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ResponseMetadata)]
struct Metadata {
    /// By tag name: a string or an array of strings.
    #[schema(value_type = Object)]
    tags: Box<RawValue>,
}

impl Response {
    pub(super) fn cursor(&self) -> String {
        self.response_id.to_string()
    }

    pub(super) fn of(row: ResponseRow) -> AdminResult<Self> {
        let or_empty =
            |text: Option<String>, empty: &str| stored(text.unwrap_or_else(|| empty.to_owned()));
        let identities = row.identities_with_proof();
        Ok(Self {
            response_id: row.response_id,
            flow_id: row.flow_id,
            flow_version_id: row.flow_version_id,
            received_at: row.response_id.made_at(),
            respondent_analytics_admission: row.admission,
            answers: stored(row.answers)?,
            identities: stored(identities)?,
            identity_verified: row.identity_verified,
            respondent_id: row.respondent_id,
            metadata: Metadata { tags: or_empty(row.tags, "{}")? },
            context: or_empty(row.context, "{}")?,
            flow_assignment_id: row.flow_assignment_id,
        })
    }
}

/// List the responses of a flow
///
/// Over all its versions, archived flows included. `tag.NAME=value` filters by a tag, which must
/// have this value or hold it in its list, and `answer.QUESTION=value` likewise by an answer, where `other` also
/// stands for every text of one's own. All filters must hold.
///
/// A page looks at a bounded number of responses. Where few pass the filters it may be short, or even empty,
/// and still bear `next`: the list ends only where `next` is null.
#[utoipa::path(
    get, path = "/flows/{flowId}/responses", operation_id = "listResponses", tag = "Responses",
    security(("adminToken" = ["read"])),
    params(
        ("flowId" = String, Path), ResponseQuery,
        ("tag.NAME" = Option<String>, Query, description = "Only those with this tag; NAME is the tag's name"),
        ("answer.QUESTION" = Option<String>, Query, description = "Only those with this answer; QUESTION is the question's id"),
    ),
    responses(
        (status = 200, description = "A page of responses", body = List<Response>),
        (status = 404, description = "`flow_not_found`", body = Problem, content_type = "application/problem+json"),
        Guarded, BadQuery,
    ),
)]
async fn list(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    AtId(flow): AtId<FlowId>,
    FilteredQuery { query, tags, answers }: FilteredQuery<ResponseQuery>,
) -> Reply {
    let filter = ResponseFilter {
        version: query.version,
        from: query.from,
        to: query.to,
        admission: query.admission,
        tags,
        answers,
        search: query.search,
    };
    let paging = Paging { after: query.after, order: query.order, limit: query.limit.into() };
    let page =
        engine.flow(&actor, Scope::Read, flow).await?.list_responses(&filter, paging).await?;
    let items = page.rows.into_iter().map(Response::of).collect::<AdminResult<Vec<_>>>()?;
    reply::ok(List { items, next: page.next.map(|id| id.to_string()) })
}

/// Read a response
#[utoipa::path(
    get, path = "/responses/{responseId}", operation_id = "getResponse", tag = "Responses",
    security(("adminToken" = ["read"])),
    params(("responseId" = String, Path)),
    responses(
        (status = 200, description = "The response", body = Response),
        (status = 404, description = "`response_not_found`", body = Problem, content_type = "application/problem+json"),
        Guarded,
    ),
)]
async fn get(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    AtId(response): AtId<ResponseId>,
) -> Reply {
    reply::ok(Response::of(engine.response(&actor, Scope::Read, response).await?.into_row())?)
}

/// Delete a response
///
/// For good. The audit log keeps that it was deleted, not what it said; a late retry under its
/// idempotency key is answered as before and stores nothing.
#[utoipa::path(
    delete, path = "/responses/{responseId}", operation_id = "deleteResponse", tag = "Responses",
    security(("adminToken" = ["erase"])),
    params(("responseId" = String, Path)),
    responses(
        (status = 204, description = "Deleted"),
        (status = 404, description = "`response_not_found`", body = Problem, content_type = "application/problem+json"),
        Guarded,
    ),
)]
async fn delete(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    AtId(response): AtId<ResponseId>,
) -> Reply {
    engine.response(&actor, Scope::Erase, response).await?.delete().await?;
    reply::done()
}
