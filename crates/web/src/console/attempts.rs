//! How often somebody may try to sign in: from one address, and to one account.
//!
//! Counts are of this process alone and are forgotten when it ends; an address is used in memory and nowhere else, and
//! an account is kept as the hash of its name.

use std::net::IpAddr;
use std::num::NonZeroU32;
use std::time::Duration;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use governor::Quota;
use http::HeaderMap;
use sha2::{Digest as _, Sha256};

use super::reply::Refused;
use crate::client::{Counted, Peer, Proxies, Senders, neighbourhood};

/// So many attempts at once to one account from one address, and then one in so many seconds.
const ACCOUNT_BURST: NonZeroU32 = NonZeroU32::MIN.saturating_add(9);
const ACCOUNT_PAUSE: Duration = Duration::from_secs(30);
/// And from all addresses together. It is wide, since whoever can use it up locks somebody else out.
const EVERYWHERE_BURST: NonZeroU32 = NonZeroU32::MIN.saturating_add(199);
const EVERYWHERE_PAUSE: Duration = Duration::from_secs(5);

type AccountHash = [u8; 32];

pub(super) struct Attempts {
    proxies: Proxies,
    by_address: Senders,
    by_account: Counted<(AccountHash, Option<IpAddr>)>,
    everywhere: Counted<AccountHash>,
}

impl Attempts {
    pub(super) fn new(per_minute: u32, proxies: Proxies) -> Self {
        Self {
            proxies,
            by_address: Senders::new(per_minute),
            by_account: Counted::new(quota(ACCOUNT_BURST, ACCOUNT_PAUSE)),
            everywhere: Counted::new(quota(EVERYWHERE_BURST, EVERYWHERE_PAUSE)),
        }
    }

    /// Counts an attempt from where the request came from; how many seconds to wait, where there were too many.
    pub(super) fn of_address(&self, from: &From, headers: &HeaderMap) -> Option<u64> {
        self.by_address.wait(self.proxies.client(from.0, headers))
    }

    /// Counts an attempt to sign in as somebody, whether or not there is such a user.
    pub(super) fn of_account(&self, email: &str, from: &From, headers: &HeaderMap) -> Option<u64> {
        let account = Sha256::digest(email.trim().to_ascii_lowercase().as_bytes()).into();
        let address = self.proxies.client(from.0, headers).map(neighbourhood);
        self.by_account.wait(&(account, address)).or_else(|| self.everywhere.wait(&account))
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
