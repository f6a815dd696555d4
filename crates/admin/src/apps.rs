//! Apps.

use std::sync::Arc;

use axum::extract::State;
use serde::{Deserialize, Serialize};
use sluice_engine::branding::HostedSettings;
use sluice_engine::rows::{IdentityVerification, Page, Scope};
use sluice_engine::{AppDetail, AppHandle, Engine};
use sluice_flow::id::{ApiKey, AppId};
use sluice_flow::time::Timestamp;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::auth::Caller;
use super::design::{HostedLook, HostedPatch};
use super::page::{List, PageQuery};
use super::reply::{self, BodyErrors, CommonErrors, QueryErrors, Reply};
use super::request::{Body, PathParam, Query};
use super::schema::{self, GraceSeconds, RetentionDays, given};

pub(super) fn routes() -> OpenApiRouter<Arc<Engine>> {
    OpenApiRouter::default().routes(routes!(create, list)).routes(routes!(get, update))
}

/// A new app.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "an object")]
#[schema(example = json!({"name": "Acme"}))]
struct NewApp {
    /// 1 to 200 characters.
    name: String,
}

/// Changes to an app; absent fields stay as they are.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "an object")]
#[schema(example = json!({"allowedOrigins": ["https://app.example.com"], "graceWindowSeconds": 3600}))]
struct AppPatch {
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false)]
    name: Option<String>,
    #[serde(default, deserialize_with = "given")]
    #[schema(schema_with = schema::identity_verification, required = false)]
    identity_verification: Option<IdentityVerification>,
    /// Origins that browsers may call the public API from and that may embed flows, at most 100;
    /// empty means any. `https://*.example.com` matches every host below `example.com`; schemes
    /// of apps such as `capacitor://localhost` are allowed. Stored in lower case, without a default
    /// port or a trailing slash.
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false)]
    allowed_origins: Option<Vec<String>>,
    /// How many seconds a superseded version still accepts responses, 0 to 31,622,400; null for
    /// the default of 86,400.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<u32>, required = false)]
    grace_window_seconds: Option<Option<GraceSeconds>>,
    /// How many days responses and the data stored with them are kept, 1 to 36,525; null keeps them
    /// permanently. The server deletes older ones within about an hour.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<u32>, required = false)]
    retention_days: Option<Option<RetentionDays>>,
    /// The longest that an identity token may be valid, 1 to 86,400 seconds; null for the default
    /// of 3,600.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<u32>, required = false)]
    token_lifetime_seconds: Option<Option<u32>>,
    /// How hosted pages look and are guarded; null for the defaults.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<HostedPatch>, required = false)]
    hosted: Option<Option<HostedPatch>>,
    /// How much the app may send; null for the server's limits. Needs `admin` of the whole server:
    /// a token that is bound to the app is refused.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<LimitsPatch>, required = false)]
    limits: Option<Option<LimitsPatch>>,
}

/// Changes to an app's limits; absent fields stay, null restores the server's limit.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "an object")]
#[schema(example = json!({"callsPerSecond": 100, "bytesPerDay": null}))]
struct LimitsPatch {
    /// Calls of the public API a second, 1 to 100,000,000. Twice as many may come at once.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<u32>, required = false)]
    calls_per_second: Option<Option<u32>>,
    /// Bytes of responses that are stored in a UTC day, 1 to 1,125,899,906,842,624.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<u64>, required = false)]
    bytes_per_day: Option<Option<u64>>,
}

/// The limits of an app; null is the server's limit.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Limits {
    #[schema(required = true)]
    calls_per_second: Option<u32>,
    #[schema(required = true)]
    bytes_per_day: Option<u64>,
}

/// One tenant, with its publishable keys and its own flows.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({
    "appId": "app_01KA2VgdPrWYDVgYy3wLpA", "name": "Acme",
    "apiKeys": ["pk_7n42DGM5Tflk9n8mt7Fhc7"], "identityVerification": "off",
    "allowedOrigins": [], "graceWindowSeconds": null, "retentionDays": null,
    "tokenLifetimeSeconds": null,
    "hosted": {
        "accentColor": "#0a7d4f", "background": null, "font": null, "corners": null,
        "theme": null, "logo": null, "darkLogo": null, "nextText": null, "backText": null,
        "sendText": null, "spamProtection": true
    },
    "limits": {"callsPerSecond": null, "bytesPerDay": null},
    "createdAt": "2026-11-15T02:00:00.000Z"
}))]
struct App {
    #[schema(value_type = String)]
    app_id: AppId,
    name: String,
    /// The active keys, oldest first.
    #[schema(value_type = Vec<String>)]
    api_keys: Vec<ApiKey>,
    #[schema(schema_with = schema::identity_verification)]
    identity_verification: IdentityVerification,
    allowed_origins: Vec<String>,
    #[schema(required = true)]
    grace_window_seconds: Option<u32>,
    /// Null if responses are kept permanently.
    #[schema(required = true)]
    retention_days: Option<u32>,
    #[schema(required = true)]
    token_lifetime_seconds: Option<u32>,
    hosted: HostedLook,
    limits: Limits,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
}

impl From<AppDetail> for App {
    fn from(detail: AppDetail) -> Self {
        let HostedSettings { design, spam_protection } = HostedSettings::from_app(&detail.row);
        Self {
            app_id: detail.row.app_id,
            name: detail.row.name,
            api_keys: detail.api_keys,
            identity_verification: detail.row.identity_verification,
            allowed_origins: detail.row.allowed_origins,
            grace_window_seconds: detail.row.grace_window_seconds,
            retention_days: detail.row.retention_days,
            token_lifetime_seconds: detail.row.token_lifetime_seconds,
            hosted: HostedLook::new(&design, spam_protection),
            limits: Limits {
                calls_per_second: detail.row.limits.calls_per_second,
                bytes_per_day: detail.row.limits.bytes_per_day,
            },
            created_at: detail.row.created_at,
        }
    }
}

/// Create an app
///
/// It starts with one publishable key.
#[utoipa::path(
    post, path = "/apps", operation_id = "createApp", tag = "Apps",
    security(("adminToken" = ["admin"])),
    request_body = NewApp,
    responses((status = 201, description = "The app", body = App), CommonErrors, BodyErrors),
)]
async fn create(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    Body(new): Body<NewApp>,
) -> Reply {
    reply::created(App::from(engine.instance(&actor)?.create_app(&new.name).await?))
}

/// List apps
///
/// Oldest first. A token bound to one app sees that app only. The pictures of designs (`logo`,
/// `darkLogo`) are null in lists: read an app for its own.
#[utoipa::path(
    get, path = "/apps", operation_id = "listApps", tag = "Apps",
    security(("adminToken" = ["read"])),
    params(PageQuery<AppId>),
    responses((status = 200, description = "A page of apps", body = List<App>), CommonErrors, QueryErrors),
)]
async fn list(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    Query(query): Query<PageQuery<AppId>>,
) -> Reply {
    let page = Page { after: query.after, limit: query.limit.and_one() };
    let apps = AppHandle::details(&engine.list_apps(&actor, page).await?).await?;
    let apps = apps.into_iter().map(App::from).collect();
    reply::ok(List::new(apps, query.limit, |app: &App| app.app_id.to_string()))
}

/// Read an app
#[utoipa::path(
    get, path = "/apps/{appId}", operation_id = "getApp", tag = "Apps",
    security(("adminToken" = ["read"])),
    responses(
        (status = 200, description = "The app", body = App),
        CommonErrors,
    ),
)]
async fn get(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    PathParam(app): PathParam<AppId>,
) -> Reply {
    reply::ok(App::from(engine.app(&actor, Scope::Read, app).await?.detail().await?))
}

/// Change an app
///
/// Absent fields stay as they are; `graceWindowSeconds: null` and `tokenLifetimeSeconds: null`
/// restore the default, and `retentionDays: null` keeps responses permanently. Absent fields of
/// `hosted` and `limits` stay, too.
#[utoipa::path(
    patch, path = "/apps/{appId}", operation_id = "updateApp", tag = "Apps",
    security(("adminToken" = ["write"])),
    request_body = AppPatch,
    responses(
        (status = 200, description = "The app as it is now", body = App),
        CommonErrors, BodyErrors,
    ),
)]
async fn update(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    PathParam(app): PathParam<AppId>,
    Body(patch): Body<AppPatch>,
) -> Reply {
    let patch = sluice_engine::AppPatch {
        name: patch.name,
        identity_verification: patch.identity_verification,
        allowed_origins: patch.allowed_origins,
        grace_window_seconds: patch.grace_window_seconds.map(|grace| grace.map(u32::from)),
        retention_days: patch.retention_days.map(|days| days.map(u32::from)),
        token_lifetime_seconds: patch.token_lifetime_seconds,
        hosted: patch.hosted.map(|hosted| {
            hosted.map(|patch| sluice_engine::branding::HostedPatch {
                spam_protection: patch.spam_protection,
                design: patch.changes(),
            })
        }),
        limits: patch.limits.map(|limits| {
            limits.map(|LimitsPatch { calls_per_second, bytes_per_day }| {
                sluice_engine::LimitsPatch { calls_per_second, bytes_per_day }
            })
        }),
    };
    reply::ok(App::from(engine.app(&actor, Scope::Write, app).await?.update(&patch).await?))
}
