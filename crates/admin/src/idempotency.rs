//! `Idempotency-Key` on every POST: a request that is sent again is carried out once, and gets the
//! first reply again.
//!
//! One layer around all routes, so that no handler knows about keys. A request with a key is
//! carried out to its end in a separate task, even if its client goes away: that is when it will be
//! repeated.
//!
//! Other methods ignore the header: they are safe to repeat anyway.

use std::sync::Arc;

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use sluice_engine::admin_requests::{Claimed, RequestClaim, StoredReply};
use sluice_engine::idempotency::IdempotencyKey;
use sluice_engine::invitation_files::FILE_BYTES_MAX;
use sluice_engine::{AdminError, Engine, StoreError};
use sluice_http::upload;
use tracing::Instrument as _;

use super::auth::{self, Caller};
use super::reply::{self, Refused};

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// The headers of a reply that are repeated with it; the others belong to the exchange.
const KEPT_HEADERS: [HeaderName; 4] =
    [header::CONTENT_TYPE, header::CONTENT_DISPOSITION, header::ETAG, header::LOCATION];

/// The headers that distinguish one request from another.
const TELLING_HEADERS: [HeaderName; 2] = [header::CONTENT_TYPE, header::IF_MATCH];

pub(super) async fn carried_out_once(
    State(engine): State<Arc<Engine>>,
    request: Request,
    next: Next,
) -> Response {
    let key = match key_of(request.method(), request.headers()) {
        Ok(Some(key)) => key,
        Ok(None) => return next.run(request).await,
        Err(refused) => return refused.into_response(),
    };
    keyed(&engine, &key, request, next).await.unwrap_or_else(Refused::into_response)
}

fn key_of(method: &Method, headers: &HeaderMap) -> Result<Option<IdempotencyKey>, Refused> {
    if *method != Method::POST {
        return Ok(None);
    }
    let mut keys = headers.get_all(IDEMPOTENCY_KEY).iter();
    match (keys.next(), keys.next()) {
        (None, _) => Ok(None),
        (Some(key), None) => match IdempotencyKey::parse(key.as_bytes()) {
            Ok(key) => Ok(Some(key)),
            Err(_) => Err(Refused::KeyInvalid),
        },
        (Some(_), Some(_)) => Err(Refused::KeyInvalid),
    }
}

async fn keyed(
    engine: &Engine,
    key: &IdempotencyKey,
    request: Request,
    next: Next,
) -> Result<Response, Refused> {
    let (head, body) = request.into_parts();
    // The largest body that any operation takes; each of them has its own limit.
    let bytes = upload::read(&head, body, FILE_BYTES_MAX).await?;
    let claimed = {
        let caller = head.extensions.get::<Caller>().ok_or(Refused::TokenMissing)?;
        let secret = auth::bearer(&head.headers).ok_or(Refused::TokenMissing)?;
        let parts = fingerprint(&head, &bytes);
        engine.requests().claim(&caller.0, secret, key, &parts).await.map_err(AdminError::Store)?
    };
    match claimed {
        Claimed::New(claim) => {
            let request = Request::from_parts(head, Body::from(bytes));
            let work = carried_out(claim, request, next).in_current_span();
            match tokio::spawn(work).await {
                Ok(response) => Ok(response),
                Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
                Err(error) => Err(AdminError::Store(StoreError::Failed(Box::new(error))).into()),
            }
        }
        Claimed::Replay(stored) => Ok(reply::replayed(stored)),
        Claimed::InProgress => Err(Refused::InProgress),
        Claimed::Reused => Err(Refused::KeyReused),
        Claimed::ReplyLost { at } => Err(Refused::ReplyLost(at)),
        Claimed::TooMany => Err(Refused::TooManyKeys),
    }
}

/// What makes two requests the same.
fn fingerprint<'r>(head: &'r Parts, body: &'r Bytes) -> Vec<&'r [u8]> {
    let uri = head.uri.path_and_query().map_or("", |it| it.as_str());
    let mut parts = vec![head.method.as_str().as_bytes(), uri.as_bytes(), body];
    for name in TELLING_HEADERS {
        parts.push(head.headers.get(name).map_or(&[], |value| value.as_bytes()));
    }
    parts
}

async fn carried_out(claim: RequestClaim, request: Request, next: Next) -> Response {
    let response = claim.scope().run(next.run(request)).await;
    let (head, body) = response.into_parts();
    // Replies of these operations are in memory.
    let Ok(bytes) = to_bytes(body, usize::MAX).await else {
        note(claim.give_up().await);
        let error = StoreError::Failed("a reply could not be read".into());
        return Refused::from(AdminError::Store(error)).into_response();
    };
    if reply::stands(head.status, claim.was_applied()) {
        let kept = KEPT_HEADERS.iter().filter_map(|name| {
            let value = head.headers.get(name)?.to_str().ok()?;
            Some((name.as_str().to_owned(), value.to_owned()))
        });
        let (status, headers) = (head.status.as_u16(), kept.collect());
        note(claim.finish(&StoredReply { status, headers, body: bytes.clone() }).await);
    } else {
        note(claim.give_up().await);
    }
    Response::from_parts(head, Body::from(bytes))
}

/// The client gets its reply even if it was not stored. Without the stored reply, a repetition is
/// refused for a while, and never carried out twice.
fn note(recorded: Result<(), StoreError>) {
    if let Err(error) = recorded {
        let source = std::error::Error::source(&error).map(ToString::to_string);
        tracing::warn!(%error, source, "the reply to a request with an Idempotency-Key is not stored");
    }
}
