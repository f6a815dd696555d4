//! Webhook endpoints.

use std::sync::Arc;

use axum::extract::State;
use serde::{Deserialize, Serialize};
use sluice_engine::rows::Scope;
use sluice_engine::webhooks::{NewEndpoint as New, ROTATION_SECONDS_MAX};
use sluice_engine::{Engine, Secret};
use sluice_flow::event::EventType;
use sluice_flow::event::filter::EventFilter;
use sluice_flow::id::{AppId, EndpointId, EventId, FlowId};
use sluice_flow::time::Timestamp;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::auth::Caller;
use super::events::types_of;
use super::page::{List, PageQuery};
use super::reply::{self, BodyErrors, CommonErrors, Problem, QueryErrors, Reply};
use super::request::{Body, NoBody, PathParam, Query};
use super::schema::{self, given};

/// How long requests are also signed with a replaced secret, if not requested otherwise, in
/// seconds.
const KEEP_SECONDS_DEFAULT: u32 = 24 * 60 * 60;

const _: () = assert!(KEEP_SECONDS_DEFAULT <= ROTATION_SECONDS_MAX);

pub(super) fn routes() -> OpenApiRouter<Arc<Engine>> {
    OpenApiRouter::default()
        .routes(routes!(create, list))
        .routes(routes!(get, update, delete))
        .routes(routes!(rotate))
        .routes(routes!(replay))
}

/// A new endpoint.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "an object")]
#[schema(example = json!({
    "url": "https://example.com/hooks/sluice", "description": "CRM",
    "events": ["response.created"], "flows": []
}))]
struct NewWebhook {
    /// An https address with a public host.
    url: String,
    /// At most 500 characters.
    #[serde(default)]
    description: String,
    /// What requests look like.
    #[serde(default)]
    #[schema(schema_with = schema::webhook_format, required = false)]
    format: Option<String>,
    /// Whether up to 100 events share a request; only with the format `standard`.
    #[serde(default)]
    #[schema(required = false, default = false)]
    batch: bool,
    /// The types of events to send; empty or absent means all.
    #[serde(default)]
    #[schema(schema_with = schema::event_types, required = false)]
    events: Vec<String>,
    /// The flows whose events to send; empty or absent means all.
    #[serde(default)]
    #[schema(value_type = Vec<String>, required = false)]
    flows: Vec<FlowId>,
    /// One flow, as a short form of `flows`.
    #[serde(default)]
    #[schema(value_type = String, required = false)]
    flow_id: Option<FlowId>,
}

/// Changes to an endpoint; absent fields stay as they are.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "an object")]
#[schema(example = json!({"enabled": true}))]
struct WebhookPatch {
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false)]
    url: Option<String>,
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false)]
    description: Option<String>,
    #[serde(default, deserialize_with = "given")]
    #[schema(schema_with = schema::webhook_format, required = false)]
    format: Option<String>,
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false)]
    batch: Option<bool>,
    #[serde(default, deserialize_with = "given")]
    #[schema(schema_with = schema::event_types, required = false)]
    events: Option<Vec<String>>,
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<Vec<String>>, nullable = false)]
    flows: Option<Vec<FlowId>>,
    /// False ends deliveries. True continues where they ended: what happened in between is sent.
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false)]
    enabled: Option<bool>,
}

/// A webhook endpoint, without its secret.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({
    "webhookId": "ep_01KA2VgdPrWYDVgYy3wLpH", "url": "https://example.com/hooks/sluice",
    "description": "CRM", "format": "standard", "batch": false, "events": ["response.created"], "flows": [],
    "state": "active", "cursor": "evt_01KA2VgdPrWYDVgYy3wLpD", "failingSince": null,
    "disabledAt": null, "disabledReason": null, "previousSecretUntil": null,
    "createdAt": "2026-11-15T02:00:00.000Z"
}))]
pub(super) struct Webhook {
    #[schema(value_type = String)]
    webhook_id: EndpointId,
    url: String,
    description: String,
    #[schema(schema_with = schema::webhook_format)]
    format: String,
    /// Whether up to 100 events share a request.
    batch: bool,
    #[schema(schema_with = schema::event_types)]
    events: Vec<EventType>,
    #[schema(value_type = Vec<String>)]
    flows: Vec<FlowId>,
    #[schema(schema_with = schema::endpoint_state)]
    state: &'static str,
    /// The position in the event log up to which events were sent, or wait for another attempt.
    #[schema(value_type = String)]
    cursor: EventId,
    /// Since when no attempt has succeeded.
    #[schema(value_type = Option<String>, format = DateTime, required = true)]
    failing_since: Option<Timestamp>,
    #[schema(value_type = Option<String>, format = DateTime, required = true)]
    disabled_at: Option<Timestamp>,
    /// `gone`: the receiver answered 410. `failing`: nothing could be delivered for five days. Null
    /// if a person disabled it.
    #[schema(required = true)]
    disabled_reason: Option<String>,
    /// Until when requests are also signed with the previous secret.
    #[schema(value_type = Option<String>, format = DateTime, required = true)]
    previous_secret_until: Option<Timestamp>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
}

impl From<sluice_engine::Endpoint> for Webhook {
    fn from(it: sluice_engine::Endpoint) -> Self {
        Self {
            webhook_id: it.endpoint_id,
            url: it.url,
            description: it.description,
            format: it.format,
            batch: it.batch,
            events: it.filter.types,
            flows: it.filter.flows,
            state: it.state.as_str(),
            cursor: it.cursor,
            failing_since: it.failing_since,
            disabled_at: it.disabled_at,
            disabled_reason: it.disabled_reason,
            previous_secret_until: it.previous_secret_until,
            created_at: it.created_at,
        }
    }
}

/// An endpoint with its new secret.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({
    "webhookId": "ep_01KA2VgdPrWYDVgYy3wLpH", "url": "https://example.com/hooks/sluice",
    "description": "CRM", "format": "standard", "batch": false, "events": ["response.created"], "flows": [],
    "state": "active", "cursor": "evt_01KA2VgdPrWYDVgYy3wLpD", "failingSince": null,
    "disabledAt": null, "disabledReason": null, "previousSecretUntil": null,
    "createdAt": "2026-11-15T02:00:00.000Z", "secret": "whsec_…"
}))]
struct WebhookWithSecret {
    #[serde(flatten)]
    endpoint: Webhook,
    /// Verifies signatures: shown now and never again.
    secret: String,
}

impl WebhookWithSecret {
    fn new((endpoint, secret): (sluice_engine::Endpoint, Secret)) -> Self {
        Self { endpoint: endpoint.into(), secret: secret.0 }
    }
}

/// For how long requests are also signed with the previous secret.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "an object")]
#[schema(example = json!({"keepPreviousSeconds": 86400}))]
struct Rotation {
    /// At most 604800, a week; 0 ends the previous secret at once.
    #[serde(default = "keep_seconds_default")]
    #[schema(required = false, default = 86400)]
    keep_previous_seconds: u32,
}

fn keep_seconds_default() -> u32 {
    KEEP_SECONDS_DEFAULT
}

/// Where to start again.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "an object")]
#[schema(example = json!({"after": "evt_01KA2VgdPrWYDVgYy3wLpD"}))]
struct Replay {
    /// The position in the event log after which everything is sent again.
    #[schema(value_type = String)]
    after: EventId,
}

/// Create a webhook endpoint
///
/// It receives events from now on, by the Standard Webhooks specification. The secret is in the
/// reply, once.
#[utoipa::path(
    post, path = "/apps/{appId}/webhooks", operation_id = "createWebhook", tag = "Webhooks",
    security(("adminToken" = ["admin"])),
    request_body = NewWebhook,
    responses(
        (status = 201, description = "The endpoint with its secret", body = WebhookWithSecret),
        (status = 409, description = "`too_many_webhooks`: delete one first", body = Problem, content_type = "application/problem+json"),
        CommonErrors, BodyErrors,
    ),
)]
async fn create(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    PathParam(app): PathParam<AppId>,
    Body(new): Body<NewWebhook>,
) -> Reply {
    let app = engine.app(&actor, Scope::Admin, app).await?;
    let NewWebhook { url, description, format, batch, events, mut flows, flow_id } = new;
    flows.extend(flow_id.filter(|it| !flows.contains(it)));
    let filter = EventFilter { types: types_of(&events)?, flows };
    let new = New { url, description, format, batch, filter };
    reply::created(WebhookWithSecret::new(app.create_endpoint(&new).await?))
}

/// List the webhook endpoints of an app
///
/// Oldest first, disabled ones included: at most 50.
#[utoipa::path(
    get, path = "/apps/{appId}/webhooks", operation_id = "listWebhooks", tag = "Webhooks",
    security(("adminToken" = ["admin"])),
    params(PageQuery<EndpointId>),
    responses(
        (status = 200, description = "A page of endpoints", body = List<Webhook>),
        CommonErrors, QueryErrors,
    ),
)]
async fn list(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    PathParam(app): PathParam<AppId>,
    Query(query): Query<PageQuery<EndpointId>>,
) -> Reply {
    let endpoints = engine.app(&actor, Scope::Admin, app).await?.list_endpoints().await?;
    let webhooks = endpoints.into_iter().map(Webhook::from).collect();
    let is_passed = |it: &Webhook| query.after.is_some_and(|after| it.webhook_id <= after);
    let cursor = |it: &Webhook| it.webhook_id.to_string();
    reply::ok(List::from_whole(webhooks, query.limit, is_passed, cursor))
}

/// Read a webhook endpoint
#[utoipa::path(
    get, path = "/apps/{appId}/webhooks/{webhookId}", operation_id = "getWebhook", tag = "Webhooks",
    security(("adminToken" = ["admin"])),
    responses(
        (status = 200, description = "The endpoint", body = Webhook),
        CommonErrors,
    ),
)]
async fn get(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    PathParam(app): PathParam<AppId>,
    PathParam(endpoint): PathParam<EndpointId>,
) -> Reply {
    let app = engine.app(&actor, Scope::Admin, app).await?;
    reply::ok(Webhook::from(app.endpoint(endpoint).await?))
}

/// Change a webhook endpoint
///
/// Also disables it, and enables it again after it was disabled.
#[utoipa::path(
    patch, path = "/apps/{appId}/webhooks/{webhookId}", operation_id = "updateWebhook", tag = "Webhooks",
    security(("adminToken" = ["admin"])),
    request_body = WebhookPatch,
    responses(
        (status = 200, description = "The changed endpoint", body = Webhook),
        CommonErrors, BodyErrors,
    ),
)]
async fn update(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    PathParam(app): PathParam<AppId>,
    PathParam(endpoint): PathParam<EndpointId>,
    Body(patch): Body<WebhookPatch>,
) -> Reply {
    let app = engine.app(&actor, Scope::Admin, app).await?;
    let patch = sluice_engine::EndpointPatch {
        url: patch.url,
        description: patch.description,
        format: patch.format,
        batch: patch.batch,
        types: patch.events.as_deref().map(types_of).transpose()?,
        flows: patch.flows,
        enabled: patch.enabled,
    };
    reply::ok(Webhook::from(app.change_endpoint(endpoint, &patch).await?))
}

/// Delete a webhook endpoint
///
/// With its deliveries. Nothing more is sent to it.
#[utoipa::path(
    delete, path = "/apps/{appId}/webhooks/{webhookId}", operation_id = "deleteWebhook", tag = "Webhooks",
    security(("adminToken" = ["admin"])),
    responses(
        (status = 204, description = "Deleted"),
        CommonErrors,
    ),
)]
async fn delete(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    PathParam(app): PathParam<AppId>,
    PathParam(endpoint): PathParam<EndpointId>,
    _: NoBody,
) -> Reply {
    engine.app(&actor, Scope::Admin, app).await?.delete_endpoint(endpoint).await?;
    reply::done()
}

/// Replace the secret of a webhook endpoint
///
/// Requests have two signatures until the previous secret ends. The new one is in the reply, once.
#[utoipa::path(
    post, path = "/apps/{appId}/webhooks/{webhookId}/secret", operation_id = "rotateWebhookSecret", tag = "Webhooks",
    security(("adminToken" = ["admin"])),
    request_body = Rotation,
    responses(
        (status = 201, description = "The endpoint with its new secret", body = WebhookWithSecret),
        CommonErrors, BodyErrors,
    ),
)]
async fn rotate(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    PathParam(app): PathParam<AppId>,
    PathParam(endpoint): PathParam<EndpointId>,
    Body(rotation): Body<Rotation>,
) -> Reply {
    let app = engine.app(&actor, Scope::Admin, app).await?;
    let rotated = app.rotate_endpoint_secret(endpoint, rotation.keep_previous_seconds).await?;
    reply::created(WebhookWithSecret::new(rotated))
}

/// Replay events to a webhook endpoint
///
/// Sends everything after a position of the event log again, regardless of its previous outcome.
#[utoipa::path(
    post, path = "/apps/{appId}/webhooks/{webhookId}/replay", operation_id = "replayWebhook", tag = "Webhooks",
    security(("adminToken" = ["admin"])),
    request_body = Replay,
    responses(
        (status = 200, description = "The endpoint at its new position", body = Webhook),
        CommonErrors, BodyErrors,
    ),
)]
async fn replay(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    PathParam(app): PathParam<AppId>,
    PathParam(endpoint): PathParam<EndpointId>,
    Body(replay): Body<Replay>,
) -> Reply {
    let app = engine.app(&actor, Scope::Admin, app).await?;
    reply::ok(Webhook::from(app.replay_endpoint(endpoint, replay.after).await?))
}
