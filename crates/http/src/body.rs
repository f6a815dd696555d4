//! Reads a whole request body, within the limits for size and time.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::body::{Body, HttpBody};
use bytes::{Bytes, BytesMut};
use futures_util::FutureExt;
use http::HeaderMap;
use http::header::CONTENT_LENGTH;
use http_body_util::BodyExt;
use tokio::time::{Instant, timeout, timeout_at};

use crate::Limits;

/// Bytes that are still read after a body was refused or given up. Otherwise a client that writes
/// its whole body before it reads would see a broken connection instead of the reply.
const LINGER_BYTES_MAX: usize = 1024 * 1024;
/// How long to keep reading after such a refusal.
const LINGER: Duration = Duration::from_secs(1);
/// The memory that incomplete bodies may take, over all connections: otherwise clients that send
/// large bodies slowly, on many streams each, would use it all.
const INCOMPLETE_BYTES_MAX: usize = 256 * 1024 * 1024;

/// The bytes of all incomplete bodies.
static INCOMPLETE: AtomicUsize = AtomicUsize::new(0);

/// The bytes of one incomplete body.
struct Incomplete<'a> {
    all: &'a AtomicUsize,
    bytes: usize,
}

impl Incomplete<'_> {
    fn hold(&mut self, bytes: usize) -> Result<(), BodyError> {
        self.bytes += bytes;
        let others = self.all.fetch_add(bytes, Ordering::Relaxed);
        if others.saturating_add(bytes) > INCOMPLETE_BYTES_MAX {
            return Err(BodyError::NoMemory);
        }
        Ok(())
    }
}

impl Drop for Incomplete<'_> {
    fn drop(&mut self) {
        self.all.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// Why a body could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyError {
    TooLarge,
    /// No data arrived for too long, or the whole body took too long.
    TooSlow,
    /// The connection broke, or the data was not a valid HTTP body.
    Broken,
    /// Incomplete bodies take too much memory.
    NoMemory,
}

/// The size of the body according to its headers, if they state it.
pub fn announced(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

pub async fn read(headers: &HeaderMap, body: Body, limits: &Limits) -> Result<Bytes, BodyError> {
    read_counted(headers, body, limits, |_| Ok(())).await
}

/// The same; `admit` gets the size of each piece as it arrives, and may refuse to read on.
pub async fn read_counted<E: From<BodyError>>(
    headers: &HeaderMap,
    body: Body,
    limits: &Limits,
    admit: impl FnMut(u64) -> Result<(), E>,
) -> Result<Bytes, E> {
    read_paced(headers, body, limits, None, admit).await
}

/// The same; with a rate, in bytes per second, a body that arrives at least that fast may take
/// longer than [`Limits::body_read_timeout`].
pub(crate) async fn read_paced<E: From<BodyError>>(
    headers: &HeaderMap,
    mut body: Body,
    limits: &Limits,
    bytes_per_second_min: Option<u32>,
    mut admit: impl FnMut(u64) -> Result<(), E>,
) -> Result<Bytes, E> {
    if announced(headers).is_some_and(|bytes| bytes > limits.body_bytes_max as u64) {
        abandon(body);
        return Err(BodyError::TooLarge.into());
    }
    // No timer runs until there is something to wait for: most bodies arrive with their headers.
    let (mut deadline, mut credited) = (None, 0);
    let mut incomplete = Incomplete { all: &INCOMPLETE, bytes: 0 };
    let mut first = Bytes::new();
    let mut rest = BytesMut::new();
    while !body.is_end_stream() {
        let frame = match body.frame().now_or_never() {
            Some(frame) => frame,
            None => {
                let now = Instant::now();
                let (longest, read) = (now + limits.body_read_timeout, first.len() + rest.len());
                // What came earlier earns no more than that, so that a trickle cannot follow a burst.
                let new = earned(bytes_per_second_min, read - credited);
                let until = deadline.map_or(longest, |at: Instant| longest.min(at + new));
                (deadline, credited) = (Some(until), read);
                let stall = (now + limits.body_stall_timeout).min(until);
                timeout_at(stall, body.frame()).await.map_err(|_| E::from(BodyError::TooSlow))?
            }
        };
        let data = match frame {
            None => break,
            Some(Err(_)) => return Err(BodyError::Broken.into()),
            // Trailers are ignored.
            Some(Ok(frame)) => frame.into_data().unwrap_or_default(),
        };
        let admitted = match first.len() + rest.len() + data.len() > limits.body_bytes_max {
            true => Err(BodyError::TooLarge.into()),
            false => admit(data.len() as u64),
        };
        // A body that arrives in one piece is never incomplete.
        let admitted = match body.is_end_stream() {
            true => admitted,
            false => admitted.and(incomplete.hold(data.len()).map_err(E::from)),
        };
        if let Err(error) = admitted {
            abandon(body);
            return Err(error);
        }
        // Most bodies arrive in one piece, which is then not copied.
        if first.is_empty() {
            first = data;
        } else {
            rest.extend_from_slice(&data);
        }
    }
    if rest.is_empty() {
        return Ok(first);
    }
    let mut whole = BytesMut::with_capacity(first.len() + rest.len());
    whole.extend_from_slice(&first);
    whole.extend_from_slice(&rest);
    Ok(whole.freeze())
}

/// The time that bytes at a minimum rate take.
fn earned(bytes_per_second_min: Option<u32>, bytes: usize) -> Duration {
    let rate = bytes_per_second_min.filter(|rate| *rate > 0);
    let micros = |rate: u32| bytes as u64 * 1_000_000 / u64::from(rate);
    rate.map_or(Duration::ZERO, |rate| Duration::from_micros(micros(rate)))
}

/// Gives up a body that will not be read. The reply to an HTTP/1 client must then have
/// `connection: close`.
pub fn abandon(body: Body) {
    tokio::spawn(linger(body));
}

/// Reads and drops data that is still arriving; then the connection is closed.
async fn linger(mut body: Body) {
    let mut dropped = 0;
    let drain = async {
        while let Some(Ok(frame)) = body.frame().await {
            dropped += frame.data_ref().map_or(0, Bytes::len);
            if dropped > LINGER_BYTES_MAX {
                return;
            }
        }
    };
    // Whether the body ended or the time ran out makes no difference.
    let _ = timeout(LINGER, drain).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn incomplete_bodies_share_a_limit_and_return_what_they_held() {
        let all = AtomicUsize::new(0);
        let mut first = Incomplete { all: &all, bytes: 0 };
        let mut second = Incomplete { all: &all, bytes: 0 };
        assert_eq!(first.hold(INCOMPLETE_BYTES_MAX - 1), Ok(()));
        assert_eq!(second.hold(1), Ok(()));
        assert_eq!(second.hold(1), Err(BodyError::NoMemory));
        drop(second);
        assert_eq!(first.hold(1), Ok(()));
        drop(first);
        assert_eq!(all.into_inner(), 0);
    }
}
