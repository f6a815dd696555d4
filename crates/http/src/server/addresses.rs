//! Counts the open connections of each address, so that one client cannot use them all.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::Network;
use crate::client::rate_limit_address;

type OpenConnections = Arc<Mutex<HashMap<IpAddr, usize>>>;

/// Counts connections by address; IPv6 by /64, the usual size of one household's network.
#[derive(Debug)]
pub(super) struct Addresses {
    /// Per address; 0 means no limit.
    connections_max: usize,
    /// Proxies, which connect on behalf of many clients.
    exempt: Vec<Network>,
    open: OpenConnections,
}

impl Addresses {
    pub(super) fn new(connections_max: usize, exempt: &[Network]) -> Self {
        Self { connections_max, exempt: exempt.to_vec(), open: Arc::default() }
    }

    /// Counts one more connection, or refuses it. It stays counted until the result is dropped.
    pub(super) fn admit(&self, peer: IpAddr) -> Option<CountedConnection> {
        let peer = peer.to_canonical();
        let is_exempt = self.exempt.iter().any(|network| network.contains(peer));
        if self.connections_max == 0 || is_exempt {
            return Some(CountedConnection { counted: None });
        }
        let address = rate_limit_address(peer);
        let mut open = locked(&self.open);
        let count = open.entry(address).or_default();
        if *count >= self.connections_max {
            return None;
        }
        *count += 1;
        drop(open);
        Some(CountedConnection { counted: Some((address, Arc::clone(&self.open))) })
    }
}

/// A connection that is counted for its address.
#[derive(Debug)]
pub(super) struct CountedConnection {
    counted: Option<(IpAddr, OpenConnections)>,
}

impl Drop for CountedConnection {
    fn drop(&mut self) {
        let Some((address, open)) = &self.counted else { return };
        let mut open = locked(open);
        if let Some(count) = open.get_mut(address) {
            *count -= 1;
            if *count == 0 {
                open.remove(address);
            }
        }
    }
}

fn locked(open: &Mutex<HashMap<IpAddr, usize>>) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
    open.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_are_counted_by_ipv4_address_and_by_ipv6_64() {
        let exempt = ["127.0.0.0/8".parse().unwrap(), "::1".parse().unwrap()];
        let addresses = Addresses::new(1, &exempt);
        let admit = |text: &str| addresses.admit(text.parse().unwrap());
        let held = [admit("203.0.113.7"), admit("2001:db8::1"), admit("127.0.0.1"), admit("::1")];
        assert!(held.iter().all(Option::is_some));
        for (peer, is_admitted) in [
            ("203.0.113.7", false),
            ("::ffff:203.0.113.7", false),
            ("203.0.113.8", true),
            ("2001:db8::ffff:2", false),
            ("2001:db8:0:1::1", true),
            ("127.0.0.1", true),
            ("::ffff:127.0.0.1", true),
            ("::1", true),
        ] {
            assert_eq!(admit(peer).is_some(), is_admitted, "{peer}");
        }
        drop(held);
        assert!(admit("203.0.113.7").is_some());
        assert!(
            locked(&addresses.open).is_empty(),
            "addresses without connections must be removed"
        );
    }

    #[test]
    fn zero_means_no_limit() {
        let addresses = Addresses::new(0, &[]);
        let held: Vec<_> = (0..100).map(|_| addresses.admit([203, 0, 113, 7].into())).collect();
        assert!(held.iter().all(Option::is_some));
    }
}
