//! Deliveries to webhook endpoints: what was sent, and sending again.

use std::sync::Arc;

use axum::extract::State;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sluice_engine::rows::{DeliveryRow, DeliveryState, Scope};
use sluice_engine::{Engine, StoreError};
use sluice_flow::id::{AppId, DeliveryId, EndpointId, EventId};
use sluice_flow::time::Timestamp;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::auth::Caller;
use super::page::{Limit, List, cursor, limit_schema};
use super::reply::{self, BodyErrors, CommonErrors, Problem, QueryErrors, Reply};
use super::request::{Body, NoBody, PathParam, Query};
use super::schema;

pub(super) fn routes() -> OpenApiRouter<Arc<Engine>> {
    OpenApiRouter::default()
        .routes(routes!(list))
        .routes(routes!(get))
        .routes(routes!(redeliver))
        .routes(routes!(redeliver_failed))
        .routes(routes!(test))
}

/// Which deliveries.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct DeliveryQuery {
    #[serde(default)]
    #[param(schema_with = limit_schema, required = false)]
    limit: Limit,
    /// `next` of the previous page.
    #[serde(default, deserialize_with = "cursor")]
    #[param(value_type = Option<String>)]
    after: Option<DeliveryId>,
    /// Only those in this state.
    #[param(schema_with = schema::delivery_state, required = false)]
    state: Option<DeliveryState>,
}

/// The attempts to send one event to one endpoint, with the result of the last one.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({
    "deliveryId": "dl_01KA2VgdPrWYDVgYy3wLpJ", "eventId": "evt_01KA2VgdPrWYDVgYy3wLpD",
    "type": "response.created", "state": "waiting", "attempts": 2,
    "attemptedAt": "2026-11-15T02:10:05.000Z", "nextAt": "2026-11-15T02:15:12.000Z",
    "status": 500, "latencyMillis": 84, "reply": "Internal Server Error", "error": null
}))]
struct Delivery {
    #[schema(value_type = String)]
    delivery_id: DeliveryId,
    #[schema(value_type = String)]
    event_id: EventId,
    r#type: String,
    #[schema(schema_with = schema::delivery_state)]
    state: &'static str,
    attempts: u32,
    /// When it was last sent.
    #[schema(value_type = String, format = DateTime)]
    attempted_at: Timestamp,
    /// When it is sent again.
    #[schema(value_type = Option<String>, format = DateTime, required = true)]
    next_at: Option<Timestamp>,
    /// The status of the last reply; null if there was none.
    #[schema(required = true)]
    status: Option<u32>,
    latency_millis: u32,
    /// The beginning of the last reply, at most 1 KiB.
    #[schema(required = true)]
    reply: Option<String>,
    /// Why there was no reply.
    #[schema(required = true)]
    error: Option<String>,
}

impl From<DeliveryRow> for Delivery {
    fn from(row: DeliveryRow) -> Self {
        Self {
            delivery_id: row.delivery_id,
            event_id: row.event_id,
            r#type: row.kind,
            state: row.state.as_str(),
            attempts: row.attempts,
            attempted_at: row.attempted_at,
            next_at: row.next_at,
            status: row.status,
            latency_millis: row.latency_millis,
            reply: row.reply,
            error: row.error,
        }
    }
}

/// A delivery with its payload.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({
    "deliveryId": "dl_01KA2VgdPrWYDVgYy3wLpJ", "eventId": "evt_01KA2VgdPrWYDVgYy3wLpD",
    "type": "flow.archived", "state": "delivered", "attempts": 1,
    "attemptedAt": "2026-11-15T02:10:05.000Z", "nextAt": null, "status": 204,
    "latencyMillis": 84, "reply": "", "error": null, "payload": null
}))]
struct DeliveryWithPayload {
    #[serde(flatten)]
    delivery: Delivery,
    /// The event; null if it no longer exists.
    #[schema(value_type = Option<Object>, required = true)]
    payload: Option<Box<RawValue>>,
}

/// Which failed deliveries.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "an object")]
#[schema(example = json!({"since": "2026-11-15T00:00:00.000Z"}))]
struct FailedSince {
    /// Those that were given up, and were last sent at this time or later.
    #[schema(value_type = String, format = DateTime)]
    since: Timestamp,
}

/// List the deliveries of a webhook endpoint
///
/// Newest first: those that wait for another attempt, and the last 1,000 finished ones of the last
/// 30 days.
#[utoipa::path(
    get, path = "/apps/{appId}/webhooks/{webhookId}/deliveries", operation_id = "listDeliveries", tag = "Webhooks",
    security(("adminToken" = ["admin"])),
    params(DeliveryQuery),
    responses(
        (status = 200, description = "A page of deliveries", body = List<Delivery>),
        CommonErrors, QueryErrors,
    ),
)]
async fn list(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    PathParam(app): PathParam<AppId>,
    PathParam(endpoint): PathParam<EndpointId>,
    Query(query): Query<DeliveryQuery>,
) -> Reply {
    let app = engine.app(&actor, Scope::Admin, app).await?;
    let limit = query.limit.and_one();
    let rows = app.list_deliveries(endpoint, query.state, query.after, limit).await?;
    let items: Vec<Delivery> = rows.into_iter().map(Delivery::from).collect();
    reply::ok(List::new(items, query.limit, |it| it.delivery_id.to_string()))
}

/// Read a delivery
///
/// With the event as it would be sent now.
#[utoipa::path(
    get, path = "/apps/{appId}/webhooks/{webhookId}/deliveries/{deliveryId}", operation_id = "getDelivery", tag = "Webhooks",
    security(("adminToken" = ["admin"])),
    responses(
        (status = 200, description = "The delivery", body = DeliveryWithPayload),
        (status = 404, description = "`app_not_found`, `delivery_not_found`", body = Problem, content_type = "application/problem+json"),
        CommonErrors,
    ),
)]
async fn get(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    PathParam(app): PathParam<AppId>,
    PathParam(endpoint): PathParam<EndpointId>,
    PathParam(delivery): PathParam<DeliveryId>,
) -> Reply {
    let app = engine.app(&actor, Scope::Admin, app).await?;
    let found = app.delivery(endpoint, delivery).await?;
    let written = found.payload.map(|it| serde_json::value::to_raw_value(&it)).transpose();
    let payload = written
        .map_err(|error| sluice_engine::AdminError::Store(StoreError::Failed(Box::new(error))))?;
    reply::ok(DeliveryWithPayload { delivery: found.row.into(), payload })
}

/// Send a delivery again
///
/// Its event is sent again soon, regardless of its previous outcome, with all attempts if it fails.
#[utoipa::path(
    post, path = "/apps/{appId}/webhooks/{webhookId}/deliveries/{deliveryId}/redeliver", operation_id = "redeliver", tag = "Webhooks",
    security(("adminToken" = ["admin"])),
    responses(
        (status = 204, description = "It will be sent"),
        (status = 404, description = "`app_not_found`, `delivery_not_found`", body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "`event_gone`: its event no longer exists", body = Problem, content_type = "application/problem+json"),
        CommonErrors,
    ),
)]
async fn redeliver(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    PathParam(app): PathParam<AppId>,
    PathParam(endpoint): PathParam<EndpointId>,
    PathParam(delivery): PathParam<DeliveryId>,
    _: NoBody,
) -> Reply {
    engine.app(&actor, Scope::Admin, app).await?.redeliver(endpoint, delivery).await?;
    reply::done()
}

/// Send failed deliveries again
///
/// Those that were given up. Deliveries that wait are sent again by themselves.
#[utoipa::path(
    post, path = "/apps/{appId}/webhooks/{webhookId}/redeliver", operation_id = "redeliverFailed", tag = "Webhooks",
    security(("adminToken" = ["admin"])),
    request_body = FailedSince,
    responses(
        (status = 204, description = "They will be sent"),
        CommonErrors, BodyErrors,
    ),
)]
async fn redeliver_failed(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    PathParam(app): PathParam<AppId>,
    PathParam(endpoint): PathParam<EndpointId>,
    Body(failed): Body<FailedSince>,
) -> Reply {
    let app = engine.app(&actor, Scope::Admin, app).await?;
    app.redeliver_failed(endpoint, failed.since).await?;
    reply::done()
}

/// Send a test event
///
/// Sends an event of the type `endpoint.test` now, once, also to a disabled endpoint, and returns
/// its outcome.
#[utoipa::path(
    post, path = "/apps/{appId}/webhooks/{webhookId}/test", operation_id = "testWebhook", tag = "Webhooks",
    security(("adminToken" = ["admin"])),
    responses(
        (status = 200, description = "The delivery", body = Delivery),
        (status = 409, description = "`webhooks_unavailable`, or `too_many_tests`: try again in a few seconds", body = Problem, content_type = "application/problem+json"),
        CommonErrors,
    ),
)]
async fn test(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    PathParam(app): PathParam<AppId>,
    PathParam(endpoint): PathParam<EndpointId>,
    _: NoBody,
) -> Reply {
    let app = engine.app(&actor, Scope::Admin, app).await?;
    reply::ok(Delivery::from(app.send_test_event(endpoint).await?))
}
