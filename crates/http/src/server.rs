//! The accept loop: accepts connections, limits each in time and bytes, and shuts down cleanly.
//!
//! `axum::serve` sets no timers, so a client that never finishes its headers would hold its
//! connection indefinitely. Here every phase has a timeout: the first bytes ([`GuardedIo`]), the
//! headers (hyper's timer), the body (read by the handler), and a reply that the client does not
//! read ([`GuardedIo`] for the socket, [`Activity`] for HTTP/2 streams, which also closes idle
//! connections). The number of connections per address is limited ([`Addresses`]). A TLS handshake
//! has the time of the first bytes, and its connection counts from its beginning.

mod activity;
mod addresses;
mod guarded;
mod header_timer;

use std::convert::Infallible;
use std::io;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::response::Response;
use futures_util::future::BoxFuture;
use http::Request;
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;

use crate::{Limits, Network, Tls};
pub use activity::Interruptible;
use activity::{Activity, CloseReason, TrackedService};
use addresses::Addresses;
use guarded::GuardedIo;
use header_timer::HeaderTimer;

/// The pause after a failed accept, for example when no file descriptors are left: others may close
/// meanwhile.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// The most clients that a stopping server still accepts; more may connect while it does.
const BACKLOG_MAX: usize = 4096;
/// How long a stopping server still answers on an open HTTP/1 connection, with `connection: close`.
/// A request may be on its way when the server stops; a connection closed at once would leave it
/// without a reply.
const STOP_GRACE: Duration = Duration::from_millis(500);
/// Concurrent requests on one HTTP/2 connection.
const STREAMS_MAX: u32 = 100;
/// How often a silent HTTP/2 peer is pinged.
const PING_INTERVAL: Duration = Duration::from_secs(20);

/// The reply to a client that speaks HTTP on the TLS port.
const PLAIN_HTTP_REPLY: &[u8] =
    b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n\
    This port speaks HTTPS: use an address that starts with https://\n";

/// Bytes of a reply that the system takes before the earlier ones are on their way.
#[cfg(target_os = "linux")]
const UNSENT_BYTES_MAX: u32 = 64 * 1024;
/// A client that reads this much of a reply within the write stall timeout is not disconnected: 8.5
/// KiB a second at 30 seconds. It is more than the system may hold back on both sides before it
/// reports progress.
#[cfg(test)]
const SLOW_BYTES: usize = 256 * 1024;

/// What the accept loop serves. Used as a trait object, so that the code of connections is compiled
/// once, in this crate.
pub trait Site: Send + Sync + 'static {
    /// Answers a request from this address.
    fn answer(
        &self,
        request: Request<Incoming>,
        peer: IpAddr,
    ) -> BoxFuture<'static, Result<Response, Infallible>>;

    /// A connection was refused because its address has too many.
    fn connection_refused(&self);

    /// The server stops: ends replies that would otherwise last as long as their client stays.
    fn stop(&self);
}

/// Where connections come from.
#[derive(Debug)]
pub struct Listener {
    tcp: TcpListener,
    tls: Option<Arc<Tls>>,
}

impl Listener {
    pub fn new(tcp: TcpListener, tls: Option<Arc<Tls>>) -> Self {
        Self { tcp, tls }
    }
}

impl From<TcpListener> for Listener {
    fn from(tcp: TcpListener) -> Self {
        Self::new(tcp, None)
    }
}

/// Serves until `shutdown` is ready; then finishes the requests in progress, within the drain
/// timeout, and cuts off replies that are [`Interruptible`]. Networks that are `exempt` may open
/// any number of connections.
///
/// Never fails because of a client or for lack of file descriptors.
pub async fn serve(
    listener: impl Into<Listener>,
    site: Arc<dyn Site>,
    limits: &Limits,
    exempt: &[Network],
    shutdown: impl Future<Output = ()>,
) -> io::Result<()> {
    let Listener { tcp: listener, tls } = listener.into();
    let stop = watch::Sender::new(false);
    let server = Server { builder: builder(limits), site, limits: *limits, stop };
    let server = Arc::new(server);
    let tls = tls.as_deref();
    let addresses = Addresses::new(limits.connections_per_address_max, exempt);
    let places = Arc::new(Semaphore::new(limits.connections_max));
    let mut connections = JoinSet::new();
    let mut shutdown = pin!(shutdown);
    loop {
        tokio::select! {
            accepted = next(&listener, &places) => server.begin(accepted, tls, &addresses, &mut connections),
            Some(_) = connections.join_next() => {}
            () = &mut shutdown => break,
        }
    }
    for (stream, peer) in backlog(listener).take(BACKLOG_MAX) {
        let Ok(place) = Arc::clone(&places).try_acquire_owned() else { break };
        server.begin((stream, peer, Some(place)), tls, &addresses, &mut connections);
    }
    server.site.stop();
    tracing::info!(connections = connections.len(), "draining");
    server.stop.send_replace(true);
    let drained = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(limits.drain_timeout, drained).await.is_err() {
        tracing::warn!(connections = connections.len(), "connections cut at the drain timeout");
    }
    connections.shutdown().await;
    Ok(())
}

/// A connection, its client, and its place within the connection limit.
type Accepted = (TcpStream, IpAddr, Option<OwnedSemaphorePermit>);

/// The next connection, once the connection limit allows it.
async fn next(listener: &TcpListener, places: &Arc<Semaphore>) -> Accepted {
    // The semaphore is never closed, so this always returns a permit.
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

/// The clients that the system has connected but that were not accepted yet: they may have sent
/// their request.
fn backlog(listener: TcpListener) -> impl Iterator<Item = (TcpStream, IpAddr)> {
    let listener = listener.into_std().ok();
    std::iter::from_fn(move || {
        let (stream, peer) = listener.as_ref()?.accept().ok()?;
        stream.set_nonblocking(true).ok()?;
        Some((TcpStream::from_std(stream).ok()?, peer.ip()))
    })
}

/// Sends without delay, and buffers little that is not sent yet.
///
/// A write stalls if nothing can be written for the write stall timeout. The system's buffer may
/// hold megabytes, and reports room only when a third of it is free: a client that reads steadily
/// at some ten kilobytes a second would seem to have stopped.
fn set_up(stream: &TcpStream) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "cannot set TCP_NODELAY");
    }
    #[cfg(target_os = "linux")]
    if let Err(error) = socket2::SockRef::from(stream).set_tcp_notsent_lowat(UNSENT_BYTES_MAX) {
        tracing::debug!(%error, "cannot set TCP_NOTSENT_LOWAT");
    }
}

/// Whether the client disconnected before it was accepted.
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
    site: Arc<dyn Site>,
    limits: Limits,
    stop: watch::Sender<bool>,
}

impl Server {
    /// Serves a connection in a task, unless its address has too many.
    fn begin(
        self: &Arc<Self>,
        accepted: Accepted,
        tls: Option<&Tls>,
        addresses: &Addresses,
        connections: &mut JoinSet<()>,
    ) {
        let (stream, peer, place) = accepted;
        let Some(admitted) = addresses.admit(peer) else {
            self.site.connection_refused();
            return;
        };
        set_up(&stream);
        let connection = match tls {
            None => self.tcp_connection(stream, peer),
            Some(tls) => self.tls_connection(tls, stream, peer),
        };
        connections.spawn(async move {
            connection.await;
            drop((place, admitted));
        });
    }

    /// Not generic, unlike what it calls, so that it is compiled in this crate.
    fn tcp_connection(&self, stream: TcpStream, peer: IpAddr) -> BoxFuture<'static, ()> {
        self.connection(stream, peer)
    }

    /// The same after a handshake, which has the time of the first bytes of a request.
    fn tls_connection(
        self: &Arc<Self>,
        tls: &Tls,
        mut stream: TcpStream,
        peer: IpAddr,
    ) -> BoxFuture<'static, ()> {
        let (server, acceptor) = (Arc::clone(self), tls.acceptor());
        let time = self.limits.header_read_timeout;
        let mut stop = self.stop.subscribe();
        Box::pin(async move {
            let handshake = async {
                if is_plain_http(&stream).await {
                    return stream.write_all(PLAIN_HTTP_REPLY).await.map(|()| None);
                }
                acceptor.accept(stream).await.map(Some)
            };
            let handshake = tokio::time::timeout(time, handshake);
            let done = tokio::select! {
                biased;
                done = handshake => done,
                () = stopped_while_silent(&mut stop) => {
                    tracing::debug!("TLS handshake cut off: the server stops");
                    return;
                }
            };
            match done {
                Ok(Ok(Some(stream))) => server.connection(stream, peer).await,
                Ok(Ok(None)) => tracing::debug!("a plain HTTP request to the TLS port"),
                Ok(Err(error)) => tracing::debug!(%error, "TLS handshake failed"),
                Err(_) => tracing::debug!("TLS handshake took too long"),
            }
        })
    }

    /// Serves one connection until it ends.
    fn connection<T>(&self, io: T, peer: IpAddr) -> BoxFuture<'static, ()>
    where
        T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let activity = Arc::new(Activity::new());
        let io = TokioIo::new(GuardedIo::new(io, Arc::clone(&activity), &self.limits));
        let service = TrackedService::new(Arc::clone(&self.site), peer, Arc::clone(&activity));
        let mut builder = self.builder.clone();
        builder.http1().timer(HeaderTimer::default());
        let connection = builder.serve_connection(io, service).into_owned();
        let mut stop = self.stop.subscribe();
        let limits = self.limits;
        Box::pin(async move {
            let mut connection = pin!(connection);
            let mut is_ending = false;
            let mut is_stopping = false;
            loop {
                tokio::select! {
                    biased;
                    ended = connection.as_mut() => {
                        if let Err(error) = ended {
                            // Clients disconnect in many ways; none of them is worth a report.
                            tracing::trace!(%error, "connection ended");
                        }
                        return;
                    }
                    () = stopped(&mut stop, &activity), if !is_stopping => is_stopping = true,
                    () = activity.only_interruptible(), if is_stopping => {
                        tracing::debug!("reply cut off: the server stops");
                        return;
                    }
                    overdue = activity.overdue(&limits) => {
                        if is_ending || overdue == CloseReason::Stalled {
                            tracing::debug!(?overdue, "connection cut");
                            return;
                        }
                    }
                }
                is_ending = true;
                connection.as_mut().graceful_shutdown();
            }
        })
    }
}

/// Whether the client begins with a request instead of a handshake.
async fn is_plain_http(stream: &TcpStream) -> bool {
    let mut first = [0];
    matches!(stream.peek(&mut first).await, Ok(1)) && first[0].is_ascii_uppercase()
}

/// Waits until the server stops, and on HTTP/1 for the grace of a request that may be on its way.
async fn stopped(stop: &mut watch::Receiver<bool>, activity: &Activity) {
    // An error means that the server is gone.
    let _ = stop.wait_for(|is_stopping| *is_stopping).await;
    if activity.close_after_reply() {
        tokio::time::sleep(STOP_GRACE).await;
    }
}

/// Waits until the server stops, and for the grace of a handshake that may be on its way.
async fn stopped_while_silent(stop: &mut watch::Receiver<bool>) {
    // An error means that the server is gone.
    let _ = stop.wait_for(|is_stopping| *is_stopping).await;
    tokio::time::sleep(STOP_GRACE).await;
}

fn builder(limits: &Limits) -> Builder<TokioExecutor> {
    let header_bytes = limits.header_bytes_max.max(Limits::HEADER_BYTES_LEAST);
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http1().header_read_timeout(limits.header_read_timeout).max_buf_size(header_bytes);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_header_list_size(u32::try_from(header_bytes).unwrap_or(u32::MAX))
        .max_concurrent_streams(STREAMS_MAX)
        .keep_alive_interval(PING_INTERVAL)
        .keep_alive_timeout(limits.header_read_timeout);
    builder
}

#[cfg(test)]
mod tests;
