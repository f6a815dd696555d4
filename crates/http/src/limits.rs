//! What one client may use of the server: bytes, time and connections.

use std::time::Duration;

use sluice_engine::bucket::Quota;
use sluice_flow::submission::BODY_BYTES_DEFAULT;

use crate::rate::{
    ADDRESS_BYTES_PER_SECOND, ADDRESS_CALLS_PER_SECOND, address_bytes_quota, address_quota,
};

/// Every HTTP limit, each with its unit in its name or type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The largest body of a tRPC call or batch, in bytes.
    pub body_bytes_max: usize,
    /// The largest request line and headers, in bytes; at least [`Limits::HEADER_BYTES_LEAST`].
    pub header_bytes_max: usize,
    /// From waiting for the first byte to the last byte of the headers. An idle keep-alive
    /// connection is closed after the same time.
    pub header_read_timeout: Duration,
    /// The longest pause within a body.
    pub body_stall_timeout: Duration,
    /// The longest time for a whole body.
    pub body_read_timeout: Duration,
    /// The longest time for handling a request, not counting its body.
    pub request_timeout: Duration,
    /// How long a client may leave a reply unread; on HTTP/2, how long it may take to read 16 KiB
    /// of a stream.
    pub write_stall_timeout: Duration,
    /// How long an HTTP/2 connection may have no open stream.
    pub idle_timeout: Duration,
    /// How long requests in progress may take to finish once the server stops.
    pub drain_timeout: Duration,
    /// Connections open at once; further ones wait to be accepted.
    pub connections_max: usize,
    /// Calls of the public API from one address; absent means no limit.
    pub calls_per_address: Option<Quota>,
    /// Bytes of bodies that one address sends to the public API and hosted pages; absent means no
    /// limit.
    pub bytes_per_address: Option<Quota>,
    /// Connections open at once from one address, or one IPv6 /64; further ones are closed
    /// immediately. 0 means no limit.
    pub connections_per_address_max: usize,
}

impl Limits {
    /// The minimum that the HTTP/1 parser needs.
    pub const HEADER_BYTES_LEAST: usize = 8 * 1024;
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_bytes_max: BODY_BYTES_DEFAULT,
            header_bytes_max: 32 * 1024,
            header_read_timeout: Duration::from_secs(10),
            body_stall_timeout: Duration::from_secs(10),
            body_read_timeout: Duration::from_secs(60),
            request_timeout: Duration::from_secs(30),
            write_stall_timeout: Duration::from_secs(30),
            idle_timeout: Duration::from_secs(120),
            drain_timeout: Duration::from_secs(30),
            connections_max: 20_000,
            calls_per_address: address_quota(ADDRESS_CALLS_PER_SECOND),
            bytes_per_address: address_bytes_quota(ADDRESS_BYTES_PER_SECOND),
            connections_per_address_max: 1_000,
        }
    }
}
