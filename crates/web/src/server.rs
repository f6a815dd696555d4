//! The accept loop: connections in, each bounded in time and bytes, and an orderly end.
//!
//! `axum::serve` sets no timer, so a client that never finishes its headers would hold its connection for
//! ever. Here every phase has an end: the first bytes ([`Guarded`]), the headers (hyper's own timer), the
//! body (read by whoever wants it), and a reply that nobody reads ([`Guarded`] again). Only an HTTP/2
//! connection may stay idle, as long as its client answers pings; the cap on connections bounds those.

mod guarded;

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;

use crate::{App, Limits};
use guarded::Guarded;

/// The pause after a failed accept (no file descriptors left, say): others may close meanwhile.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Requests at once on one HTTP/2 connection.
const STREAMS_MAX: u32 = 100;
/// How often a silent HTTP/2 peer is asked whether it is still there.
const PING_INTERVAL: Duration = Duration::from_secs(20);

/// Serves until `shutdown` is ready; then finishes the requests under way, within the drain timeout.
///
/// Never fails because of a client or for want of descriptors.
pub async fn serve(
    listener: TcpListener,
    app: App,
    limits: &Limits,
    shutdown: impl Future<Output = ()>,
) -> io::Result<()> {
    let server = Server {
        builder: builder(limits),
        app,
        limits: *limits,
        graceful: GracefulShutdown::new(),
    };
    let places = Arc::new(Semaphore::new(limits.connections_max));
    let mut connections = JoinSet::new();
    let mut shutdown = std::pin::pin!(shutdown);
    loop {
        tokio::select! {
            (stream, peer, place) = next(&listener, &places) => {
                connections.spawn(server.connection(stream, peer, place));
            }
            Some(_) = connections.join_next() => {}
            () = &mut shutdown => break,
        }
    }
    drop(listener);
    server.app.stop();
    tracing::info!(connections = connections.len(), "draining");
    if tokio::time::timeout(limits.drain_timeout, server.graceful.shutdown()).await.is_err() {
        tracing::warn!(connections = connections.len(), "connections cut at the drain timeout");
    }
    connections.shutdown().await;
    Ok(())
}

/// The next connection, once there is a place for it.
async fn next(
    listener: &TcpListener,
    places: &Arc<Semaphore>,
) -> (TcpStream, IpAddr, Option<OwnedSemaphorePermit>) {
    // The semaphore is never closed, so a place always comes.
    let place = Arc::clone(places).acquire_owned().await.ok();
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => return (stream, peer.ip(), place),
            Err(error) if is_of_client(&error) => {}
            Err(error) => {
                tracing::error!(%error, "cannot accept a connection; trying again");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// The client was gone before it was accepted.
fn is_of_client(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionReset
    )
}

struct Server {
    builder: Builder<TokioExecutor>,
    app: App,
    limits: Limits,
    graceful: GracefulShutdown,
}

impl Server {
    /// The whole life of one connection.
    fn connection(
        &self,
        stream: TcpStream,
        peer: IpAddr,
        place: Option<OwnedSemaphorePermit>,
    ) -> impl Future<Output = ()> + Send + 'static {
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "cannot set TCP_NODELAY");
        }
        let io = TokioIo::new(Guarded::new(stream, &self.limits));
        let service = TowerToHyperService::new(self.app.for_peer(peer));
        let connection = self.builder.serve_connection(io, service).into_owned();
        let watched = self.graceful.watch(connection);
        async move {
            if let Err(error) = watched.await {
                // Clients go away in every way there is; that is nothing to report.
                tracing::trace!(%error, "connection ended");
            }
            drop(place);
        }
    }
}

fn builder(limits: &Limits) -> Builder<TokioExecutor> {
    let header_bytes = limits.header_bytes_max.max(Limits::HEADER_BYTES_LEAST);
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header_read_timeout)
        .max_buf_size(header_bytes);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_header_list_size(u32::try_from(header_bytes).unwrap_or(u32::MAX))
        .max_concurrent_streams(STREAMS_MAX)
        .keep_alive_interval(PING_INTERVAL)
        .keep_alive_timeout(limits.header_read_timeout);
    builder
}
