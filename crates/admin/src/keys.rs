//! The publishable keys of an app. They are rotated: create a new one, deploy it, revoke the old
//! one.

use std::sync::Arc;

use axum::extract::State;
use serde::Serialize;
use sluice_engine::Engine;
use sluice_engine::rows::Scope;
use sluice_flow::id::{ApiKey, AppId};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::auth::Caller;
use super::reply::{self, BodyErrors, CommonErrors, Reply};
use super::request::{NoBody, PathParam};

pub(super) fn routes() -> OpenApiRouter<Arc<Engine>> {
    OpenApiRouter::default().routes(routes!(create)).routes(routes!(revoke))
}

/// A publishable key.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = NewKey, example = json!({"apiKey": "pk_7n42DGM5Tflk9n8mt7Fhc7"}))]
struct CreatedApiKey {
    #[schema(value_type = String)]
    api_key: ApiKey,
}

/// Create a key
///
/// A key is publishable: it grants reading published flows and submitting, nothing else.
#[utoipa::path(
    post, path = "/apps/{appId}/keys", operation_id = "createKey", tag = "Keys",
    security(("adminToken" = ["admin"])),
    responses(
        (status = 201, description = "The key", body = CreatedApiKey),
        CommonErrors, BodyErrors,
    ),
)]
async fn create(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    PathParam(app): PathParam<AppId>,
    _: NoBody,
) -> Reply {
    reply::created(CreatedApiKey {
        api_key: engine.app(&actor, Scope::Admin, app).await?.create_key().await?,
    })
}

/// Revoke a key
///
/// It is refused from now on. Revoking it again changes nothing.
#[utoipa::path(
    delete, path = "/apps/{appId}/keys/{apiKey}", operation_id = "revokeKey", tag = "Keys",
    security(("adminToken" = ["admin"])),
    responses(
        (status = 204, description = "Revoked"),
        CommonErrors,
    ),
)]
async fn revoke(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    PathParam(app): PathParam<AppId>,
    PathParam(key): PathParam<ApiKey>,
) -> Reply {
    engine.app(&actor, Scope::Admin, app).await?.revoke_key(&key).await?;
    reply::done()
}
