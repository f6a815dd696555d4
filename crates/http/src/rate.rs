//! Limits of calls and of bytes by address, and the headers of a reply refused by any limit.
//!
//! Addresses are checked before the key is looked up, so that guessing keys is limited as well. The
//! engine limits calls by app ([`Engine::admit_calls`]).

use std::net::IpAddr;
use std::num::NonZeroU32;

use http::header::RETRY_AFTER;
use http::{HeaderMap, HeaderName, HeaderValue};
use sluice_engine::bucket::Quota;
use sluice_engine::rate::{BURST_CALLS_MIN, bucket};
use sluice_engine::{Engine, Limited, LimitedBy};
use sluice_flow::submission::BODY_BYTES_DEFAULT;

use crate::client::{KeyedLimiter, Proxies, rate_limit_address};

/// Calls per second from one address, unless the operator sets another number.
pub const ADDRESS_CALLS_PER_SECOND: u32 = 500;
/// Body bytes per second from one address, unless the operator sets another number: 256 KiB. That
/// is 21 GiB a day, slightly more than one app may store, so a backend that sends all the responses
/// of an app can use the app's whole quota, and no address can use it up in a few minutes.
pub const ADDRESS_BYTES_PER_SECOND: u32 = 256 * 1024;
/// A bucket of calls holds this many seconds of its rate.
const CALLS_BURST_SECONDS: u32 = 10;
/// A bucket of bytes holds this many seconds of its rate: 64 MiB by default.
const BYTES_BURST_SECONDS: u32 = 256;
/// A bucket of bytes holds at least this many, so that the largest body of a default server fits.
const BURST_BYTES_MIN: u32 = BODY_BYTES_DEFAULT as u32;

const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");
const RATE_LIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");

/// The call quota of one address for a rate; 0 means no limit.
pub fn address_quota(calls_per_second: u32) -> Option<Quota> {
    bucket(calls_per_second, CALLS_BURST_SECONDS, BURST_CALLS_MIN)
}

/// The byte quota of one address for a rate; 0 means no limit.
pub fn address_bytes_quota(bytes_per_second: u32) -> Option<Quota> {
    bucket(bytes_per_second, BYTES_BURST_SECONDS, BURST_BYTES_MIN)
}

/// An address that limits apply to, IPv6 as its /64. None for a loopback peer, since it is the
/// operator, or a proxy on this machine that hides the sender; an address that a trusted proxy
/// names is always limited.
#[derive(Debug, Clone, Copy)]
pub struct Sender(Option<IpAddr>);

impl Sender {
    /// A sender without limits.
    pub const UNLIMITED: Self = Self(None);

    /// The address that counts.
    pub(crate) fn address(self) -> Option<IpAddr> {
        self.0
    }
}

/// The limits by address.
#[derive(Debug)]
pub struct AddressLimit {
    proxies: Proxies,
    calls: Option<Buckets>,
    bytes: Option<Buckets>,
}

/// A bucket for each address.
#[derive(Debug)]
struct Buckets {
    by: LimitedBy,
    quota: Quota,
    counted: KeyedLimiter<IpAddr>,
}

impl Buckets {
    fn new(by: LimitedBy, quota: Quota) -> Self {
        Self { by, quota, counted: KeyedLimiter::new(quota) }
    }

    /// Takes this amount, or nothing. An amount larger than the bucket takes a full bucket.
    fn take(&self, engine: &Engine, address: IpAddr, amount: u64) -> Result<(), Limited> {
        let amount = u32::try_from(amount).unwrap_or(u32::MAX).min(self.quota.burst_size().get());
        let Some(amount) = NonZeroU32::new(amount) else { return Ok(()) };
        let Some(wait) = self.counted.wait_for(&address, amount) else { return Ok(()) };
        let limited = Limited::by_bucket(self.by, self.quota, wait);
        engine.metrics().count_limited(self.by.as_str());
        Err(limited)
    }
}

impl AddressLimit {
    pub fn new(calls: Option<Quota>, bytes: Option<Quota>, proxies: Proxies) -> Self {
        Self {
            proxies,
            calls: calls.map(|quota| Buckets::new(LimitedBy::Address, quota)),
            bytes: bytes.map(|quota| Buckets::new(LimitedBy::AddressBytes, quota)),
        }
    }

    /// The sender of a request, for the limits.
    pub fn sender(&self, peer: Option<IpAddr>, headers: &HeaderMap) -> Sender {
        let address = peer.and_then(|peer| self.proxies.limited(peer, headers));
        Sender(address.map(rate_limit_address))
    }

    /// Whether the sender may make these calls now: all or none.
    pub fn admit_calls(
        &self,
        engine: &Engine,
        sender: Sender,
        calls: usize,
    ) -> Result<(), Limited> {
        let (Some(buckets), Some(address)) = (&self.calls, sender.0) else { return Ok(()) };
        buckets.take(engine, address, calls.max(1) as u64)
    }

    /// Whether the sender may send a body of this size now.
    pub fn admit_bytes(&self, engine: &Engine, sender: Sender, bytes: u64) -> Result<(), Limited> {
        let (Some(buckets), Some(address)) = (&self.bytes, sender.0) else { return Ok(()) };
        buckets.take(engine, address, bytes)
    }

    /// Whether the sender of this request without a body may make one call now.
    pub fn admit_read(
        &self,
        engine: &Engine,
        peer: Option<IpAddr>,
        headers: &HeaderMap,
    ) -> Result<(), Limited> {
        self.admit_calls(engine, self.sender(peer, headers), 1)
    }
}

/// The message to a client that reached this limit.
pub fn message(limited: &Limited) -> &'static str {
    match limited.by {
        LimitedBy::App => {
            "This app makes too many calls. Nothing was stored; wait as long as Retry-After says and try again."
        }
        LimitedBy::Address => {
            "Too many calls come from this address. Nothing was stored; wait as long as Retry-After says and try again."
        }
        LimitedBy::AddressBytes => {
            "Too many bytes come from this address. Nothing was stored; wait as long as Retry-After says and try again."
        }
        LimitedBy::Bytes => {
            "This app has stored as much as it may in one day. Nothing was stored; try again after midnight UTC."
        }
    }
}

/// Sets `Retry-After`, `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers).
pub fn mark(headers: &mut HeaderMap, limited: &Limited) {
    let Limited { by, quota, window_seconds, retry_after_seconds } = *limited;
    let name = by.as_str();
    let unit = match by {
        LimitedBy::App | LimitedBy::Address => "",
        LimitedBy::AddressBytes | LimitedBy::Bytes => ";qu=\"content-bytes\"",
    };
    headers.insert(RETRY_AFTER, retry_after_seconds.into());
    let policy = format!("\"{name}\";q={quota};w={window_seconds}{unit}");
    let state = format!("\"{name}\";r=0;t={retry_after_seconds}");
    for (header, value) in [(RATE_LIMIT_POLICY, policy), (RATE_LIMIT, state)] {
        // Names and numbers are visible ASCII.
        if let Ok(value) = HeaderValue::try_from(value) {
            headers.insert(header, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_ten_seconds_of_its_rate_and_at_least_the_largest_batch() {
        for (rate, burst) in [(1, 100), (10, 100), (11, 110), (500, 5_000)] {
            assert_eq!(address_quota(rate).map(|quota| quota.burst_size().get()), Some(burst));
        }
        assert_eq!(address_quota(0), None);
    }

    #[test]
    fn an_address_has_256_seconds_of_its_bytes_and_at_least_the_largest_body() {
        for (rate, burst) in
            [(1, 1 << 20), (ADDRESS_BYTES_PER_SECOND, 64 << 20), (u32::MAX, u32::MAX)]
        {
            assert_eq!(
                address_bytes_quota(rate).map(|quota| quota.burst_size().get()),
                Some(burst)
            );
        }
        assert_eq!(address_bytes_quota(0), None);
    }

    #[test]
    fn a_refusal_names_its_policy_and_when_to_try_again() {
        for (by, policy, state) in [
            (LimitedBy::App, "\"app\";q=40000;w=2", "\"app\";r=0;t=7"),
            (LimitedBy::Address, "\"address\";q=40000;w=2", "\"address\";r=0;t=7"),
            (
                LimitedBy::AddressBytes,
                "\"address-bytes\";q=40000;w=2;qu=\"content-bytes\"",
                "\"address-bytes\";r=0;t=7",
            ),
            (LimitedBy::Bytes, "\"bytes\";q=40000;w=2;qu=\"content-bytes\"", "\"bytes\";r=0;t=7"),
        ] {
            let mut headers = HeaderMap::new();
            mark(
                &mut headers,
                &Limited { by, quota: 40_000, window_seconds: 2, retry_after_seconds: 7 },
            );
            assert_eq!(headers[RETRY_AFTER], "7");
            assert_eq!(headers[RATE_LIMIT_POLICY], policy);
            assert_eq!(headers[RATE_LIMIT], state);
        }
    }
}
