//! The reads of the public API: resolve a flow, fetch a version, and the JSON Schema of a
//! submission to it.
//!
//! Bodies are rendered, hashed and compressed when they are loaded; here only the encoding is
//! chosen. A resolved flow may be cached for a few seconds, but never past the next edge of its
//! live window. A snapshot never changes and may be cached permanently.

use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Extension, Request, State};
use axum::response::Response;
use axum::routing::get;
use http::header::{CACHE_CONTROL, CONTENT_ENCODING, ETAG, VARY};
use http::request::Parts;
use http::{HeaderMap, HeaderValue};
use sluice_engine::{AppView, EncodedBody, Engine, Limited, NoFlow, Resolved, StoreError};
use sluice_flow::payload::Generation;
use sluice_http::access::{AccessCheck, key_and_rest, needs_token};
use sluice_http::client::Peer;
use sluice_http::rate::AddressLimit;
use sluice_http::reply::{self, Refusal};
use sluice_http::{Limits, cors, negotiate, path_segment, query, store_down};

/// How long a resolved flow may be cached at most, in seconds: all clients see a publish within
/// that time.
const RESOLVED_SECONDS_MAX: i64 = 5;
/// How long a snapshot may be cached: a year, the longest that caches respect.
const SNAPSHOT_SECONDS: &str = "max-age=31536000, immutable";

/// How long a schema may be cached, in seconds: a newer server may describe the same rules better.
const SCHEMA_SECONDS: u32 = 3600;

const JSON: &str = "application/json";

/// The route templates.
pub const FLOW: &str = "/api/v1/{apiKey}/flows/{flowId}";
pub const VERSION: &str = "/api/v1/{apiKey}/flow_versions/{flowVersionId}";
const SCHEMA: &str = "/api/v1/{apiKey}/flow_versions/{flowVersionId}/schema";

/// The state of the public API outside tRPC: the engine, and its limits.
pub struct PublicReads {
    pub engine: Arc<Engine>,
    pub(crate) limits: Limits,
    pub(crate) addresses: Arc<AddressLimit>,
}

impl std::fmt::Debug for PublicReads {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PublicReads").finish_non_exhaustive()
    }
}

impl PublicReads {
    pub fn new(engine: Arc<Engine>, limits: Limits, addresses: Arc<AddressLimit>) -> Self {
        Self { engine, limits, addresses }
    }
}

/// The peer, if the accept loop set it.
pub(crate) type PeerExtension = Option<Extension<Peer>>;

fn address(from: &PeerExtension) -> Option<IpAddr> {
    from.as_ref().map(|Extension(Peer(address))| *address)
}

pub fn router(reads: Arc<PublicReads>) -> Router {
    let flow = get(resolve).options(preflight).fallback(method_not_allowed);
    let version = get(snapshot).options(preflight).fallback(method_not_allowed);
    let schema = get(schema).options(preflight).fallback(method_not_allowed);
    Router::new()
        .route(FLOW, flow)
        .route(VERSION, version)
        .route(SCHEMA, schema)
        .fallback(no_route)
        .with_state(reads)
}

async fn resolve(
    State(reads): State<Arc<PublicReads>>,
    from: PeerExtension,
    request: Request,
) -> Response {
    resolved(&reads, address(&from), request).await
}

async fn snapshot(
    State(reads): State<Arc<PublicReads>>,
    from: PeerExtension,
    request: Request,
) -> Response {
    snapshot_of(&reads, address(&from), request).await
}

pub async fn resolved(reads: &PublicReads, peer: Option<IpAddr>, request: Request) -> Response {
    answer(reads, peer, &request_head(request), async |app, head| {
        let id = last_segment(head);
        let resolved = reads.engine.resolve(app, &id).await.map_err(unread)?;
        let resolved = resolved.map_err(|no_flow| match no_flow {
            NoFlow::NotFound => Refusal::FlowNotFound,
            NoFlow::NotPublished => Refusal::FlowNotPublished,
        })?;
        let freshness = match max_age_seconds(&resolved) {
            0 => "no-cache".to_owned(),
            seconds => format!("{}, max-age={seconds}", audience(app)),
        };
        Ok(document(&resolved.served, JSON, &freshness, &head.headers))
    })
    .await
}

pub async fn snapshot_of(reads: &PublicReads, peer: Option<IpAddr>, request: Request) -> Response {
    answer(reads, peer, &request_head(request), async |app, head| {
        let found = reads.engine.snapshot(app, &last_segment(head), generation(head)?).await;
        let served = found.map_err(unread)?.ok_or(Refusal::FlowVersionNotFound)?;
        let freshness = format!("{}, {SNAPSHOT_SECONDS}", audience(app));
        Ok(document(&served, JSON, &freshness, &head.headers))
    })
    .await
}

async fn schema(
    State(reads): State<Arc<PublicReads>>,
    from: PeerExtension,
    request: Request,
) -> Response {
    answer(&reads, address(&from), &request_head(request), async |app, head| {
        let path = head.uri.path();
        let version = path_segment::decoded(path.rsplit('/').nth(1).unwrap_or_default());
        let found = reads.engine.submission_schema(app, &version, generation(head)?).await;
        let served = found.map_err(unread)?.ok_or(Refusal::FlowVersionNotFound)?;
        let freshness = format!("{}, max-age={SCHEMA_SECONDS}", audience(app));
        Ok(document(&served, "application/schema+json", &freshness, &head.headers))
    })
    .await
}

/// The payload generation that a client asks for.
fn generation(head: &Parts) -> Result<Generation, Refusal> {
    let name = query::first(head.uri.query(), "payload").ok_or(Refusal::GenerationRequired)?;
    Generation::named(&name).ok_or(Refusal::GenerationUnsupported)
}

pub(crate) async fn preflight(
    State(reads): State<Arc<PublicReads>>,
    from: PeerExtension,
    request: Request,
) -> Response {
    let head = request_head(request);
    if let Err(limited) = reads.addresses.admit_read(&reads.engine, address(&from), &head.headers) {
        return refused_by_address(limited, &head.headers);
    }
    let (key, _) = key_and_rest(head.uri.path());
    let entry = AccessCheck::run_for_key(&reads.engine, &key).await;
    cors::preflight(entry.known_app(), &head.headers)
}

pub(crate) async fn method_not_allowed(
    State(reads): State<Arc<PublicReads>>,
    from: PeerExtension,
    request: Request,
) -> Response {
    let head = request_head(request);
    answer(&reads, address(&from), &head, async |_, _| Err(Refusal::MethodNotAllowed)).await
}

/// Requests that match no route. Below a key, the CORS headers are those of the app.
async fn no_route(
    State(reads): State<Arc<PublicReads>>,
    from: PeerExtension,
    request: Request,
) -> Response {
    let head = request_head(request);
    let engine = &reads.engine;
    let (key, _) = key_and_rest(head.uri.path());
    if key.is_empty() {
        return Refusal::RouteNotFound.reply();
    }
    if let Err(limited) = reads.addresses.admit_read(engine, address(&from), &head.headers) {
        return refused_by_address(limited, &head.headers);
    }
    if cors::is_preflight(&head.method, &head.headers) {
        let entry = AccessCheck::run_for_key(engine, &key).await;
        return cors::preflight(entry.known_app(), &head.headers);
    }
    let entry = AccessCheck::run(engine, &key, &head.headers).await;
    let refusal = entry.denied_by_token().map_or(Refusal::RouteNotFound, Refusal::from);
    let mut response = refusal.reply();
    cors::mark(&mut response, entry.known_app(), &head.headers);
    response
}

/// Checks access, runs the handler and sets the CORS headers.
pub(crate) async fn answer(
    reads: &PublicReads,
    peer: Option<IpAddr>,
    head: &Parts,
    handler: impl AsyncFnOnce(&AppView, &Parts) -> Result<Response, Refusal>,
) -> Response {
    let engine = &reads.engine;
    if let Err(limited) = reads.addresses.admit_read(engine, peer, &head.headers) {
        return refused_by_address(limited, &head.headers);
    }
    let (key, _) = key_and_rest(head.uri.path());
    let entry = AccessCheck::run(engine, &key, &head.headers).await;
    let result = match entry.app() {
        Ok(app) => match engine.admit_calls(app, 1) {
            Ok(()) => handler(app, head).await,
            Err(limited) => Err(Refusal::RateLimited(limited)),
        },
        Err(denied) => Err(denied.into()),
    };
    let mut response = result.unwrap_or_else(Refusal::reply);
    cors::mark(&mut response, entry.known_app(), &head.headers);
    response
}

/// A refusal before the key was looked up, so any origin may read it.
fn refused_by_address(limited: Limited, request: &HeaderMap) -> Response {
    let mut response = Refusal::RateLimited(limited).reply();
    cors::mark(&mut response, None, request);
    response
}

/// The body in an encoding that the client accepts, or 304 if the client has it already.
fn document(
    served: &EncodedBody,
    media_type: &'static str,
    freshness: &str,
    request: &HeaderMap,
) -> Response {
    let gzip = served.gzip.as_ref().filter(|_| negotiate::accepts_gzip(request));
    let etag = if gzip.is_some() { &served.gzip_etag } else { &served.etag };
    let mut response = if negotiate::matches_etag(request, etag) {
        reply::not_modified()
    } else {
        let body = gzip.unwrap_or(&served.body).clone();
        let mut response = reply::body(media_type, Body::from(body));
        if gzip.is_some() {
            response.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        response
    };
    let headers = response.headers_mut();
    headers.insert(VARY, HeaderValue::from_static("Accept-Encoding"));
    for (name, value) in [(ETAG, etag.as_str()), (CACHE_CONTROL, freshness)] {
        // Entity tags and cache rules are visible ASCII.
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(name, value);
        }
    }
    response
}

/// Who may cache a reply: everyone, or only the holder of the token.
fn audience(app: &AppView) -> &'static str {
    if needs_token(app) { "private" } else { "public" }
}

/// For how many whole seconds a resolved flow stays valid, so that no cache outlives the edge of a
/// window.
fn max_age_seconds(resolved: &Resolved) -> i64 {
    let to_edge = |edge: sluice_flow::time::Timestamp| {
        (edge.as_millis() - resolved.now.as_millis()).div_euclid(1000).max(0)
    };
    resolved.valid_until.map_or(RESOLVED_SECONDS_MAX, to_edge).min(RESOLVED_SECONDS_MAX)
}

fn last_segment(head: &Parts) -> Cow<'_, str> {
    path_segment::decoded(head.uri.path().rsplit('/').next().unwrap_or_default())
}

fn request_head(request: Request) -> Parts {
    request.into_parts().0
}

fn unread(error: StoreError) -> Refusal {
    store_down(&error, "cannot read a flow");
    Refusal::StoreDown
}
