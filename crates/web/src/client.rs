//! Where a request comes from, and how many have come from there.
//!
//! The address is used in memory and nowhere else: it is not logged and not stored. It is the peer's, or, where
//! the peer is a proxy that the operator trusts, the last one before it that is not. Counts are of this
//! process alone, and are forgotten when it ends.

use std::hash::Hash;
use std::net::{IpAddr, Ipv6Addr};
use std::num::NonZeroU32;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use governor::clock::{Clock, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use http::{HeaderMap, HeaderName};

use crate::Network;

/// Where a connection comes from; the accept loop knows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer(pub(crate) IpAddr);

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
/// Keys that are counted; beyond it those that were left alone for a while are forgotten, at most as often as this.
const KEYS_MAX: usize = 10_000;
const SWEEP_PAUSE: Duration = Duration::from_secs(1);

/// The networks whose word counts for where a request came from.
#[derive(Debug, Clone, Default)]
pub(crate) struct Proxies(pub(crate) Vec<Network>);

impl Proxies {
    /// The address that a request came from, as far as it can be known.
    pub(crate) fn client(&self, peer: Option<IpAddr>, headers: &HeaderMap) -> Option<IpAddr> {
        let is_proxy = |address: IpAddr| self.0.iter().any(|network| network.holds(address));
        let mut address = peer?.to_canonical();
        let lists = headers.get_all(X_FORWARDED_FOR).iter().filter_map(|value| value.to_str().ok());
        let mut hops: Vec<&str> = lists.flat_map(|list| list.split(',')).map(str::trim).collect();
        while is_proxy(address) {
            let Some(before) = hops.pop().and_then(|hop| hop.parse::<IpAddr>().ok()) else { break };
            address = before.to_canonical();
        }
        Some(address)
    }
}

/// How much each address has sent lately.
pub(crate) struct Senders(Option<Counted<IpAddr>>);

/// Counts of keys, of which there are never very many: those that were left alone for a while are forgotten, which takes a look at
/// all of them and is done once in a while only.
pub(crate) struct Counted<K: Hash + Eq + Clone> {
    limiter: DefaultKeyedRateLimiter<K>,
    swept: Mutex<Instant>,
}

impl<K: Hash + Eq + Clone> Counted<K> {
    pub(crate) fn new(quota: Quota) -> Self {
        Self { limiter: RateLimiter::keyed(quota), swept: Mutex::new(Instant::now()) }
    }

    /// Counts one more. How many seconds to wait, where there were too many.
    pub(crate) fn wait(&self, key: &K) -> Option<u64> {
        if self.limiter.len() > KEYS_MAX {
            self.sweep();
        }
        let until = self.limiter.check_key(key).err()?;
        Some(until.wait_time_from(DefaultClock::default().now()).as_secs() + 1)
    }

    fn sweep(&self) {
        // Whoever finds another at it goes on.
        let Ok(mut swept) = self.swept.try_lock() else { return };
        if swept.elapsed() >= SWEEP_PAUSE {
            self.limiter.retain_recent();
            *swept = Instant::now();
        }
    }
}

impl Senders {
    pub(crate) fn new(per_minute: u32) -> Self {
        Self(NonZeroU32::new(per_minute).map(|most| Counted::new(Quota::per_minute(most))))
    }

    /// Counts a send from this address. How many seconds to wait, where there were too many.
    pub(crate) fn wait(&self, address: Option<IpAddr>) -> Option<u64> {
        self.0.as_ref()?.wait(&neighbourhood(address?))
    }
}

/// One household has many addresses of version 6, all of one /64.
pub(crate) fn neighbourhood(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(own) => {
            let bits = u128::from(own) & !u128::from(u64::MAX);
            IpAddr::V6(Ipv6Addr::from(bits))
        }
    }
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
