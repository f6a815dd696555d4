//! Authentication: `Authorization: Bearer <admin token>`, checked before anything else.
//!
//! Failed attempts are limited by client address (a /64 for IPv6). Only failures count, so a valid
//! token is never refused because of what others behind the same proxy send. Failed authentication
//! and authorisation are logged with the client address, the route and, if known, the token's id;
//! never with the secret.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{FromRequestParts, MatchedPath, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use sluice_engine::{Actor, AdminError, Engine};
use sluice_http::client::{Peer, Proxies, SendLimiter};

use super::reply::{self, Refused};

/// Failed attempts per minute from one address.
const FAILURES_PER_MINUTE: u32 = 30;

/// The holder of the token that the request carries.
#[derive(Clone)]
pub(super) struct Caller(pub(super) Actor);

/// Authenticates requests and limits failed attempts.
pub(super) struct Gate {
    engine: Arc<Engine>,
    proxies: Proxies,
    failures: SendLimiter,
}

impl Gate {
    pub(super) fn new(engine: Arc<Engine>, proxies: Proxies) -> Self {
        Self { engine, proxies, failures: SendLimiter::new(FAILURES_PER_MINUTE) }
    }

    async fn caller(&self, headers: &HeaderMap, from: Option<IpAddr>) -> Result<Caller, Refused> {
        let token = bearer(headers).ok_or(Refused::TokenMissing)?;
        let actor = self.engine.authenticate(token).await.map_err(AdminError::Store)?;
        let refused = || match self.failures.wait(from) {
            Some(seconds) => Refused::TooManyAttempts(seconds),
            None => Refused::TokenInvalid,
        };
        actor.map(Caller).ok_or_else(refused)
    }
}

/// Passes a request on with its [`Caller`], or refuses it. No reply may be cached.
pub(super) async fn authenticate(
    State(gate): State<Arc<Gate>>,
    mut request: Request,
    next: Next,
) -> Response {
    let peer = request.extensions().get::<Peer>().map(|peer| peer.0);
    let address = gate.proxies.client(peer, request.headers());
    let attempt = Attempt { address, route: route_of(&request) };
    let mut response = match gate.caller(request.headers(), address).await {
        Ok(caller) => {
            let token = caller.0.name.clone();
            request.extensions_mut().insert(caller);
            let response = next.run(request).await;
            if reply::is_forbidden(&response) {
                attempt.log_forbidden(&token);
            }
            response
        }
        Err(refused) => {
            attempt.log_refused(&refused);
            refused.into_response()
        }
    };
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// What the log records about a failed attempt.
struct Attempt {
    address: Option<IpAddr>,
    route: String,
}

impl Attempt {
    fn log_refused(&self, refused: &Refused) {
        let (address, route) = (self.address(), &self.route);
        match refused {
            Refused::TokenInvalid => {
                tracing::warn!(%address, %route, "admin API: authentication failed: invalid token");
            }
            // Anyone can send any number of these, so they are not logged by default.
            Refused::TokenMissing => {
                tracing::debug!(%address, %route, "admin API: authentication failed: no token");
            }
            // The failed attempts before it are in the log.
            Refused::TooManyAttempts(_) => {
                tracing::debug!(%address, %route, "admin API: too many attempts");
            }
            _ => {}
        }
    }

    fn log_forbidden(&self, token: &str) {
        let (address, route) = (self.address(), &self.route);
        tracing::warn!(%token, %address, %route, "admin API: authorisation failed");
    }

    fn address(&self) -> String {
        self.address.map_or_else(|| "unknown".to_owned(), |address| address.to_string())
    }
}

/// The method and the route template, so that no ids are logged.
fn route_of(request: &Request) -> String {
    let path = request.extensions().get::<MatchedPath>().map(MatchedPath::as_str);
    format!("{} {}", request.method(), path.unwrap_or("(no route)"))
}

pub(super) fn bearer(headers: &HeaderMap) -> Option<&str> {
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
