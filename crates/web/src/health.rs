//! For operators: alive, ready, and how it is going.
//!
//! `/healthz` says that the process answers, no more, so that a store which is away does not get the
//! process restarted; `/readyz` says whether a submission could be stored.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use sluice_engine::Engine;

use crate::reply::{self, Refusal};

const TEXT: &str = "text/plain; charset=utf-8";
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

pub(crate) fn router(engine: Arc<Engine>) -> Router {
    Router::new()
        .route("/healthz", get(async || reply::body(TEXT, "alive\n")))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
        .with_state(engine)
}

async fn ready(State(engine): State<Arc<Engine>>) -> Response {
    match engine.ready().await {
        Ok(()) => reply::body(TEXT, "ready\n"),
        Err(error) => {
            let source = std::error::Error::source(&error).map(ToString::to_string);
            tracing::warn!(%error, source, "not ready");
            Refusal::NotReady.reply()
        }
    }
}

async fn metrics(State(engine): State<Arc<Engine>>) -> Response {
    reply::body(OPEN_METRICS, engine.metrics().render())
}
