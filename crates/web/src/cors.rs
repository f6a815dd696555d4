//! What browsers are told about reading our replies from other origins.
//!
//! An app that lists no origins is open to all (`*`, never with credentials). One that lists them has a
//! listed origin echoed; an unlisted one is answered like any client, but its browser may not read the
//! answer. A preflight needs no token and is answered for unknown keys, too, so that the real request can
//! meet its own, readable error.

use axum::response::Response;
use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD, ORIGIN,
    VARY,
};
use http::{HeaderMap, HeaderValue, Method};
use sluice_engine::AppView;

use crate::reply;

const METHODS: &str = "GET, HEAD, POST";
const REQUEST_HEADERS: &str =
    "authorization, content-type, idempotency-key, trpc-accept, trpc-batch-mode, x-request-id";
const REPLY_HEADERS: &str = "ETag, Idempotency-Replayed, Retry-After, x-request-id";
/// How long a browser may remember a preflight: a day.
const PREFLIGHT_SECONDS: &str = "86400";

/// Whether a browser asks for leave to send the request that it names.
pub(crate) fn is_preflight(method: &Method, headers: &HeaderMap) -> bool {
    method == Method::OPTIONS && headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
}

/// The answer to a preflight.
pub(crate) fn preflight(app: Option<&AppView>, request: &HeaderMap) -> Response {
    let mut response = reply::no_content();
    let headers = response.headers_mut();
    allow_origin(headers, app, request.get(ORIGIN));
    for (name, value) in [
        (ACCESS_CONTROL_ALLOW_METHODS, METHODS),
        (ACCESS_CONTROL_ALLOW_HEADERS, REQUEST_HEADERS),
        (ACCESS_CONTROL_MAX_AGE, PREFLIGHT_SECONDS),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

/// Marks a reply, errors included. `app` is absent where the key is unknown.
pub(crate) fn mark(response: &mut Response, app: Option<&AppView>, request: &HeaderMap) {
    let headers = response.headers_mut();
    allow_origin(headers, app, request.get(ORIGIN));
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(REPLY_HEADERS));
}

fn allow_origin(headers: &mut HeaderMap, app: Option<&AppView>, origin: Option<&HeaderValue>) {
    let listed = app.map(|app| app.allowed_origins.as_slice()).unwrap_or_default();
    if listed.is_empty() {
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
        return;
    }
    // The reply differs by origin even where this one is not listed.
    headers.append(VARY, HeaderValue::from_static("Origin"));
    if let Some(origin) = origin
        && listed.iter().any(|allowed| allowed.as_bytes() == origin.as_bytes())
    {
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
    }
}
