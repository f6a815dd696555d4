//! Test responses: answers from the test link of a flow, which are never counted.

use std::sync::Arc;

use axum::extract::State;
use serde::Serialize;
use serde_json::value::RawValue;
use sluice_engine::rows::{Page, Scope, TestCursor, TestResponseRow};
use sluice_engine::{AdminError, AdminResult, Engine, StoreError};
use sluice_flow::id::{FlowId, FormKey};
use sluice_flow::time::Timestamp;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::auth::Caller;
use super::page::{List, PageQuery};
use super::reply::{self, CommonErrors, QueryErrors, Reply};
use super::request::{PathParam, Query};

pub(super) fn routes() -> OpenApiRouter<Arc<Engine>> {
    OpenApiRouter::default().routes(routes!(list, delete))
}

/// A test response. It has no identities and no `responseId`.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({
    "formKey": "f_01KA2VgdPrWYDVgYy3wLpB", "number": 3, "receivedAt": "2026-11-15T02:00:00.000Z",
    "answers": {"nps": "9"}, "tags": null, "score": null
}))]
struct TestResponse {
    /// The form that was sent; each is stored once.
    #[schema(value_type = String)]
    form_key: FormKey,
    /// The number of the version that was tested; null for a draft.
    #[schema(required = true)]
    number: Option<u32>,
    #[schema(value_type = String, format = DateTime)]
    received_at: Timestamp,
    #[schema(value_type = Object)]
    answers: Box<RawValue>,
    #[schema(value_type = Option<Object>, required = true)]
    tags: Option<Box<RawValue>>,
    #[schema(value_type = Option<f64>, required = true)]
    score: Option<Box<RawValue>>,
}

impl TestResponse {
    fn new(row: TestResponseRow) -> AdminResult<Self> {
        let stored = |text: String| {
            RawValue::from_string(text).map_err(|error| {
                AdminError::Store(StoreError::Corrupt(format!("a test response: {error}")))
            })
        };
        Ok(Self {
            form_key: row.form_key,
            number: Some(row.number).filter(|number| *number > 0),
            received_at: row.received_at,
            answers: stored(row.answers)?,
            tags: row.tags.map(stored).transpose()?,
            score: row.score.map(stored).transpose()?,
        })
    }
}

/// List the test responses of a flow
///
/// Newest first, in pages; a flow keeps its newest 1,000 for 30 days. They come from the test link
/// in the console, and are in no count, list, export or result.
#[utoipa::path(
    get, path = "/flows/{flowId}/test-responses", operation_id = "listTestResponses", tag = "Responses",
    security(("adminToken" = ["read"])),
    params(PageQuery<TestCursor>),
    responses(
        (status = 200, description = "A page of test responses", body = List<TestResponse>),
        CommonErrors, QueryErrors,
    ),
)]
async fn list(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    PathParam(flow): PathParam<FlowId>,
    Query(query): Query<PageQuery<TestCursor>>,
) -> Reply {
    let page = Page { after: query.after, limit: query.limit.and_one() };
    let rows = engine.flow(&actor, Scope::Read, flow).await?.test_responses(page).await?;
    let items: AdminResult<Vec<_>> = rows.into_iter().map(TestResponse::new).collect();
    let cursor = |it: &TestResponse| {
        TestCursor { received_at: it.received_at, form_key: it.form_key }.to_string()
    };
    reply::ok(List::new(items?, query.limit, cursor))
}

/// Delete all test responses of a flow
#[utoipa::path(
    delete, path = "/flows/{flowId}/test-responses", operation_id = "deleteTestResponses", tag = "Responses",
    security(("adminToken" = ["write"])),
    responses(
        (status = 204, description = "Deleted"),
        CommonErrors,
    ),
)]
async fn delete(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    PathParam(flow): PathParam<FlowId>,
) -> Reply {
    engine.flow(&actor, Scope::Write, flow).await?.delete_test_responses().await?;
    reply::done()
}
