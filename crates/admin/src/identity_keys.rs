//! Keys for identity tokens, and the counts of token checks.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::State;
use serde::{Deserialize, Serialize};
use sluice_engine::rows::{IdentityKeyKind, IdentityKeyRow, IdentityVerification, Scope};
use sluice_engine::verify::TokenOutcome;
use sluice_engine::{AdminError, Engine, NewIdentityKey, VerificationReport};
use sluice_flow::definition::Fault;
use sluice_flow::id::AppId;
use sluice_flow::time::Timestamp;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::auth::Caller;
use super::page::{List, NO_CURSOR, PageQuery};
use super::reply::{self, BodyErrors, CommonErrors, Problem, QueryErrors, Reply};
use super::request::{Body, Kid, PathParam, Query};
use super::schema;

pub(super) fn routes() -> OpenApiRouter<Arc<Engine>> {
    OpenApiRouter::default()
        .routes(routes!(create, list))
        .routes(routes!(revoke))
        .routes(routes!(report))
}

/// A new key: a secret (`hs256`), a public key (`publicKey` with `pem` or `jwk`), or the
/// address of a set of keys (`jwks` with `url`).
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "an object")]
#[schema(as = NewIdentityKey, example = json!({"type": "hs256"}))]
struct IdentityKeyBody {
    #[schema(schema_with = schema::identity_key_kind)]
    r#type: IdentityKeyKind,
    /// RSA with at least 2048 bits, P-256 or Ed25519: `-----BEGIN PUBLIC KEY-----`.
    pem: Option<String>,
    /// The same as a JWK, without a private part.
    #[schema(value_type = Option<Object>)]
    jwk: Option<serde_json::Value>,
    /// An https address that answers with a JWK set.
    url: Option<String>,
    /// The key ID in tokens, 1 to 128 visible ASCII characters; generated if it is absent.
    kid: Option<String>,
    /// The `iss` that tokens with this key must have.
    issuer: Option<String>,
}

/// A key; its secret is returned only once, when the key is created.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({
    "kid": "ik_7n42DGM5Tflk9n8mt7Fhc7", "type": "hs256", "algorithm": "HS256", "url": null,
    "issuer": null, "createdAt": "2026-11-15T02:00:00.000Z", "revokedAt": null
}))]
struct IdentityKey {
    kid: String,
    #[schema(schema_with = schema::identity_key_kind)]
    r#type: IdentityKeyKind,
    /// The signing algorithm of its tokens; absent for a key set and for a revoked public key.
    #[schema(required = true)]
    algorithm: Option<String>,
    #[schema(required = true)]
    url: Option<String>,
    #[schema(required = true)]
    issuer: Option<String>,
    /// The signing secret, only in the reply that creates it. Its bytes are those of this text.
    #[serde(skip_serializing_if = "Option::is_none")]
    secret: Option<String>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[schema(value_type = Option<String>, format = DateTime, required = true)]
    revoked_at: Option<Timestamp>,
}

impl IdentityKey {
    fn new(row: IdentityKeyRow, secret: Option<String>) -> Self {
        let algorithm = sluice_engine::verify::algorithm_of(&row);
        let url = (row.kind == IdentityKeyKind::Jwks).then_some(row.material);
        Self {
            kid: row.kid,
            r#type: row.kind,
            algorithm,
            url: url.filter(|url| !url.is_empty()),
            issuer: row.issuer,
            secret,
            created_at: row.created_at,
            revoked_at: row.revoked_at,
        }
    }
}

/// The results of checking an app's tokens, counted in the process that answers since its first
/// check.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({
    "identityVerification": "observe", "since": "2026-11-15T02:00:00.000Z",
    "verified": 120, "missing": 3, "expired": 1, "invalid": 2, "mismatch": 0, "unavailable": 0,
    "invalidBy": {"audience_wrong": 2}
}))]
struct VerificationCounts {
    #[schema(schema_with = schema::identity_verification)]
    identity_verification: IdentityVerification,
    #[schema(value_type = String, format = DateTime)]
    since: Timestamp,
    verified: u64,
    /// Requests without a token.
    missing: u64,
    expired: u64,
    invalid: u64,
    /// Submissions whose identities contradict their token.
    mismatch: u64,
    /// Requests for which the keys were unavailable.
    unavailable: u64,
    /// Invalid tokens by the rule that they violate.
    invalid_by: BTreeMap<&'static str, u64>,
}

impl From<VerificationReport> for VerificationCounts {
    fn from(report: VerificationReport) -> Self {
        let counts = &report.counts;
        let invalid = TokenOutcome::ALL.into_iter().filter(|checked| checked.is_invalid());
        let invalid_by: BTreeMap<_, _> = invalid
            .map(|checked| (checked.as_str(), counts.get(checked)))
            .filter(|(_, count)| *count > 0)
            .collect();
        Self {
            identity_verification: report.mode,
            since: counts.since,
            verified: counts.get(TokenOutcome::Verified),
            missing: counts.get(TokenOutcome::Missing),
            expired: counts.get(TokenOutcome::Expired),
            invalid: invalid_by.values().sum(),
            mismatch: counts.get(TokenOutcome::Mismatch),
            unavailable: counts.get(TokenOutcome::Unavailable),
            invalid_by,
        }
    }
}

/// Create an identity key
///
/// Several keys may be active at once, so that they can be rotated: create a new one, sign with it,
/// revoke the old one. An app has secrets or public keys, never both.
#[utoipa::path(
    post, path = "/apps/{appId}/identity-keys", operation_id = "createIdentityKey", tag = "Identity",
    security(("adminToken" = ["admin"])),
    request_body = IdentityKeyBody,
    responses(
        (status = 201, description = "The key, with its secret if it has one", body = IdentityKey),
        (status = 409, description = "`kid_taken`, `identity_keys_mixed`, `too_many_identity_keys`, `master_key_missing`", body = Problem, content_type = "application/problem+json"),
        CommonErrors, BodyErrors,
    ),
)]
async fn create(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    PathParam(app): PathParam<AppId>,
    Body(new): Body<IdentityKeyBody>,
) -> Reply {
    let IdentityKeyBody { r#type, pem, jwk, url, kid, issuer } = new;
    let new = NewIdentityKey { kind: r#type, pem, jwk, url, kid, issuer };
    let (row, secret) =
        engine.app(&actor, Scope::Admin, app).await?.create_identity_key(&new).await?;
    reply::created(IdentityKey::new(row, secret.map(|secret| secret.0)))
}

/// List identity keys
///
/// Oldest first, revoked ones included; never a secret.
#[utoipa::path(
    get, path = "/apps/{appId}/identity-keys", operation_id = "listIdentityKeys", tag = "Identity",
    security(("adminToken" = ["read"])),
    params(PageQuery<Kid>),
    responses(
        (status = 200, description = "A page of keys", body = List<IdentityKey>),
        CommonErrors, QueryErrors,
    ),
)]
async fn list(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    PathParam(app): PathParam<AppId>,
    Query(query): Query<PageQuery<Kid>>,
) -> Reply {
    let keys = engine.app(&actor, Scope::Read, app).await?.list_identity_keys().await?;
    let keys: Vec<_> = keys.into_iter().map(|row| IdentityKey::new(row, None)).collect();
    let is_last = |key: &IdentityKey| query.after.as_ref().is_some_and(|it| it.0 == key.kid);
    // A kid has no order, so the cursor is found by equality; revoked keys stay in the list, so it
    // is always found.
    if query.after.is_some() && !keys.iter().any(is_last) {
        return Err(AdminError::Invalid(vec![Fault::new("/after", NO_CURSOR)]).into());
    }
    reply::ok(List::from_whole(keys, query.limit, is_last, |key| key.kid.clone()))
}

/// Revoke an identity key
///
/// Tokens under it are refused from now on, on every node within a second. Revoking it again
/// changes nothing.
#[utoipa::path(
    delete, path = "/apps/{appId}/identity-keys/{kid}", operation_id = "revokeIdentityKey", tag = "Identity",
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
    PathParam(Kid(kid)): PathParam<Kid>,
) -> Reply {
    engine.app(&actor, Scope::Admin, app).await?.revoke_identity_key(&kid).await?;
    reply::done()
}

/// Count the results of token checks
///
/// For the process that answers; to sum over all nodes, use `sluice_identity_token_checks_total` of
/// `/metrics`.
#[utoipa::path(
    get, path = "/apps/{appId}/identity-verification", operation_id = "getIdentityVerification", tag = "Identity",
    security(("adminToken" = ["read"])),
    responses(
        (status = 200, description = "The mode and the counts", body = VerificationCounts),
        CommonErrors,
    ),
)]
async fn report(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    PathParam(app): PathParam<AppId>,
) -> Reply {
    reply::ok(VerificationCounts::from(
        engine.app(&actor, Scope::Read, app).await?.verification_report()?,
    ))
}
