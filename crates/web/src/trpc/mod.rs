//! The tRPC transport: `response.submit`, singly, in a batch, or in a batch answered as a stream.
//!
//! Clients of version 10 and 11 are both served; the framing follows from the request's headers. What
//! concerns the request as a whole is checked in [`request`]; then each call meets, in this order: is
//! there such a procedure, is the method right, may the caller come in, is there a readable input. A
//! call that fails does not touch its neighbours, and all calls of a batch run at once, so that they
//! share one durable write.
//!
//! Decisions that the protocol leaves open: `Idempotency-Replayed: true` is sent where every accepted call
//! of the reply was a replay (never on a stream, whose headers are gone by then); a body that came too
//! slowly is `TIMEOUT`; a compressed body is `UNSUPPORTED_MEDIA_TYPE`. Deliberately absent: queries and
//! subscriptions, `connectionParams`, form data, and data transformers.

mod batch;
mod envelope;
mod request;
mod stream;

use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use axum::routing::any;
use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::join_all;
use http::request::Parts;
use http::{HeaderMap, HeaderName, Method, Version};
use sluice_engine::idempotency::{IdempotencyKey, InvalidKey};
use sluice_engine::{AppView, Engine};
use sluice_flow::identity::Claims;

use crate::access::{Entry, key_and_rest};
use crate::exchange::Failure;
use crate::{Limits, body, cors};
use envelope::{Code, Fault, Outcome};
use request::{Framing, Plan};

pub(crate) use envelope::failed;

/// The one procedure there is.
const SUBMIT: &str = "response.submit";

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// The template of the route that calls take.
pub(crate) const CALL: &str = "/api/v1/{apiKey}/trpc/{*procedure}";

/// What a call needs: the engine, and how much of a request is read for how long.
pub(crate) struct Transport {
    engine: Arc<Engine>,
    limits: Limits,
}

impl Transport {
    pub(crate) fn new(engine: Arc<Engine>, limits: Limits) -> Self {
        Self { engine, limits }
    }
}

pub(crate) fn router(transport: Arc<Transport>) -> Router {
    Router::new()
        .route("/api/v1/{apiKey}/trpc", any(handle))
        .route("/api/v1/{apiKey}/trpc/", any(handle))
        .route(CALL, any(handle))
        .with_state(transport)
}

async fn handle(State(transport): State<Arc<Transport>>, request: Request) -> Response {
    answer_to(&transport, request).await
}

/// The reply to whatever came in on a path of this transport.
pub(crate) async fn answer_to(transport: &Arc<Transport>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let (key, rest) = key_and_rest(head.uri.path());
    if cors::is_preflight(&head.method, &head.headers) {
        let entry = Entry::of_key(&transport.engine, key).await;
        return cors::preflight(entry.known_app(), &head.headers);
    }
    let entry = Entry::of(&transport.engine, key, &head.headers).await;
    let path = rest.strip_prefix("trpc").unwrap_or_default();
    let path = path.strip_prefix('/').unwrap_or(path);
    let mut response = match (Plan::read(&head, path), entry.denied_by_token()) {
        (Ok(plan), Some(_)) if head.method != Method::HEAD => {
            answer(transport, &entry, &head, plan, body).await
        }
        (_, Some(denied)) => envelope::refused(denied.into()),
        _ if head.method == Method::HEAD => envelope::head(),
        (Ok(plan), None) => answer(transport, &entry, &head, plan, body).await,
        (Err(fault), None) => envelope::refused(fault),
    };
    if head.version <= Version::HTTP_11 {
        envelope::close_if_unread(&mut response);
    }
    cors::mark(&mut response, entry.known_app(), &head.headers);
    response
}

/// Runs the calls of a plan and frames what they came to.
async fn answer(
    transport: &Arc<Transport>,
    entry: &Entry,
    head: &Parts,
    plan: Plan,
    body: Body,
) -> Response {
    let Plan { paths, framing } = plan;
    if framing == Framing::Single {
        let path = paths.first().map(String::as_str).unwrap_or_default();
        let outcome = alone(transport, entry, head, path, body).await;
        return envelope::single(path, &outcome);
    }
    let jobs = jobs(transport, entry, head, &paths, body).await;
    let calls: Vec<_> = jobs.into_iter().map(|job| run(Arc::clone(transport), job)).collect();
    match framing {
        Framing::Single | Framing::Array => envelope::array(&paths, &join_all(calls).await),
        Framing::Lines11 => envelope::streamed(stream::lines11(paths, calls)),
        Framing::Lines10 => envelope::streamed(stream::lines10(paths, calls)),
    }
}

/// The one call of a request that is no batch.
async fn alone(
    transport: &Transport,
    entry: &Entry,
    head: &Parts,
    path: &str,
    body: Body,
) -> Outcome {
    let app = gate(path, head, entry)?;
    let input = body::read(&head.headers, body, &transport.limits).await?;
    let key = idempotency_key(&head.headers)?;
    submit(transport, app, Some(&input), key.as_ref(), entry.claims().map(Arc::as_ref)).await
}

/// A call that may run.
struct Submit {
    app: Arc<AppView>,
    claims: Option<Arc<Claims>>,
    input: Option<Bytes>,
    key: Option<IdempotencyKey>,
}

type Job = Result<Submit, Fault>;

/// What is to be done for each call of a batch. The body is read only if some call needs it.
async fn jobs(
    transport: &Transport,
    entry: &Entry,
    head: &Parts,
    paths: &[String],
    body: Body,
) -> Vec<Job> {
    let gates: Vec<_> = paths.iter().map(|path| gate(path, head, entry)).collect();
    if gates.iter().all(Result::is_err) {
        return gates.into_iter().filter_map(Result::err).map(Err).collect();
    }
    let inputs = inputs(transport, head, body, paths.len()).await;
    let key = idempotency_key(&head.headers);
    let job = |(index, gate): (usize, Result<&Arc<AppView>, Fault>)| {
        let app = Arc::clone(gate?);
        let key = key.clone()?.map(|key| key.of_call(index));
        let input = inputs.as_ref().map_err(Clone::clone)?.get(index).cloned().flatten();
        Ok(Submit { app, claims: entry.claims().cloned(), input, key })
    };
    gates.into_iter().enumerate().map(job).collect()
}

/// The checks of one call that do not need its input.
fn gate<'a>(path: &str, head: &Parts, entry: &'a Entry) -> Result<&'a Arc<AppView>, Fault> {
    if let Some(denied) = entry.denied_by_token() {
        return Err(denied.into());
    }
    if path != SUBMIT {
        let message = format!("No procedure found on path \"{path}\"");
        return Err(Fault::new(Code::NotFound, message));
    }
    if head.method != Method::POST {
        let method = &head.method;
        let message =
            format!("Unsupported {method}-request to mutation procedure at path \"{path}\"");
        return Err(Fault::new(Code::MethodNotSupported, message));
    }
    Ok(entry.app()?)
}

async fn inputs(
    transport: &Transport,
    head: &Parts,
    body: Body,
    calls: usize,
) -> Result<Vec<Option<Bytes>>, Fault> {
    let bytes = body::read(&head.headers, body, &transport.limits).await?;
    batch::inputs(&bytes, calls)
}

/// The key of the request, if it has one. Two keys are as bad as none that can be read.
fn idempotency_key(headers: &HeaderMap) -> Result<Option<IdempotencyKey>, Fault> {
    let mut values = headers.get_all(IDEMPOTENCY_KEY).iter();
    let key = match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => IdempotencyKey::parse(value.as_bytes()).map(Some),
        (Some(_), Some(_)) => Err(InvalidKey),
    };
    key.map_err(|error| Fault::new(Code::BadRequest, error.to_string()))
}

/// Does one call of a batch.
async fn run(transport: Arc<Transport>, job: Job) -> Outcome {
    let Submit { app, claims, input, key } = job?;
    submit(&transport, &app, input.as_deref(), key.as_ref(), claims.as_deref()).await
}

/// A panic or a hang in a call is its own failure, not that of the whole reply.
async fn submit(
    transport: &Transport,
    app: &AppView,
    input: Option<&[u8]>,
    key: Option<&IdempotencyKey>,
    claims: Option<&Claims>,
) -> Outcome {
    // Pinned where it stands, since it is large and each of the two around it would move it.
    let submit = pin!(transport.engine.submit_as(app, input, key, claims));
    let caught = AssertUnwindSafe(submit).catch_unwind();
    match tokio::time::timeout(transport.limits.request_timeout, caught).await {
        Ok(Ok(result)) => Ok(result?),
        Ok(Err(_)) => Err(Failure::Panicked.into()),
        Err(_) => Err(Failure::TimedOut.into()),
    }
}
