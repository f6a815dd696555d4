//! For operators: liveness, readiness and metrics.
//!
//! `/livez` and `/healthz` report only that the process answers, so that an unavailable store does
//! not get the process restarted; `/readyz` reports whether a submission could be stored. A server
//! that stores as fast as it can and refuses the rest is ready: taking it out of service would move
//! its load to others on the same database, or leave none. Its reply is `saturated`. `/metrics` can
//! require a token or be served only on a separate listener ([`MetricsSite`]).

use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use futures_util::future::BoxFuture;
use http::header::{ACCEPT, AUTHORIZATION};
use http::{HeaderMap, Request};
use hyper::body::Incoming;
use sha2::{Digest, Sha256};
use sluice_engine::{Engine, NotReady};
use sluice_http::Limits;
use sluice_http::exchange::Exchange;
use sluice_http::reply::{self, Refusal};
use sluice_http::server::Site;
use tower::Service;

/// Served at the root of the host as well, for checks that do not go through a proxy.
pub(crate) const PATHS: &[&str] = &["/livez", "/healthz", "/readyz", "/metrics"];

const TEXT: &str = "text/plain; charset=utf-8";
/// The older text format of Prometheus.
const PLAIN_METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";
const OPEN_METRICS_TYPE: &str = "application/openmetrics-text";
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Who may read `/metrics` on the listener of the administration.
#[derive(Debug, Clone, Default)]
pub enum MetricsAccess {
    #[default]
    Public,
    /// Requests with this bearer token.
    Token(MetricsToken),
    /// Not served here: metrics have a separate listener.
    Disabled,
}

/// The token for `/metrics`, as its digest: comparing digests does not leak how many characters
/// match.
#[derive(Debug, Clone)]
pub struct MetricsToken([u8; 32]);

impl MetricsToken {
    pub fn new(token: &str) -> Self {
        Self(Sha256::digest(token).into())
    }

    fn matches(&self, headers: &HeaderMap) -> bool {
        let value = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        let (scheme, token) = value.and_then(|value| value.split_once(' ')).unwrap_or_default();
        scheme.eq_ignore_ascii_case("bearer") && self.0 == *Sha256::digest(token.trim())
    }
}

pub(crate) fn router(engine: Arc<Engine>) -> Router {
    Router::new()
        .route("/livez", get(alive))
        .route("/healthz", get(alive))
        .route("/readyz", get(ready))
        .with_state(engine)
}

/// `/metrics`, for those who may read it.
pub(crate) fn metrics_if_allowed(engine: &Arc<Engine>, access: &MetricsAccess) -> Router {
    let engine = Arc::clone(engine);
    match access {
        MetricsAccess::Public => metrics_router(engine, None),
        MetricsAccess::Token(token) => metrics_router(engine, Some(token.clone())),
        MetricsAccess::Disabled => Router::new(),
    }
}

fn metrics_router(engine: Arc<Engine>, token: Option<MetricsToken>) -> Router {
    Router::new().route("/metrics", get(metrics)).with_state((engine, token))
}

/// Serves `/metrics` only, on a separate listener.
#[derive(Debug, Clone)]
pub struct MetricsSite(Router);

impl MetricsSite {
    pub fn new(engine: Arc<Engine>, token: Option<MetricsToken>, limits: Limits) -> Self {
        let exchange =
            Exchange::new(Arc::clone(&engine), reply::failed).with_timeout(limits.request_timeout);
        let router = metrics_router(engine, token)
            .fallback(async || Refusal::RouteNotFound.reply())
            .method_not_allowed_fallback(async || Refusal::MethodNotAllowed.reply());
        Self(router.layer(exchange))
    }
}

impl Site for MetricsSite {
    fn answer(
        &self,
        request: Request<Incoming>,
        _: IpAddr,
    ) -> BoxFuture<'static, Result<Response, Infallible>> {
        Box::pin(self.0.clone().call(request))
    }

    fn connection_refused(&self) {}

    fn stop(&self) {}
}

async fn alive() -> Response {
    reply::body(TEXT, "alive\n")
}

async fn ready(State(engine): State<Arc<Engine>>) -> Response {
    match engine.health().ready().await {
        Ok(()) if engine.health().is_saturated() => reply::body(TEXT, "saturated\n"),
        Ok(()) => reply::body(TEXT, "ready\n"),
        Err(NotReady::DiskReserve) => Refusal::DiskReserve.reply(),
        Err(NotReady::StoreFails) => Refusal::NotReady.reply(),
    }
}

async fn metrics(
    State((engine, token)): State<(Arc<Engine>, Option<MetricsToken>)>,
    headers: HeaderMap,
) -> Response {
    if token.is_some_and(|token| !token.matches(&headers)) {
        return Refusal::MetricsTokenInvalid.reply();
    }
    engine.health().note_readiness().await;
    match accepts_open_metrics(&headers) {
        true => reply::body(OPEN_METRICS, engine.health().metrics_text()),
        false => reply::body(PLAIN_METRICS, engine.health().plain_metrics_text()),
    }
}

/// Whether the client names OpenMetrics. Prometheus does; `curl` and `promtool` do not.
fn accepts_open_metrics(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    accepted.flat_map(|value| value.split(',')).any(|it| it.trim().starts_with(OPEN_METRICS_TYPE))
}
