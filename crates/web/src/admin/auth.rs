//! Who is calling: `Authorization: Bearer <admin token>`, asked before anything else.

use std::sync::Arc;

use axum::extract::{FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use sluice_engine::{Actor, AdminError, Engine};

use super::reply::Refused;

/// The holder of the token that the request bears.
#[derive(Clone)]
pub(super) struct Caller(pub(super) Actor);

/// Lets a request through with its [`Caller`], or refuses it. No reply may be kept by a cache.
pub(super) async fn authenticate(
    State(engine): State<Arc<Engine>>,
    mut request: Request,
    next: Next,
) -> Response {
    let mut response = match caller(&engine, request.headers()).await {
        Ok(caller) => {
            request.extensions_mut().insert(caller);
            next.run(request).await
        }
        Err(refused) => refused.into_response(),
    };
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

async fn caller(engine: &Engine, headers: &HeaderMap) -> Result<Caller, Refused> {
    let token = bearer(headers).ok_or(Refused::TokenMissing)?;
    let actor = engine.authenticate(token).await.map_err(AdminError::Store)?;
    actor.map(Caller).ok_or(Refused::TokenInvalid)
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refused> {
        parts.extensions.get().cloned().ok_or(Refused::TokenMissing)
    }
}
