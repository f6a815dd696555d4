//! Replies with their headers: pages load nothing from other origins.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};

const POLICY: &str = "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; \
                      form-action 'self'; frame-ancestors 'none'; script-src 'self'";

pub(crate) fn missing(page: String) -> Response {
    (StatusCode::NOT_FOUND, html(page)).into_response()
}

pub(crate) fn html(page: String) -> Response {
    guarded(Html(page))
}

pub(crate) fn typed(kind: &'static str, body: impl IntoResponse) -> Response {
    guarded(([(header::CONTENT_TYPE, HeaderValue::from_static(kind))], body))
}

fn guarded(body: impl IntoResponse) -> Response {
    let headers = [
        (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
        // A new release may change the content at the same address.
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
    ];
    (headers, body).into_response()
}
