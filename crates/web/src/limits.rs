//! What one client may take of the server: bytes, time and connections.

use std::time::Duration;

/// Every limit of the HTTP side, each with its unit in its name or type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The largest body of a tRPC call or batch, in bytes.
    pub body_bytes_max: usize,
    /// The largest request line and headers, in bytes; at least [`Limits::HEADER_BYTES_LEAST`].
    pub header_bytes_max: usize,
    /// From the first byte awaited to the last byte of the headers. An idle connection that is kept
    /// alive is closed after the same time.
    pub header_read_timeout: Duration,
    /// The longest pause within a body.
    pub body_stall_timeout: Duration,
    /// The longest time for a whole body.
    pub body_read_timeout: Duration,
    /// The longest time that a request may be worked on, its body apart.
    pub request_timeout: Duration,
    /// How long a client may leave a reply unread.
    pub write_stall_timeout: Duration,
    /// How long requests under way may take to finish once the server stops.
    pub drain_timeout: Duration,
    /// Connections open at once; further ones wait to be accepted.
    pub connections_max: usize,
}

impl Limits {
    /// The HTTP/1 parser needs this much to work in.
    pub const HEADER_BYTES_LEAST: usize = 8 * 1024;
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_bytes_max: 256 * 1024,
            header_bytes_max: 32 * 1024,
            header_read_timeout: Duration::from_secs(10),
            body_stall_timeout: Duration::from_secs(10),
            body_read_timeout: Duration::from_secs(60),
            request_timeout: Duration::from_secs(30),
            write_stall_timeout: Duration::from_secs(30),
            drain_timeout: Duration::from_secs(30),
            connections_max: 20_000,
        }
    }
}
