//! The address that a request comes from, and rate limits by key.
//!
//! The address is not stored, and is logged only with a failed authentication or authorisation. It
//! is the peer's, or, if the peer is a trusted proxy, the last forwarded address that is not a
//! trusted proxy. Counts are per process and are lost when it ends.

use std::hash::Hash;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use http::{HeaderMap, HeaderName};
use sluice_engine::bucket::{KeyedBuckets, Quota};

use crate::Network;

/// The peer address of a connection; set by the accept loop.
#[derive(Debug, Clone, Copy)]
pub struct Peer(pub IpAddr);

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
/// The networks of trusted proxies, whose `X-Forwarded-For` is used.
#[derive(Debug, Clone, Default)]
pub struct Proxies(pub Vec<Network>);

impl Proxies {
    /// The address that a request came from, if it can be determined.
    pub fn client(&self, peer: Option<IpAddr>, headers: &HeaderMap) -> Option<IpAddr> {
        let is_proxy = |address: IpAddr| self.0.iter().any(|network| network.contains(address));
        let mut address = peer?.to_canonical();
        if !is_proxy(address) {
            return Some(address);
        }
        let lists = headers.get_all(X_FORWARDED_FOR).iter().filter_map(|value| value.to_str().ok());
        let mut hops: Vec<&str> = lists.flat_map(|list| list.split(',')).map(str::trim).collect();
        while is_proxy(address) {
            let Some(before) = hops.pop().and_then(hop_address) else { break };
            address = before.to_canonical();
        }
        Some(address)
    }

    /// The address that limits apply to. None for a loopback peer, unless a trusted proxy names the
    /// client.
    pub fn limited(&self, peer: IpAddr, headers: &HeaderMap) -> Option<IpAddr> {
        let peer = peer.to_canonical();
        let is_named = || {
            headers.contains_key(X_FORWARDED_FOR)
                && self.0.iter().any(|network| network.contains(peer))
        };
        if peer.is_loopback() && !is_named() {
            return None;
        }
        self.client(Some(peer), headers)
    }
}

/// Limits how often each address may send.
#[derive(Debug)]
pub struct SendLimiter(Option<KeyedLimiter<IpAddr>>);

/// A rate limiter by key.
#[derive(Debug)]
pub struct KeyedLimiter<K>(KeyedBuckets<K>);

impl<K: Hash + Eq + Clone> KeyedLimiter<K> {
    pub fn new(quota: Quota) -> Self {
        Self(KeyedBuckets::new(quota, Instant::now()))
    }

    /// Counts one more. Returns how many seconds to wait if the limit is exceeded.
    pub fn wait(&self, key: &K) -> Option<u64> {
        Some(self.wait_for(key, NonZeroU32::MIN)?.as_secs() + 1)
    }

    /// Counts all of these or none. Returns how long to wait if the limit is exceeded; `count` must
    /// not exceed the burst.
    pub fn wait_for(&self, key: &K, count: NonZeroU32) -> Option<Duration> {
        self.0.take(key, count.get(), Instant::now()).err()
    }
}

impl SendLimiter {
    pub fn new(per_minute: u32) -> Self {
        Self(NonZeroU32::new(per_minute).map(|most| KeyedLimiter::new(Quota::per_minute(most))))
    }

    /// Counts a send from this address. Returns how many seconds to wait if the limit is exceeded.
    pub fn wait(&self, address: Option<IpAddr>) -> Option<u64> {
        self.0.as_ref()?.wait(&rate_limit_address(address?))
    }
}

/// The address in one entry of `X-Forwarded-For`. Some proxies add the port.
fn hop_address(hop: &str) -> Option<IpAddr> {
    let address = hop.parse::<IpAddr>().ok();
    address.or_else(|| hop.parse::<SocketAddr>().ok().map(|socket| socket.ip()))
}

/// The address that limits count by: for IPv6 its /64, since one household has a whole /64.
pub fn rate_limit_address(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(own) => IpAddr::V6(network(own, 64)),
    }
}

/// The /48 of an IPv6 address: the size that one organisation is usually given, 65,536 times a /64.
/// None for IPv4, where addresses are scarce.
pub fn organisation(address: IpAddr) -> Option<Ipv6Addr> {
    match address {
        IpAddr::V4(_) => None,
        IpAddr::V6(own) => Some(network(own, 48)),
    }
}

/// The first address of the network that contains this address.
fn network(address: Ipv6Addr, prefix_bits: u32) -> Ipv6Addr {
    let rest = u128::MAX.checked_shr(prefix_bits).unwrap_or(0);
    Ipv6Addr::from(u128::from(address) & !rest)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn the_client_is_the_peer_or_the_last_address_that_is_not_a_trusted_proxy() {
        let proxies = Proxies(vec!["10.0.0.0/8".parse().unwrap(), "::1".parse().unwrap()]);
        for (peer, forwarded, client) in [
            ("203.0.113.7", "", "203.0.113.7"),
            ("203.0.113.7", "198.51.100.1", "203.0.113.7"),
            ("10.0.0.1", "198.51.100.1", "198.51.100.1"),
            ("10.0.0.1", "198.51.100.1, 10.0.0.2", "198.51.100.1"),
            ("10.0.0.1", "6.6.6.6, 198.51.100.1, 10.0.0.2", "198.51.100.1"),
            ("10.0.0.1", "198.51.100.1:4711, 10.0.0.2:80", "198.51.100.1"),
            ("::1", "[2001:db8::1]:4711", "2001:db8::1"),
            ("10.0.0.1", "nonsense", "10.0.0.1"),
            ("10.0.0.1", "", "10.0.0.1"),
            ("::ffff:10.0.0.1", "198.51.100.1", "198.51.100.1"),
            ("::1", "2001:db8::1", "2001:db8::1"),
        ] {
            let mut headers = HeaderMap::new();
            if !forwarded.is_empty() {
                headers.insert(X_FORWARDED_FOR, HeaderValue::from_static(forwarded));
            }
            let found = proxies.client(Some(address(peer)), &headers);
            assert_eq!(found, Some(address(client)), "{peer} {forwarded}");
        }
        assert_eq!(proxies.client(None, &HeaderMap::new()), None);
    }

    #[test]
    fn a_loopback_peer_is_not_limited_unless_a_trusted_proxy_names_the_client() {
        let none = Proxies::default();
        let local = Proxies(vec!["127.0.0.1".parse().unwrap()]);
        for (proxies, peer, forwarded, limited) in [
            (&none, "127.0.0.1", "", None),
            (&none, "::1", "", None),
            (&none, "::ffff:127.0.0.1", "198.51.100.1", None),
            (&none, "203.0.113.7", "127.0.0.1", Some("203.0.113.7")),
            (&local, "127.0.0.1", "", None),
            (&local, "127.0.0.1", "198.51.100.1", Some("198.51.100.1")),
            (&local, "127.0.0.1", "127.0.0.2", Some("127.0.0.2")),
        ] {
            let mut headers = HeaderMap::new();
            if !forwarded.is_empty() {
                headers.insert(X_FORWARDED_FOR, HeaderValue::from_static(forwarded));
            }
            let found = proxies.limited(address(peer), &headers);
            assert_eq!(found, limited.map(address), "{peer} {forwarded}");
        }
    }

    #[test]
    fn ipv6_addresses_are_grouped_by_household_and_by_organisation() {
        let one = address("2001:db8:1:2:3:4:5:6");
        assert_eq!(rate_limit_address(one), address("2001:db8:1:2::"));
        assert_eq!(organisation(one).map(IpAddr::V6), Some(address("2001:db8:1::")));
        let old = address("203.0.113.7");
        assert_eq!((rate_limit_address(old), organisation(old)), (old, None));
    }

    #[test]
    fn an_address_is_limited_together_with_its_64() {
        let senders = SendLimiter::new(2);
        let (one, same, other) = ("2001:db8::1", "2001:db8::2", "2001:db8:0:1::1");
        assert_eq!(senders.wait(Some(address(one))), None);
        assert_eq!(senders.wait(Some(address(same))), None);
        let wait = senders.wait(Some(address(one))).unwrap();
        assert!((1..=31).contains(&wait), "{wait}");
        assert_eq!(senders.wait(Some(address(other))), None);
        assert_eq!(senders.wait(None), None);
        let unlimited = SendLimiter::new(0);
        assert!((0..100).all(|_| unlimited.wait(Some(address(one))).is_none()));
    }
}
