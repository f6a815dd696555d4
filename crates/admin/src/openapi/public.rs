//! The calls before and with a submission in the OpenAPI document.
//!
//! Documentation only: the public and tRPC transports handle the calls. They write JSON that was
//! rendered when a version was published, and so have no types to describe here.
#![expect(dead_code, reason = "only the OpenAPI document uses these functions and types")]

use std::collections::BTreeMap;

use serde_json::Value;
use utoipa::ToSchema;
use utoipa::openapi::schema::{Array, ObjectBuilder, Type};
use utoipa::openapi::{Object, Ref};

use super::errors::{CallErrors, PublicErrors, ReadingCallErrors};
use crate::Problem;

/// A text, or several: an answer, or the value of a tag.
#[derive(ToSchema)]
#[serde(untagged)]
pub(super) enum TextOrList {
    Text(String),
    List(Vec<String>),
}

/// The latest published version of a flow.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase", example = json!({
    "flowId": "fl_01KA2VgdPrWYDVgYy3wLpB", "flowVersionId": "fv_01KA2VgdPrWYDVgYy3wLpC",
    "kind": "survey", "name": "Product feedback", "number": 3,
    "publishedAt": "2026-11-15T02:00:00.000Z", "payloadGenerations": ["4"], "status": "open",
    "liveWindow": {"startsAt": null, "endsAt": null}, "graceWindowSeconds": 86400
}))]
pub(super) struct ResolvedFlow {
    flow_id: String,
    /// Fetch this version, and submit to it.
    flow_version_id: String,
    kind: Kind,
    name: String,
    number: u32,
    #[schema(format = DateTime)]
    published_at: String,
    /// The values of `payload` that this version is served in.
    payload_generations: Vec<String>,
    /// By the live window, now.
    status: FlowStatus,
    live_window: Window,
    grace_window_seconds: u32,
}

#[derive(ToSchema)]
#[schema(as = FlowKind, rename_all = "lowercase")]
enum Kind {
    Survey,
    Form,
    Message,
}

#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
enum FlowStatus {
    Scheduled,
    Open,
    Closed,
}

#[derive(ToSchema)]
#[schema(as = ResolvedWindow, rename_all = "camelCase")]
struct Window {
    #[schema(format = DateTime, required = true)]
    starts_at: Option<String>,
    #[schema(format = DateTime, required = true)]
    ends_at: Option<String>,
}

/// A published version as it is served in payload generation 4. It never changes.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase", example = json!({
    "flowVersionId": "fv_01KA2VgdPrWYDVgYy3wLpC", "flowId": "fl_01KA2VgdPrWYDVgYy3wLpB",
    "payloadGeneration": "4", "kind": "survey", "number": 3,
    "publishedAt": "2026-11-15T02:00:00.000Z", "title": "How are we doing?",
    "defaultLocale": "en", "locales": ["en"], "respondentAnalytics": "ask",
    "questions": [
        {"id": "nps", "type": "nps", "prompt": "Would you recommend us?", "required": true}
    ]
}))]
pub(super) struct Snapshot {
    flow_version_id: String,
    flow_id: String,
    /// Send it back as `flowVersionPayloadGeneration`.
    payload_generation: String,
    kind: Kind,
    number: u32,
    #[schema(format = DateTime)]
    published_at: String,
    title: String,
    description: Option<String>,
    default_locale: String,
    locales: Vec<String>,
    /// Whether to ask for consent: `ask`, or `never` for `collection_only`.
    respondent_analytics: String,
    #[schema(nullable = false)]
    auto_advance: Option<bool>,
    #[schema(nullable = false, value_type = Option<Object>)]
    welcome: Option<Value>,
    #[schema(nullable = false, value_type = Option<Vec<Object>>)]
    sections: Option<Vec<Value>>,
    #[schema(schema_with = questions)]
    questions: Vec<Value>,
    #[schema(nullable = false, value_type = Option<Vec<Object>>)]
    endings: Option<Vec<Value>>,
    #[schema(schema_with = ending, required = false)]
    ending: Option<Value>,
    /// The texts in other languages, by BCP 47 tag.
    #[schema(nullable = false, value_type = Option<Object>)]
    translations: Option<Value>,
}

fn questions() -> Array {
    Array::new(Ref::from_schema_name("Question"))
}

fn ending() -> Ref {
    Ref::from_schema_name("Ending")
}

fn always_true() -> Object {
    constant(true)
}

fn always_false() -> Object {
    constant(false)
}

fn constant(value: bool) -> Object {
    ObjectBuilder::new().schema_type(Type::Boolean).enum_values(Some([value])).build()
}

/// Answers to one version. Fields that are not named here are ignored; null means absent.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase", example = json!({
    "flowVersionId": "fv_01KA2VgdPrWYDVgYy3wLpC", "flowVersionPayloadGeneration": "4",
    "respondentAnalyticsAdmission": "collection_only", "answers": {"nps": "9"},
    "metadata": {"tags": {"plan": "pro"}}, "context": {"locale": "en"}
}))]
pub(super) struct Submission {
    flow_version_id: String,
    /// The `payload` that the version was fetched with: `4`.
    flow_version_payload_generation: String,
    /// `admitted` only after an explicit consent; `collection_only` is never linked to a profile.
    respondent_analytics_admission: Admission,
    /// By question id; at most 300, 16,384 characters each.
    #[schema(nullable = false)]
    answers: Option<BTreeMap<String, TextOrList>>,
    /// At most 10.
    identities: Option<Vec<Identity>>,
    metadata: Option<SubmissionMetadata>,
    context: Option<Context>,
    /// At most 255 characters, stored as sent.
    flow_assignment_id: Option<String>,
    /// 1 to 255 printable ASCII characters that name this call, such as a random UUID. Sent again
    /// with the same key, alone or in any batch, it stores nothing and returns the first reply. It
    /// takes precedence over the `Idempotency-Key` header.
    idempotency_key: Option<String>,
}

#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
enum Admission {
    CollectionOnly,
    Admitted,
}

#[derive(ToSchema)]
struct Identity {
    /// `userId`, `traits.email`, or another `traits.` name.
    r#type: String,
    value: String,
}

#[derive(ToSchema)]
struct SubmissionMetadata {
    /// By name; at most 50, names of 1 to 64 characters, values of at most 500.
    #[schema(nullable = false)]
    tags: Option<BTreeMap<String, TextOrList>>,
}

/// What a browser knows. Texts that are too long are cut, not refused.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase", as = SubmissionContext)]
struct Context {
    page: Option<SubmissionPage>,
    /// A BCP 47 tag.
    locale: Option<String>,
    user_agent: Option<String>,
}

#[derive(ToSchema)]
struct SubmissionPage {
    path: Option<String>,
    referrer: Option<String>,
    /// Empty, or begins with `?`.
    search: Option<String>,
}

/// The answer to a well-formed call, accepted or refused.
#[derive(ToSchema)]
#[schema(example = json!({"result": {"data": {"success": true, "responseId": "rs_01KA2VgdPrWYDVgYy3wLpD"}}}))]
pub(super) struct SubmitReply {
    result: SubmitResult,
}

#[derive(ToSchema)]
struct SubmitResult {
    data: SubmitOutcome,
}

#[derive(ToSchema)]
#[serde(untagged)]
enum SubmitOutcome {
    Accepted(Accepted),
    Refused(SubmitRefused),
}

/// The response is on stable storage.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase", as = SubmitAccepted)]
struct Accepted {
    #[schema(schema_with = always_true)]
    success: bool,
    response_id: String,
    /// While an older version is in its grace window: the newer one.
    #[schema(nullable = false)]
    superseded_by: Option<String>,
    /// When the older one stops accepting responses.
    #[schema(nullable = false, format = DateTime)]
    accepts_until: Option<String>,
    /// The sum over the visible answers, if the version has scores.
    #[schema(nullable = false)]
    score: Option<f64>,
}

/// Nothing was stored.
#[derive(ToSchema)]
struct SubmitRefused {
    #[schema(schema_with = always_false)]
    success: bool,
    errors: Errors,
}

#[derive(ToSchema)]
#[schema(rename_all = "camelCase", as = SubmitErrors)]
struct Errors {
    /// The messages of `issues`, in order.
    form_errors: Vec<String>,
    issues: Vec<Issue>,
}

#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
struct Issue {
    /// A code for programs, such as `flow_version_not_found`.
    code: String,
    /// Where in the submission: names of fields, and numbers of list items.
    path: Vec<IssueStep>,
    message: String,
    /// With `no_longer_accepting`: the version to fetch, if one is accepting.
    #[schema(nullable = false)]
    latest_flow_version_id: Option<String>,
}

/// The name of a field, or the number of a list item.
#[derive(ToSchema)]
#[serde(untagged)]
enum IssueStep {
    Field(String),
    Item(u32),
}

/// The verdict on a submission that was not stored.
#[derive(ToSchema)]
#[schema(example = json!({"result": {"data": {"success": true}}}))]
pub(super) struct ValidationReply {
    result: ValidationResult,
}

#[derive(ToSchema)]
struct ValidationResult {
    data: ValidationOutcome,
}

#[derive(ToSchema)]
#[serde(untagged)]
enum ValidationOutcome {
    Passed(Passed),
    Refused(SubmitRefused),
}

/// A submit would be accepted now.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase", as = ValidationPassed)]
struct Passed {
    #[schema(schema_with = always_true)]
    success: bool,
    /// While an older version is in its grace window: the newer one.
    #[schema(nullable = false)]
    superseded_by: Option<String>,
    /// When the older one stops accepting responses.
    #[schema(nullable = false, format = DateTime)]
    accepts_until: Option<String>,
    /// The sum over the visible answers, if the version has scores.
    #[schema(nullable = false)]
    score: Option<f64>,
}

/// A call that was not judged.
#[derive(ToSchema)]
#[schema(example = json!({"error": {"message": "…", "code": -32600,
    "data": {"code": "BAD_REQUEST", "httpStatus": 400, "path": "response.submit"}}}))]
pub(super) struct TrpcError {
    error: TrpcErrorBody,
}

#[derive(ToSchema)]
struct TrpcErrorBody {
    message: String,
    code: i32,
    data: TrpcErrorData,
}

#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
struct TrpcErrorData {
    /// A code for programs.
    code: String,
    http_status: u16,
    /// The procedure; absent if the whole request was refused.
    #[schema(nullable = false)]
    path: Option<String>,
    /// Of a refused token: `token_missing`, `token_invalid`, `token_expired`, or
    /// `identity_keys_unavailable`.
    #[schema(nullable = false)]
    reason: Option<String>,
}

/// Resolve a flow
///
/// Gives the latest published `flowVersionId`. It has a strong `ETag`; `If-None-Match` saves the
/// body. Do not cache it past its `Cache-Control`: that ends when the live window opens or closes.
#[utoipa::path(
    get, path = "/api/v1/{apiKey}/flows/{flowId}", operation_id = "resolveFlow", tag = "Public API",
    security((), ("identityToken" = [])),
    responses(
        (status = 200, description = "The latest published version", body = ResolvedFlow),
        (status = 304, description = "Unchanged since the `ETag` in `If-None-Match`"),
        (status = 404, description = "`flow_not_found`; `flow_not_published`: it has no published version", body = Problem, content_type = "application/problem+json"),
        PublicErrors,
    ),
)]
pub(super) fn resolve_flow() {}

/// Fetch a version
///
/// The snapshot of a published version. It never changes, so keep it as long as you like. A
/// superseded version is served until it is retired.
#[utoipa::path(
    get, path = "/api/v1/{apiKey}/flow_versions/{flowVersionId}", operation_id = "fetchVersion",
    tag = "Public API", security((), ("identityToken" = [])),
    params(
        ("payload" = String, Query, description = "The payload generation; `payloadGenerations` of the flow lists those that are served", example = "4"),
    ),
    responses(
        (status = 200, description = "The snapshot", body = Snapshot),
        (status = 304, description = "Unchanged since the `ETag` in `If-None-Match`"),
        (status = 400, description = "`payload_generation_required`, `payload_generation_unsupported`", body = Problem, content_type = "application/problem+json"),
        (status = 404, description = "`flow_version_not_found`", body = Problem, content_type = "application/problem+json"),
        PublicErrors,
    ),
)]
pub(super) fn fetch_version() {}

/// Submit answers
///
/// A tRPC mutation: any tRPC client of version 10 or 11 can call it, batched and streamed too. A
/// well-formed call is answered with 200, accepted or refused; a refusal lists all problems.
/// `success: true` means that the response is on stable storage. After a 5xx or a lost connection,
/// send it again with the same `idempotencyKey`: at most one response is stored.
#[utoipa::path(
    post, path = "/api/v1/{apiKey}/trpc/response.submit", operation_id = "submitResponse",
    tag = "Public API", security((), ("identityToken" = [])),
    params(
        ("Idempotency-Key" = Option<String>, Header, description = "For a single call, in place of the `idempotencyKey` of the submission: 1 to 255 printable ASCII characters, unique within the app. In a batch, call i has this key plus `#i`. The same key with another submission is refused: `idempotency_key_reused`"),
    ),
    request_body = Submission,
    responses(
        (status = 200, description = "Judged: accepted or refused", body = SubmitReply),
        CallErrors,
    ),
)]
pub(super) fn submit_response() {}

/// The JSON Schema of a submission
///
/// A JSON Schema (2020-12) of a valid submission to this version, with its conditions and jumps. It
/// has a strong `ETag` and may be cached for an hour.
#[utoipa::path(
    get, path = "/api/v1/{apiKey}/flow_versions/{flowVersionId}/schema",
    operation_id = "fetchSchema", tag = "Public API", security((), ("identityToken" = [])),
    params(
        ("payload" = String, Query, description = "The payload generation in which the version was fetched", example = "4"),
    ),
    responses(
        (status = 200, description = "A JSON Schema", body = Object, content_type = "application/schema+json"),
        (status = 304, description = "Unchanged since the `ETag` in `If-None-Match`"),
        (status = 400, description = "`payload_generation_required`, `payload_generation_unsupported`", body = Problem, content_type = "application/problem+json"),
        (status = 404, description = "`flow_version_not_found`", body = Problem, content_type = "application/problem+json"),
        PublicErrors,
    ),
)]
pub(super) fn fetch_schema() {}

/// Judge answers
///
/// The verdict of a submit with the same input; nothing is stored, and no key, quota or limit is
/// used up. A tRPC mutation like the submit, because a submission may be larger than a URL.
#[utoipa::path(
    post, path = "/api/v1/{apiKey}/trpc/response.validate", operation_id = "validateResponse",
    tag = "Public API", security((), ("identityToken" = [])),
    request_body = Submission,
    responses(
        (status = 200, description = "Judged: a submit would be accepted or refused", body = ValidationReply),
        ReadingCallErrors,
    ),
)]
pub(super) fn validate_response() {}
