//! How often somebody may try to sign in: from one address, from one organisation, and to one
//! account.
//!
//! Of version 6 an address is a /64, which is a household; a /48 has 65,536 of
//! these, so these are counted together as well, with more room. Beginning to sign in at an OpenID
//! provider is counted apart from coming back from there, so that one sign-in is not two attempts.
//!
//! Counts are of this process alone and are forgotten when it ends; an address is used in memory
//! and in the log of failed sign-ins, and an account is kept as the hash of its name.

use std::net::{IpAddr, Ipv6Addr};
use std::num::NonZeroU32;
use std::time::Duration;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use http::HeaderMap;
use sha2::{Digest as _, Sha256};
use sluice_engine::bucket::Quota;
use sluice_flow::id::UserId;
use sluice_http::client::{KeyedLimiter, Peer, Proxies, Senders, neighbourhood, organisation};

use super::reply::Refused;

/// So many attempts at once to one account from one address, and then one in so many seconds.
const ACCOUNT_BURST: NonZeroU32 = NonZeroU32::MIN.saturating_add(9);
const ACCOUNT_PAUSE: Duration = Duration::from_secs(30);
/// And from all addresses together. It is wide, since an attacker who uses it up locks somebody
/// else out.
const EVERYWHERE_BURST: NonZeroU32 = NonZeroU32::MIN.saturating_add(199);
const EVERYWHERE_PAUSE: Duration = Duration::from_secs(5);

/// So many times what one address may is for all of an organisation.
const ORGANISATION_FACTOR: u32 = 10;

type AccountHash = [u8; 32];

pub(super) struct Attempts {
    proxies: Proxies,
    by_address: Places,
    beginnings: Places,
    by_account: KeyedLimiter<(AccountHash, Option<IpAddr>)>,
    everywhere: KeyedLimiter<AccountHash>,
    by_code: KeyedLimiter<UserId>,
}

impl Attempts {
    pub(super) fn new(per_minute: u32, proxies: Proxies) -> Self {
        Self {
            proxies,
            by_address: Places::new(per_minute),
            beginnings: Places::new(per_minute),
            by_account: KeyedLimiter::new(quota(ACCOUNT_BURST, ACCOUNT_PAUSE)),
            everywhere: KeyedLimiter::new(quota(EVERYWHERE_BURST, EVERYWHERE_PAUSE)),
            by_code: KeyedLimiter::new(quota(ACCOUNT_BURST, ACCOUNT_PAUSE)),
        }
    }

    /// Counts an attempt from where the request came from; how many seconds to wait, where there
    /// were too many.
    pub(super) fn of_address(&self, from: &From, headers: &HeaderMap) -> Option<u64> {
        self.by_address.wait(self.proxies.client(from.0, headers))
    }

    /// Counts that somebody is sent to the OpenID provider, by the same measure.
    pub(super) fn of_beginning(&self, from: &From, headers: &HeaderMap) -> Option<u64> {
        self.beginnings.wait(self.proxies.client(from.0, headers))
    }

    /// Counts an attempt at the second factor of a user whose password is known. Codes are short,
    /// so attempts from all addresses count together.
    pub(super) fn of_code(&self, user: UserId) -> Option<u64> {
        self.by_code.wait(&user)
    }

    /// Where a request came from, for the log of failed sign-ins.
    pub(super) fn address(&self, from: &From, headers: &HeaderMap) -> String {
        let address = self.proxies.client(from.0, headers);
        address.map_or_else(|| "unknown".to_owned(), |address| address.to_string())
    }

    /// Counts an attempt to sign in as somebody, whether or not there is such a user.
    pub(super) fn of_account(&self, email: &str, from: &From, headers: &HeaderMap) -> Option<u64> {
        let account = Sha256::digest(email.trim().to_ascii_lowercase().as_bytes()).into();
        let address = self.proxies.client(from.0, headers).map(neighbourhood);
        self.by_account.wait(&(account, address)).or_else(|| self.everywhere.wait(&account))
    }
}

/// Where attempts come from.
struct Places {
    by_address: Senders,
    /// Without a limit, none.
    by_organisation: Option<KeyedLimiter<Ipv6Addr>>,
}

impl Places {
    fn new(per_minute: u32) -> Self {
        let most = NonZeroU32::new(per_minute.saturating_mul(ORGANISATION_FACTOR));
        let by_organisation = most.map(|most| KeyedLimiter::new(Quota::per_minute(most)));
        Self { by_address: Senders::new(per_minute), by_organisation }
    }

    /// Counts one more. How many seconds to wait, where there were too many.
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

/// The other end of the connection.
pub(super) struct From(Option<IpAddr>);

impl<S: Sync> FromRequestParts<S> for From {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refused> {
        Ok(Self(parts.extensions.get::<Peer>().map(|peer| peer.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_may_be_tried_ten_times_from_one_address_whatever_the_case_of_its_name() {
        let attempts = Attempts::new(0, Proxies::default());
        let here = From(Some("203.0.113.7".parse().unwrap()));
        let there = From(Some("198.51.100.1".parse().unwrap()));
        let headers = HeaderMap::new();
        for number in 0..10 {
            let email = if number % 2 == 0 { " Ann@mail.example" } else { "ann@MAIL.example " };
            assert_eq!(attempts.of_account(email, &here, &headers), None);
        }
        let wait = attempts.of_account("ann@mail.example", &here, &headers).unwrap();
        assert!((1..=31).contains(&wait), "{wait}");
        assert_eq!(attempts.of_account("bob@mail.example", &here, &headers), None);
        // Whoever tries somebody else's account does not lock them out.
        assert_eq!(attempts.of_account("ann@mail.example", &there, &headers), None);
    }

    #[test]
    fn an_organisation_with_very_many_networks_is_one_place() {
        let attempts = Attempts::new(3, Proxies::default());
        let from = |text: &str| From(Some(text.parse().unwrap()));
        let headers = HeaderMap::new();
        let tried = (0..100).filter(|number| {
            let address = format!("2001:db8:1:{number:x}::1");
            attempts.of_address(&from(&address), &headers).is_none()
        });
        let tried = tried.count();
        assert!((30..=32).contains(&tried), "{tried}");
        assert_eq!(attempts.of_address(&from("2001:db8:2::1"), &headers), None);
        assert_eq!(attempts.of_address(&from("203.0.113.7"), &headers), None);
    }

    #[test]
    fn a_beginning_is_counted_apart_from_what_comes_of_it() {
        let attempts = Attempts::new(2, Proxies::default());
        let here = From(Some("203.0.113.7".parse().unwrap()));
        let headers = HeaderMap::new();
        assert!((0..2).all(|_| attempts.of_beginning(&here, &headers).is_none()));
        assert!(attempts.of_beginning(&here, &headers).is_some());
        assert_eq!(attempts.of_address(&here, &headers), None);
    }

    #[test]
    fn an_account_is_guarded_against_very_many_addresses_too() {
        let attempts = Attempts::new(0, Proxies::default());
        let from = |number: u32| From(Some(std::net::Ipv4Addr::from(number).into()));
        let tried = (0..500).filter(|&number| {
            attempts.of_account("ann@mail.example", &from(number), &HeaderMap::new()).is_none()
        });
        let tried = tried.count();
        assert!((200..=210).contains(&tried), "{tried}");
    }
}
