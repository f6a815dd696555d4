//! Reads a whole request body, within the limits for size and time.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::body::{Body, HttpBody};
use bytes::{Bytes, BytesMut};
use futures_util::FutureExt;
use http::HeaderMap;
use http::header::CONTENT_LENGTH;
use http_body_util::BodyExt;
use tokio::time::{Instant, timeout, timeout_at};

use crate::Limits;
use crate::rate::Sender;

/// Bytes that are still read after a body was refused or given up. Otherwise a client that writes
/// its whole body before it reads would see a broken connection instead of the reply.
const LINGER_BYTES_MAX: usize = 1024 * 1024;
/// How long to keep reading after such a refusal.
const LINGER: Duration = Duration::from_secs(1);
/// The memory that incomplete bodies may take, over all connections: otherwise clients that send
/// large bodies slowly, on many streams each, would use it all.
const INCOMPLETE_BYTES_MAX: usize = 256 * 1024 * 1024;

/// What incomplete bodies of one address may take of it, so that one client cannot use it all.
const INCOMPLETE_BYTES_PER_ADDRESS_MAX: usize = INCOMPLETE_BYTES_MAX / 8;

/// The bytes of all incomplete bodies.
static INCOMPLETE: LazyLock<IncompleteBodies> = LazyLock::new(IncompleteBodies::default);

/// The bytes of incomplete bodies: of all, and of each address that limits apply to.
#[derive(Debug, Default)]
struct IncompleteBodies {
    all: AtomicUsize,
    by_address: Mutex<HashMap<IpAddr, usize>>,
}

impl IncompleteBodies {
    fn by_address(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        self.by_address.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The bytes of one incomplete body.
struct Incomplete<'a> {
    bodies: &'a IncompleteBodies,
    sender: Sender,
    bytes: usize,
}

impl<'a> Incomplete<'a> {
    fn new(bodies: &'a IncompleteBodies, sender: Sender) -> Self {
        Self { bodies, sender, bytes: 0 }
    }

    fn hold(&mut self, bytes: usize) -> Result<(), BodyError> {
        self.bytes += bytes;
        let mut is_within = true;
        if let Some(address) = self.sender.address() {
            let mut by_address = self.bodies.by_address();
            let held = by_address.entry(address).or_default();
            *held += bytes;
            is_within = *held <= INCOMPLETE_BYTES_PER_ADDRESS_MAX;
        }
        let others = self.bodies.all.fetch_add(bytes, Ordering::Relaxed);
        match is_within && others.saturating_add(bytes) <= INCOMPLETE_BYTES_MAX {
            true => Ok(()),
            false => Err(BodyError::NoMemory),
        }
    }
}

impl Drop for Incomplete<'_> {
    fn drop(&mut self) {
        if self.bytes == 0 {
            return;
        }
        self.bodies.all.fetch_sub(self.bytes, Ordering::Relaxed);
        let Some(address) = self.sender.address() else { return };
        let mut by_address = self.bodies.by_address();
        if let Entry::Occupied(mut held) = by_address.entry(address) {
            *held.get_mut() -= self.bytes;
            if *held.get() == 0 {
                held.remove();
            }
        }
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
    read_from(Sender::UNLIMITED, headers, body, limits).await
}

/// The same; the incomplete bodies of one sender take only a share of the memory for all.
pub async fn read_from(
    sender: Sender,
    headers: &HeaderMap,
    body: Body,
    limits: &Limits,
) -> Result<Bytes, BodyError> {
    read_counted(headers, body, limits, sender, |_| Ok(())).await
}

/// The same; `admit` gets the size of each piece as it arrives, and may refuse to read on.
pub async fn read_counted<E: From<BodyError>>(
    headers: &HeaderMap,
    body: Body,
    limits: &Limits,
    sender: Sender,
    admit: impl FnMut(u64) -> Result<(), E>,
) -> Result<Bytes, E> {
    read_paced(headers, body, limits, sender, None, admit).await
}

/// The same; with a rate, in bytes per second, a body that arrives at least that fast may take
/// longer than [`Limits::body_read_timeout`].
pub(crate) async fn read_paced<E: From<BodyError>>(
    headers: &HeaderMap,
    mut body: Body,
    limits: &Limits,
    sender: Sender,
    bytes_per_second_min: Option<u32>,
    mut admit: impl FnMut(u64) -> Result<(), E>,
) -> Result<Bytes, E> {
    if announced(headers).is_some_and(|bytes| bytes > limits.body_bytes_max as u64) {
        abandon(body);
        return Err(BodyError::TooLarge.into());
    }
    // No timer runs until there is something to wait for: most bodies arrive with their headers.
    let (mut deadline, mut credited) = (None, 0);
    let mut incomplete = Incomplete::new(&INCOMPLETE, sender);
    let mut first = Bytes::new();
    let mut rest = BytesMut::new();
    while !body.is_end_stream() {
        let frame = match body.frame().now_or_never() {
            Some(frame) => frame,
            None => {
                let now = Instant::now();
                let (longest, read) = (now + limits.body_read_timeout, first.len() + rest.len());
                // What came earlier earns no more than that, so that a trickle cannot follow a
                // burst.
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
    use crate::client::Proxies;
    use crate::rate::AddressLimit;

    fn sender(address: &str) -> Sender {
        let addresses = AddressLimit::new(None, None, Proxies::default());
        addresses.sender(Some(address.parse().unwrap()), &HeaderMap::new())
    }

    #[test]
    fn incomplete_bodies_share_a_limit_and_return_what_they_held() {
        let bodies = IncompleteBodies::default();
        let mut first = Incomplete::new(&bodies, Sender::UNLIMITED);
        let mut second = Incomplete::new(&bodies, Sender::UNLIMITED);
        assert_eq!(first.hold(INCOMPLETE_BYTES_MAX - 1), Ok(()));
        assert_eq!(second.hold(1), Ok(()));
        assert_eq!(second.hold(1), Err(BodyError::NoMemory));
        drop(second);
        assert_eq!(first.hold(1), Ok(()));
        drop(first);
        assert_eq!(bodies.all.into_inner(), 0);
    }

    #[test]
    fn the_incomplete_bodies_of_one_address_leave_room_for_those_of_others() {
        let bodies = IncompleteBodies::default();
        let mut greedy: Vec<_> =
            (0..10).map(|_| Incomplete::new(&bodies, sender("203.0.113.7"))).collect();
        let piece = INCOMPLETE_BYTES_PER_ADDRESS_MAX / 8;
        let held = greedy.iter_mut().filter_map(|body| body.hold(piece).ok()).count();
        assert_eq!(held, 8);
        for other in ["203.0.113.8", "2001:db8::1"] {
            let mut other = Incomplete::new(&bodies, sender(other));
            assert_eq!(other.hold(INCOMPLETE_BYTES_PER_ADDRESS_MAX), Ok(()));
        }
        greedy.truncate(7);
        let mut again = Incomplete::new(&bodies, sender("203.0.113.7"));
        assert_eq!(again.hold(piece), Ok(()));
        drop((greedy, again));
        assert!(bodies.by_address().is_empty(), "addresses without bodies must be removed");
        assert_eq!(bodies.all.into_inner(), 0);
    }
}
