//! Conditional requests: `ETag` on every resource with a separate address, `If-None-Match` on GET,
//! and `If-Match` on every change to it.
//!
//! One layer and one table instead of a comparison in each handler. An entity tag is a hash of the
//! representation, so that it needs nothing stored and cannot be forgotten. If a part of it changes
//! by itself (a number of responses, a position), the tag has two hashes, and `If-Match` compares
//! the one without that part: otherwise no change to a busy flow would ever match. The tag of the
//! current state is computed by the GET of the same address, without leaving the process; the
//! engine evaluates it so that the comparison and the change are atomic ([`RequestScope`]).
//!
//! Deliberately absent: tags for lists, results, exports and files, which have no single state to
//! compare.

use std::pin::Pin;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use serde_json::{Map, Value};
use sluice_engine::{AdminError, Condition, Engine, RequestScope, StoreError};
use sluice_http::entity_tags::EntityTags;
use tower::ServiceExt as _;

use super::BASE;
use super::auth::Caller;
use super::reply::{self, Refused};
use super::request::path_template;
use super::resources::{self, Operation, ReplyTag};

/// The number of hexadecimal digits of the hash that form a tag.
const TAG_DIGITS: usize = 32;
/// Between the two hashes of a tag.
const SEPARATOR: char = '.';

/// What the layer needs: the engine, and the routes that read resources.
pub(super) struct Resources {
    pub(super) engine: Arc<Engine>,
    /// All routes, without layers.
    pub(super) routes: Router,
}

pub(super) async fn conditional(
    State(resources): State<Arc<Resources>>,
    request: Request,
    next: Next,
) -> Response {
    let operation = operation_of(&request);
    match *request.method() {
        Method::GET => read(operation, request, next).await,
        Method::HEAD | Method::OPTIONS => next.run(request).await,
        _ => {
            let changed = changed(&resources, operation, request, next).await;
            changed.unwrap_or_else(Refused::into_response)
        }
    }
}

fn operation_of(request: &Request) -> Option<&'static Operation> {
    resources::find(request.method().as_str(), path_template(request)?)
}

/// A GET: its tag, or only that nothing has changed.
async fn read(operation: Option<&Operation>, request: Request, next: Next) -> Response {
    let Some(operation) = operation else { return next.run(request).await };
    // A header that is not a list of tags names no state that the client has.
    let known = EntityTags::parse(request.headers(), &header::IF_NONE_MATCH).ok().flatten();
    let response = next.run(request).await;
    if !reply::is_representation(&response) {
        return response;
    }
    let (mut head, body) = response.into_parts();
    let Ok(bytes) = to_bytes(body, usize::MAX).await else { return reply::unreadable() };
    let tag = tag_of(&bytes, operation.moving());
    let is_known = known.is_some_and(|known| known.match_weakly(Some(&tag)));
    set_tag(&mut head.headers, &tag);
    match is_known {
        true => reply::not_modified(head.headers.get(header::ETAG)),
        false => Response::from_parts(head, Body::from(bytes)),
    }
}

/// A change: carried out if the current state is the one that the client names.
async fn changed(
    resources: &Arc<Resources>,
    operation: Option<&'static Operation>,
    request: Request,
    next: Next,
) -> Result<Response, Refused> {
    let wanted = EntityTags::parse(request.headers(), &header::IF_MATCH);
    let wanted = wanted.map_err(|_| Refused::TagsInvalid)?;
    let Some(operation) = operation else {
        return match wanted {
            Some(_) => Err(Refused::NoTags),
            None => Ok(next.run(request).await),
        };
    };
    let path = request.uri().path();
    let path = operation.resource_path(path.strip_prefix(BASE).unwrap_or(path));
    let current = path.zip(request.extensions().get::<Caller>().cloned());
    let current = current.map(|(path, caller)| Current {
        resources: Arc::clone(resources),
        path,
        caller,
        moving: operation.moving(),
    });
    let scope = RequestScope::current_or_new();
    match (wanted, &current) {
        (None, _) => {}
        (Some(_), None) => return Err(Refused::NoTags),
        (Some(wanted), Some(current)) => {
            scope.require(Box::new(Matching { wanted, current: current.clone() }));
        }
    }
    let response = Arc::clone(&scope).run(next.run(request)).await;
    let succeeded = response.status().is_success();
    // A request that failed for another reason reports that reason, whatever its condition.
    let has_failed = match succeeded {
        true => !scope.held().await.map_err(AdminError::Store)?,
        false => scope.has_refused(),
    };
    if has_failed {
        return Err(Refused::NotMatching);
    }
    match succeeded {
        true => Ok(tagged(resources, operation, current, &scope, response).await),
        false => Ok(response),
    }
}

/// Adds the tag of the state after a change, if it is known exactly.
async fn tagged(
    resources: &Resources,
    operation: &Operation,
    current: Option<Current>,
    scope: &RequestScope,
    response: Response,
) -> Response {
    let (mut head, body) = response.into_parts();
    let Ok(bytes) = to_bytes(body, usize::MAX).await else { return reply::unreadable() };
    let tag = match (operation.reply, current) {
        (ReplyTag::OfBody, _) => Some(tag_of(&bytes, operation.moving())),
        (ReplyTag::Read, Some(current)) => exact_tag(&resources.engine, scope, &current).await,
        (ReplyTag::Read, None) => None,
    };
    if let Some(tag) = tag {
        set_tag(&mut head.headers, &tag);
    }
    Response::from_parts(head, Body::from(bytes))
}

/// The tag of a resource, if its current state is the result of the request.
async fn exact_tag(engine: &Engine, scope: &RequestScope, current: &Current) -> Option<String> {
    if !engine.requests().is_newest(scope).await.ok()? {
        return None;
    }
    let tag = current.tag().await.ok()?;
    if engine.requests().is_newest(scope).await.ok()? { tag } else { None }
}

/// The current state of a resource.
#[derive(Clone)]
struct Current {
    resources: Arc<Resources>,
    path: String,
    caller: Caller,
    moving: &'static [&'static str],
}

impl Current {
    /// Its tag; `None` if there is no such thing, or if the caller may not read it.
    async fn tag(&self) -> Result<Option<String>, StoreError> {
        let failed = |what: &str| StoreError::Failed(what.to_owned().into());
        let request = http::Request::get(self.path.as_str()).extension(self.caller.clone());
        let request = request.body(Body::empty()).map_err(|error| failed(&error.to_string()))?;
        let Ok(response) = self.resources.routes.clone().oneshot(request).await;
        if response.status().is_server_error() {
            return Err(failed("the current state cannot be read"));
        }
        if !reply::is_representation(&response) {
            return Ok(None);
        }
        let bytes = to_bytes(response.into_body(), usize::MAX).await;
        let bytes = bytes.map_err(|error| failed(&error.to_string()))?;
        Ok(Some(tag_of(&bytes, self.moving)))
    }
}

/// The condition of an `If-Match`.
struct Matching {
    wanted: EntityTags,
    current: Current,
}

impl Condition for Matching {
    fn holds(&self) -> Pin<Box<dyn Future<Output = Result<bool, StoreError>> + Send + '_>> {
        Box::pin(async {
            let current = self.current.tag().await?;
            Ok(self.wanted.match_strongly(current.as_deref(), compared))
        })
    }
}

/// The tag of a representation, some of whose members may change by themselves.
fn tag_of(representation: &Bytes, moving: &[&str]) -> String {
    let digits = |bytes: &[u8]| blake3::hash(bytes).to_hex()[..TAG_DIGITS].to_owned();
    let whole = digits(representation);
    let parsed = serde_json::from_slice::<Map<String, Value>>(representation);
    match (moving, parsed) {
        ([], _) | (_, Err(_)) => format!("\"{whole}\""),
        (moving, Ok(mut members)) => {
            members.retain(|name, _| !moving.contains(&name.as_str()));
            let settled = serde_json::to_vec(&members).unwrap_or_default();
            format!("\"{}{SEPARATOR}{whole}\"", digits(&settled))
        }
    }
}

/// The part of a tag that `If-Match` compares.
fn compared(tag: &str) -> &str {
    tag.split(SEPARATOR).next().unwrap_or(tag)
}

fn set_tag(headers: &mut HeaderMap, tag: &str) {
    if let Ok(value) = HeaderValue::from_str(tag) {
        headers.insert(header::ETAG, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_changes_with_everything_and_is_compared_without_what_moves() {
        let tag = |text: &'static str| tag_of(&Bytes::from_static(text.as_bytes()), &["counted"]);
        let (one, two) = (tag(r#"{"name":"a","counted":1}"#), tag(r#"{"name":"a","counted":2}"#));
        let other = tag(r#"{"name":"b","counted":1}"#);
        assert_ne!(one, two);
        assert_eq!(compared(&one), compared(&two));
        assert_ne!(compared(&one), compared(&other));
        let plain = tag_of(&Bytes::from_static(b"{}"), &[]);
        assert_eq!((plain.len(), compared(&plain)), (TAG_DIGITS + 2, plain.as_str()));
    }
}
