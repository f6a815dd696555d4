//! Every status code outside tRPC, and the one error format: `application/problem+json` (RFC 9457).
//!
//! A refusal names what happened; a single match maps it to HTTP. A problem's `type` is a URN of
//! its `code`, since no page could explain more than `detail` does.

use std::borrow::Cow;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::header::{
    CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, LOCATION,
    RETRY_AFTER, VARY, WWW_AUTHENTICATE,
};
use http::{HeaderMap, HeaderValue, StatusCode};
use percent_encoding::{CONTROLS, utf8_percent_encode};
use serde::Serialize;
use sluice_engine::verify::TokenRefused;
use sluice_engine::{EncodedBody, Limited};
use sluice_flow::payload::Generation;
use sluice_flow::visit::{BODY_BYTES_MAX, VisitFault};

use crate::access::AccessDenied;
use crate::exchange::{Failure, RefusalCode};
use crate::{negotiate, rate};

/// The number of headers that a reply reserves room for; most have fewer.
pub const HEADERS_USUAL: usize = 12;

/// When a client may retry after we could not serve it, in seconds.
const RETRY_AFTER_SECONDS: &str = "2";

/// Every reason for refusing a request outside tRPC and the admin API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    ApiKeyInvalid,
    TokenMissing,
    TokenInvalid,
    TokenExpired,
    KeysUnavailable,
    FlowNotFound,
    FlowNotPublished,
    FlowVersionNotFound,
    GenerationRequired,
    GenerationUnsupported,
    VisitInvalid(VisitFault),
    VisitTooLarge,
    VisitUnread,
    MetricsTokenInvalid,
    RouteNotFound,
    /// The path of the public URL is missing.
    OutsidePath,
    MethodNotAllowed,
    StoreDown,
    NotReady,
    DiskReserve,
    TimedOut,
    Crashed,
    RateLimited(Limited),
}

impl Refusal {
    pub fn reply(self) -> Response {
        let (code, title) = self.name();
        let mut response = problem(self.status(), code, title, &self.detail());
        let (name, value) = match self {
            Self::ApiKeyInvalid
            | Self::TokenMissing
            | Self::TokenInvalid
            | Self::TokenExpired
            | Self::MetricsTokenInvalid => (WWW_AUTHENTICATE, "Bearer"),
            Self::StoreDown
            | Self::KeysUnavailable
            | Self::NotReady
            | Self::DiskReserve
            | Self::TimedOut => (RETRY_AFTER, RETRY_AFTER_SECONDS),
            Self::RateLimited(limited) => {
                rate::mark(response.headers_mut(), &limited);
                return response;
            }
            _ => return response,
        };
        response.headers_mut().insert(name, HeaderValue::from_static(value));
        response
    }

    fn status(self) -> StatusCode {
        match self {
            Self::GenerationRequired
            | Self::GenerationUnsupported
            | Self::VisitInvalid(_)
            | Self::VisitUnread => StatusCode::BAD_REQUEST,
            Self::VisitTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::ApiKeyInvalid
            | Self::TokenMissing
            | Self::TokenInvalid
            | Self::TokenExpired
            | Self::MetricsTokenInvalid => StatusCode::UNAUTHORIZED,
            Self::FlowNotFound
            | Self::FlowNotPublished
            | Self::FlowVersionNotFound
            | Self::RouteNotFound
            | Self::OutsidePath => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::Crashed => StatusCode::INTERNAL_SERVER_ERROR,
            Self::StoreDown
            | Self::KeysUnavailable
            | Self::NotReady
            | Self::DiskReserve
            | Self::TimedOut => StatusCode::SERVICE_UNAVAILABLE,
            Self::RateLimited(_) => StatusCode::TOO_MANY_REQUESTS,
        }
    }

    /// The code and the title.
    fn name(self) -> (&'static str, &'static str) {
        match self {
            Self::ApiKeyInvalid => ("api_key_invalid", "API key invalid"),
            Self::TokenMissing => ("token_missing", "Access token missing"),
            Self::TokenInvalid => ("token_invalid", "Access token invalid"),
            Self::TokenExpired => ("token_expired", "Access token expired"),
            Self::KeysUnavailable => ("identity_keys_unavailable", "Service unavailable"),
            Self::FlowNotFound => ("flow_not_found", "Flow not found"),
            Self::FlowNotPublished => ("flow_not_published", "Flow not published"),
            Self::FlowVersionNotFound => ("flow_version_not_found", "Flow version not found"),
            Self::GenerationRequired => {
                ("payload_generation_required", "Payload generation required")
            }
            Self::GenerationUnsupported => {
                ("payload_generation_unsupported", "Payload generation unsupported")
            }
            Self::VisitInvalid(fault) if fault.is_unknown_question => {
                ("unknown_question", "Unknown question")
            }
            Self::VisitInvalid(_) => ("visit_invalid", "Visit invalid"),
            Self::VisitTooLarge => ("payload_too_large", "Payload too large"),
            Self::VisitUnread => ("body_unreadable", "Body unreadable"),
            Self::MetricsTokenInvalid => ("metrics_token_invalid", "Metrics token invalid"),
            Self::RouteNotFound | Self::OutsidePath => ("route_not_found", "Not found"),
            Self::MethodNotAllowed => ("method_not_allowed", "Method not allowed"),
            Self::StoreDown => ("store_unavailable", "Service unavailable"),
            Self::NotReady => ("not_ready", "Not ready"),
            Self::DiskReserve => ("disk_reserve", "Not ready"),
            Self::TimedOut => ("timed_out", "Timed out"),
            Self::Crashed => ("internal_error", "Internal error"),
            Self::RateLimited(_) => ("rate_limited", "Too many requests"),
        }
    }

    fn detail(self) -> Cow<'static, str> {
        let text = match self {
            Self::ApiKeyInvalid => "The API key in the path is unknown or revoked.",
            Self::TokenMissing => {
                "This app verifies identities: send Authorization: Bearer with an access token."
            }
            Self::TokenInvalid => {
                "The access token is not valid for this app. The app's operator can see why it was \
                 refused in the counts of its identity verification."
            }
            Self::TokenExpired => "The access token has expired. Get a new one and try again.",
            Self::KeysUnavailable => {
                "The keys for access tokens are unavailable now. Try again shortly."
            }
            Self::FlowNotFound => "This app has no such flow, or it is archived.",
            Self::FlowNotPublished => "This flow has no published version at the moment.",
            Self::FlowVersionNotFound => {
                "This app has no such published version, or it is no longer available."
            }
            Self::GenerationRequired => {
                return format!("Add the query parameter payload={}.", generations()).into();
            }
            Self::GenerationUnsupported => {
                return format!("Versions are served with payload={}.", generations()).into();
            }
            Self::VisitInvalid(fault) => return fault.to_string().into(),
            Self::VisitTooLarge => {
                return format!("Send at most {} KiB at once.", BODY_BYTES_MAX / 1024).into();
            }
            Self::VisitUnread => "The body did not arrive completely. Nothing was counted.",
            Self::MetricsTokenInvalid => {
                "Send Authorization: Bearer with the token that the server has in SLUICE_METRICS_TOKEN."
            }
            Self::RouteNotFound => "There is nothing at this path.",
            Self::OutsidePath => {
                "There is nothing at this path: the public URL of this server has a path, and \
                 everything is below it. A proxy must pass the path on unchanged."
            }
            Self::MethodNotAllowed => {
                "This path does not take this method; the Allow header lists those it takes."
            }
            Self::StoreDown => "The service cannot reach its store. Try again shortly.",
            Self::NotReady => "The service cannot store responses now.",
            Self::DiskReserve => {
                "The disk has less free space than the reserve, or another program holds the log of the database at its limit, so submissions are refused. Free some space, or end that program's transaction."
            }
            Self::TimedOut => "The service took too long to answer. Try again shortly.",
            Self::Crashed => {
                "Something went wrong on our side; the request id names this event in our log."
            }
            Self::RateLimited(limited) => rate::message(&limited),
        };
        Cow::Borrowed(text)
    }
}

fn generations() -> String {
    Generation::ALL.iter().map(|generation| generation.as_str()).collect::<Vec<_>>().join(" or ")
}

impl From<AccessDenied> for Refusal {
    fn from(denied: AccessDenied) -> Self {
        match denied {
            AccessDenied::UnknownKey => Self::ApiKeyInvalid,
            AccessDenied::Token(TokenRefused::Missing) => Self::TokenMissing,
            AccessDenied::Token(TokenRefused::Invalid) => Self::TokenInvalid,
            AccessDenied::Token(TokenRefused::Expired) => Self::TokenExpired,
            AccessDenied::Token(TokenRefused::Unavailable) => Self::KeysUnavailable,
            AccessDenied::StoreDown => Self::StoreDown,
        }
    }
}

/// The reply to a request whose handler panicked or timed out.
pub fn failed(failure: Failure) -> Response {
    match failure {
        Failure::Panicked => Refusal::Crashed.reply(),
        Failure::TimedOut => Refusal::TimedOut.reply(),
    }
}

/// An error reply; it is never cached.
pub fn problem(
    status: StatusCode,
    code: &'static str,
    title: &'static str,
    detail: &str,
) -> Response {
    let status_number = status.as_u16();
    let kind = format!("urn:sluice:problem:{code}");
    let body = Problem { kind, title, status: status_number, detail, code };
    // Strings and a number always serialise.
    let bytes = serde_json::to_vec(&body).unwrap_or_default();
    let mut response = (status, bytes).into_response();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response.extensions_mut().insert(RefusalCode(code));
    response
}

#[derive(Serialize)]
struct Problem<'a> {
    #[serde(rename = "type")]
    kind: String,
    title: &'static str,
    status: u16,
    detail: &'a str,
    code: &'static str,
}

/// A reply without a body.
pub fn no_content() -> Response {
    StatusCode::NO_CONTENT.into_response()
}

/// Redirects after a form was processed, to a page that can be reloaded. Everything but visible
/// ASCII is escaped in the address.
pub fn see_other(address: &str) -> Response {
    let address = utf8_percent_encode(address, CONTROLS).to_string();
    let mut response = StatusCode::SEE_OTHER.into_response();
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if let Ok(address) = HeaderValue::try_from(address) {
        headers.insert(LOCATION, address);
    }
    response
}

/// The client's copy is still current.
pub fn not_modified() -> Response {
    StatusCode::NOT_MODIFIED.into_response()
}

/// A body of this media type.
pub fn body(content_type: &'static str, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    response.headers_mut().reserve(HEADERS_USUAL);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

/// A file that never changes under its name.
pub fn file(content_type: &'static str, served: &EncodedBody, request: &HeaderMap) -> Response {
    let gzip = served.gzip.as_ref().filter(|_| negotiate::accepts_gzip(request));
    let etag = if gzip.is_some() { &served.gzip_etag } else { &served.etag };
    let is_there = negotiate::matches_etag(request, etag);
    let body =
        if is_there { Body::empty() } else { Body::from(gzip.unwrap_or(&served.body).clone()) };
    let mut response = Response::new(body);
    if is_there {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    }
    let headers = response.headers_mut();
    for (name, value) in [
        (CONTENT_TYPE, content_type),
        (CACHE_CONTROL, "public, max-age=31536000, immutable"),
        (VARY, "Accept-Encoding"),
        // An image may contain a script, which would run if the image is opened on its own.
        (CONTENT_SECURITY_POLICY, "default-src 'none'; sandbox"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if gzip.is_some() {
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    if let Ok(etag) = HeaderValue::from_str(etag) {
        headers.insert(ETAG, etag);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handler_that_fails_is_a_server_error() {
        assert_eq!(failed(Failure::Panicked).status(), StatusCode::INTERNAL_SERVER_ERROR);
        let timed_out = failed(Failure::TimedOut);
        assert_eq!(timed_out.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert!(timed_out.headers().contains_key(RETRY_AFTER));
    }
}
