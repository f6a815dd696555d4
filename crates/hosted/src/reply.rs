//! Every status code of the hosted pages, and how a page is sent: compressed if the browser accepts
//! it, with the headers that isolate it.

use std::io::Write as _;

use axum::body::Body;
use axum::response::Response;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::header::{
    CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY,
    RETRY_AFTER, VARY, WWW_AUTHENTICATE,
};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use maud::Markup;
use sluice_http::negotiate;

const PERMISSIONS_POLICY: HeaderName = HeaderName::from_static("permissions-policy");
/// Browser features that no page needs.
const PERMISSIONS: &str = "camera=(), geolocation=(), microphone=(), payment=(), usb=()";
/// The browser may show a page again with the same form key, but shared caches may not store it.
const PAGE_FRESHNESS: &str = "private, no-cache";
/// Fast, and nearly the best ratio: each page is rendered for one reader.
const LEVEL: u32 = 6;

/// The kind of a page, which decides its status code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Shown,
    /// The form has errors to correct.
    Unfinished,
    /// The caller has not proven who they are.
    Unproven,
    Missing,
    /// The same form was sent before, with different answers.
    Answered,
    /// The invitation no longer accepts an answer.
    Over,
    TooLarge,
    /// Too many sends; seconds until the next is allowed.
    Limited(u64),
    /// The service is unavailable; seconds until a retry.
    Away(u32),
}

impl Kind {
    fn status(self) -> StatusCode {
        match self {
            Self::Shown => StatusCode::OK,
            Self::Unfinished => StatusCode::UNPROCESSABLE_ENTITY,
            Self::Unproven => StatusCode::UNAUTHORIZED,
            Self::Missing => StatusCode::NOT_FOUND,
            Self::Answered => StatusCode::CONFLICT,
            Self::Over => StatusCode::GONE,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Limited(_) => StatusCode::TOO_MANY_REQUESTS,
            Self::Away(_) => StatusCode::SERVICE_UNAVAILABLE,
        }
    }
}

/// A page for the browser that sent this request.
pub(super) fn page(kind: Kind, markup: Markup, policy: &str, request: &HeaderMap) -> Response {
    let text = markup.into_string().into_bytes();
    let compressed = if negotiate::accepts_gzip(request) { gzip(&text) } else { None };
    let is_compressed = compressed.is_some();
    let mut response = Response::new(Body::from(compressed.unwrap_or(text)));
    *response.status_mut() = kind.status();
    let headers = response.headers_mut();
    for (name, value) in [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (CACHE_CONTROL, PAGE_FRESHNESS),
        (VARY, "Accept-Encoding, Accept-Language, Authorization, Sluice-Script"),
        (REFERRER_POLICY, "strict-origin-when-cross-origin"),
        (PERMISSIONS_POLICY, PERMISSIONS),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    // A policy consists of hashes and origins, which are visible ASCII.
    if let Ok(policy) = HeaderValue::from_str(policy) {
        headers.insert(CONTENT_SECURITY_POLICY, policy);
    }
    if is_compressed {
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    match kind {
        Kind::Limited(seconds) => headers.insert(RETRY_AFTER, seconds.into()),
        Kind::Away(seconds) => headers.insert(RETRY_AFTER, seconds.into()),
        Kind::Unproven => headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer")),
        _ => None,
    };
    response
}

/// Done, without a body.
pub(super) fn no_content() -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// A file that may change under its name: browsers ask again after an hour.
pub(super) fn for_an_hour(mut file: Response) -> Response {
    let freshness = HeaderValue::from_static("public, max-age=3600");
    file.headers_mut().insert(CACHE_CONTROL, freshness);
    file
}

fn gzip(text: &[u8]) -> Option<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(text.len() / 3), Compression::new(LEVEL));
    encoder.write_all(text).ok()?;
    encoder.finish().ok()
}
