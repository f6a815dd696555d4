//! Where a request comes from, and how many have come from there.
//!
//! The address is not stored, and logged only with a failed authentication or authorisation. It is
//! the peer's, or, if the peer is a proxy that the operator trusts, the last one before it that is
//! not. Counts are of this process alone, and are forgotten when it ends.

use std::hash::Hash;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use http::{HeaderMap, HeaderName};
use sluice_engine::bucket::{KeyedBuckets, Quota};

use crate::Network;

/// Where a connection comes from; the accept loop knows.
#[derive(Debug, Clone, Copy)]
pub struct Peer(pub IpAddr);

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
/// The networks whose word counts for where a request came from.
#[derive(Debug, Clone, Default)]
pub struct Proxies(pub Vec<Network>);

impl Proxies {
    /// The address that a request came from, as far as it can be known.
    pub fn client(&self, peer: Option<IpAddr>, headers: &HeaderMap) -> Option<IpAddr> {
        let is_proxy = |address: IpAddr| self.0.iter().any(|network| network.holds(address));
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

    /// The address that limits hold for. None for a loopback peer, unless a trusted proxy names the
    /// client.
    pub fn limited(&self, peer: IpAddr, headers: &HeaderMap) -> Option<IpAddr> {
        let peer = peer.to_canonical();
        let is_named = || {
            headers.contains_key(X_FORWARDED_FOR)
                && self.0.iter().any(|network| network.holds(peer))
        };
        if peer.is_loopback() && !is_named() {
            return None;
        }
        self.client(Some(peer), headers)
    }
}

/// How much each address has sent lately.
#[derive(Debug)]
pub struct Senders(Option<KeyedLimiter<IpAddr>>);

/// Counts by key.
#[derive(Debug)]
pub struct KeyedLimiter<K>(KeyedBuckets<K>);

impl<K: Hash + Eq + Clone> KeyedLimiter<K> {
    pub fn new(quota: Quota) -> Self {
        Self(KeyedBuckets::new(quota, Instant::now()))
    }

    /// Counts one more. How many seconds to wait, where there were too many.
    pub fn wait(&self, key: &K) -> Option<u64> {
        Some(self.wait_for(key, NonZeroU32::MIN)?.as_secs() + 1)
    }

    /// Counts this many at once, or none of them. How long to wait if there were too many; `count`
    /// must not exceed the burst.
    pub fn wait_for(&self, key: &K, count: NonZeroU32) -> Option<Duration> {
        self.0.take(key, count.get(), Instant::now()).err()
    }
}

impl Senders {
    pub fn new(per_minute: u32) -> Self {
        Self(NonZeroU32::new(per_minute).map(|most| KeyedLimiter::new(Quota::per_minute(most))))
    }

    /// Counts a send from this address. How many seconds to wait, where there were too many.
    pub fn wait(&self, address: Option<IpAddr>) -> Option<u64> {
        self.0.as_ref()?.wait(&neighbourhood(address?))
    }
}

/// The address of one entry of `X-Forwarded-For`. Some proxies add the port.
fn hop_address(hop: &str) -> Option<IpAddr> {
    let address = hop.parse::<IpAddr>().ok();
    address.or_else(|| hop.parse::<SocketAddr>().ok().map(|socket| socket.ip()))
}

/// One household has many addresses of version 6, all of one /64.
pub fn neighbourhood(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(own) => IpAddr::V6(network(own, 64)),
    }
}

/// What one organisation is given of version 6: a /48, which has 65,536 times a /64. None for
/// version 4, where addresses are scarce.
pub fn organisation(address: IpAddr) -> Option<Ipv6Addr> {
    match address {
        IpAddr::V4(_) => None,
        IpAddr::V6(own) => Some(network(own, 48)),
    }
}

/// The first address of the network that an address is in.
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
    fn the_client_is_the_peer_or_the_last_address_that_no_trusted_proxy_has() {
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
    fn addresses_of_version_6_are_of_a_household_and_of_an_organisation() {
        let one = address("2001:db8:1:2:3:4:5:6");
        assert_eq!(neighbourhood(one), address("2001:db8:1:2::"));
        assert_eq!(organisation(one).map(IpAddr::V6), Some(address("2001:db8:1::")));
        let old = address("203.0.113.7");
        assert_eq!((neighbourhood(old), organisation(old)), (old, None));
    }

    #[test]
    fn an_address_may_send_so_often_and_its_neighbours_count_as_it() {
        let senders = Senders::new(2);
        let (one, same, other) = ("2001:db8::1", "2001:db8::2", "2001:db8:0:1::1");
        assert_eq!(senders.wait(Some(address(one))), None);
        assert_eq!(senders.wait(Some(address(same))), None);
        let wait = senders.wait(Some(address(one))).unwrap();
        assert!((1..=31).contains(&wait), "{wait}");
        assert_eq!(senders.wait(Some(address(other))), None);
        assert_eq!(senders.wait(None), None);
        let unlimited = Senders::new(0);
        assert!((0..100).all(|_| unlimited.wait(Some(address(one))).is_none()));
    }
}
