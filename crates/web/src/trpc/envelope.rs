//! The envelopes of tRPC, and every status code of this transport.
//!
//! A judged submission is `{"result":{"data":…}}`, accepted or refused; everything else is
//! `{"error":{"message","code","data":{"code","httpStatus","path"}}}`. Clients understand nothing but
//! these, so every error of this transport is one, whatever its status. There is never a stack trace.

use std::borrow::Cow;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::header::{
    ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_TYPE, RETRY_AFTER, VARY, WWW_AUTHENTICATE,
};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use serde::Serialize;
use sluice_engine::intake::Accepted;
use sluice_engine::verify::TokenRefused;
use sluice_engine::{Receipt, SubmitError, Unavailable};
use sluice_flow::id::{FlowVersionId, ResponseId};
use sluice_flow::issue::Issue;
use sluice_flow::time::Timestamp;

use crate::access::Denied;
use crate::body::Unread;
use crate::exchange::Failure;

const IDEMPOTENCY_REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");
/// What decides the framing of a reply.
const VARIES_BY: &str = "trpc-accept, accept, trpc-batch-mode";
/// When a client may try again where the engine did not say, in seconds.
const RETRY_AFTER_SECONDS: u32 = 2;

/// Headers that a reply has by the time it is sent: room for them is made once.
const HEADERS_MAX: usize = 12;

/// The error codes of tRPC that occur here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Code {
    BadRequest,
    Unauthorized,
    NotFound,
    MethodNotSupported,
    Timeout,
    PayloadTooLarge,
    UnsupportedMediaType,
    InternalServerError,
    ServiceUnavailable,
}

impl Code {
    fn parts(self) -> (&'static str, i32, StatusCode) {
        match self {
            Self::BadRequest => ("BAD_REQUEST", -32600, StatusCode::BAD_REQUEST),
            Self::Unauthorized => ("UNAUTHORIZED", -32001, StatusCode::UNAUTHORIZED),
            Self::NotFound => ("NOT_FOUND", -32004, StatusCode::NOT_FOUND),
            Self::MethodNotSupported => {
                ("METHOD_NOT_SUPPORTED", -32005, StatusCode::METHOD_NOT_ALLOWED)
            }
            Self::Timeout => ("TIMEOUT", -32008, StatusCode::REQUEST_TIMEOUT),
            Self::PayloadTooLarge => ("PAYLOAD_TOO_LARGE", -32013, StatusCode::PAYLOAD_TOO_LARGE),
            Self::UnsupportedMediaType => {
                ("UNSUPPORTED_MEDIA_TYPE", -32015, StatusCode::UNSUPPORTED_MEDIA_TYPE)
            }
            Self::InternalServerError => {
                ("INTERNAL_SERVER_ERROR", -32603, StatusCode::INTERNAL_SERVER_ERROR)
            }
            Self::ServiceUnavailable => {
                ("SERVICE_UNAVAILABLE", -32603, StatusCode::SERVICE_UNAVAILABLE)
            }
        }
    }
}

/// Why a call, or a whole request, was not judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    code: Code,
    message: Cow<'static, str>,
    retry_after_seconds: Option<u32>,
    /// What exactly, where the code of tRPC leaves it open.
    reason: Option<&'static str>,
}

impl Fault {
    pub(super) fn new(code: Code, message: impl Into<Cow<'static, str>>) -> Self {
        Self { code, message: message.into(), retry_after_seconds: None, reason: None }
    }

    fn because(self, reason: &'static str) -> Self {
        Self { reason: Some(reason), ..self }
    }

    pub(super) fn unavailable(message: &'static str, retry_after_seconds: u32) -> Self {
        let fault = Self::new(Code::ServiceUnavailable, message);
        Self { retry_after_seconds: Some(retry_after_seconds), ..fault }
    }
}

impl From<SubmitError> for Fault {
    fn from(error: SubmitError) -> Self {
        match error {
            SubmitError::Malformed(reason) => Self::new(Code::BadRequest, reason),
            SubmitError::Unavailable(Unavailable { reason, retry_after_seconds }) => {
                Self::unavailable(reason, retry_after_seconds)
            }
        }
    }
}

impl From<Denied> for Fault {
    fn from(denied: Denied) -> Self {
        match denied {
            Denied::UnknownKey => {
                Self::new(Code::Unauthorized, "The API key is unknown or revoked.")
            }
            Denied::Token(TokenRefused::Missing) => Self::new(
                Code::Unauthorized,
                "This app verifies identities: send Authorization: Bearer with an access token.",
            )
            .because("token_missing"),
            Denied::Token(TokenRefused::Invalid) => {
                Self::new(Code::Unauthorized, "The access token is not valid for this app.")
                    .because("token_invalid")
            }
            Denied::Token(TokenRefused::Expired) => Self::new(
                Code::Unauthorized,
                "The access token has expired. Get a new one and try again.",
            )
            .because("token_expired"),
            Denied::Token(TokenRefused::Unavailable) => Self::unavailable(
                "The keys for access tokens cannot be had now. Try again shortly.",
                RETRY_AFTER_SECONDS,
            )
            .because("identity_keys_unavailable"),
            Denied::StoreDown => Self::unavailable(
                "The service cannot reach its store. Try again shortly.",
                RETRY_AFTER_SECONDS,
            ),
        }
    }
}

impl From<Unread> for Fault {
    fn from(unread: Unread) -> Self {
        match unread {
            Unread::TooLarge => Self::new(Code::PayloadTooLarge, "The body is too large."),
            Unread::TooSlow => Self::new(Code::Timeout, "The body did not arrive in time."),
            Unread::Broken => Self::new(Code::BadRequest, "The body could not be read."),
        }
    }
}

impl From<Failure> for Fault {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Panicked => Self::new(
                Code::InternalServerError,
                "Something went wrong on our side; the request id names this event in our log.",
            ),
            Failure::TimedOut => Self::unavailable(
                "The service took too long and cannot say whether this was stored. \
                 Try again with the same Idempotency-Key.",
                RETRY_AFTER_SECONDS,
            ),
        }
    }
}

/// What one call came to.
pub(super) type Outcome = Result<Receipt, Fault>;

/// The answer to one call that was not sent as a batch.
pub(super) fn single(path: &str, outcome: &Outcome) -> Response {
    let mut body = Vec::with_capacity(128);
    write_item(&mut body, Some(path), outcome);
    reply(status_of(outcome), body, std::slice::from_ref(outcome))
}

/// The answer to a batch: one item a call, in their order.
pub(super) fn array(paths: &[String], outcomes: &[Outcome]) -> Response {
    let mut body = Vec::with_capacity(128 * outcomes.len());
    body.push(b'[');
    for (index, (path, outcome)) in paths.iter().zip(outcomes).enumerate() {
        if index > 0 {
            body.push(b',');
        }
        write_item(&mut body, Some(path), outcome);
    }
    body.push(b']');
    let mut statuses = outcomes.iter().map(status_of);
    let first = statuses.next().unwrap_or(StatusCode::OK);
    let status = if statuses.all(|s| s == first) { first } else { StatusCode::MULTI_STATUS };
    reply(status, body, outcomes)
}

/// The answer to a request that did not come to its calls; one error even for a batch.
pub(super) fn refused(fault: Fault) -> Response {
    let outcome = Err(fault);
    let mut body = Vec::with_capacity(128);
    write_item(&mut body, None, &outcome);
    reply(status_of(&outcome), body, std::slice::from_ref(&outcome))
}

/// The answer to a batch that is sent as its calls complete. What became of them is only in the body.
pub(super) fn streamed(body: Body) -> Response {
    reply(StatusCode::OK, body, &[])
}

/// The answer to HEAD, which clients use to see whether anybody is there.
pub(super) fn head() -> Response {
    StatusCode::NO_CONTENT.into_response()
}

/// The answer where the handler came to no end.
pub(crate) fn failed(failure: Failure) -> Response {
    refused(failure.into())
}

/// Tells an HTTP/1 client that the rest of its body will not be read.
pub(super) fn close_if_unread(response: &mut Response) {
    let status = response.status();
    if status == StatusCode::PAYLOAD_TOO_LARGE || status == StatusCode::REQUEST_TIMEOUT {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
}

fn reply(status: StatusCode, body: impl Into<Body>, outcomes: &[Outcome]) -> Response {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.reserve(HEADERS_MAX);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(VARY, HeaderValue::from_static(VARIES_BY));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    mark(headers, outcomes);
    response
}

fn status_of(outcome: &Outcome) -> StatusCode {
    match outcome {
        Ok(_) => StatusCode::OK,
        Err(fault) => fault.code.parts().2,
    }
}

/// The headers that speak of the calls: the longest wait, the method to use, whether all was replayed.
fn mark(headers: &mut HeaderMap, outcomes: &[Outcome]) {
    let faults = || outcomes.iter().filter_map(|outcome| outcome.as_ref().err());
    if let Some(seconds) = faults().filter_map(|fault| fault.retry_after_seconds).max() {
        headers.insert(RETRY_AFTER, seconds.into());
    }
    if faults().any(|fault| fault.code == Code::Unauthorized) {
        headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    if faults().any(|fault| fault.code == Code::MethodNotSupported) {
        headers.insert(ALLOW, HeaderValue::from_static("POST"));
    }
    let accepted = || {
        outcomes.iter().filter_map(|outcome| match outcome {
            Ok(Receipt::Accepted(accepted)) => Some(accepted),
            _ => None,
        })
    };
    if accepted().next().is_some() && accepted().all(|accepted| accepted.replayed) {
        headers.insert(IDEMPOTENCY_REPLAYED, HeaderValue::from_static("true"));
    }
}

/// Writes the envelope of one call.
pub(super) fn write_item(out: &mut Vec<u8>, path: Option<&str>, outcome: &Outcome) {
    let envelope = match outcome {
        Ok(Receipt::Accepted(accepted)) => Envelope::Result { data: Data::accepted(accepted) },
        Ok(Receipt::Refused(issues)) => Envelope::Result { data: Data::refused(issues) },
        Err(fault) => {
            let (name, number, status) = fault.code.parts();
            let data =
                ErrorData { code: name, http_status: status.as_u16(), path, reason: fault.reason };
            Envelope::Error { message: &fault.message, code: number, data }
        }
    };
    // Texts and numbers always have a JSON form, and a Vec always takes it.
    let _ = serde_json::to_writer(out, &envelope);
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Envelope<'a> {
    Result { data: Data<'a> },
    Error { message: &'a str, code: i32, data: ErrorData<'a> },
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

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Data<'a> {
    success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_id: Option<ResponseId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    superseded_by: Option<FlowVersionId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    accepts_until: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    errors: Option<Errors<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Errors<'a> {
    form_errors: Vec<&'a str>,
    issues: &'a [Issue],
}

impl<'a> Data<'a> {
    fn accepted(accepted: &Accepted) -> Self {
        Self {
            success: true,
            response_id: Some(accepted.response_id),
            superseded_by: accepted.grace.and_then(|grace| grace.superseded_by),
            accepts_until: accepted.grace.map(|grace| grace.accepts_until),
            errors: None,
        }
    }

    fn refused(issues: &'a [Issue]) -> Self {
        let form_errors = issues.iter().map(|issue| issue.message.as_ref()).collect();
        Self {
            success: false,
            response_id: None,
            superseded_by: None,
            accepts_until: None,
            errors: Some(Errors { form_errors, issues }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handler_that_came_to_no_end_is_still_an_envelope() {
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
    fn a_batch_tells_the_longest_wait_of_its_calls() {
        let wait = |seconds| Err(Fault::unavailable("later", seconds));
        let paths = vec!["a".to_owned(), "b".to_owned()];
        let response = array(&paths, &[wait(1), wait(7)]);
        assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(response.headers()[RETRY_AFTER], "7");
    }
}
