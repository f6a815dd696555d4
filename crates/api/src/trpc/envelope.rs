//! The envelopes of tRPC, and every status code of this transport.
//!
//! A judged submission is `{"result":{"data":…}}`, accepted or refused; everything else is
//! `{"error":{"message","code","data":{"code","httpStatus","path"}}}`. Clients understand only
//! these, so every error of this transport is one, whatever its status. There is never a stack
//! trace.

use std::borrow::Cow;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::header::{
    ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_TYPE, RETRY_AFTER, VARY, WWW_AUTHENTICATE,
};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Version};
use serde::Serialize;
use sluice_engine::verify::TokenRefused;
use sluice_engine::{Limited, LimitedBy, SubmitError};
use sluice_http::access::AccessDenied;
use sluice_http::body::BodyError;
use sluice_http::exchange::{Failure, RefusalCode};
use sluice_http::rate;
use sluice_http::reply::HEADERS_USUAL;

use super::procedure::Output;

const IDEMPOTENCY_REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");
/// The request headers that decide the framing of a reply.
const VARIES_BY: &str = "trpc-accept, accept, trpc-batch-mode";
/// When a client may retry if the engine did not say, in seconds.
const RETRY_AFTER_SECONDS: u32 = 2;
const KEYS_UNAVAILABLE: &str = "identity_keys_unavailable";

macro_rules! codes {
    ($($name:ident = $text:literal, $number:literal, $status:ident;)*) => {
        /// The tRPC error codes used here.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum Code { $($name,)* }

        impl Code {
            fn parts(self) -> (&'static str, i32, StatusCode) {
                match self { $(Self::$name => ($text, $number, StatusCode::$status),)* }
            }
        }

        /// Each error code of the tRPC transport: its name, its number, and the HTTP status.
        pub const TRPC_CODES: &[(&str, i32, u16)] =
            &[$(($text, $number, StatusCode::$status.as_u16()),)*];
    };
}

codes! {
    BadRequest = "BAD_REQUEST", -32600, BAD_REQUEST;
    Unauthorized = "UNAUTHORIZED", -32001, UNAUTHORIZED;
    NotFound = "NOT_FOUND", -32004, NOT_FOUND;
    MethodNotSupported = "METHOD_NOT_SUPPORTED", -32005, METHOD_NOT_ALLOWED;
    Timeout = "TIMEOUT", -32008, REQUEST_TIMEOUT;
    PayloadTooLarge = "PAYLOAD_TOO_LARGE", -32013, PAYLOAD_TOO_LARGE;
    UnsupportedMediaType = "UNSUPPORTED_MEDIA_TYPE", -32015, UNSUPPORTED_MEDIA_TYPE;
    TooManyRequests = "TOO_MANY_REQUESTS", -32029, TOO_MANY_REQUESTS;
    InternalServerError = "INTERNAL_SERVER_ERROR", -32603, INTERNAL_SERVER_ERROR;
    ServiceUnavailable = "SERVICE_UNAVAILABLE", -32603, SERVICE_UNAVAILABLE;
}

/// Why a call, or a whole request, was not judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    code: Code,
    message: Cow<'static, str>,
    retry_after_seconds: Option<u32>,
    /// The exact reason, if the tRPC code does not show it.
    reason: Option<&'static str>,
    /// A fault of the server, for metrics and traces only: replies do not have it.
    cause: Option<&'static str>,
    /// The limit that was reached, if it was one.
    limited: Option<Limited>,
}

impl Fault {
    pub(super) fn new(code: Code, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            code,
            message: message.into(),
            retry_after_seconds: None,
            reason: None,
            cause: None,
            limited: None,
        }
    }

    fn with_reason(self, reason: &'static str) -> Self {
        Self { reason: Some(reason), ..self }
    }

    fn with_cause(self, cause: &'static str) -> Self {
        Self { cause: Some(cause), ..self }
    }

    fn unavailable(cause: &'static str, message: &'static str, retry_after_seconds: u32) -> Self {
        let fault = Self::new(Code::ServiceUnavailable, message).with_cause(cause);
        Self { retry_after_seconds: Some(retry_after_seconds), ..fault }
    }

    /// The most exact name of this fault.
    fn refusal_code(&self) -> RefusalCode {
        RefusalCode(self.cause.or(self.reason).unwrap_or(self.code.parts().0))
    }
}

impl From<SubmitError> for Fault {
    fn from(error: SubmitError) -> Self {
        match error {
            SubmitError::Malformed(reason) => Self::new(Code::BadRequest, reason),
            SubmitError::Unavailable(it) => {
                Self::unavailable(it.code(), it.reason, it.retry_after_seconds)
            }
            SubmitError::Limited(limited) => limited.into(),
        }
    }
}

impl From<Limited> for Fault {
    fn from(limited: Limited) -> Self {
        let reason = match limited.by {
            LimitedBy::App | LimitedBy::Address | LimitedBy::AddressBytes => "rate_limited",
            LimitedBy::Bytes => "daily_quota_reached",
        };
        let fault = Self::new(Code::TooManyRequests, rate::message(&limited)).with_reason(reason);
        Self { limited: Some(limited), ..fault }
    }
}

impl From<AccessDenied> for Fault {
    fn from(denied: AccessDenied) -> Self {
        match denied {
            AccessDenied::UnknownKey => {
                Self::new(Code::Unauthorized, "The API key is unknown or revoked.")
            }
            AccessDenied::Token(TokenRefused::Missing) => Self::new(
                Code::Unauthorized,
                "This app verifies identities: send Authorization: Bearer with an access token.",
            )
            .with_reason("token_missing"),
            AccessDenied::Token(TokenRefused::Invalid) => {
                Self::new(Code::Unauthorized, "The access token is not valid for this app.")
                    .with_reason("token_invalid")
            }
            AccessDenied::Token(TokenRefused::Expired) => Self::new(
                Code::Unauthorized,
                "The access token has expired. Get a new one and try again.",
            )
            .with_reason("token_expired"),
            AccessDenied::Token(TokenRefused::Unavailable) => Self::unavailable(
                KEYS_UNAVAILABLE,
                "The keys for access tokens are unavailable now. Try again shortly.",
                RETRY_AFTER_SECONDS,
            )
            .with_reason(KEYS_UNAVAILABLE),
            AccessDenied::StoreDown => Self::unavailable(
                "store_unavailable",
                "The service cannot reach its store. Try again shortly.",
                RETRY_AFTER_SECONDS,
            ),
        }
    }
}

impl From<BodyError> for Fault {
    fn from(unread: BodyError) -> Self {
        match unread {
            BodyError::TooLarge => Self::new(Code::PayloadTooLarge, "The body is too large."),
            BodyError::TooSlow => Self::new(Code::Timeout, "The body did not arrive in time."),
            BodyError::Broken => Self::new(Code::BadRequest, "The body could not be read."),
            BodyError::NoMemory => Self::unavailable(
                "overloaded",
                "The service is overloaded. Try again shortly.",
                RETRY_AFTER_SECONDS,
            ),
        }
    }
}

impl From<Failure> for Fault {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Panicked => Self::new(
                Code::InternalServerError,
                "Something went wrong on our side; the request id names this event in our log.",
            )
            .with_cause("internal_error"),
            Failure::TimedOut => Self::unavailable(
                "timed_out",
                "The service took too long and cannot say whether this was stored. \
                 Try again with the same Idempotency-Key.",
                RETRY_AFTER_SECONDS,
            ),
        }
    }
}

/// The outcome of one call.
pub(super) type Outcome = Result<Output, Fault>;

/// The data transformer of the client that sent a call. Only the input shows which it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Transformer {
    /// None, or unknown because there is no readable input.
    #[default]
    Plain,
    Superjson,
}

impl Transformer {
    pub(super) fn from_input(input: Option<&[u8]>) -> Self {
        let is_superjson = input.is_some_and(sluice_flow::submission::is_superjson);
        if is_superjson { Self::Superjson } else { Self::Plain }
    }
}

/// What the reply needs to know about one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Call {
    pub(super) path: String,
    pub(super) transformer: Transformer,
}

/// The reply to a single call.
pub(super) fn single(path: &str, transformer: Transformer, outcome: &Outcome) -> Response {
    let mut body = Vec::with_capacity(128);
    write_item(&mut body, Some(path), transformer, outcome);
    reply(status_of(outcome), body, std::slice::from_ref(outcome))
}

/// The reply to a batch: one item per call, in order.
pub(super) fn array(calls: &[Call], outcomes: &[Outcome]) -> Response {
    let mut body = Vec::with_capacity(128 * outcomes.len());
    body.push(b'[');
    for (index, (call, outcome)) in calls.iter().zip(outcomes).enumerate() {
        if index > 0 {
            body.push(b',');
        }
        write_item(&mut body, Some(&call.path), call.transformer, outcome);
    }
    body.push(b']');
    let mut statuses = outcomes.iter().map(status_of);
    let first = statuses.next().unwrap_or(StatusCode::OK);
    let status = if statuses.all(|s| s == first) { first } else { StatusCode::MULTI_STATUS };
    reply(status, body, outcomes)
}

/// The reply to a request that was refused before its calls ran; one error even for a batch. It is
/// in superjson if any of the calls is.
pub(super) fn refused(calls: &[Transformer], fault: Fault) -> Response {
    let is_superjson = calls.contains(&Transformer::Superjson);
    let transformer = if is_superjson { Transformer::Superjson } else { Transformer::Plain };
    let outcome = Err(fault);
    let mut body = Vec::with_capacity(128);
    write_item(&mut body, None, transformer, &outcome);
    reply(status_of(&outcome), body, std::slice::from_ref(&outcome))
}

/// The same, with a body that is already framed.
pub(super) fn refused_with(body: Body, fault: Fault) -> Response {
    let outcome = Err(fault);
    reply(status_of(&outcome), body, std::slice::from_ref(&outcome))
}

/// The reply to a batch that is sent as its calls complete. Their outcomes are only in the body.
pub(super) fn streamed(body: Body) -> Response {
    reply(StatusCode::OK, body, &[])
}

/// The reply to HEAD, which clients use to check that the server is up.
pub(super) fn head() -> Response {
    StatusCode::NO_CONTENT.into_response()
}

/// The reply if the handler panicked or timed out.
pub fn failed(failure: Failure) -> Response {
    refused(&[], failure.into())
}

/// Signals to an HTTP/1 client that the rest of its body will not be read. In HTTP/2 only the
/// stream ends, and the header does not exist.
pub(super) fn close(response: &mut Response, version: Version) {
    if version <= Version::HTTP_11 {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
}

fn reply(status: StatusCode, body: impl Into<Body>, outcomes: &[Outcome]) -> Response {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.reserve(HEADERS_USUAL);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(VARY, HeaderValue::from_static(VARIES_BY));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    mark(headers, outcomes);
    if let Some(fault) = outcomes.iter().find_map(|outcome| outcome.as_ref().err()) {
        response.extensions_mut().insert(fault.refusal_code());
    }
    response
}

fn status_of(outcome: &Outcome) -> StatusCode {
    match outcome {
        Ok(_) => StatusCode::OK,
        Err(fault) => fault.code.parts().2,
    }
}

/// Sets the headers that depend on the calls: the longest wait, the allowed method, whether every
/// call was a replay.
fn mark(headers: &mut HeaderMap, outcomes: &[Outcome]) {
    let faults = || outcomes.iter().filter_map(|outcome| outcome.as_ref().err());
    if let Some(seconds) = faults().filter_map(|fault| fault.retry_after_seconds).max() {
        headers.insert(RETRY_AFTER, seconds.into());
    }
    if let Some(limited) = faults().find_map(|fault| fault.limited.as_ref()) {
        rate::mark(headers, limited);
    }
    if faults().any(|fault| fault.code == Code::Unauthorized) {
        headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    if faults().any(|fault| fault.code == Code::MethodNotSupported) {
        headers.insert(ALLOW, HeaderValue::from_static("POST"));
    }
    let carried_out = || outcomes.iter().filter_map(|outcome| outcome.as_ref().ok()?.is_replay());
    if carried_out().next().is_some() && carried_out().all(|is_replay| is_replay) {
        headers.insert(IDEMPOTENCY_REPLAYED, HeaderValue::from_static("true"));
    }
}

/// Writes the envelope of one call.
pub(super) fn write_item(
    out: &mut Vec<u8>,
    path: Option<&str>,
    transformer: Transformer,
    outcome: &Outcome,
) {
    let envelope = match outcome {
        Ok(output) => Envelope::Result { data: Transformed::by(transformer, output) },
        Err(fault) => {
            let (name, number, status) = fault.code.parts();
            let data =
                ErrorData { code: name, http_status: status.as_u16(), path, reason: fault.reason };
            let shape = ErrorShape { message: &fault.message, code: number, data };
            Envelope::Error(Transformed::by(transformer, shape))
        }
    };
    // Strings and numbers always serialise, and writing to a `Vec` cannot fail.
    let _ = serde_json::to_writer(out, &envelope);
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Envelope<'a> {
    Result { data: Transformed<&'a Output> },
    Error(Transformed<ErrorShape<'a>>),
}

/// A value as the client's transformer expects it. Our values have no types that superjson's `meta`
/// would list.
#[derive(Serialize)]
#[serde(untagged)]
enum Transformed<T> {
    Plain(T),
    Superjson { json: T },
}

impl<T> Transformed<T> {
    fn by(transformer: Transformer, value: T) -> Self {
        match transformer {
            Transformer::Plain => Self::Plain(value),
            Transformer::Superjson => Self::Superjson { json: value },
        }
    }
}

#[derive(Serialize)]
struct ErrorShape<'a> {
    message: &'a str,
    code: i32,
    data: ErrorData<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ErrorData<'a> {
    code: &'static str,
    http_status: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
}

#[cfg(test)]
mod tests {
    use sluice_engine::Unavailable;

    use super::*;

    #[test]
    fn a_failed_handler_is_answered_with_an_envelope() {
        for (failure, status) in [
            (Failure::Panicked, StatusCode::INTERNAL_SERVER_ERROR),
            (Failure::TimedOut, StatusCode::SERVICE_UNAVAILABLE),
        ] {
            let response = failed(failure);
            assert_eq!(response.status(), status);
            assert_eq!(response.headers()[CONTENT_TYPE], "application/json");
        }
    }

    #[test]
    fn a_batch_reports_the_longest_wait_of_its_calls() {
        let wait = |seconds| Err(Fault::unavailable("overloaded", "later", seconds));
        let call = |path: &str| Call { path: path.to_owned(), transformer: Transformer::Plain };
        let response = array(&[call("a"), call("b")], &[wait(1), wait(7)]);
        assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(response.headers()[RETRY_AFTER], "7");
    }

    #[test]
    fn a_fault_of_the_server_has_its_cause_in_the_metrics_and_not_in_the_reply() {
        let later = Unavailable { reason: "Try again shortly.", retry_after_seconds: 2 };
        let keys = AccessDenied::Token(TokenRefused::Unavailable);
        for (fault, code, counted, reason) in [
            (Fault::from(Failure::Panicked), "INTERNAL_SERVER_ERROR", "internal_error", None),
            (Failure::TimedOut.into(), "SERVICE_UNAVAILABLE", "timed_out", None),
            (AccessDenied::StoreDown.into(), "SERVICE_UNAVAILABLE", "store_unavailable", None),
            (SubmitError::from(later).into(), "SERVICE_UNAVAILABLE", "store_unavailable", None),
            (BodyError::NoMemory.into(), "SERVICE_UNAVAILABLE", "overloaded", None),
            (keys.into(), "SERVICE_UNAVAILABLE", KEYS_UNAVAILABLE, Some(KEYS_UNAVAILABLE)),
            (AccessDenied::UnknownKey.into(), "UNAUTHORIZED", "UNAUTHORIZED", None),
        ] {
            let outcome = Err::<Output, Fault>(fault);
            let response = single("a", Transformer::Plain, &outcome);
            let found = response.extensions().get::<RefusalCode>().map(|found| found.0);
            assert_eq!(found, Some(counted));
            let mut body = Vec::new();
            write_item(&mut body, Some("a"), Transformer::Plain, &outcome);
            let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
            let data = &body["error"]["data"];
            assert_eq!(data["code"], code, "{counted}");
            assert_eq!(data.get("reason").and_then(|it| it.as_str()), reason, "{counted}");
            assert!(data.get("cause").is_none() && body["error"].get("cause").is_none());
        }
    }
}
