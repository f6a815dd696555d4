//! Every route of the service, and a fast path for the public API.
//!
//! A general router has a cost: parameters are decoded and stored, handlers are boxed several
//! times. Nearly all requests are submissions and the two reads before them, and these can be
//! recognised by their path. They go straight to their handlers, with the same middleware as every
//! exchange; everything else, including their rarer methods and forms, goes through the router.
//! Both lead to the same handlers, so a request gets the same answer either way.

use std::borrow::Cow;
use std::convert::Infallible;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::Router;
use axum::body::{Body, Bytes, HttpBody};
use axum::response::Response;
use futures_util::future::BoxFuture;
use http::{Method, Request};
use hyper::body::Incoming;
use sluice_admin::openapi;
use sluice_api::public::PublicReads;
use sluice_api::trpc::Transport;
use sluice_api::{public, trpc, visits};
use sluice_console::{Console, ConsoleOptions};
use sluice_engine::{Engine, RouteMetrics};
use sluice_hosted::{Hosted, HostedOptions, Previews};
use sluice_http::access::key_and_rest;
use sluice_http::client::{Peer, Proxies};
use sluice_http::exchange::{Exchange, NO_ROUTE, Route};
use sluice_http::rate::AddressLimit;
use sluice_http::server::Site;
use sluice_http::{Limits, Mount, Network, reply};
use tower::{BoxError, Service};

use crate::health;
use crate::health::MetricsAccess;

type Answer = BoxFuture<'static, Result<Response, Infallible>>;

/// The settings of an [`App`].
#[derive(Debug, Default)]
pub struct AppOptions {
    pub limits: Limits,
    pub hosted: HostedOptions,
    pub console: ConsoleOptions,
    pub metrics: MetricsAccess,
}

/// The whole service on one engine. Cloning returns another handle to the same service.
#[derive(Clone)]
pub struct App {
    inner: Arc<Inner>,
    /// Whether this handle serves only what is not for the administration.
    is_public_part: bool,
    /// The peer address of the connection that this handle serves.
    peer: Option<IpAddr>,
}

struct Inner {
    reads: Arc<PublicReads>,
    transport: Arc<Transport>,
    /// For the two reads, and for tRPC: they differ in how a failure is reported.
    reads_exchange: Exchange,
    trpc_exchange: Exchange,
    /// Of the routes below, resolved once.
    trpc_route: RouteMetrics,
    resolve_route: RouteMetrics,
    snapshot_route: RouteMetrics,
    console: Arc<Console>,
    router: Router,
    /// What respondents, their apps and readers of reports need.
    public_router: Router,
    /// Where the service is, if not at the root of its host.
    mount: Option<Mount>,
}

impl Inner {
    /// The reply of the router.
    fn routed(self: &Arc<Self>, is_public_part: bool, request: Request<Body>) -> Answer {
        let router = if is_public_part { &self.public_router } else { &self.router };
        let reply = router.clone().call(request);
        if self.mount.is_none() {
            return Box::pin(reply);
        }
        let inner = Arc::clone(self);
        Box::pin(async move {
            let reply = reply.await?;
            Ok(match &inner.mount {
                Some(mount) => mount.leave(reply).await,
                None => reply,
            })
        })
    }

    /// The reply to a request that is not below the path of the service.
    fn outside(&self, request: &Request<Body>) -> Answer {
        let begun = self.reads_exchange.begin(request);
        let route = Route::Template(Cow::Borrowed(NO_ROUTE));
        let reply = Ok(reply::Refusal::OutsidePath.reply());
        Box::pin(std::future::ready(Ok(self.reads_exchange.finish(begun, route, reply))))
    }
}

impl std::fmt::Debug for App {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("App").finish_non_exhaustive()
    }
}

impl App {
    pub fn new(engine: Arc<Engine>, options: AppOptions) -> Self {
        let AppOptions { limits, hosted, console, metrics } = options;
        let proxies = hosted.trusted_proxies.clone();
        let reads_exchange =
            Exchange::new(Arc::clone(&engine), reply::failed).with_timeout(limits.request_timeout);
        let trpc_exchange = Exchange::new(Arc::clone(&engine), trpc::failed);
        let addresses = Arc::new(AddressLimit::new(
            limits.calls_per_address,
            limits.bytes_per_address,
            Proxies(proxies.clone()),
        ));
        let reads = PublicReads::new(Arc::clone(&engine), limits, Arc::clone(&addresses));
        let reads = Arc::new(reads);
        let transport = Transport::new(Arc::clone(&engine), limits, Arc::clone(&addresses));
        let transport = Arc::new(transport);
        let public_documents = Router::new()
            .merge(public::router(Arc::clone(&reads)))
            .merge(visits::router(Arc::clone(&reads)))
            .merge(health::router(Arc::clone(&engine)));
        let documents =
            public_documents.clone().merge(admin_documents(&engine, &metrics, &proxies));
        let calls = trpc::router(Arc::clone(&transport)).layer(trpc_exchange.clone());
        let pages = Arc::new(Hosted::new(Arc::clone(&engine), limits, hosted, addresses));
        let previews = Arc::new(Previews(Arc::clone(&pages)));
        let pages = sluice_hosted::router(pages)
            .method_not_allowed_fallback(async || reply::Refusal::MethodNotAllowed.reply())
            .layer(
                Exchange::new(Arc::clone(&engine), sluice_hosted::failed)
                    .with_timeout(limits.request_timeout),
            );
        let console = Console::new(Arc::clone(&engine), console, proxies, previews);
        let console = Arc::new(console);
        let console_exchange = Exchange::new(Arc::clone(&engine), sluice_console::failed)
            .with_timeout(limits.request_timeout);
        let whole_console = sluice_console::router(Arc::clone(&console));
        let reports = sluice_console::report_router(Arc::clone(&console));
        let shared = calls.merge(pages);
        let router = exchanged(documents, &reads_exchange)
            .merge(shared.clone())
            .merge(whole_console.layer(console_exchange.clone()));
        let public_router = exchanged(public_documents, &reads_exchange)
            .merge(shared)
            .merge(reports.layer(console_exchange));
        let mount = Some(Mount::new(engine.addresses().path())).filter(|mount| !mount.is_root());
        let inner = Inner {
            reads,
            transport,
            reads_exchange,
            trpc_exchange,
            trpc_route: engine.metrics().route(trpc::CALL),
            resolve_route: engine.metrics().route(public::FLOW),
            snapshot_route: engine.metrics().route(public::VERSION),
            console,
            router,
            public_router,
            mount,
        };
        Self { inner: Arc::new(inner), is_public_part: false, peer: None }
    }

    /// Ends streams that last as long as their client stays connected, so that the server can stop.
    pub fn stop(&self) {
        self.inner.console.stop();
    }

    /// A handle for a connection from this address.
    pub fn for_peer(&self, peer: IpAddr) -> Self {
        Self { peer: Some(peer), ..self.clone() }
    }

    /// The same service without the console, the admin API, the documentation and the metrics, for
    /// a listener whose clients must not reach them.
    pub fn public_part(&self) -> Self {
        Self { is_public_part: true, ..self.clone() }
    }
}

/// What only the administration needs: metrics, the admin API and the documentation.
fn admin_documents(engine: &Arc<Engine>, metrics: &MetricsAccess, proxies: &[Network]) -> Router {
    let admin = sluice_admin::router(Arc::clone(engine), Proxies(proxies.to_vec()));
    Router::new()
        .merge(health::metrics_if_allowed(engine, metrics))
        .merge(openapi::router(engine.addresses().path()))
        .merge(sluice_docs::router(reference(engine)))
        .nest(sluice_admin::BASE, admin)
}

fn exchanged(documents: Router, exchange: &Exchange) -> Router {
    documents
        .method_not_allowed_fallback(async || reply::Refusal::MethodNotAllowed.reply())
        .layer(exchange.clone())
}

fn reference(engine: &Engine) -> impl FnOnce() -> sluice_docs::Reference + Send + 'static {
    let addresses = engine.addresses();
    let (public_url, admin_url) = (addresses.public_url.to_owned(), addresses.admin_url.to_owned());
    move || {
        let page = openapi::reference(&public_url, &admin_url);
        sluice_docs::Reference { contents: page.contents, text: page.text }
    }
}

impl Site for App {
    fn answer(
        &self,
        request: Request<Incoming>,
        peer: IpAddr,
    ) -> BoxFuture<'static, Result<Response, Infallible>> {
        self.for_peer(peer).call(request)
    }

    fn connection_refused(&self) {
        self.inner.reads.engine.metrics().count_refused_connection();
    }

    fn stop(&self) {
        Self::stop(self);
    }
}

/// Routes that can be recognised by path (and method) without the router.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FastRoute {
    Trpc,
    Resolve,
    Snapshot,
}

impl FastRoute {
    fn recognise(method: &Method, path: &str) -> Option<Self> {
        let (key, rest) = key_and_rest(path);
        let (kind, id) = rest.split_once('/')?;
        if key.is_empty() || id.is_empty() {
            return None;
        }
        let is_read = method == Method::GET && !id.contains('/');
        match kind {
            "trpc" => Some(Self::Trpc),
            "flows" if is_read => Some(Self::Resolve),
            "flow_versions" if is_read => Some(Self::Snapshot),
            _ => None,
        }
    }
}

impl<B> Service<Request<B>> for App
where
    B: HttpBody<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    type Response = Response;
    type Error = Infallible;
    type Future = Answer;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let mut request = request.map(Body::new);
        if let Some(mount) = &self.inner.mount
            && !mount.enter(&mut request)
            && !health::PATHS.contains(&request.uri().path())
        {
            return self.inner.outside(&request);
        }
        let Some(way) = FastRoute::recognise(request.method(), request.uri().path()) else {
            if let Some(peer) = self.peer {
                request.extensions_mut().insert(Peer(peer));
            }
            return self.inner.routed(self.is_public_part, request);
        };
        let begun = self.inner.trpc_exchange.begin(&request);
        let (inner, peer) = (Arc::clone(&self.inner), self.peer);
        // Not `Box::pin`, which builds the future on the stack and copies its kilobytes.
        let reply = Box::write(Box::new_uninit(), async move {
            let Inner { reads, transport, reads_exchange, trpc_exchange, .. } = &*inner;
            Ok(match way {
                FastRoute::Trpc => {
                    let handler = pin!(trpc::answer_to(transport, peer, request));
                    let reply = trpc_exchange.run(&begun, handler).await;
                    trpc_exchange.finish(begun, Route::Known(&inner.trpc_route), reply)
                }
                FastRoute::Resolve => {
                    let handler = pin!(public::resolved(reads, peer, request));
                    let reply = reads_exchange.run(&begun, handler).await;
                    reads_exchange.finish(begun, Route::Known(&inner.resolve_route), reply)
                }
                FastRoute::Snapshot => {
                    let handler = pin!(public::snapshot_of(reads, peer, request));
                    let reply = reads_exchange.run(&begun, handler).await;
                    reads_exchange.finish(begun, Route::Known(&inner.snapshot_route), reply)
                }
            })
        });
        Box::into_pin(reply)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_that_the_router_sends_to_the_same_handler_take_the_fast_path() {
        for (method, path, way) in [
            (Method::POST, "/api/v1/pk/trpc/response.submit", Some(FastRoute::Trpc)),
            (Method::GET, "/api/v1/pk/trpc/a/b", Some(FastRoute::Trpc)),
            (Method::GET, "/api/v1/pk/flows/fl", Some(FastRoute::Resolve)),
            (Method::GET, "/api/v1/pk/flow_versions/fv", Some(FastRoute::Snapshot)),
            (Method::GET, "/api/v1/pk%5F/flows/fl%5F", Some(FastRoute::Resolve)),
            (Method::GET, "/api/v1/pk/flows/fl%2Fa", Some(FastRoute::Resolve)),
            (Method::GET, "/api/v1/pk%2Fflows/fl", None),
            (Method::GET, "/api/v1/pk/flows%2Ffl", None),
            (Method::HEAD, "/api/v1/pk/flows/fl", None),
            (Method::OPTIONS, "/api/v1/pk/flows/fl", None),
            (Method::GET, "/api/v1/pk/flows/fl/", None),
            (Method::GET, "/api/v1/pk/flows/", None),
            (Method::GET, "/api/v1/pk/flows", None),
            (Method::GET, "/api/v1//flows/fl", None),
            (Method::POST, "/api/v1/pk/trpc/", None),
            (Method::POST, "/api/v1/pk/trpc", None),
            (Method::GET, "/api/v2/pk/flows/fl", None),
            (Method::GET, "/healthz", None),
        ] {
            assert_eq!(FastRoute::recognise(&method, path), way, "{method} {path}");
        }
    }
}
