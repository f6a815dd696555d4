//! What every exchange gets, on every route, in one layer to keep the hot path short: a request id,
//! the security headers, one log line, one count, and a reply even if the handler panics or times
//! out.
//!
//! The log and the counters record the route's template, never the path: a path contains an API
//! key.

use std::borrow::Cow;
use std::convert::Infallible;
use std::future::poll_fn;
use std::panic::AssertUnwindSafe;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant, SystemTime};

use axum::body::HttpBody as _;
use axum::extract::{MatchedPath, Request};
use axum::response::Response;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use http::header::{DATE, REFERRER_POLICY, STRICT_TRANSPORT_SECURITY, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use sluice_engine::spans::{OpenSpan, Part, Tracer, Value, in_span};
use sluice_engine::{Engine, RouteMetrics};
use tokio::task::unconstrained;
use tower::{Layer, Service};

use crate::body;
use crate::request_id::{self, X_REQUEST_ID};
use crate::unread::WatchedBody;
use crate::upload::{self, Deadline};

/// Of W3C Trace Context.
const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

/// The route name for requests that match no route.
pub const NO_ROUTE: &str = "(none)";

/// One year, for this host only: subdomains are not ours to decide about.
const HTTPS_ONLY: &str = "max-age=31536000";

/// A difference between the engine's clock and the system's that a date shows.
const DATE_OFFSET_MILLIS: u64 = 1_000;

/// Why a handler produced no reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    Panicked,
    TimedOut,
}

/// The code under which metrics and traces count a reply that refuses a request; an extension of
/// the reply. It may be more exact than what the reply contains.
#[derive(Debug, Clone, Copy)]
pub struct RefusalCode(pub &'static str);

/// Where a request was answered.
#[derive(Debug)]
pub enum Route<'a> {
    /// One whose metrics are at hand.
    Known(&'a RouteMetrics),
    /// The template of any other one.
    Template(Cow<'static, str>),
}

impl Route<'_> {
    fn template(&self) -> &str {
        match self {
            Self::Known(route) => route.template(),
            Self::Template(template) => template,
        }
    }
}

/// The layer. `on_failure` builds the error reply in the transport's format.
#[derive(Debug, Clone)]
pub struct Exchange {
    engine: Arc<Engine>,
    on_failure: fn(Failure) -> Response,
    timeout: Option<Duration>,
    /// Browsers must insist on https (HSTS). Below a path the host belongs to others as well.
    is_strict: bool,
    tracer: Option<Tracer>,
}

impl Exchange {
    pub fn new(engine: Arc<Engine>, on_failure: fn(Failure) -> Response) -> Self {
        let addresses = engine.addresses();
        let is_strict = addresses.public_url.starts_with("https://") && addresses.path().is_empty();
        let tracer = engine.tracer().cloned();
        Self { engine, on_failure, timeout: None, is_strict, tracer }
    }

    /// Ends handlers that take longer than this to reply.
    pub fn with_timeout(self, timeout: Duration) -> Self {
        Self { timeout: Some(timeout), ..self }
    }

    /// The handler's reply, or why there is none. The handler is large, so it is not moved.
    pub async fn run(
        &self,
        begun: &StartedExchange,
        handler: Pin<&mut impl Future<Output = Response>>,
    ) -> Result<Response, Failure> {
        let span = begun.span.as_ref().map(OpenSpan::active);
        run(in_span(span, handler), self.timeout).await
    }

    /// Notes what is known about a request before its handler takes it.
    pub fn begin(&self, request: &Request) -> StartedExchange {
        let (method, headers) = (request.method().clone(), request.headers());
        let span = self.tracer.as_ref().and_then(|tracer| {
            let parent = headers.get(TRACEPARENT).map(HeaderValue::as_bytes);
            tracer.request(known_name(&method), parent)
        });
        let id = request_id::from_headers(headers);
        StartedExchange { started: Instant::now(), id, method, span }
    }

    /// The date by which windows open and close. Without this, hyper writes the system's.
    fn date(&self, headers: &mut HeaderMap) {
        let offset = self.engine.health().clock_offset_millis().unwrap_or(0);
        if offset.unsigned_abs() < DATE_OFFSET_MILLIS {
            return;
        }
        let now = Duration::from_millis(self.engine.now().as_millis().max(0).unsigned_abs());
        let date = httpdate::fmt_http_date(SystemTime::UNIX_EPOCH + now);
        if let Ok(date) = HeaderValue::from_str(&date) {
            headers.insert(DATE, date);
        }
    }

    /// Logs and counts the exchange and sets the common headers.
    pub fn finish(
        &self,
        begun: StartedExchange,
        route: Route<'_>,
        reply: Result<Response, Failure>,
    ) -> Response {
        let StartedExchange { started, id, method, span } = begun;
        let mut response = reply.unwrap_or_else(self.on_failure);
        let status = response.status().as_u16();
        let took = started.elapsed();
        tracing::debug!(
            %method,
            route = route.template(),
            status,
            duration_us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX),
            request_id = id.to_str().unwrap_or_default(),
            "exchange"
        );
        if let Some(span) = span {
            end(span, &route, &response);
        }
        self.count(route, &response, took);
        mark(response.headers_mut(), id);
        self.date(response.headers_mut());
        if self.is_strict {
            let policy = HeaderValue::from_static(HTTPS_ONLY);
            response.headers_mut().insert(STRICT_TRANSPORT_SECURITY, policy);
        }
        response
    }
}

/// The same as [`run`], for an upload that may postpone the end of its time.
async fn run_until(
    handler: impl Future<Output = Response>,
    deadline: &Deadline,
) -> Result<Response, Failure> {
    let mut caught = pin!(AssertUnwindSafe(handler).catch_unwind());
    loop {
        let at = deadline.at();
        match tokio::time::timeout_at(at, &mut caught).await {
            Ok(Ok(response)) => return Ok(response),
            Ok(Err(_)) => return Err(Failure::Panicked),
            Err(_) if deadline.at() > at => {}
            Err(_) => return Err(Failure::TimedOut),
        }
    }
}

impl Exchange {
    fn count(&self, route: Route<'_>, response: &Response, took: Duration) {
        let (metrics, status) = (self.engine.metrics(), response.status().as_u16());
        match route {
            Route::Known(route) => metrics.count_request_to(route, status, took),
            Route::Template(route) => metrics.count_request(route, status, took),
        }
        if let Some(RefusalCode(code)) = response.extensions().get() {
            metrics.count_refusal(code);
        }
    }
}

/// Whether the body is so large that its client may need long to send it.
fn is_upload(request: &Request) -> bool {
    match body::announced(request.headers()) {
        Some(bytes) => bytes >= upload::BYTES_MIN,
        None => !request.body().is_end_stream(),
    }
}

async fn run(
    handler: impl Future<Output = Response>,
    timeout: Option<Duration>,
) -> Result<Response, Failure> {
    let mut caught = pin!(AssertUnwindSafe(handler).catch_unwind());
    // Many replies are ready at once, and need no timer.
    let mut timer = pin!(None);
    let ended = poll_fn(|context| {
        if let Poll::Ready(reply) = caught.as_mut().poll(context) {
            return Poll::Ready(Ok(reply));
        }
        if let (None, Some(timeout)) = (timer.as_ref().get_ref(), timeout) {
            timer.set(Some(tokio::time::sleep(timeout)));
        }
        // A handler may use up what the runtime lets a task do at once; the timer must end it too.
        timer
            .as_mut()
            .as_pin_mut()
            .map_or(Poll::Pending, |timer| pin!(unconstrained(timer)).poll(context).map(Err))
    })
    .await;
    match ended {
        Ok(Ok(response)) => Ok(response),
        Ok(Err(_)) => Err(Failure::Panicked),
        Err(_) => Err(Failure::TimedOut),
    }
}

/// What is recorded about a request before its handler takes it.
#[derive(Debug)]
pub struct StartedExchange {
    started: Instant,
    id: HeaderValue,
    method: Method,
    /// Present if the request is traced.
    span: Option<OpenSpan>,
}

/// Ends the span of a request. It gets nothing that the client sent: any text may be in a path, and
/// in an unknown method.
fn end(span: OpenSpan, route: &Route<'_>, response: &Response) {
    let route = match route {
        Route::Known(route) => Cow::Borrowed(route.template()),
        Route::Template(template) => template.clone(),
    };
    let status = response.status();
    let mut attributes =
        vec![("http.response.status_code", Value::Number(i64::from(status.as_u16())))];
    if let Some(RefusalCode(code)) = response.extensions().get() {
        attributes.push(("sluice.refusal", Value::Text(code)));
    }
    span.end_at(Some(route), Part { attributes, has_failed: status.is_server_error() });
}

/// The method as traces name it.
fn known_name(method: &Method) -> &'static str {
    const KNOWN: [&str; 9] =
        ["POST", "GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT", "TRACE"];
    KNOWN.into_iter().find(|known| *known == method.as_str()).unwrap_or("_OTHER")
}

impl<S> Layer<S> for Exchange {
    type Service = ExchangeService<S>;

    fn layer(&self, inner: S) -> Self::Service {
        ExchangeService { exchange: self.clone(), inner }
    }
}

#[derive(Debug, Clone)]
pub struct ExchangeService<S> {
    exchange: Exchange,
    inner: S,
}

impl<S> Service<Request> for ExchangeService<S>
where
    S: Service<Request, Response = Response, Error = Infallible>,
    S::Future: Send + 'static,
{
    type Response = Response;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response, Infallible>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, mut request: Request) -> Self::Future {
        let begun = self.exchange.begin(&request);
        let watched = WatchedBody::watch(&mut request);
        let matched = request.extensions().get::<MatchedPath>().cloned();
        let exchange = self.exchange.clone();
        let timeout = exchange.timeout.filter(|_| is_upload(&request));
        let deadline = timeout.map(Deadline::new);
        if let Some(deadline) = &deadline {
            request.extensions_mut().insert(deadline.clone());
        }
        let handler = self.inner.call(request).map(|reply| match reply {
            Ok(response) => response,
            Err(never) => match never {},
        });
        Box::pin(async move {
            let handler = pin!(handler);
            let reply = match &deadline {
                Some(deadline) => {
                    let span = begun.span.as_ref().map(OpenSpan::active);
                    run_until(in_span(span, handler), deadline).await
                }
                None => exchange.run(&begun, handler).await,
            };
            let route = match matched {
                Some(matched) => Cow::Owned(matched.as_str().to_owned()),
                None => Cow::Borrowed(NO_ROUTE),
            };
            let mut response = exchange.finish(begun, Route::Template(route), reply);
            if let Some(watched) = watched {
                watched.settle(&mut response).await;
            }
            Ok(response)
        })
    }
}

fn mark(headers: &mut HeaderMap, id: HeaderValue) {
    headers.insert(X_REQUEST_ID, id);
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    // A page may set a different policy.
    headers.entry(REFERRER_POLICY).or_insert(HeaderValue::from_static("no-referrer"));
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use bytes::Bytes;
    use futures_util::{StreamExt as _, stream};
    use tokio::time::Instant;

    use super::*;
    use crate::Limits;
    use crate::body::BodyError;

    #[tokio::test]
    async fn a_handler_that_panics_or_hangs_is_a_failure_not_a_lost_connection() {
        let timeout = Some(Duration::from_millis(20));
        let panics = async { panic!("on purpose") };
        assert_eq!(run(panics, None).await.unwrap_err(), Failure::Panicked);
        let hangs = std::future::pending();
        assert_eq!(run(hangs, timeout).await.unwrap_err(), Failure::TimedOut);
        let answers = async { Response::new(Body::empty()) };
        assert!(run(answers, timeout).await.is_ok());
    }

    const MIB: usize = 1024 * 1024;

    /// A body of pieces, each after this pause.
    fn body(pieces: usize, piece_bytes: usize, pause: Duration) -> Body {
        let pieces = stream::iter(0..pieces).then(move |_| async move {
            tokio::time::sleep(pause).await;
            Ok::<_, std::io::Error>(Bytes::from(vec![0; piece_bytes]))
        });
        Body::from_stream(pieces)
    }

    async fn uploaded(body: Body, handling: Duration) -> Result<Result<usize, BodyError>, Failure> {
        let deadline = Deadline::new(Limits::default().request_timeout);
        let (mut head, ()) = http::Request::new(()).into_parts();
        head.extensions.insert(deadline.clone());
        let mut outcome = None;
        let handler = async {
            outcome = Some(upload::read(&head, body, 2 * MIB).await.map(|bytes| bytes.len()));
            tokio::time::sleep(handling).await;
            Response::new(Body::empty())
        };
        run_until(handler, &deadline).await?;
        Ok(outcome.unwrap())
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_line_has_the_time_that_its_upload_needs() {
        let started = Instant::now();
        // 2 MiB at 10 KiB/s.
        let slow = body(200, 2 * MIB / 200, Duration::from_secs(1));
        assert_eq!(uploaded(slow, Duration::from_secs(29)).await, Ok(Ok(2 * MIB / 200 * 200)));
        assert!(started.elapsed() > Duration::from_secs(200));
    }

    #[tokio::test(start_paused = true)]
    async fn an_upload_that_trickles_or_stops_is_given_up() {
        let (second, started) = (Duration::from_secs(1), Instant::now());
        let trickle = uploaded(body(MIB, 1, second), second).await;
        assert_eq!(trickle, Ok(Err(BodyError::TooSlow)));
        assert!(started.elapsed() < Duration::from_secs(90), "{:?}", started.elapsed());
        // A burst does not pay for a trickle.
        let started = Instant::now();
        let burst = stream::once(async { Ok::<_, std::io::Error>(Bytes::from(vec![0; MIB])) });
        let rest = stream::iter(0..1_000).then(move |_| async move {
            tokio::time::sleep(second).await;
            Ok::<_, std::io::Error>(Bytes::from_static(b"0"))
        });
        let burst = uploaded(Body::from_stream(burst.chain(rest)), second).await;
        assert_eq!(burst, Ok(Err(BodyError::TooSlow)));
        assert!(started.elapsed() < Duration::from_secs(90), "{:?}", started.elapsed());
        let stops = uploaded(body(2, MIB, Duration::from_secs(11)), second).await;
        assert_eq!(stops, Ok(Err(BodyError::TooSlow)));
    }

    #[tokio::test(start_paused = true)]
    async fn after_the_upload_the_handler_has_as_much_time_as_any_other() {
        let handling = Limits::default().request_timeout + Duration::from_secs(1);
        let slow = body(100, MIB / 100, Duration::from_secs(1));
        assert_eq!(uploaded(slow, handling).await, Err(Failure::TimedOut));
    }
}
