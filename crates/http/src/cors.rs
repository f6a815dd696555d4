//! CORS: which other origins may read our replies in a browser.
//!
//! An app that lists no origins is open to all (`*`, never with credentials). An app that lists
//! origins echoes a listed one; an unlisted one gets the same reply as any client, but its browser
//! may not read it. A preflight needs no token and is answered for unknown keys, too, so that the
//! real request can get its own, readable error. The reply allows the headers that the preflight
//! asks for: tracing and monitoring libraries add theirs to every request, and we ignore unknown
//! ones.

use axum::response::Response;
use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS,
    ACCESS_CONTROL_REQUEST_METHOD, ORIGIN, VARY,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use sluice_engine::AppView;

use crate::reply;

const METHODS: &str = "GET, HEAD, POST";
/// The headers that a preflight allows if it does not ask for any.
const REQUEST_HEADERS: &str =
    "authorization, content-type, idempotency-key, trpc-accept, trpc-batch-mode, x-request-id";
const REPLY_HEADERS: &str =
    "ETag, Idempotency-Replayed, RateLimit, RateLimit-Policy, Retry-After, x-request-id";
/// The longest list of headers that a preflight may ask for, in bytes.
const ASKED_BYTES_MAX: usize = 1024;
/// How long a browser may cache a preflight: a day.
const PREFLIGHT_SECONDS: &str = "86400";

/// Whether the request is a CORS preflight.
pub fn is_preflight(method: &Method, headers: &HeaderMap) -> bool {
    method == Method::OPTIONS && headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
}

/// The answer to a preflight.
pub fn preflight(app: Option<&AppView>, request: &HeaderMap) -> Response {
    let mut response = reply::no_content();
    let headers = response.headers_mut();
    allow_origin(headers, app, request.get(ORIGIN));
    let asked_for = request.get(ACCESS_CONTROL_REQUEST_HEADERS).filter(|list| are_names(list));
    let allowed = asked_for.cloned().unwrap_or(HeaderValue::from_static(REQUEST_HEADERS));
    headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, allowed);
    headers.append(VARY, HeaderValue::from_static("Access-Control-Request-Headers"));
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static(METHODS));
    headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static(PREFLIGHT_SECONDS));
    response
}

/// Whether this is a list of header names, and short enough to echo.
fn are_names(list: &HeaderValue) -> bool {
    let mut names = list.as_bytes().split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
    list.len() <= ASKED_BYTES_MAX && names.all(|name| HeaderName::from_bytes(name).is_ok())
}

/// Sets the CORS headers of a reply, errors included. `app` is absent if the key is unknown.
pub fn mark(response: &mut Response, app: Option<&AppView>, request: &HeaderMap) {
    let headers = response.headers_mut();
    allow_origin(headers, app, request.get(ORIGIN));
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(REPLY_HEADERS));
}

fn allow_origin(headers: &mut HeaderMap, app: Option<&AppView>, origin: Option<&HeaderValue>) {
    let Some(listed) = app.map(|app| &app.allowed_origins).filter(|origins| !origins.is_open())
    else {
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
        return;
    };
    // The reply differs by origin even if this one is not listed.
    headers.append(VARY, HeaderValue::from_static("Origin"));
    if let Some(origin) = origin
        && origin.to_str().is_ok_and(|origin| listed.lists(origin))
    {
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
    }
}
