//! Verifies whether a token proves its bearer's identity, with the keys and the mode of an app.
//!
//! Reading order: `token` (format), `keys` (signature), `claims` (content), `outcome` (results);
//! `jwks` fetches key sets, `sealed` protects secrets, `id_token` is for signing in to the console.
//! The signature is verified before any claim is read. Deliberately absent: tokens in a query, a
//! cookie or a body, and a cache of valid tokens.

mod claims;
mod der;
mod id_token;
mod jwks;
mod keys;
mod outcome;
mod sealed;
mod token;
mod weak_point;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use sluice_flow::id::AppId;
use sluice_flow::identity::Claims;
use sluice_flow::time::Timestamp;
use sluice_store::{AppRow, IdentityKeyKind, IdentityKeyRow, IdentityVerification};

use claims::Demands;
use jwks::{Found, KeySets};
use keys::Verifier;
use token::Token;

use claims::LIFETIME_DEFAULT_SECONDS;
pub use claims::LIFETIME_MAX_SECONDS;
pub use id_token::{IdClaims, IdTokens, NotProven};
pub use jwks::KeySource;
pub(crate) use keys::PublicKey;
pub use outcome::{CheckCounts, Invalid, TokenOutcome};
pub use sealed::{MasterKey, MasterKeySource, NotOpened};
pub(crate) use sealed::{SecretPurpose, Vault};

/// The number of apps with separate counts of checks; further apps are counted only in the totals.
const COUNTED_APPS_MAX: usize = 10_000;

/// The token in a request, if any.
#[derive(Clone, Copy)]
pub enum Presented<'a> {
    Nothing,
    Token(&'a str),
    /// A value that cannot be a token.
    Unreadable,
}

impl std::fmt::Debug for Presented<'_> {
    /// A token is secret while it is valid, so it is not printed.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Presented(…)")
    }
}

/// Why a caller is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenRefused {
    Missing,
    Invalid,
    Expired,
    /// The app's keys are not available now.
    Unavailable,
}

/// How an app verifies tokens: everything that a check needs, already parsed.
pub(crate) struct Verification {
    pub(crate) mode: IdentityVerification,
    audience: String,
    lifetime_seconds: u32,
    keys: Vec<AppKey>,
    pub(crate) counts: Arc<CheckCounts>,
}

impl std::fmt::Debug for Verification {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Verification({:?}, {} keys)", self.mode, self.keys.len())
    }
}

struct AppKey {
    kid: String,
    issuer: Option<String>,
    material: Material,
}

enum Material {
    Key(Verifier),
    Set {
        url: String,
    },
    /// A secret that cannot be opened here, or a key that cannot be parsed.
    Closed,
}

/// State shared by all apps. Clones share it.
#[derive(Clone)]
pub(crate) struct Verifying {
    pub(crate) vault: Vault,
    pub(crate) sets: KeySets,
    counts: Arc<Mutex<HashMap<AppId, Arc<CheckCounts>>>>,
}

impl Verifying {
    pub(crate) fn new(
        master_keys: Option<Arc<dyn MasterKeySource>>,
        key_source: Option<Arc<dyn KeySource>>,
    ) -> Self {
        Self {
            vault: Vault::new(master_keys),
            sets: KeySets::new(key_source),
            counts: Arc::default(),
        }
    }

    /// The counts of an app, which outlive its entry in the registry.
    pub(crate) fn counts_of(&self, app: AppId, now: Timestamp) -> Arc<CheckCounts> {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let fresh = || Arc::new(CheckCounts::new(now));
        if counts.len() >= COUNTED_APPS_MAX && !counts.contains_key(&app) {
            return fresh();
        }
        Arc::clone(counts.entry(app).or_insert_with(fresh))
    }

    /// Parses the active keys of an app.
    pub(crate) fn verification(
        &self,
        app: &AppRow,
        keys: Vec<IdentityKeyRow>,
        now: Timestamp,
    ) -> Verification {
        let active = keys.into_iter().filter(|key| key.revoked_at.is_none());
        Verification {
            mode: app.identity_verification,
            audience: app.app_id.to_string(),
            lifetime_seconds: app.token_lifetime_seconds.unwrap_or(LIFETIME_DEFAULT_SECONDS),
            keys: active.map(|row| self.key(row)).collect(),
            counts: self.counts_of(app.app_id, now),
        }
    }

    fn key(&self, row: IdentityKeyRow) -> AppKey {
        let key = match row.kind {
            IdentityKeyKind::Jwks => {
                let material = Material::Set { url: row.material };
                return AppKey { kid: row.kid, issuer: row.issuer, material };
            }
            IdentityKeyKind::Hs256 => {
                match self
                    .vault
                    .open(SecretPurpose::IdentityKey(row.app_id, &row.kid), &row.material)
                {
                    Ok(secret) => Some(Verifier::from_secret(&secret)),
                    Err(error) => {
                        let (app, kid) = (row.app_id, &row.kid);
                        tracing::error!(%app, kid, %error, "a signing secret cannot be opened");
                        None
                    }
                }
            }
            IdentityKeyKind::PublicKey => {
                let stored = serde_json::from_str::<PublicKey>(&row.material).ok();
                stored.and_then(|key| key.verifier())
            }
        };
        let material = key.map_or(Material::Closed, Material::Key);
        AppKey { kid: row.kid, issuer: row.issuer, material }
    }

    /// The claims of a token that was not verified, if they can be read.
    pub(crate) fn unproven(text: &str) -> Option<Claims> {
        claims::unproven(&Token::parse(text).ok()?.claims)
    }

    /// Checks the rules in order: format, key, signature, claims.
    pub(crate) async fn check(
        &self,
        verification: &Verification,
        text: &str,
        now: Timestamp,
    ) -> Result<Claims, TokenOutcome> {
        let token = Token::parse(text).map_err(TokenOutcome::Invalid)?;
        let issuer = self.signer(verification, &token).await?;
        let demands = Demands {
            audience: &verification.audience,
            issuer: issuer.as_deref(),
            lifetime_seconds: verification.lifetime_seconds,
            now,
        };
        claims::check(&token.claims, &demands)
    }

    /// Finds the key that signed the token; returns the key's issuer.
    async fn signer(
        &self,
        verification: &Verification,
        token: &Token<'_>,
    ) -> Result<Option<String>, TokenOutcome> {
        let kid = token.kid.as_deref();
        let alone = verification.keys.len() == 1;
        let mut failed = TokenOutcome::Invalid(Invalid::KeyUnknown);
        for key in &verification.keys {
            let checked = match &key.material {
                // A `kid` must match if present; it may be missing if there is only one key.
                Material::Key(_) | Material::Closed if kid.map_or(!alone, |kid| kid != key.kid) => {
                    continue;
                }
                Material::Closed => Err(TokenOutcome::Unavailable),
                Material::Key(verifier) => verifier.check(token).map_err(TokenOutcome::Invalid),
                Material::Set { .. } if kid.is_none() && !alone => continue,
                Material::Set { url } => match self.sets.find(url, kid).await {
                    Found::Unavailable => Err(TokenOutcome::Unavailable),
                    Found::Unknown => continue,
                    Found::Keys(keys) => {
                        let mut result = Err(TokenOutcome::Invalid(Invalid::KeyUnknown));
                        for key in keys {
                            result = key.verifier.check(token).map_err(TokenOutcome::Invalid);
                            if result.is_ok() {
                                break;
                            }
                        }
                        result
                    }
                },
            };
            match checked {
                Ok(()) => return Ok(key.issuer.clone()),
                Err(why) => failed = why,
            }
        }
        Err(failed)
    }
}

/// The name of a key's algorithm, if it has only one.
pub fn algorithm_of(row: &IdentityKeyRow) -> Option<String> {
    match row.kind {
        IdentityKeyKind::Hs256 => Some(token::Algorithm::Hs256.name().to_owned()),
        IdentityKeyKind::Jwks => None,
        IdentityKeyKind::PublicKey => {
            let key = serde_json::from_str::<PublicKey>(&row.material).ok();
            key.map(|key| key.algorithm_name().to_owned())
        }
    }
}
