//! Uploads: files that a slow line needs minutes for. The time for one follows what arrives, both
//! in reading the body and in the exchange around it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use http::request::Parts;
use tokio::time::Instant;

use crate::Limits;
use crate::body::{self, BodyError};
use crate::rate::Sender;

/// A body that arrives at this rate has all the time it needs.
pub const BYTES_PER_SECOND_MIN: u32 = 8 * 1024;
/// A body of at least this size is an upload.
pub const BYTES_MIN: u64 = 64 * 1024;

/// When the time of an exchange ends. In the extensions of a request, so that reading its body can
/// postpone it.
#[derive(Debug, Clone)]
pub struct Deadline {
    at: Arc<Mutex<Instant>>,
    /// How long the exchange may take after the last piece of the body.
    timeout: Duration,
}

impl Deadline {
    pub(crate) fn new(timeout: Duration) -> Self {
        Self { at: Arc::new(Mutex::new(Instant::now() + timeout)), timeout }
    }

    pub(crate) fn at(&self) -> Instant {
        *self.at.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The time starts again.
    fn postpone(&self) {
        *self.at.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now() + self.timeout;
    }
}

/// Reads a file of at most this size.
pub async fn read(head: &Parts, body: Body, body_bytes_max: usize) -> Result<Bytes, BodyError> {
    let limits = Limits { body_bytes_max, ..Limits::default() };
    let deadline = head.extensions.get::<Deadline>();
    let postpone = |_| {
        if let Some(deadline) = deadline {
            deadline.postpone();
        }
        Ok(())
    };
    let pace = Some(BYTES_PER_SECOND_MIN);
    body::read_paced(&head.headers, body, &limits, Sender::UNLIMITED, pace, postpone).await
}
