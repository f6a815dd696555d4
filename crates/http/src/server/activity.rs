//! The state of an HTTP/2 connection: which of its streams wait for the client, and since when it
//! has had none.
//!
//! HTTP/2 limits each stream by a window that the client opens. While the window is closed, hyper
//! holds the reply and polls neither the handler nor the body, so their timeouts cannot end it.
//! Here each part of a reply records how many of its bytes were sent ([`TrackedChunk`]), and
//! [`Activity::overdue`] reports a stream that moves too slowly. A client must read
//! [`STREAM_BYTES_MIN`] of each stream within the write stall timeout, or all there is to read;
//! otherwise opening the window by a byte now and then would keep a stream open indefinitely.
//!
//! HTTP/1 has one reply at a time on its socket, which `GuardedIo` watches; its replies are not
//! tracked.

use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, HttpBody};
use axum::response::Response;
use bytes::{Buf, Bytes};
use futures_util::future::BoxFuture;
use http::header::CONNECTION;
use http::{HeaderValue, Request, Version};
use hyper::body::{Frame, Incoming, SizeHint};
use tokio::time::{Instant, sleep};

use super::Site;
use crate::Limits;

/// How often a stopping server checks whether only replies are left that it may cut off.
const STOP_CHECK: Duration = Duration::from_millis(100);

/// How often the streams are checked within a timeout, so that a stream ends at most a quarter
/// late.
const CHECKS_PER_TIMEOUT: u32 = 4;
/// The bytes of a stream that a client must read within the write stall timeout; 546 a second at 30
/// seconds.
pub(super) const STREAM_BYTES_MIN: usize = 16 * 1024;

/// Marks a reply, as an extension, that a stopping server cuts off instead of waiting for its end:
/// one that may take as long as its client likes, and that the client can ask for again.
#[derive(Debug, Clone, Copy)]
pub struct Interruptible;

/// Why a connection should end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CloseReason {
    /// A stream had unsent data for the write stall timeout, while its client read less than
    /// [`STREAM_BYTES_MIN`] of it.
    Stalled,
    /// There was no open stream for the idle timeout.
    Idle,
}

/// The streams of one connection.
#[derive(Debug)]
pub(super) struct Activity {
    is_http2: AtomicBool,
    /// Whether the next reply on HTTP/1 says that the connection ends with it.
    closes: AtomicBool,
    streams: Mutex<Streams>,
    /// The number of replies in progress that are [`Interruptible`].
    interruptible: AtomicUsize,
}

#[derive(Debug)]
struct Streams {
    next: u64,
    /// Short: hyper allows at most `STREAMS_MAX` at once.
    open: Vec<(u64, Arc<Mutex<Progress>>)>,
    idle_since: Instant,
}

impl Activity {
    pub(super) fn new() -> Self {
        let streams = Streams { next: 0, open: Vec::new(), idle_since: Instant::now() };
        Self {
            is_http2: AtomicBool::new(false),
            closes: AtomicBool::new(false),
            streams: Mutex::new(streams),
            interruptible: AtomicUsize::new(0),
        }
    }

    /// Starts the checks; called when the client has sent the HTTP/2 preface.
    pub(super) fn begin_http2(&self) {
        self.is_http2.store(true, Ordering::Relaxed);
    }

    /// On HTTP/1, ends the connection with the next reply. On HTTP/2 it does nothing and is false:
    /// there the server names the last request that it accepted.
    pub(super) fn close_after_reply(&self) -> bool {
        let is_http1 = !self.is_http2.load(Ordering::Relaxed);
        self.closes.store(is_http1, Ordering::Relaxed);
        is_http1
    }

    /// Waits until the connection should end. Never returns for HTTP/1.
    ///
    /// Poll it after the connection, in the same task: nothing wakes it when the protocol becomes
    /// known.
    pub(super) async fn overdue(&self, limits: &Limits) -> CloseReason {
        poll_fn(|_| match self.is_http2.load(Ordering::Relaxed) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        })
        .await;
        let timeout = limits.write_stall_timeout.min(limits.idle_timeout);
        loop {
            sleep(timeout / CHECKS_PER_TIMEOUT).await;
            if let Some(overdue) = self.check(limits) {
                return overdue;
            }
        }
    }

    /// Waits until nothing is in progress but replies that a stopping server may cut off.
    pub(super) async fn only_interruptible(&self) {
        while !self.is_only_interruptible() {
            sleep(STOP_CHECK).await;
        }
    }

    fn is_only_interruptible(&self) -> bool {
        let interruptible = self.interruptible.load(Ordering::Relaxed);
        // On HTTP/1 there is one reply at a time.
        interruptible > 0
            && (!self.is_http2.load(Ordering::Relaxed)
                || self.streams().open.len() == interruptible)
    }

    fn check(&self, limits: &Limits) -> Option<CloseReason> {
        let mut streams = self.streams();
        let now = Instant::now();
        if streams.open.is_empty() {
            let is_idle = now - streams.idle_since >= limits.idle_timeout;
            return is_idle.then(|| {
                // The connection has the same time again to close cleanly.
                streams.idle_since = now;
                CloseReason::Idle
            });
        }
        let mut open = streams.open.iter();
        open.any(|(_, it)| locked(it).waited(now) >= limits.write_stall_timeout)
            .then_some(CloseReason::Stalled)
    }

    fn open_stream(self: &Arc<Self>) -> Arc<Stream> {
        let mut streams = self.streams();
        let id = streams.next;
        streams.next += 1;
        let progress = Arc::new(Mutex::new(Progress::new()));
        streams.open.push((id, Arc::clone(&progress)));
        Arc::new(Stream { id, activity: Arc::clone(self), progress })
    }

    fn streams(&self) -> MutexGuard<'_, Streams> {
        locked(&self.streams)
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The progress of one stream's reply since [`STREAM_BYTES_MIN`] were last sent.
#[derive(Debug)]
struct Progress {
    /// Parts that were handed out but not sent yet.
    parts: usize,
    /// Bytes sent.
    bytes: usize,
    /// How long parts waited, up to `since`. Time without waiting parts does not count, but does
    /// not reset it either: a reply may have small parts, and a client could read one at a time.
    waited: Duration,
    since: Instant,
}

impl Progress {
    fn new() -> Self {
        Self { parts: 0, bytes: 0, waited: Duration::ZERO, since: Instant::now() }
    }

    fn waited(&self, now: Instant) -> Duration {
        let waiting = if self.parts > 0 { now - self.since } else { Duration::ZERO };
        self.waited + waiting
    }

    fn add_chunk(&mut self) {
        if self.parts == 0 {
            self.since = Instant::now();
        }
        self.parts += 1;
    }

    fn moved(&mut self, bytes: usize) {
        self.bytes += bytes;
        if self.bytes >= STREAM_BYTES_MIN {
            *self = Self { parts: self.parts, ..Self::new() };
        }
    }

    fn remove_chunk(&mut self) {
        let now = Instant::now();
        self.waited = self.waited(now);
        self.since = now;
        self.parts -= 1;
    }
}

/// A request in progress on HTTP/2. It ends with the last part of its reply.
#[derive(Debug)]
struct Stream {
    id: u64,
    activity: Arc<Activity>,
    progress: Arc<Mutex<Progress>>,
}

impl Drop for Stream {
    fn drop(&mut self) {
        let mut streams = self.activity.streams();
        streams.open.retain(|(id, _)| *id != self.id);
        if streams.open.is_empty() {
            streams.idle_since = Instant::now();
        }
    }
}

/// The service of one connection: the site's replies, tracked on HTTP/2.
pub(super) struct TrackedService {
    site: Arc<dyn Site>,
    peer: IpAddr,
    activity: Arc<Activity>,
}

impl TrackedService {
    pub(super) fn new(site: Arc<dyn Site>, peer: IpAddr, activity: Arc<Activity>) -> Self {
        Self { site, peer, activity }
    }
}

impl hyper::service::Service<Request<Incoming>> for TrackedService {
    type Response = http::Response<TrackedBody>;
    type Error = Infallible;
    type Future = TrackedReply;

    fn call(&self, request: Request<Incoming>) -> TrackedReply {
        let is_http2 = request.version() == Version::HTTP_2;
        let stream = is_http2.then(|| self.activity.open_stream());
        let activity = Arc::clone(&self.activity);
        TrackedReply { reply: self.site.answer(request, self.peer), stream, activity }
    }
}

pub(super) struct TrackedReply {
    reply: BoxFuture<'static, Result<Response, Infallible>>,
    stream: Option<Arc<Stream>>,
    activity: Arc<Activity>,
}

impl Future for TrackedReply {
    type Output = Result<http::Response<TrackedBody>, Infallible>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let reply = ready!(self.reply.as_mut().poll(context));
        let stream = self.stream.take();
        Poll::Ready(reply.map(|mut reply| {
            if stream.is_none() && self.activity.closes.load(Ordering::Relaxed) {
                reply.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            }
            let is_interruptible = reply.extensions().get::<Interruptible>().is_some();
            let interruptible = is_interruptible.then(|| InterruptibleReply::begin(&self.activity));
            reply.map(|body| TrackedBody { body, stream, _interruptible: interruptible })
        }))
    }
}

/// A reply in progress that is [`Interruptible`].
#[derive(Debug)]
struct InterruptibleReply(Arc<Activity>);

impl InterruptibleReply {
    fn begin(activity: &Arc<Activity>) -> Self {
        activity.interruptible.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(activity))
    }
}

impl Drop for InterruptibleReply {
    fn drop(&mut self) {
        self.0.interruptible.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The body of a reply.
#[derive(Debug)]
pub(super) struct TrackedBody {
    body: Body,
    stream: Option<Arc<Stream>>,
    /// Held until the body has ended.
    _interruptible: Option<InterruptibleReply>,
}

impl HttpBody for TrackedBody {
    type Data = TrackedChunk;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<TrackedChunk>, axum::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        Poll::Ready(frame.map(|frame| {
            frame.map(|frame| frame.map_data(|bytes| TrackedChunk::new(bytes, self.stream.clone())))
        }))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A part of a reply, until its last byte is sent.
#[derive(Debug)]
pub(super) struct TrackedChunk {
    bytes: Bytes,
    stream: Option<Arc<Stream>>,
}

impl TrackedChunk {
    fn new(bytes: Bytes, stream: Option<Arc<Stream>>) -> Self {
        if let Some(stream) = &stream {
            locked(&stream.progress).add_chunk();
        }
        Self { bytes, stream }
    }
}

impl Buf for TrackedChunk {
    fn remaining(&self) -> usize {
        self.bytes.remaining()
    }

    fn chunk(&self) -> &[u8] {
        self.bytes.chunk()
    }

    fn advance(&mut self, count: usize) {
        self.bytes.advance(count);
        if let Some(stream) = &self.stream {
            locked(&stream.progress).moved(count);
        }
    }
}

impl Drop for TrackedChunk {
    fn drop(&mut self) {
        if let Some(stream) = &self.stream {
            locked(&stream.progress).remove_chunk();
        }
    }
}
