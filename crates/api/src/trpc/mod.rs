//! The tRPC transport: single calls, batches, and batches answered as a stream.
//!
//! Serves clients of versions 10 and 11; the request's headers decide the framing. [`request`]
//! checks what concerns the whole request; then each call is checked in this order: does the
//! procedure exist, is the method right, may the caller use it, is the input readable. A failed
//! call does not affect the others, and all calls of a batch run concurrently, so that they share
//! one durable write. A call with a superjson input is answered in superjson, errors included; so
//! the body is read before any reply, even for a caller who is then refused.
//!
//! Decisions that the protocol leaves open: `Idempotency-Replayed: true` is sent if every accepted
//! call of the reply was a replay (never on a stream, since its headers are sent first); a body
//! that arrives too slowly is `TIMEOUT`; a compressed body is `UNSUPPORTED_MEDIA_TYPE`.
//! Deliberately absent: queries and subscriptions, `connectionParams`, form data, and data
//! transformers other than superjson.

mod batch;
mod envelope;
mod procedure;
mod request;
mod stream;

use std::future::ready;
use std::net::IpAddr;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, HttpBody as _};
use axum::extract::{Extension, Request, State};
use axum::response::Response;
use axum::routing::any;
use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::join_all;
use http::request::Parts;
use http::{HeaderMap, HeaderName, Method};
use sluice_engine::idempotency::{IdempotencyKey, InvalidKey};
use sluice_engine::{AppView, Engine, Limited};
use sluice_flow::identity::Bearer;

use envelope::{Call, Code, Fault, Outcome, Transformer};
use procedure::{Arguments, Procedure};
use request::{CallPlan, Framing};
use sluice_http::access::{AccessCheck, key_and_rest};
use sluice_http::client::Peer;
use sluice_http::exchange::Failure;
use sluice_http::rate::{AddressLimit, Sender};
use sluice_http::{Limits, body, cors};

pub use envelope::TRPC_CODES;
pub use envelope::failed;
pub use request::CALLS_MAX;

/// The largest body read from a request that a limit refused, in bytes. A larger one, or one
/// without an announced size, is answered as if its client had no transformer.
const REFUSED_BODY_BYTES_MAX: u64 = 64 * 1024;

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// The route template of calls.
pub const CALL: &str = "/api/v1/{apiKey}/trpc/{*procedure}";

/// The state of the transport: the engine, the limits for reading a request, and the limits by
/// address.
pub struct Transport {
    engine: Arc<Engine>,
    limits: Limits,
    addresses: Arc<AddressLimit>,
}

impl std::fmt::Debug for Transport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Transport").finish_non_exhaustive()
    }
}

impl Transport {
    pub fn new(engine: Arc<Engine>, limits: Limits, addresses: Arc<AddressLimit>) -> Self {
        Self { engine, limits, addresses }
    }

    /// Whether the sender may make these calls, with a body of the announced size. A body that is
    /// too large counts as the largest allowed, since no more of it is read.
    fn admit(&self, sender: Sender, head: &Parts, calls: usize) -> Result<(), Limited> {
        let bytes = body::announced(&head.headers).unwrap_or(0);
        let bytes = bytes.min(self.limits.body_bytes_max as u64);
        self.addresses.admit_calls(&self.engine, sender, calls)?;
        self.addresses.admit_bytes(&self.engine, sender, bytes)
    }

    /// Reads the body. If its size was not announced, each piece is counted for the sender as it
    /// arrives, so that a body that never ends counts as well.
    async fn read(&self, sender: Sender, head: &Parts, body: Body) -> Result<Bytes, Fault> {
        let is_announced = body::announced(&head.headers).is_some();
        let admit = |bytes| match is_announced {
            true => Ok(()),
            false => Ok(self.addresses.admit_bytes(&self.engine, sender, bytes)?),
        };
        body::read_counted(&head.headers, body, &self.limits, sender, admit).await
    }
}

pub fn router(transport: Arc<Transport>) -> Router {
    Router::new()
        .route("/api/v1/{apiKey}/trpc", any(handle))
        .route("/api/v1/{apiKey}/trpc/", any(handle))
        .route(CALL, any(handle))
        .with_state(transport)
}

async fn handle(
    State(transport): State<Arc<Transport>>,
    from: Option<Extension<Peer>>,
    request: Request,
) -> Response {
    let peer = from.map(|Extension(Peer(address))| address);
    answer_to(&transport, peer, request).await
}

/// The reply to any request on a path of this transport.
pub async fn answer_to(
    transport: &Arc<Transport>,
    peer: Option<IpAddr>,
    request: Request,
) -> Response {
    let (head, body) = request.into_parts();
    let (key, rest) = key_and_rest(head.uri.path());
    let path = rest.strip_prefix("trpc").unwrap_or_default();
    let path = path.strip_prefix('/').unwrap_or(path);
    let plan = CallPlan::read(&head, path);
    let is_preflight = cors::is_preflight(&head.method, &head.headers);
    let calls = plan.as_ref().map_or(1, |plan| plan.paths.len());
    let sender = transport.addresses.sender(peer, &head.headers);
    // A preflight names the calls that will follow, but makes none of them.
    let admitted = transport.admit(sender, &head, if is_preflight { 1 } else { calls });
    if let Err(limited) = admitted {
        let mut response = over_limit(transport, &head, sender, plan, body, limited).await;
        // The key was not looked up, so any origin may read this.
        cors::mark(&mut response, None, &head.headers);
        return response;
    }
    if is_preflight {
        let access = AccessCheck::run_for_key(&transport.engine, &key).await;
        return cors::preflight(access.known_app(), &head.headers);
    }
    let access = AccessCheck::run(&transport.engine, &key, &head.headers).await;
    if let Err(limited) = access.admit_calls(&transport.engine, calls) {
        let mut response = over_limit(transport, &head, sender, plan, body, limited).await;
        cors::mark(&mut response, access.known_app(), &head.headers);
        return response;
    }
    let mut response = match plan {
        _ if head.method == Method::HEAD => without_body(&head, body, envelope::head()),
        Ok(plan) => answer(transport, &access, &head, sender, plan, body).await,
        Err(fault) => refused(transport, &head, sender, body, fault).await,
    };
    cors::mark(&mut response, access.known_app(), &head.headers);
    response
}

/// This reply, to a request whose body is not needed. A small body is skipped by the connection,
/// which then stays open.
fn without_body(head: &Parts, body: Body, mut response: Response) -> Response {
    if !is_small(head, &body) {
        body::abandon(body);
        envelope::close(&mut response, head.version);
    }
    response
}

/// Whether the body of a request that was refused is small enough to read.
fn is_small(head: &Parts, body: &Body) -> bool {
    let announced = body::announced(&head.headers);
    body.is_end_stream() || announced.is_some_and(|bytes| bytes <= REFUSED_BODY_BYTES_MAX)
}

/// The reply to a request that a limit refused. Its body is read only if it is small.
async fn over_limit(
    transport: &Transport,
    head: &Parts,
    sender: Sender,
    plan: Result<CallPlan, Fault>,
    body: Body,
    limited: Limited,
) -> Response {
    if !is_small(head, &body) {
        return without_body(head, body, limited_reply(head, plan, None, limited.into()));
    }
    let body = body::read_from(sender, &head.headers, body, &transport.limits).await.ok();
    let mut response = limited_reply(head, plan, body.as_ref(), limited.into());
    if body.is_none() {
        envelope::close(&mut response, head.version);
    }
    response
}

/// One error for all calls of a request, in the format that the client reads. A version 10 client
/// that asked for lines reads nothing else.
fn limited_reply(
    head: &Parts,
    plan: Result<CallPlan, Fault>,
    body: Option<&Bytes>,
    fault: Fault,
) -> Response {
    let transformers = transformers(head, body);
    if let Ok(CallPlan { paths, framing: Framing::Lines10 }) = plan {
        let transformer = |index: usize| transformers.get(index).copied().unwrap_or_default();
        let call = |(index, path)| Call { path, transformer: transformer(index) };
        let calls: Vec<_> = paths.into_iter().enumerate().map(call).collect();
        let outcomes = calls.iter().map(|_| ready(Err(fault.clone()))).collect();
        return envelope::refused_with(stream::lines10(calls, outcomes), fault);
    }
    envelope::refused(&transformers, fault)
}

/// One error for a whole request, in the format that the client reads. The body is read as that of
/// any other request.
async fn refused(
    transport: &Transport,
    head: &Parts,
    sender: Sender,
    body: Body,
    fault: Fault,
) -> Response {
    let body = transport.read(sender, head, body).await;
    let mut response = envelope::refused(&transformers(head, body.as_ref().ok()), fault);
    if body.is_err() {
        envelope::close(&mut response, head.version);
    }
    response
}

/// The transformers of the calls of a request; empty if the body was not read.
fn transformers(head: &Parts, body: Option<&Bytes>) -> Vec<Transformer> {
    let inputs = match body {
        None => Vec::new(),
        Some(body) if request::is_batch(head) => batch::inputs(body, CALLS_MAX).unwrap_or_default(),
        Some(body) => vec![Some(body.clone())],
    };
    inputs.iter().map(|input| Transformer::from_input(input.as_deref())).collect()
}

/// Reads the body, runs the calls of a plan and frames their outcomes. The body is read even if a
/// check fails, since the inputs show how errors must be encoded.
async fn answer(
    transport: &Arc<Transport>,
    access: &AccessCheck,
    head: &Parts,
    sender: Sender,
    plan: CallPlan,
    body: Body,
) -> Response {
    let body = transport.read(sender, head, body).await;
    let is_unread = body.is_err();
    let mut response = if plan.framing == Framing::Single {
        let path = plan.paths.first().map(String::as_str).unwrap_or_default();
        single_call(transport, access, head, path, body).await
    } else {
        batch_of_calls(transport, access, head, plan, body).await
    };
    if is_unread {
        envelope::close(&mut response, head.version);
    }
    response
}

async fn batch_of_calls(
    transport: &Arc<Transport>,
    access: &AccessCheck,
    head: &Parts,
    plan: CallPlan,
    body: Result<Bytes, Fault>,
) -> Response {
    let CallPlan { paths, framing } = plan;
    let (calls, jobs) = jobs(access, head, paths, body);
    // Not `Box::pin`, nor as they are: each has some kilobytes, and would be copied several times.
    let outcome = |job| Box::write(Box::new_uninit(), run(Arc::clone(transport), job));
    let outcomes: Vec<_> = jobs.into_iter().map(|job| Box::into_pin(outcome(job))).collect();
    match framing {
        Framing::Single | Framing::Array => {
            let outcomes = transport.engine.together(join_all(outcomes)).await;
            envelope::array(&calls, &outcomes)
        }
        Framing::Lines11 => envelope::streamed(stream::lines11(calls, outcomes)),
        Framing::Lines10 => envelope::streamed(stream::lines10(calls, outcomes)),
    }
}

/// The call of a request that is not a batch.
async fn single_call(
    transport: &Transport,
    access: &AccessCheck,
    head: &Parts,
    path: &str,
    input: Result<Bytes, Fault>,
) -> Response {
    let transformer = Transformer::from_input(input.as_deref().ok());
    let ready = || {
        let (procedure, app) = gate(path, head, access)?;
        let input = input.as_deref().map_err(Clone::clone)?;
        Ok::<_, Fault>((procedure, app, input, idempotency_key(&head.headers)?))
    };
    let outcome = match ready() {
        Ok((procedure, app, input, key)) => {
            let bearer = access.bearer().map(Arc::as_ref);
            let arguments = Arguments { app, input: Some(input), key: key.as_ref(), bearer };
            execute(transport, procedure, arguments).await
        }
        Err(fault) => Err(fault),
    };
    envelope::single(path, transformer, &outcome)
}

/// A call that has passed the checks.
struct CheckedCall {
    procedure: Procedure,
    app: Arc<AppView>,
    bearer: Option<Arc<Bearer>>,
    input: Option<Bytes>,
    key: Option<IdempotencyKey>,
}

type Job = Result<CheckedCall, Fault>;

/// The calls of a batch, each with its job or the fault that prevents it.
fn jobs(
    access: &AccessCheck,
    head: &Parts,
    paths: Vec<String>,
    body: Result<Bytes, Fault>,
) -> (Vec<Call>, Vec<Job>) {
    let inputs = body.and_then(|body| batch::inputs(&body, paths.len()));
    let key = idempotency_key(&head.headers);
    let job = |(index, path): (usize, String)| {
        let input = inputs.as_ref().map(|inputs| inputs.get(index).cloned().flatten());
        let transformer = Transformer::from_input(input.as_ref().ok().and_then(Option::as_deref));
        let ready = || {
            let (procedure, app) = gate(&path, head, access)?;
            let app = Arc::clone(app);
            let key = key.clone()?.map(|key| key.of_call(index));
            let input = input.map_err(Clone::clone)?;
            Ok(CheckedCall { procedure, app, bearer: access.bearer().cloned(), input, key })
        };
        let job = ready();
        (Call { path, transformer }, job)
    };
    paths.into_iter().enumerate().map(job).unzip()
}

/// The checks of one call that do not need its input.
fn gate<'a>(
    path: &str,
    head: &Parts,
    access: &'a AccessCheck,
) -> Result<(Procedure, &'a Arc<AppView>), Fault> {
    let Some(procedure) = Procedure::on_path(path) else {
        let message = format!("No procedure found on path \"{path}\"");
        return Err(Fault::new(Code::NotFound, message));
    };
    if head.method != Method::POST {
        let method = &head.method;
        let message =
            format!("Unsupported {method}-request to mutation procedure at path \"{path}\"");
        return Err(Fault::new(Code::MethodNotSupported, message));
    }
    Ok((procedure, access.app()?))
}

/// The idempotency key of the request, if it has one. Two keys are as invalid as an unreadable one.
fn idempotency_key(headers: &HeaderMap) -> Result<Option<IdempotencyKey>, Fault> {
    let mut values = headers.get_all(IDEMPOTENCY_KEY).iter();
    let key = match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => IdempotencyKey::parse(value.as_bytes()).map(Some),
        (Some(_), Some(_)) => Err(InvalidKey),
    };
    key.map_err(|error| Fault::new(Code::BadRequest, error.to_string()))
}

/// Runs one call of a batch.
async fn run(transport: Arc<Transport>, job: Job) -> Outcome {
    let CheckedCall { procedure, app, bearer, input, key } = job?;
    let arguments = Arguments {
        app: &app,
        input: input.as_deref(),
        key: key.as_ref(),
        bearer: bearer.as_deref(),
    };
    execute(&transport, procedure, arguments).await
}

/// Runs a procedure. A panic or a timeout fails only this call, not the whole reply.
async fn execute(transport: &Transport, procedure: Procedure, arguments: Arguments<'_>) -> Outcome {
    // Pinned in place: the future is large, and both wrappers around it would move it.
    let call = pin!(procedure.call(&transport.engine, arguments));
    let caught = AssertUnwindSafe(call).catch_unwind();
    match tokio::time::timeout(transport.limits.request_timeout, caught).await {
        Ok(Ok(outcome)) => outcome.map_err(Fault::from),
        Ok(Err(_)) => Err(Failure::Panicked.into()),
        Err(_) => Err(Failure::TimedOut.into()),
    }
}
