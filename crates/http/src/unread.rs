//! Bodies that a handler leaves unread, as it refuses the request by its head.
//!
//! HTTP/1 connections carry one request after another, so the rest of such a body is in the way of
//! the next. A small one is read and dropped; otherwise the connection ends after the reply, which
//! says so.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, HttpBody};
use axum::extract::Request;
use axum::response::Response;
use bytes::Bytes;
use http::header::{CONNECTION, EXPECT};
use http::{HeaderValue, Version};
use http_body_util::BodyExt as _;
use hyper::body::{Frame, SizeHint};
use tokio::time::timeout;

use crate::body::{abandon, announced};

/// The largest announced size of a body that is read only to keep its connection.
const SKIPPED_BYTES_MAX: u64 = 64 * 1024;
/// How long to wait for it.
const SKIP: Duration = Duration::from_secs(1);

/// The state of the body of a request.
#[derive(Debug, Default)]
enum Fate {
    /// It is being read, or was given up ([`abandon`]).
    #[default]
    Open,
    Ended,
    /// The handler dropped it before its end.
    Left(Body),
}

/// The body of a request on HTTP/1, as seen after its handler.
#[derive(Debug)]
pub(crate) struct WatchedBody {
    fate: Arc<Mutex<Fate>>,
    is_small: bool,
    /// Whether the client sends the body only when it is asked to.
    is_held_back: bool,
}

impl WatchedBody {
    /// Watches the body of a request, if that has one.
    pub(crate) fn watch(request: &mut Request) -> Option<Self> {
        if request.version() > Version::HTTP_11 || request.body().is_end_stream() {
            return None;
        }
        let is_small = announced(request.headers()).is_some_and(|it| it <= SKIPPED_BYTES_MAX);
        let fate = Arc::new(Mutex::new(Fate::Open));
        let body = std::mem::take(request.body_mut());
        *request.body_mut() = Body::new(Watched { body, fate: Arc::clone(&fate) });
        let is_held_back = request.headers().contains_key(EXPECT);
        Some(Self { fate, is_small, is_held_back })
    }

    /// Skips what the handler left of the body, or marks the reply as the last of its connection.
    pub(crate) async fn settle(self, reply: &mut Response) {
        let fate = {
            let mut fate = self.fate.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *fate)
        };
        let is_read = match fate {
            Fate::Ended => true,
            Fate::Open => false,
            Fate::Left(_) if self.is_held_back => false,
            Fate::Left(mut body) if self.is_small => {
                let skip = async { while let Some(Ok(_)) = body.frame().await {} };
                timeout(SKIP, skip).await.is_ok()
            }
            Fate::Left(body) => {
                abandon(body);
                false
            }
        };
        if !is_read {
            reply.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
    }
}

/// A body that records how it ends.
struct Watched {
    body: Body,
    fate: Arc<Mutex<Fate>>,
}

impl HttpBody for Watched {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(context);
        if matches!(frame, Poll::Ready(None)) {
            *self.fate.lock().unwrap_or_else(PoisonError::into_inner) = Fate::Ended;
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let body = std::mem::take(&mut self.body);
        let mut fate = self.fate.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(*fate, Fate::Open) {
            *fate = if body.is_end_stream() { Fate::Ended } else { Fate::Left(body) };
        }
    }
}
