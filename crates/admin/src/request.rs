//! Request extractors: ids from the path, bodies, query parameters. All faults are reported
//! together.
//!
//! The extractors of query parameters refuse unknown ones. One layer does so for the operations
//! without parameters, whose handlers have no such extractor, so that none can forget it.

use std::collections::{BTreeSet, HashSet};
use std::str::FromStr;
use std::sync::Arc;

use axum::extract::{FromRequest, FromRequestParts, MatchedPath, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use sluice_engine::assets::UPLOAD_BYTES_MAX;
use sluice_engine::invitation_files::FILE_BYTES_MAX;
use sluice_engine::{AdminError, Missing};
use sluice_flow::definition::Fault;
use sluice_http::body::{self, BodyError};
use sluice_http::path_segment::{self, PathId};
use sluice_http::{Limits, query, upload};
use utoipa::IntoParams;
use utoipa::openapi::path::{Operation, Parameter, ParameterIn};
use utoipa::openapi::{OpenApi, RefOr};

use super::page::text_map_parameter;
use super::reply::Refused;
use super::{BASE, BODY_BYTES_MAX, pointer};

/// The query parameters that filter by a tag, or by an answer.
const TAG: &str = "tag";
const ANSWER: &str = "answer";

impl PathId for Kid {
    const PARAMETER: &str = "kid";
    const MISSING: Missing = Missing::IdentityKey;
}

/// The name of an identity key; any text is valid.
#[derive(Debug)]
pub(super) struct Kid(pub(super) String);

impl FromStr for Kid {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self(text.to_owned()))
    }
}

/// The id in the path, under the name of its kind.
pub(super) struct PathParam<T>(pub(super) T);

impl<T: PathId, S: Send + Sync> FromRequestParts<S> for PathParam<T> {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refused> {
        Ok(Self(path_segment::in_path(parts).await?))
    }
}

/// A JSON body, read as `T` or refused with all faults.
pub(super) struct Body<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Body<T> {
    type Rejection = Refused;

    async fn from_request(request: Request, _: &S) -> Result<Self, Refused> {
        if !is_json(request.headers()) {
            return Err(Refused::WrongContentType);
        }
        let (head, body) = request.into_parts();
        let bytes = read_whole(&head.headers, body).await?;
        Ok(Self(parse(&bytes)?))
    }
}

/// No body, or an object without fields: anything else is refused rather than ignored, in case the
/// operation accepts it one day.
pub(super) struct NoBody;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
struct NoFields {}

impl<S: Send + Sync> FromRequest<S> for NoBody {
    type Rejection = Refused;

    async fn from_request(request: Request, _: &S) -> Result<Self, Refused> {
        let (head, body) = request.into_parts();
        let bytes = read_whole(&head.headers, body).await?;
        if bytes.is_empty() {
            return Ok(Self);
        }
        if !is_json(&head.headers) {
            return Err(Refused::WrongContentType);
        }
        let NoFields {} = parse(&bytes)?;
        Ok(Self)
    }
}

/// A JSON body, or a CSV file, which may be larger.
pub(super) enum JsonOrCsv<T> {
    Json(T),
    Csv(Bytes),
}

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for JsonOrCsv<T> {
    type Rejection = Refused;

    async fn from_request(request: Request, state: &S) -> Result<Self, Refused> {
        if !is_of_type(request.headers(), "text/csv") {
            return Body::from_request(request, state).await.map(|Body(read)| Self::Json(read));
        }
        let (head, body) = request.into_parts();
        must_be_uncompressed(&head.headers)?;
        match upload::read(&head, body, FILE_BYTES_MAX).await {
            Ok(bytes) => Ok(Self::Csv(bytes)),
            Err(BodyError::TooLarge) => Err(Refused::FileTooLarge),
            Err(unread) => Err(unread.into()),
        }
    }
}

/// An image file. Its content decides what it is; the content type says that an image was meant.
pub(super) struct ImageBody(pub(super) Bytes);

impl<S: Send + Sync> FromRequest<S> for ImageBody {
    type Rejection = Refused;

    async fn from_request(request: Request, _: &S) -> Result<Self, Refused> {
        let types = ["image/png", "image/jpeg", "image/webp"];
        if !types.iter().any(|it| is_of_type(request.headers(), it)) {
            return Err(Refused::NotAnImage);
        }
        let (head, body) = request.into_parts();
        must_be_uncompressed(&head.headers)?;
        match upload::read(&head, body, UPLOAD_BYTES_MAX).await {
            Ok(bytes) => Ok(Self(bytes)),
            Err(BodyError::TooLarge) => Err(Refused::ImageTooLarge),
            Err(unread) => Err(unread.into()),
        }
    }
}

async fn read_whole(headers: &HeaderMap, body: axum::body::Body) -> Result<Bytes, Refused> {
    must_be_uncompressed(headers)?;
    let limits = Limits { body_bytes_max: BODY_BYTES_MAX, ..Limits::default() };
    Ok(body::read(headers, body, &limits).await?)
}

fn must_be_uncompressed(headers: &HeaderMap) -> Result<(), Refused> {
    match headers.get(header::CONTENT_ENCODING) {
        Some(coding) if !coding.as_bytes().eq_ignore_ascii_case(b"identity") => {
            Err(Refused::Compressed(String::from_utf8_lossy(coding.as_bytes()).into_owned()))
        }
        _ => Ok(()),
    }
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Refused> {
    let value: Value = serde_json::from_slice(bytes)
        .map_err(|error| Refused::Malformed(format!("the body is not JSON: {error}")))?;
    Ok(pointer::read(value).map_err(AdminError::Invalid)?)
}

fn is_json(headers: &HeaderMap) -> bool {
    is_of_type(headers, "application/json")
}

fn is_of_type(headers: &HeaderMap, wanted: &str) -> bool {
    let text = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let media_type = text.and_then(|text| text.split(';').next()).unwrap_or_default().trim();
    media_type.eq_ignore_ascii_case(wanted)
}

/// The query parameters, read as `T` or refused with all faults.
pub(super) struct Query<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Query<T> {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refused> {
        Ok(Self(read_query(pairs(&parts.uri), Vec::new(), "")?))
    }
}

/// Like [`Query`], and also `tag.NAME=value`, `answer.QUESTION=value` and
/// `answer.QUESTION[OPERATOR]=value`; all of them must match. The engine reads the operators.
pub(super) struct FilteredQuery<T> {
    pub(super) query: T,
    pub(super) tags: Vec<(String, String)>,
    pub(super) answers: Vec<(String, String)>,
}

/// The parameters of a [`FilteredQuery`] whose names vary, for the OpenAPI document.
pub(super) struct FilterParams;

impl IntoParams for FilterParams {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        [
            ("tag", "Only those with these tags: `tag[plan]=pro`. Also as `tag.plan=pro`"),
            (
                "answer",
                "Only those with these answers, by question: `answer[use]=api`; or with answers \
                 that compare like this: `answer[nps[lt]]=7`, with the operators `ne`, `lt`, \
                 `lte`, `gt`, `gte`, `contains` and `answered`. Also as `answer.use=api` and \
                 `answer.nps[lt]=7`",
            ),
        ]
        .map(|(name, description)| text_map_parameter(name, description))
        .into()
    }
}

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for FilteredQuery<T> {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refused> {
        let (mut tags, mut answers) = (Vec::new(), Vec::new());
        let mut others = Vec::new();
        let mut faults = Vec::new();
        for (name, value) in pairs(&parts.uri) {
            match (member(&name, TAG), member(&name, ANSWER)) {
                (Some(""), _) => {
                    faults.push(parameter_fault(&name, "must name a tag after the dot"))
                }
                (_, Some("")) => {
                    faults.push(parameter_fault(&name, "must name a question after the dot"));
                }
                (Some(tag), _) => tags.push((tag.to_owned(), value)),
                (_, Some(question)) => answers.push((with_operator(question), value)),
                (None, None) => others.push((name, value)),
            }
        }
        let query = read_query(others, faults, ", tag.NAME, answer.QUESTION")?;
        Ok(Self { query, tags, answers })
    }
}

/// The name in `tag.NAME` and in `tag[NAME]`, which clients generated from the document send.
fn member<'n>(name: &'n str, filter: &str) -> Option<&'n str> {
    let rest = name.strip_prefix(filter)?;
    rest.strip_prefix('.').or_else(|| rest.strip_prefix('[')?.strip_suffix(']'))
}

/// Some clients write `answer[nps][lt]` for a member with an operator.
fn with_operator(question: &str) -> String {
    match question.split_once("][") {
        Some((id, operator)) => format!("{id}[{operator}]"),
        None => question.to_owned(),
    }
}

fn pairs(uri: &Uri) -> impl Iterator<Item = (String, String)> {
    let pairs = query::pairs(uri.query().unwrap_or_default());
    pairs.map(|(name, value)| (name.into_owned(), value.into_owned()))
}

/// Reads the parameters; `besides` is appended to the message that lists the known ones.
fn read_query<T: DeserializeOwned>(
    pairs: impl IntoIterator<Item = (String, String)>,
    mut faults: Vec<Fault>,
    besides: &str,
) -> Result<T, Refused> {
    let mut members = Map::new();
    for (name, value) in pairs {
        if members.contains_key(&name) {
            faults.push(parameter_fault(&name, "must be given once"));
        } else {
            members.insert(name, Value::String(value));
        }
    }
    match pointer::read(Value::Object(members)) {
        Ok(read) if faults.is_empty() => Ok(read),
        Ok(_) => Err(AdminError::Invalid(faults).into()),
        Err(mut more) => {
            let unknown = |fault: &&mut Fault| fault.message.starts_with(pointer::UNKNOWN);
            more.iter_mut().filter(unknown).for_each(|fault| fault.message.push_str(besides));
            faults.extend(more);
            Err(AdminError::Invalid(faults).into())
        }
    }
}

fn parameter_fault(name: &str, message: &str) -> Fault {
    Fault::new(pointer::to_member(name), message)
}

/// The operations without query parameters: their methods and path templates.
pub(super) struct ParameterlessOperations(HashSet<(Method, String)>);

impl ParameterlessOperations {
    /// Collects them from the OpenAPI document.
    pub(super) fn new(document: &OpenApi) -> Self {
        let mut operations = HashSet::new();
        for (path, item) in &document.paths.paths {
            for (method, operation) in [
                (Method::GET, &item.get),
                (Method::HEAD, &item.get),
                (Method::POST, &item.post),
                (Method::PUT, &item.put),
                (Method::PATCH, &item.patch),
                (Method::DELETE, &item.delete),
            ] {
                if operation.as_ref().is_some_and(|it| !takes_parameters(it)) {
                    operations.insert((method, path.clone()));
                }
            }
        }
        Self(operations)
    }
}

fn takes_parameters(operation: &Operation) -> bool {
    operation.parameters.iter().flatten().any(|it| match it {
        RefOr::T(it) => it.parameter_in == ParameterIn::Query,
        RefOr::Ref(_) => false,
    })
}

/// Refuses every query parameter of an operation that has none.
pub(super) async fn refuse_parameters(
    State(operations): State<Arc<ParameterlessOperations>>,
    request: Request,
    next: Next,
) -> Response {
    let operation = path_template(&request).map(|path| (request.method().clone(), path.to_owned()));
    if operation.is_some_and(|it| operations.0.contains(&it)) {
        let names: BTreeSet<String> = pairs(request.uri()).map(|(name, _)| name).collect();
        if !names.is_empty() {
            let message = format!("{}; this takes no parameters", pointer::UNKNOWN);
            let faults = names.iter().map(|name| parameter_fault(name, &message));
            return Refused::from(AdminError::Invalid(faults.collect())).into_response();
        }
    }
    next.run(request).await
}

/// The path of the operation, with the names of its parameters; `None` if there is none.
pub(super) fn path_template(request: &Request) -> Option<&str> {
    let path = request.extensions().get::<MatchedPath>()?.as_str();
    Some(path.strip_prefix(BASE).unwrap_or(path))
}
