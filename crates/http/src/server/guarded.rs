//! A connection that closes if the client sends nothing, or leaves its reply unread.
//!
//! hyper starts its timers once it has detected the HTTP version, and has none for writes. This
//! closes both gaps, at the cost of one branch per call once the connection is established.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

use super::activity::Activity;
use crate::Limits;

/// The connection preface that an HTTP/2 client sends first.
const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

#[derive(Debug)]
pub(super) struct GuardedIo<T> {
    io: T,
    opening: Option<PrefaceCheck>,
    write_stall: Duration,
    stalled: Option<Pin<Box<Sleep>>>,
    /// The same for what is written, but still in the buffer of TLS.
    unflushed: Option<Pin<Box<Sleep>>>,
}

/// The part of the preface not yet received, and the deadline for it.
#[derive(Debug)]
struct PrefaceCheck {
    /// The rest of [`PREFACE`], still to be compared.
    awaited: &'static [u8],
    is_preface: bool,
    deadline: Pin<Box<Sleep>>,
    activity: Arc<Activity>,
}

impl PrefaceCheck {
    /// Compares the bytes read with the preface. True when no more bytes are needed.
    fn is_over(&mut self, read: &[u8]) -> bool {
        let (expected, rest) = self.awaited.split_at(read.len().min(self.awaited.len()));
        self.is_preface &= read.starts_with(expected);
        self.awaited = rest;
        if rest.is_empty() && self.is_preface {
            self.activity.begin_http2();
        }
        rest.is_empty()
    }
}

impl<T> GuardedIo<T> {
    /// Reports to `activity` when the client begins to speak HTTP/2.
    pub(super) fn new(io: T, activity: Arc<Activity>, limits: &Limits) -> Self {
        let deadline = Box::pin(sleep(limits.header_read_timeout));
        Self {
            io,
            opening: Some(PrefaceCheck { awaited: PREFACE, is_preface: true, deadline, activity }),
            write_stall: limits.write_stall_timeout,
            stalled: None,
            unflushed: None,
        }
    }

    /// Starts the timer when a write blocks, and stops it when a write succeeds.
    fn watch_write<R>(
        &mut self,
        context: &mut Context<'_>,
        result: Poll<io::Result<R>>,
    ) -> Poll<io::Result<R>> {
        watch(&mut self.stalled, self.write_stall, context, result)
    }
}

/// Starts the timer when there is no progress, and stops it when there is.
fn watch<R>(
    timer: &mut Option<Pin<Box<Sleep>>>,
    time: Duration,
    context: &mut Context<'_>,
    result: Poll<io::Result<R>>,
) -> Poll<io::Result<R>> {
    if result.is_ready() {
        *timer = None;
        return result;
    }
    let timer =
        timer.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(Instant::now() + time)));
    ready!(timer.as_mut().poll(context));
    Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
}

impl<T: AsyncRead + Unpin> AsyncRead for GuardedIo<T> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        let result = Pin::new(&mut this.io).poll_read(context, buffer);
        let Some(opening) = &mut this.opening else { return result };
        if result.is_ready() {
            if opening.is_over(&buffer.filled()[before..]) {
                this.opening = None;
            }
            return result;
        }
        ready!(opening.deadline.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for GuardedIo<T> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let result = Pin::new(&mut this.io).poll_write(context, bytes);
        this.watch_write(context, result)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let result = Pin::new(&mut this.io).poll_write_vectored(context, slices);
        this.watch_write(context, result)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let result = Pin::new(&mut this.io).poll_flush(context);
        watch(&mut this.unflushed, this.write_stall, context, result)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let result = Pin::new(&mut this.io).poll_shutdown(context);
        watch(&mut this.unflushed, this.write_stall, context, result)
    }
}
