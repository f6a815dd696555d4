//! Every status code of the admin API, and its one error format (RFC 9457).
//!
//! The caller gets the `detail`; the cause goes only to the log.

mod documented;

use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use sluice_engine::admin_requests::{KEYS_MAX, StoredReply};
use sluice_engine::assets::UPLOAD_BYTES_MAX;
use sluice_engine::export::Export;
use sluice_engine::invitation_files::FILE_BYTES_MAX;
use sluice_engine::{AdminError, StoreError};
use sluice_flow::definition::Fault;
use sluice_flow::time::Timestamp;
use sluice_http::body::BodyError;
use sluice_http::download;
use sluice_http::exchange::RefusalCode;
use utoipa::ToSchema;

use super::{BASE, BODY_BYTES_MAX};
pub(super) use documented::{BodyErrors, CommonErrors, QueryErrors, problems};

/// Marks a repeated reply.
pub(super) const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");
/// When a client may retry after a 503, in seconds.
const RETRY_AFTER_SECONDS: &str = "2";
/// When to ask again for a result that is being computed.
const COMPUTING_SECONDS: &str = "1";

/// Why a request failed: the engine's reasons, and those of this transport.
#[derive(Debug)]
pub(super) enum Refused {
    TokenMissing,
    TokenInvalid,
    /// Too many attempts with unknown tokens; the seconds to wait.
    TooManyAttempts(u64),
    NoRoute,
    WrongMethod,
    WrongContentType,
    /// The body has this content encoding.
    Compressed(String),
    TooLarge,
    FileTooLarge,
    ImageTooLarge,
    NotAnImage,
    TooSlow,
    /// The body is not JSON; the text says where.
    Malformed(String),
    KeyInvalid,
    /// The idempotency key was used for another request.
    KeyReused,
    TooManyKeys,
    /// Another attempt with the same key is under way.
    InProgress,
    /// The request was carried out at this time, and its reply is not known.
    ReplyLost(Timestamp),
    TagsInvalid,
    /// `If-Match` on an operation whose resource has no entity tag.
    NoTags,
    /// The current state is not the one that `If-Match` names.
    NotMatching,
    Engine(AdminError),
}

impl From<AdminError> for Refused {
    fn from(error: AdminError) -> Self {
        Self::Engine(error)
    }
}

impl From<BodyError> for Refused {
    fn from(unread: BodyError) -> Self {
        match unread {
            BodyError::TooLarge => Self::TooLarge,
            BodyError::TooSlow => Self::TooSlow,
            BodyError::Broken => Self::Malformed("the body is incomplete".to_owned()),
            BodyError::NoMemory => Self::Engine(AdminError::Store(StoreError::Failed(
                "incomplete request bodies take too much memory".into(),
            ))),
        }
    }
}

/// The result of a handler.
pub(super) type Reply = Result<Response, Refused>;

pub(super) fn ok(body: impl Serialize) -> Reply {
    Ok(json(StatusCode::OK, &body))
}

/// The operation has begun and continues after the reply.
pub(super) fn accepted(body: impl Serialize) -> Reply {
    Ok(json(StatusCode::ACCEPTED, &body))
}

/// A result is being computed: the client asks again shortly.
pub(super) fn computing(body: impl Serialize) -> Reply {
    let mut response = json(StatusCode::ACCEPTED, &body);
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static(COMPUTING_SECONDS));
    Ok(response)
}

pub(super) fn created(body: impl Serialize) -> Reply {
    Ok(json(StatusCode::CREATED, &body))
}

fn json(status: StatusCode, body: &impl Serialize) -> Response {
    match serde_json::to_vec(body) {
        Ok(bytes) => {
            let media_type = HeaderValue::from_static("application/json");
            (status, [(header::CONTENT_TYPE, media_type)], bytes).into_response()
        }
        Err(error) => {
            tracing::error!(%error, "cannot write a reply as JSON");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

/// A JSON Schema that is rendered already.
pub(super) fn json_schema(schema: Vec<u8>) -> Reply {
    let media_type = HeaderValue::from_static("application/schema+json");
    Ok((StatusCode::OK, [(header::CONTENT_TYPE, media_type)], schema).into_response())
}

/// A CSV file about what was created.
pub(super) fn created_csv(file: Vec<u8>) -> Reply {
    let media_type = HeaderValue::from_static("text/csv; charset=utf-8");
    Ok((StatusCode::CREATED, [(header::CONTENT_TYPE, media_type)], file).into_response())
}

/// A file that is streamed while it is generated.
pub(super) fn file(export: Export) -> Reply {
    Ok(download::response(export))
}

pub(super) fn done() -> Reply {
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Whether a reply is the whole resource.
pub(super) fn is_representation(response: &Response) -> bool {
    response.status() == StatusCode::OK
}

/// The client has the current state already.
pub(super) fn not_modified(tag: Option<&HeaderValue>) -> Response {
    let mut response = StatusCode::NOT_MODIFIED.into_response();
    response.headers_mut().extend(tag.map(|tag| (header::ETAG, tag.clone())));
    response
}

/// A reply that broke off within the server.
pub(super) fn unreadable() -> Response {
    tracing::error!("a reply could not be read");
    StatusCode::INTERNAL_SERVER_ERROR.into_response()
}

/// The reply to an earlier request with the same idempotency key.
pub(super) fn replayed(stored: StoredReply) -> Response {
    let status = StatusCode::from_u16(stored.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = (status, stored.body).into_response();
    response.headers_mut().remove(header::CONTENT_TYPE);
    for (name, value) in stored.headers {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            response.headers_mut().insert(name, value);
        }
    }
    response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
    response
}

/// Whether a reply is final: it is repeated for the same request. A request that was refused before
/// anything was written, or that failed, may be attempted again.
pub(super) fn stands(status: StatusCode, was_applied: bool) -> bool {
    status.as_u16() < 400 || (was_applied && status.as_u16() < 500)
}

/// Whether the caller was authenticated but not allowed.
pub(super) fn is_forbidden(response: &Response) -> bool {
    response.status() == StatusCode::FORBIDDEN
}

pub(super) async fn no_route() -> Refused {
    Refused::NoRoute
}

pub(super) async fn wrong_method() -> Refused {
    Refused::WrongMethod
}

/// An error (RFC 9457), with a code for programs.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "type": "urn:sluice:problem:flow_not_found", "title": "Not Found", "status": 404,
    "detail": "There is no such flow.", "code": "flow_not_found"
}))]
pub struct Problem {
    /// `urn:sluice:problem:` and the code.
    r#type: String,
    title: &'static str,
    status: u16,
    /// What happened and what to do, for people.
    detail: String,
    /// What happened, for programs. The meaning of a code never changes.
    code: &'static str,
    /// With status 422: every fault of the request.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    errors: Vec<FaultOut>,
}

/// One fault of a request.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Fault)]
pub(crate) struct FaultOut {
    /// Where, as a JSON Pointer into the body; for a query parameter, `/` and its name.
    #[schema(example = "/questions/0/prompt")]
    pointer: String,
    /// What is expected.
    #[schema(example = "is required")]
    message: String,
}

impl From<Fault> for FaultOut {
    fn from(fault: Fault) -> Self {
        Self { pointer: fault.pointer, message: fault.message }
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        if let Self::Engine(AdminError::Store(error)) = &self
            && is_fault(error)
        {
            tracing::error!(error = error as &dyn std::error::Error, "admin request failed");
        }
        let extra = extra_header(&self);
        let (status, code, detail, errors) = parts(self);
        let problem = Problem {
            r#type: format!("urn:sluice:problem:{code}"),
            title: status.canonical_reason().unwrap_or("Error"),
            status: status.as_u16(),
            detail: sentence(&detail),
            code,
            errors: errors.into_iter().map(FaultOut::from).collect(),
        };
        let media_type = HeaderValue::from_static("application/problem+json");
        let mut response = json(status, &problem);
        response.headers_mut().insert(header::CONTENT_TYPE, media_type);
        response.headers_mut().extend(extra);
        response.extensions_mut().insert(RefusalCode(code));
        response
    }
}

/// Whether the server has failed, and its log says so. That another request came first is no fault.
fn is_fault(error: &StoreError) -> bool {
    !matches!(error, StoreError::Conflict)
}

/// Reasons start in lower case, so that they fit within a sentence; this makes one a sentence.
fn sentence(reason: &str) -> String {
    let mut letters = reason.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string());
    format!("{}{}.", first.unwrap_or_default(), letters.as_str())
}

fn parts(refused: Refused) -> (StatusCode, &'static str, String, Vec<Fault>) {
    let (status, code, detail) = match refused {
        Refused::TokenMissing => (
            StatusCode::UNAUTHORIZED,
            "token_missing",
            "send an admin token as \"Authorization: Bearer <token>\"".to_owned(),
        ),
        Refused::TokenInvalid => (
            StatusCode::UNAUTHORIZED,
            "token_invalid",
            "this admin token is unknown, revoked or expired".to_owned(),
        ),
        Refused::TooManyAttempts(seconds) => (
            StatusCode::TOO_MANY_REQUESTS,
            "too_many_attempts",
            format!(
                "too many attempts with invalid tokens from your address; try again in {seconds} second{}",
                if seconds == 1 { "" } else { "s" }
            ),
        ),
        Refused::NoRoute => (
            StatusCode::NOT_FOUND,
            "route_not_found",
            "there is no such path; /docs lists all paths".to_owned(),
        ),
        Refused::WrongMethod => (
            StatusCode::METHOD_NOT_ALLOWED,
            "method_not_allowed",
            "this path does not take this method; the Allow header names those it takes".to_owned(),
        ),
        Refused::WrongContentType => {
            unsupported("send the body as \"Content-Type: application/json\"".to_owned())
        }
        Refused::Compressed(coding) => unsupported(format!(
            "the Content-Encoding \"{coding}\" is not supported; send the body uncompressed"
        )),
        Refused::TooLarge => {
            too_large(format!("the body must have at most {BODY_BYTES_MAX} bytes"))
        }
        Refused::FileTooLarge => {
            too_large(format!("the file must have at most {FILE_BYTES_MAX} bytes; split it"))
        }
        Refused::ImageTooLarge => {
            too_large(format!("the image must have at most {UPLOAD_BYTES_MAX} bytes"))
        }
        Refused::NotAnImage => unsupported(
            "send the file as image/png, image/jpeg or image/webp in Content-Type".to_owned(),
        ),
        Refused::TooSlow => (
            StatusCode::REQUEST_TIMEOUT,
            "body_too_slow",
            "the body did not arrive in time".to_owned(),
        ),
        Refused::Malformed(detail) => (StatusCode::BAD_REQUEST, "malformed_json", detail),
        Refused::KeyInvalid
        | Refused::KeyReused
        | Refused::TooManyKeys
        | Refused::InProgress
        | Refused::ReplyLost(_)
        | Refused::TagsInvalid
        | Refused::NoTags
        | Refused::NotMatching => header_parts(&refused),
        Refused::Engine(error) => return engine_parts(error),
    };
    (status, code, detail, Vec::new())
}

fn unsupported(detail: String) -> (StatusCode, &'static str, String) {
    (StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", detail)
}

fn too_large(detail: String) -> (StatusCode, &'static str, String) {
    (StatusCode::PAYLOAD_TOO_LARGE, "payload_too_large", detail)
}

/// What is wrong with an `Idempotency-Key` or an `If-Match`.
fn header_parts(refused: &Refused) -> (StatusCode, &'static str, String) {
    match refused {
        Refused::KeyReused => (
            StatusCode::UNPROCESSABLE_ENTITY,
            "idempotency_key_reused",
            "this Idempotency-Key was used for another request in the last 24 hours; send each \
             request with a new key, and a repetition unchanged"
                .to_owned(),
        ),
        Refused::TooManyKeys => (
            StatusCode::TOO_MANY_REQUESTS,
            "too_many_idempotency_keys",
            format!(
                "this token has used {KEYS_MAX} keys, or got 64 MiB of replies to requests with \
                 keys, in the last 24 hours; send the request without a key, or later"
            ),
        ),
        Refused::InProgress => (
            StatusCode::CONFLICT,
            "request_in_progress",
            "a request with this Idempotency-Key is being carried out; repeat it shortly for its \
             reply"
                .to_owned(),
        ),
        Refused::ReplyLost(at) => (
            StatusCode::CONFLICT,
            "reply_lost",
            format!(
                "this request was carried out at {at}, at least in part, and its reply was lost; it \
                 is not repeated. The audit log (GET {BASE}/audit) shows what it changed: check \
                 that, then send what is missing with a new key"
            ),
        ),
        Refused::TagsInvalid => (
            StatusCode::BAD_REQUEST,
            "if_match_invalid",
            "send If-Match as \"*\", or as entity tags such as \"1f0c…\" with their quotes, \
             separated by commas"
                .to_owned(),
        ),
        Refused::NoTags => (
            StatusCode::BAD_REQUEST,
            "if_match_unsupported",
            "what this operation changes has no entity tag; send it without If-Match".to_owned(),
        ),
        Refused::NotMatching => (
            StatusCode::PRECONDITION_FAILED,
            "precondition_failed",
            "nothing was changed: the current state is not the one that If-Match names, or this \
             token may not read it; read it again"
                .to_owned(),
        ),
        _ => (
            StatusCode::BAD_REQUEST,
            "idempotency_key_invalid",
            "send one Idempotency-Key, of 1 to 255 printable ASCII characters, quoted or bare"
                .to_owned(),
        ),
    }
}

fn engine_parts(error: AdminError) -> (StatusCode, &'static str, String, Vec<Fault>) {
    let detail = error.to_string();
    let (status, code) = match error {
        AdminError::NotFound(missing) => (StatusCode::NOT_FOUND, missing.code()),
        AdminError::Forbidden { .. } => (StatusCode::FORBIDDEN, "insufficient_scope"),
        AdminError::BoundToApp => (StatusCode::FORBIDDEN, "token_bound_to_app"),
        AdminError::NotFresh => (StatusCode::FORBIDDEN, "not_confirmed"),
        AdminError::Conflict { code, .. } => (StatusCode::CONFLICT, code),
        AdminError::Invalid(faults) => {
            return (StatusCode::UNPROCESSABLE_ENTITY, "invalid", detail, faults);
        }
        AdminError::Store(StoreError::Conflict) => (StatusCode::CONFLICT, "changed_meanwhile"),
        AdminError::Store(StoreError::Failed(_) | StoreError::DiskReserve | StoreError::Closed) => {
            (StatusCode::SERVICE_UNAVAILABLE, "store_unavailable")
        }
        AdminError::Store(StoreError::Unknown(_) | StoreError::InDoubt(_)) => {
            (StatusCode::SERVICE_UNAVAILABLE, "outcome_unknown")
        }
        AdminError::Store(StoreError::Corrupt(_) | StoreError::Damaged(_)) => {
            let detail = "the store holds something unreadable; the log says what".to_owned();
            return (StatusCode::INTERNAL_SERVER_ERROR, "store_corrupt", detail, Vec::new());
        }
    };
    (status, code, detail, Vec::new())
}

fn extra_header(refused: &Refused) -> Option<(HeaderName, HeaderValue)> {
    match refused {
        Refused::TokenMissing | Refused::TokenInvalid => {
            Some((header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer")))
        }
        Refused::TooManyAttempts(seconds) => Some((header::RETRY_AFTER, (*seconds).into())),
        Refused::InProgress => {
            Some((header::RETRY_AFTER, HeaderValue::from_static(COMPUTING_SECONDS)))
        }
        Refused::Engine(AdminError::Store(
            StoreError::Failed(_)
            | StoreError::Unknown(_)
            | StoreError::InDoubt(_)
            | StoreError::DiskReserve
            | StoreError::Closed,
        )) => Some((header::RETRY_AFTER, HeaderValue::from_static(RETRY_AFTER_SECONDS))),
        Refused::NoRoute
        | Refused::WrongMethod
        | Refused::WrongContentType
        | Refused::Compressed(_)
        | Refused::TooLarge
        | Refused::FileTooLarge
        | Refused::ImageTooLarge
        | Refused::NotAnImage
        | Refused::TooSlow
        | Refused::Malformed(_)
        | Refused::KeyInvalid
        | Refused::KeyReused
        | Refused::TooManyKeys
        | Refused::ReplyLost(_)
        | Refused::TagsInvalid
        | Refused::NoTags
        | Refused::NotMatching
        | Refused::Engine(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_that_does_not_hold_is_no_error_of_the_server() {
        assert!(!is_fault(&StoreError::Conflict));
        for error in [StoreError::Closed, StoreError::Failed("away".into())] {
            assert!(is_fault(&error), "{error}");
        }
    }
}
