//! Limits sign-in attempts: from one address, from one organisation, and to one account.
//!
//! An IPv6 address is counted by its /64, the network of a household. A /48 has 65,536 of these, so
//! each /48 is limited as well, with a higher limit. Starting a sign-in at an OpenID provider is
//! counted separately from the callback, so that one sign-in does not count as two attempts.
//!
//! Counts are per process and are lost when it ends; an address is only in memory and in the log of
//! failed sign-ins, and an account is stored as the hash of its name.

use std::net::{IpAddr, Ipv6Addr};
use std::num::NonZeroU32;
use std::time::Duration;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use http::HeaderMap;
use sha2::{Digest as _, Sha256};
use sluice_engine::bucket::Quota;
use sluice_flow::id::UserId;
use sluice_http::client::{
    KeyedLimiter, Peer, Proxies, SendLimiter, organisation, rate_limit_address,
};

use super::reply::Refused;

/// The burst of attempts to one account from one address, and then the time per further attempt.
const ACCOUNT_BURST: NonZeroU32 = NonZeroU32::MIN.saturating_add(9);
const ACCOUNT_PAUSE: Duration = Duration::from_secs(30);
/// The same from all addresses together. It is large, since an attacker who uses it up locks the
/// user out.
const EVERYWHERE_BURST: NonZeroU32 = NonZeroU32::MIN.saturating_add(199);
const EVERYWHERE_PAUSE: Duration = Duration::from_secs(5);

/// An organisation's limit is this many times that of one address.
const ORGANISATION_FACTOR: u32 = 10;

type AccountHash = [u8; 32];

pub(super) struct Attempts {
    proxies: Proxies,
    by_address: AddressLimits,
    starts: AddressLimits,
    by_account: KeyedLimiter<(AccountHash, Option<IpAddr>)>,
    everywhere: KeyedLimiter<AccountHash>,
    by_code: KeyedLimiter<UserId>,
}

impl Attempts {
    pub(super) fn new(per_minute: u32, proxies: Proxies) -> Self {
        Self {
            proxies,
            by_address: AddressLimits::new(per_minute),
            starts: AddressLimits::new(per_minute),
            by_account: KeyedLimiter::new(quota(ACCOUNT_BURST, ACCOUNT_PAUSE)),
            everywhere: KeyedLimiter::new(quota(EVERYWHERE_BURST, EVERYWHERE_PAUSE)),
            by_code: KeyedLimiter::new(quota(ACCOUNT_BURST, ACCOUNT_PAUSE)),
        }
    }

    /// Counts an attempt from the client's address. Returns how many seconds to wait if there were
    /// too many.
    pub(super) fn count_address(&self, from: &PeerAddress, headers: &HeaderMap) -> Option<u64> {
        self.by_address.wait(self.proxies.client(from.0, headers))
    }

    /// Counts a redirect to the OpenID provider, with the same limits.
    pub(super) fn count_start(&self, from: &PeerAddress, headers: &HeaderMap) -> Option<u64> {
        self.starts.wait(self.proxies.client(from.0, headers))
    }

    /// Counts an attempt at the second factor of a user who has entered the password. Codes are
    /// short, so attempts from all addresses count together.
    pub(super) fn count_code(&self, user: UserId) -> Option<u64> {
        self.by_code.wait(&user)
    }

    /// The client's address, for the log of failed sign-ins.
    pub(super) fn address(&self, from: &PeerAddress, headers: &HeaderMap) -> String {
        let address = self.proxies.client(from.0, headers);
        address.map_or_else(|| "unknown".to_owned(), |address| address.to_string())
    }

    /// Counts an attempt to sign in to an account, whether or not it exists.
    pub(super) fn count_account(
        &self,
        email: &str,
        from: &PeerAddress,
        headers: &HeaderMap,
    ) -> Option<u64> {
        let account = Sha256::digest(email.trim().to_ascii_lowercase().as_bytes()).into();
        let address = self.proxies.client(from.0, headers).map(rate_limit_address);
        self.by_account.wait(&(account, address)).or_else(|| self.everywhere.wait(&account))
    }
}

/// Limits attempts by address and by organisation.
struct AddressLimits {
    by_address: SendLimiter,
    /// None if there is no limit.
    by_organisation: Option<KeyedLimiter<Ipv6Addr>>,
}

impl AddressLimits {
    fn new(per_minute: u32) -> Self {
        let most = NonZeroU32::new(per_minute.saturating_mul(ORGANISATION_FACTOR));
        let by_organisation = most.map(|most| KeyedLimiter::new(Quota::per_minute(most)));
        Self { by_address: SendLimiter::new(per_minute), by_organisation }
    }

    /// Counts one more. Returns how many seconds to wait if there were too many.
    fn wait(&self, address: Option<IpAddr>) -> Option<u64> {
        self.by_address.wait(address).or_else(|| {
            let organisation = organisation(address?)?;
            self.by_organisation.as_ref()?.wait(&organisation)
        })
    }
}

fn quota(burst: NonZeroU32, pause: Duration) -> Quota {
    let slow = Quota::with_period(pause).map(|it| it.allow_burst(burst));
    slow.unwrap_or(Quota::per_minute(burst))
}

/// The peer of the connection.
pub(super) struct PeerAddress(Option<IpAddr>);

impl<S: Sync> FromRequestParts<S> for PeerAddress {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refused> {
        Ok(Self(parts.extensions.get::<Peer>().map(|peer| peer.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_allows_ten_attempts_from_one_address_ignoring_case() {
        let attempts = Attempts::new(0, Proxies::default());
        let here = PeerAddress(Some("203.0.113.7".parse().unwrap()));
        let there = PeerAddress(Some("198.51.100.1".parse().unwrap()));
        let headers = HeaderMap::new();
        for number in 0..10 {
            let email = if number % 2 == 0 { " Ann@mail.example" } else { "ann@MAIL.example " };
            assert_eq!(attempts.count_account(email, &here, &headers), None);
        }
        let wait = attempts.count_account("ann@mail.example", &here, &headers).unwrap();
        assert!((1..=31).contains(&wait), "{wait}");
        assert_eq!(attempts.count_account("bob@mail.example", &here, &headers), None);
        // Attempts from one address do not lock out the owner of the account.
        assert_eq!(attempts.count_account("ann@mail.example", &there, &headers), None);
    }

    #[test]
    fn the_networks_of_an_organisation_share_one_limit() {
        let attempts = Attempts::new(3, Proxies::default());
        let from = |text: &str| PeerAddress(Some(text.parse().unwrap()));
        let headers = HeaderMap::new();
        let tried = (0..100).filter(|number| {
            let address = format!("2001:db8:1:{number:x}::1");
            attempts.count_address(&from(&address), &headers).is_none()
        });
        let tried = tried.count();
        assert!((30..=32).contains(&tried), "{tried}");
        assert_eq!(attempts.count_address(&from("2001:db8:2::1"), &headers), None);
        assert_eq!(attempts.count_address(&from("203.0.113.7"), &headers), None);
    }

    #[test]
    fn starting_a_sign_in_is_counted_separately_from_the_callback() {
        let attempts = Attempts::new(2, Proxies::default());
        let here = PeerAddress(Some("203.0.113.7".parse().unwrap()));
        let headers = HeaderMap::new();
        assert!((0..2).all(|_| attempts.count_start(&here, &headers).is_none()));
        assert!(attempts.count_start(&here, &headers).is_some());
        assert_eq!(attempts.count_address(&here, &headers), None);
    }

    #[test]
    fn an_account_is_limited_over_all_addresses() {
        let attempts = Attempts::new(0, Proxies::default());
        let from = |number: u32| PeerAddress(Some(std::net::Ipv4Addr::from(number).into()));
        let tried = (0..500).filter(|&number| {
            attempts.count_account("ann@mail.example", &from(number), &HeaderMap::new()).is_none()
        });
        let tried = tried.count();
        assert!((200..=210).contains(&tried), "{tried}");
    }
}
