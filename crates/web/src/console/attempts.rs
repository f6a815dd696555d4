//! How often somebody may try to sign in: from one address, and to one account.
//!
//! Counts are of this process alone and are forgotten when it ends; an address is used in memory and nowhere else, and
//! an account is kept as the hash of its name.

use std::net::IpAddr;
use std::num::NonZeroU32;
use std::time::Duration;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use governor::clock::{Clock as _, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use http::HeaderMap;
use sha2::{Digest as _, Sha256};

use super::reply::Refused;
use crate::client::{Peer, Proxies, Senders};

/// So many attempts at once to one account, and then one in so many seconds.
const ACCOUNT_BURST: NonZeroU32 = NonZeroU32::MIN.saturating_add(9);
const ACCOUNT_PAUSE: Duration = Duration::from_secs(30);
/// Accounts that are counted; beyond it those that were left alone for a while are forgotten.
const ACCOUNTS_MAX: usize = 10_000;

pub(super) struct Attempts {
    proxies: Proxies,
    by_address: Senders,
    by_account: DefaultKeyedRateLimiter<[u8; 32]>,
}

impl Attempts {
    pub(super) fn new(per_minute: u32, proxies: Proxies) -> Self {
        let quota = Quota::with_period(ACCOUNT_PAUSE).map(|it| it.allow_burst(ACCOUNT_BURST));
        let quota = quota.unwrap_or(Quota::per_minute(ACCOUNT_BURST));
        Self {
            proxies,
            by_address: Senders::new(per_minute),
            by_account: RateLimiter::keyed(quota),
        }
    }

    /// Counts an attempt from where the request came from; how many seconds to wait, where there were too many.
    pub(super) fn of_address(&self, from: &From, headers: &HeaderMap) -> Option<u64> {
        self.by_address.wait(self.proxies.client(from.0, headers))
    }

    /// Counts an attempt to sign in as somebody, whether or not there is such a user.
    pub(super) fn of_account(&self, email: &str) -> Option<u64> {
        if self.by_account.len() > ACCOUNTS_MAX {
            self.by_account.retain_recent();
        }
        let key: [u8; 32] = Sha256::digest(email.trim().to_ascii_lowercase().as_bytes()).into();
        let until = self.by_account.check_key(&key).err()?;
        Some(until.wait_time_from(DefaultClock::default().now()).as_secs() + 1)
    }
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
    fn an_account_may_be_tried_ten_times_whatever_the_case_of_its_name() {
        let attempts = Attempts::new(0, Proxies::default());
        for number in 0..10 {
            let email = if number % 2 == 0 { " Ann@mail.example" } else { "ann@MAIL.example " };
            assert_eq!(attempts.of_account(email), None);
        }
        let wait = attempts.of_account("ann@mail.example").unwrap();
        assert!((1..=31).contains(&wait), "{wait}");
        assert_eq!(attempts.of_account("bob@mail.example"), None);
    }
}
