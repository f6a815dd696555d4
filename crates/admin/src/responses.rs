//! Stored responses. Their JSON columns are embedded as they are stored.

use std::borrow::Cow;
use std::sync::Arc;

use axum::extract::State;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sluice_engine::rows::{Order, ResponseRow, Scope};
use sluice_engine::stored_response::FIELDS;
use sluice_engine::{AdminResult, Engine, Paging, ResponseFilter, ResponseJson};
use sluice_flow::id::{FlowId, FlowVersionId, ResponseId};
use sluice_flow::submission::Admission;
use sluice_flow::time::Timestamp;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema};
use utoipa::{IntoParams, PartialSchema, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::auth::Caller;
use super::page::{Limit, List, cursor, limit_schema};
use super::reply::{self, CommonErrors, QueryErrors, Reply};
use super::request::{FilterParams, FilteredQuery, PathParam};
use super::schema;

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
    /// `next` of the previous page.
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
    /// Only those with this decision of the respondent.
    #[param(schema_with = schema::admission, required = false)]
    admission: Option<Admission>,
    /// Only those whose texts contain all of these words, ignoring case.
    search: Option<String>,
    #[serde(default)]
    #[param(schema_with = schema::order, required = false)]
    order: Order,
}

/// A stored response. Its fields and their schemas are those of the engine's table.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub(super) struct Response(ResponseJson);

impl Response {
    pub(super) fn new(row: &ResponseRow) -> AdminResult<Self> {
        Ok(Self(ResponseJson::new(row)?))
    }

    pub(super) fn cursor(&self) -> String {
        self.0.response_id().to_string()
    }
}

impl From<ResponseJson> for Response {
    fn from(json: ResponseJson) -> Self {
        Self(json)
    }
}

impl PartialSchema for Response {
    #[expect(deprecated, reason = "the docs page reads `example`, as the derived schemas write it")]
    fn schema() -> RefOr<Schema> {
        let example: Map<String, Value> =
            FIELDS.iter().map(|field| (field.name.to_owned(), (field.example)())).collect();
        let mut object = ObjectBuilder::new()
            .description(Some("A stored response."))
            .example(Some(Value::Object(example)));
        for field in FIELDS {
            let schema = serde_json::from_value::<Schema>((field.schema)()).unwrap_or_default();
            object = object.property(field.name, schema).required(field.name);
        }
        object.build().into()
    }
}

impl ToSchema for Response {
    fn name() -> Cow<'static, str> {
        "Response".into()
    }
}

/// List the responses of a flow
///
/// Over all its versions, archived flows included. `tag.NAME=value` selects responses whose tag has
/// this value or contains it in its list, and `answer.QUESTION=value` does the same for an answer,
/// where `other` also matches every free-text answer. `answer.QUESTION[OPERATOR]=value` compares an
/// answer: `lt`, `lte`, `gt` and `gte` with a number or a date, `ne` with a value that it must not
/// have, `contains` with a part of a text, `answered` with `true` or `false`. A response must pass
/// all filters.
///
/// A page scans a limited number of responses. If few pass the filters, it may be short, or even
/// empty, and still have `next`: the list ends only when `next` is null.
#[utoipa::path(
    get, path = "/flows/{flowId}/responses", operation_id = "listResponses", tag = "Responses",
    security(("adminToken" = ["read"])),
    params(ResponseQuery, FilterParams),
    responses(
        (status = 200, description = "A page of responses", body = List<Response>),
        CommonErrors, QueryErrors,
    ),
)]
async fn list(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    PathParam(flow): PathParam<FlowId>,
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
    let items = page.rows.iter().map(Response::new).collect::<AdminResult<Vec<_>>>()?;
    reply::ok(List { items, next: page.next.map(|id| id.to_string()) })
}

/// Read a response
#[utoipa::path(
    get, path = "/responses/{responseId}", operation_id = "getResponse", tag = "Responses",
    security(("adminToken" = ["read"])),
    responses(
        (status = 200, description = "The response", body = Response),
        CommonErrors,
    ),
)]
async fn get(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    PathParam(response): PathParam<ResponseId>,
) -> Reply {
    let found = engine.response(&actor, Scope::Read, response).await?;
    reply::ok(Response::new(&found.into_row())?)
}

/// Delete a response
///
/// Permanently. The audit log records the deletion, not the content; a late retry with its
/// idempotency key gets the same reply as before and stores nothing.
#[utoipa::path(
    delete, path = "/responses/{responseId}", operation_id = "deleteResponse", tag = "Responses",
    security(("adminToken" = ["erase"])),
    responses(
        (status = 204, description = "Deleted"),
        CommonErrors,
    ),
)]
async fn delete(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    PathParam(response): PathParam<ResponseId>,
) -> Reply {
    engine.response(&actor, Scope::Erase, response).await?.delete().await?;
    reply::done()
}
