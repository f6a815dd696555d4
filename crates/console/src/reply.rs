//! Every status code of the console, and how a page is sent.
//!
//! One match maps refusals of the engine to pages that say what happened and what to do. Console
//! pages are not cached or framed, and the content security policy allows only resources that we
//! serve.

use std::convert::Infallible;
use std::io::Write as _;

use axum::body::Body;
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse, Response};
use flate2::Compression;
use flate2::write::GzEncoder;
use futures_util::Stream;
use http::header::{
    CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE,
    REFERRER_POLICY, REFRESH, RETRY_AFTER, SET_COOKIE, VARY,
};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use maud::{Markup, html};
use serde::Serialize;
use sluice_engine::{AdminError, StoreError};
use sluice_flow::definition::Fault;
use sluice_http::body::BodyError;
use sluice_http::exchange::Failure;
use sluice_http::reply;

use super::addresses;
use super::document;
use super::oidc::not_signed_in::NotSignedIn;
use super::parts::counted;
use super::parts::fault;

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
     connect-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
const FILE_POLICY: &str = "default-src 'none'; sandbox";
/// Disables buffering of events in a proxy.
const X_ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");
const X_ROBOTS_TAG: HeaderName = HeaderName::from_static("x-robots-tag");
const X_FRAME_OPTIONS: HeaderName = HeaderName::from_static("x-frame-options");
/// Fast, and nearly the best ratio: each page is rendered for one reader.
const LEVEL: u32 = 5;
/// When to retry after we could not serve it, in seconds.
const RETRY_AFTER_SECONDS: &str = "2";
/// When a page with progress reloads itself, in seconds.
const RELOAD_SECONDS: &str = "2";
/// After this many seconds another page may have been closed.
const WATCH_RETRY_SECONDS: u64 = 60;

/// The kind of a page, which decides its status code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Shown,
    /// The form has errors to correct.
    Unfinished,
    SignedOut,
    Forbidden,
    Missing,
    Conflict,
    TooLarge,
    WrongMethod,
    /// Too many attempts; seconds until the next is allowed.
    Limited(u64),
    Away,
    Failed,
}

impl Kind {
    fn status(self) -> StatusCode {
        match self {
            Self::Shown => StatusCode::OK,
            Self::Unfinished => StatusCode::UNPROCESSABLE_ENTITY,
            Self::SignedOut => StatusCode::UNAUTHORIZED,
            Self::Forbidden => StatusCode::FORBIDDEN,
            Self::Missing => StatusCode::NOT_FOUND,
            Self::Conflict => StatusCode::CONFLICT,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::WrongMethod => StatusCode::METHOD_NOT_ALLOWED,
            Self::Limited(_) => StatusCode::TOO_MANY_REQUESTS,
            Self::Away => StatusCode::SERVICE_UNAVAILABLE,
            Self::Failed => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

/// A page, compressed if the browser accepts it.
pub(super) fn page(kind: Kind, markup: Markup, gzip: bool) -> Response {
    let text = markup.into_string().into_bytes();
    let compressed = if gzip { compressed(&text) } else { None };
    let is_compressed = compressed.is_some();
    let mut response = Response::new(Body::from(compressed.unwrap_or(text)));
    *response.status_mut() = kind.status();
    let headers = response.headers_mut();
    guard(headers);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(VARY, HeaderValue::from_static("Accept-Encoding, Cookie"));
    if is_compressed {
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    match kind {
        Kind::Limited(seconds) => headers.insert(RETRY_AFTER, seconds.into()),
        Kind::Away => headers.insert(RETRY_AFTER, HeaderValue::from_static(RETRY_AFTER_SECONDS)),
        _ => None,
    };
    response
}

/// A page for readers with a link, who are not signed in. No one else learns its address, and it is
/// not found by search engines.
pub(super) fn shared_page(kind: Kind, markup: Markup, gzip: bool) -> Response {
    let mut response = page(kind, markup, gzip);
    for (name, value) in [
        (CACHE_CONTROL, "private, no-store"),
        (REFERRER_POLICY, "no-referrer"),
        (X_ROBOTS_TAG, "noindex"),
    ] {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

/// The same with a form. A browser sends the origin of a form, which we check, only if the page may
/// be named to us as its referrer.
pub(super) fn shared_form(kind: Kind, markup: Markup, gzip: bool) -> Response {
    let mut response = shared_page(kind, markup, gzip);
    response.headers_mut().insert(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    response
}

/// A page that reloads itself shortly.
pub(super) fn reloading(mut response: Response) -> Response {
    response.headers_mut().insert(REFRESH, HeaderValue::from_static(RELOAD_SECONDS));
    response
}

/// A reply to the console's script.
pub(super) fn json(kind: Kind, value: &impl Serialize) -> Response {
    let text = serde_json::to_vec(value).unwrap_or_default();
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = kind.status();
    guard(response.headers_mut());
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// A fragment of a page, for the console's script.
pub(super) fn fragment(markup: Markup) -> Response {
    let mut response = Response::new(Body::from(markup.into_string()));
    guard(response.headers_mut());
    let media_type = HeaderValue::from_static("text/html; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, media_type);
    response
}

/// A file that is streamed while it is generated.
pub(super) fn sent_file(mut file: Response) -> Response {
    let headers = std::mem::take(file.headers_mut());
    guard(file.headers_mut());
    file.headers_mut().extend(headers);
    file
}

/// A stream of server-sent events.
pub(super) fn events(
    events: impl Stream<Item = Result<Event, Infallible>> + Send + 'static,
) -> Response {
    let mut response = Sse::new(events).into_response();
    guard(response.headers_mut());
    response.headers_mut().insert(X_ACCEL_BUFFERING, HeaderValue::from_static("no"));
    response
}

/// No events now: after this status a browser does not reconnect.
pub(super) fn no_events() -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    guard(response.headers_mut());
    response
}

/// A file to download, under this name.
pub(super) fn download(name: &str, content_type: &'static str, bytes: Vec<u8>) -> Response {
    let mut response = Response::new(Body::from(bytes));
    guard(response.headers_mut());
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    if let Ok(kept) = HeaderValue::try_from(format!("attachment; filename=\"{name}\"")) {
        response.headers_mut().insert(CONTENT_DISPOSITION, kept);
    }
    response
}

/// Redirects after a write, to a page that can be reloaded.
pub(super) fn see_other(address: &str) -> Response {
    let mut response = reply::see_other(address);
    guard(response.headers_mut());
    response
}

/// The same, with a cookie.
pub(super) fn see_other_with(address: &str, cookie: &str) -> Response {
    let mut response = see_other(address);
    set_cookie(&mut response, cookie);
    response
}

pub(super) fn set_cookie(response: &mut Response, cookie: &str) {
    if let Ok(cookie) = HeaderValue::try_from(cookie) {
        response.headers_mut().append(SET_COOKIE, cookie);
    }
}

/// An SVG to download. Even if opened in the browser, it can run and load nothing.
pub(super) fn drawing(name: &str, svg: String) -> Response {
    let mut response = Response::new(Body::from(svg));
    let headers = response.headers_mut();
    guard(headers);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("image/svg+xml; charset=utf-8"));
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(FILE_POLICY));
    // Names consist of ids, which are plain ASCII.
    if let Ok(value) = HeaderValue::try_from(format!("attachment; filename=\"{name}\"")) {
        headers.insert(CONTENT_DISPOSITION, value);
    }
    response
}

/// A CSV file to download.
pub(super) fn table_file(name: &'static str, csv: Vec<u8>) -> Response {
    let mut response = Response::new(Body::from(csv));
    let headers = response.headers_mut();
    guard(headers);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/csv; charset=utf-8"));
    if let Ok(value) = HeaderValue::try_from(format!("attachment; filename=\"{name}\"")) {
        headers.insert(CONTENT_DISPOSITION, value);
    }
    response
}

/// Sets the headers that every reply of the console has.
fn guard(headers: &mut HeaderMap) {
    for (name, value) in [
        (CACHE_CONTROL, "no-store"),
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_FRAME_OPTIONS, "DENY"),
        (REFERRER_POLICY, "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

fn compressed(text: &[u8]) -> Option<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(text.len() / 3), Compression::new(LEVEL));
    encoder.write_all(text).ok()?;
    encoder.finish().ok()
}

/// Why a request to the console failed.
#[derive(Debug)]
pub(super) enum Refused {
    Admin(AdminError),
    /// The page requires a sign-in; `back` is where to return to.
    SignedOut {
        back: String,
    },
    /// A write from another site, or one without its origin.
    ForeignOrigin,
    NoSuchPage,
    WrongMethod,
    TooLarge,
    Unreadable,
    /// The server has no memory for the request now.
    Overloaded,
    /// Too many passwords are being checked at once.
    Busy,
    /// Too many attempts; seconds until the next is allowed.
    Limited(u64),
    /// The user has reached the limit of live streams; the text says so.
    TooManyWatches(String),
    /// The result of the address is still being computed.
    Computing,
    /// Signing in with an OpenID provider failed.
    Provider(NotSignedIn),
}

pub(super) type Reply = Result<Response, Refused>;

impl From<AdminError> for Refused {
    fn from(error: AdminError) -> Self {
        Self::Admin(error)
    }
}

impl From<BodyError> for Refused {
    fn from(unread: BodyError) -> Self {
        match unread {
            BodyError::TooLarge => Self::TooLarge,
            BodyError::TooSlow | BodyError::Broken => Self::Unreadable,
            BodyError::NoMemory => Self::Overloaded,
        }
    }
}

impl From<StoreError> for Refused {
    fn from(error: StoreError) -> Self {
        Self::Admin(AdminError::Store(error))
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        if let Self::SignedOut { back } = &self {
            return see_other(&addresses::returning(addresses::SIGN_IN, back));
        }
        if let Self::Admin(AdminError::NotFresh) = &self {
            // That page returns to the page in the `Referer` header.
            return see_other(addresses::CONFIRM);
        }
        let (kind, title, text) = self.message();
        failure_page(kind, title, &text)
    }
}

impl Refused {
    fn message(&self) -> (Kind, &'static str, String) {
        match self {
            Self::Admin(error) => message(error),
            Self::SignedOut { .. } => {
                (Kind::SignedOut, "Sign in first", "You must be signed in to see this page.".into())
            }
            Self::ForeignOrigin => (
                Kind::Forbidden,
                "Request refused",
                "The request did not come from a page of this console, so nothing was changed. Open the console and try again.".into(),
            ),
            Self::NoSuchPage => {
                (Kind::Missing, "Page not found", "The address may be mistyped, or the page no longer exists.".into())
            }
            Self::WrongMethod => (
                Kind::WrongMethod,
                "Method not allowed",
                "This address does not accept this kind of request. Go back and use the buttons on the page.".into(),
            ),
            Self::TooLarge => (
                Kind::TooLarge,
                "Request too large",
                "The request is larger than 1 MiB, so nothing was changed. Send it in smaller parts.".into(),
            ),
            Self::Unreadable => (
                Kind::Unfinished,
                "Invalid request",
                "The request is not a valid form, or the connection was lost. Nothing was changed. Go back and try again.".into(),
            ),
            Self::Limited(seconds) => (
                Kind::Limited(*seconds),
                "Too many attempts",
                format!("Nothing was changed. Try again in {}.", counted(*seconds, "second")),
            ),
            Self::Computing => (
                Kind::Away,
                "Not ready yet",
                "This result is being computed. Try again in a few seconds.".into(),
            ),
            Self::TooManyWatches(detail) => {
                (Kind::Limited(WATCH_RETRY_SECONDS), "Too many live pages", sentence(detail))
            }
            Self::Provider(why) => {
                let kind = match why {
                    NotSignedIn::Away => Kind::Away,
                    NotSignedIn::Unknown(_) => Kind::Forbidden,
                    NotSignedIn::Stale
                    | NotSignedIn::Refused
                    | NotSignedIn::NotProven
                    | NotSignedIn::NotConfirmed => Kind::Unfinished,
                };
                let is_signed_in = *why == NotSignedIn::NotConfirmed;
                (kind, if is_signed_in { "Not confirmed" } else { "Not signed in" }, why.message())
            }
            Self::Overloaded => (
                Kind::Away,
                "Server busy",
                "The server is handling too many requests. Nothing was changed. Go back and try again in a few seconds.".into(),
            ),
            Self::Busy => (
                Kind::Away,
                "Server busy",
                "Too many people are signing in. Try again in a few seconds.".into(),
            ),
        }
    }
}

/// What a use case refused, in words.
fn message(error: &AdminError) -> (Kind, &'static str, String) {
    match error {
        AdminError::NotFound(what) => (
            Kind::Missing,
            "Not found",
            format!("This {} does not exist, or you do not have access to it.", what.as_str()),
        ),
        AdminError::NotFresh => {
            (Kind::Forbidden, "Confirm it’s you", "Confirm your identity and try again.".into())
        }
        AdminError::Forbidden { .. } | AdminError::BoundToApp => (
            Kind::Forbidden,
            "Permission denied",
            "Your role does not allow this. Ask an owner of this app, or sign in with another account.".into(),
        ),
        AdminError::Conflict { detail, .. } => (Kind::Conflict, "Not possible", sentence(detail)),
        AdminError::Invalid(faults) => (Kind::Unfinished, "Invalid input", listed(faults)),
        AdminError::Store(error) => {
            let source = std::error::Error::source(error).map(ToString::to_string);
            tracing::warn!(%error, source, "the console cannot reach the store");
            (
                Kind::Away,
                "Service unavailable",
                "The service cannot reach its database. No data was lost. Try again shortly.".into(),
            )
        }
    }
}

fn listed(faults: &[Fault]) -> String {
    let sentences: Vec<String> =
        faults.iter().map(|fault| sentence(&fault::message(fault))).collect();
    sentences.join(" ")
}

fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let mut sentence: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
    sentence.push_str(letters.as_str());
    if !sentence.ends_with(['.', '!', '?']) {
        sentence.push('.');
    }
    sentence
}

/// The page for an internal error.
pub fn failed(failure: Failure) -> Response {
    let kind = match failure {
        Failure::TimedOut => Kind::Away,
        Failure::Panicked => Kind::Failed,
    };
    let text = "An internal error occurred. No data was lost. Try again shortly.";
    failure_page(kind, "Something went wrong", text)
}

/// A page that says what went wrong and what to do.
fn failure_page(kind: Kind, title: &str, text: &str) -> Response {
    let content = html! {
        h1 { (title) }
        p { (text) }
        p.buttons { a.button.primary href="/console" { "Open console" } }
    };
    page(kind, document::bare(title, None, &["base.js"], content), false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_that_there_is_no_memory_for_gets_503_server_busy() {
        for (unread, status) in [
            (BodyError::TooLarge, StatusCode::PAYLOAD_TOO_LARGE),
            (BodyError::TooSlow, StatusCode::UNPROCESSABLE_ENTITY),
            (BodyError::Broken, StatusCode::UNPROCESSABLE_ENTITY),
            (BodyError::NoMemory, StatusCode::SERVICE_UNAVAILABLE),
        ] {
            let response = Refused::from(unread).into_response();
            assert_eq!(response.status(), status);
            let waits = response.headers().contains_key(RETRY_AFTER);
            assert_eq!(waits, unread == BodyError::NoMemory);
        }
    }

    #[test]
    fn a_redirect_has_the_headers_of_the_console_and_its_address() {
        let response = see_other("/console?done=created");
        assert_eq!(response.status(), StatusCode::SEE_OTHER);
        assert_eq!(response.headers()["location"], "/console?done=created");
        assert_eq!(response.headers()[CONTENT_SECURITY_POLICY], POLICY);
        assert_eq!(response.headers()[CACHE_CONTROL], "no-store");
    }
}
