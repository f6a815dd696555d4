//! `POST /visits`: clients that show a flow themselves report what their visitors do, so that the
//! funnel includes them. Only numbers are stored; the call needs no identity.

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::response::Response;
use axum::routing::post;
use http::request::Parts;
use sluice_engine::VisitRefused;
use sluice_flow::visit::{BODY_BYTES_MAX, Visit};
use sluice_http::body::{self, BodyError};
use sluice_http::client::Peer;
use sluice_http::rate::Sender;
use sluice_http::reply::{self, Refusal};
use sluice_http::{Limits, store_down};

use crate::public::{PublicReads, answer, method_not_allowed, preflight};

/// The route template.
pub const VISITS: &str = "/api/v1/{apiKey}/visits";

pub fn router(reads: Arc<PublicReads>) -> Router {
    let visits = post(count).options(preflight).fallback(method_not_allowed);
    Router::new().route(VISITS, visits).with_state(reads)
}

async fn count(State(reads): State<Arc<PublicReads>>, request: Request) -> Response {
    let peer = request.extensions().get::<Peer>().map(|peer| peer.0);
    let (head, body) = request.into_parts();
    let sender = reads.addresses.sender(peer, &head.headers);
    answer(&reads, peer, &head, async |app, head| {
        let body = read(&reads, sender, head, body).await?;
        let visit = Visit::parse(&body).map_err(Refusal::VisitInvalid)?;
        let counted = reads.engine.count_visit(app, &visit).await.map_err(|error| {
            store_down(&error, "cannot read a version");
            Refusal::StoreDown
        })?;
        match counted {
            Ok(()) => Ok(reply::no_content()),
            Err(VisitRefused::VersionNotFound) => Err(Refusal::FlowVersionNotFound),
            Err(VisitRefused::Fault(fault)) => Err(Refusal::VisitInvalid(fault)),
        }
    })
    .await
}

async fn read(
    reads: &PublicReads,
    sender: Sender,
    head: &Parts,
    body: Body,
) -> Result<Bytes, Refusal> {
    let body_bytes_max = reads.limits.body_bytes_max.min(BODY_BYTES_MAX);
    let limits = Limits { body_bytes_max, ..reads.limits };
    let body = body::read_from(sender, &head.headers, body, &limits).await;
    let body = body.map_err(|error| match error {
        BodyError::TooLarge => Refusal::VisitTooLarge,
        BodyError::TooSlow | BodyError::Broken => Refusal::VisitUnread,
        BodyError::NoMemory => Refusal::TimedOut,
    })?;
    let admitted = reads.addresses.admit_bytes(&reads.engine, sender, body.len() as u64);
    admitted.map_err(Refusal::RateLimited)?;
    Ok(body)
}
