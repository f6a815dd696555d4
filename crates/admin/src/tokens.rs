//! Admin tokens. A secret is returned only once, in the reply that creates it.

use std::sync::Arc;

use axum::extract::State;
use serde::{Deserialize, Serialize};
use sluice_engine::Engine;
use sluice_engine::rows::{Scope, TokenRow};
use sluice_flow::id::{AppId, TokenId};
use sluice_flow::time::Timestamp;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::auth::Caller;
use super::page::{List, PageQuery};
use super::reply::{self, BodyErrors, CommonErrors, Problem, QueryErrors, Reply};
use super::request::{Body, PathParam, Query};
use super::schema;

pub(super) fn routes() -> OpenApiRouter<Arc<Engine>> {
    OpenApiRouter::default().routes(routes!(create, list)).routes(routes!(get, revoke))
}

/// A new token.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "an object")]
#[schema(example = json!({"name": "Dashboard", "scopes": ["read"], "appId": null, "expiresAt": null}))]
struct NewToken {
    /// 1 to 200 characters.
    name: String,
    #[schema(schema_with = schema::scopes)]
    scopes: Vec<Scope>,
    /// The app that it is limited to; null for all apps.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    app_id: Option<AppId>,
    /// When it stops working; null for never.
    #[serde(default)]
    #[schema(value_type = Option<String>, format = DateTime)]
    expires_at: Option<Timestamp>,
}

/// A token, without its secret.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({
    "tokenId": "tk_01KA2VgdPrWYDVgYy3wLpE", "name": "Dashboard", "scopes": ["read"],
    "appId": null, "expiresAt": null, "createdAt": "2026-11-15T02:00:00.000Z", "revokedAt": null
}))]
struct Token {
    #[schema(value_type = String)]
    token_id: TokenId,
    name: String,
    #[schema(schema_with = schema::scopes)]
    scopes: Vec<Scope>,
    #[schema(value_type = Option<String>, required = true)]
    app_id: Option<AppId>,
    #[schema(value_type = Option<String>, format = DateTime, required = true)]
    expires_at: Option<Timestamp>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[schema(value_type = Option<String>, format = DateTime, required = true)]
    revoked_at: Option<Timestamp>,
}

/// A token that has just been created, with its secret.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({
    "tokenId": "tk_01KA2VgdPrWYDVgYy3wLpE", "name": "Dashboard", "scopes": ["read"],
    "appId": null, "expiresAt": null, "createdAt": "2026-11-15T02:00:00.000Z", "revokedAt": null,
    "token": "sluice_…"
}))]
struct TokenWithSecret {
    #[serde(flatten)]
    token_row: Token,
    /// The secret: shown now and never again.
    token: String,
}

impl From<TokenRow> for Token {
    fn from(row: TokenRow) -> Self {
        Self {
            token_id: row.token_id,
            name: row.name,
            scopes: row.scopes,
            app_id: row.app_id,
            expires_at: row.expires_at,
            created_at: row.created_at,
            revoked_at: row.revoked_at,
        }
    }
}

/// Create a token
///
/// Its secret is in the reply, once; only a hash of it is stored.
#[utoipa::path(
    post, path = "/tokens", operation_id = "createToken", tag = "Tokens",
    security(("adminToken" = ["admin"])),
    request_body = NewToken,
    responses(
        (status = 201, description = "The token with its secret", body = TokenWithSecret),
        (status = 404, description = "`app_not_found`: there is no app `appId`", body = Problem, content_type = "application/problem+json"),
        CommonErrors, BodyErrors,
    ),
)]
async fn create(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    Body(new): Body<NewToken>,
) -> Reply {
    let new = sluice_engine::NewToken {
        name: new.name,
        scopes: new.scopes,
        app_id: new.app_id,
        expires_at: new.expires_at,
    };
    let (row, secret) = engine.instance(&actor)?.create_token(new).await?;
    reply::created(TokenWithSecret { token_row: row.into(), token: secret.0 })
}

/// List tokens
///
/// Oldest first, revoked ones included; never their secrets.
#[utoipa::path(
    get, path = "/tokens", operation_id = "listTokens", tag = "Tokens",
    security(("adminToken" = ["admin"])),
    params(PageQuery<TokenId>),
    responses((status = 200, description = "A page of tokens", body = List<Token>), CommonErrors, QueryErrors),
)]
async fn list(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    Query(query): Query<PageQuery<TokenId>>,
) -> Reply {
    let rows = engine.instance(&actor)?.list_tokens().await?.into_iter();
    let beyond = rows.filter(|row| query.after.is_none_or(|after| row.token_id > after));
    let tokens = beyond.take(query.limit.and_one()).map(Token::from).collect();
    reply::ok(List::new(tokens, query.limit, |token: &Token| token.token_id.to_string()))
}

/// Read a token
///
/// Revoked or not; never its secret.
#[utoipa::path(
    get, path = "/tokens/{tokenId}", operation_id = "getToken", tag = "Tokens",
    security(("adminToken" = ["admin"])),
    responses(
        (status = 200, description = "The token", body = Token),
        CommonErrors,
    ),
)]
async fn get(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    PathParam(token): PathParam<TokenId>,
) -> Reply {
    reply::ok(Token::from(engine.instance(&actor)?.get_token(token).await?))
}

/// Revoke a token
///
/// It is refused from now on. Revoking it again changes nothing.
#[utoipa::path(
    delete, path = "/tokens/{tokenId}", operation_id = "revokeToken", tag = "Tokens",
    security(("adminToken" = ["admin"])),
    responses(
        (status = 204, description = "Revoked"),
        CommonErrors,
    ),
)]
async fn revoke(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    PathParam(token): PathParam<TokenId>,
) -> Reply {
    engine.instance(&actor)?.revoke_token(token).await?;
    reply::done()
}
