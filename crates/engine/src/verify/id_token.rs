//! ID tokens of an OpenID provider: what one proves about a user who signs in.
//!
//! The format, the signature and most claims follow the rules of identity tokens. OpenID Connect
//! adds: the token must answer the one request that had its `nonce`, and must have been issued for
//! this client alone or name it as the authorised party (`azp`). Shared secrets are not accepted:
//! the provider publishes its keys.

use std::sync::Arc;

use serde_json::Value;
use sluice_flow::time::Timestamp;

use super::claims::{self, Demands};
use super::jwks::{Found, KeySets, KeySource};
use super::outcome::{Invalid, TokenOutcome};
use super::token::Token;
use crate::boxed;

/// The maximum size of an ID token, in bytes: providers put much into them.
const ID_TOKEN_BYTES_MAX: usize = 16 * 1024;
/// The maximum lifetime of an ID token, in seconds; it is used once, immediately.
const LIFETIME_SECONDS: u32 = 7 * 24 * 3600;

/// The verified claims of an ID token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdClaims {
    pub issuer: String,
    pub subject: String,
    /// An address that the provider reports as verified.
    pub verified_email: Option<String>,
    /// When the user last authenticated with the provider (`auth_time`), if it is reported; never
    /// later than now.
    pub authenticated_at: Option<Timestamp>,
}

/// Why an ID token is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotProven {
    /// It breaks a rule of identity tokens.
    Token(TokenOutcome),
    /// It answers another request.
    NonceWrong,
    /// It was issued for another client.
    PartyWrong,
}

impl NotProven {
    /// The name in the log.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Token(checked) => checked.as_str(),
            Self::NonceWrong => "nonce_wrong",
            Self::PartyWrong => "party_wrong",
        }
    }
}

/// Verifies ID tokens of one provider for one client.
#[derive(Clone)]
pub struct IdTokens {
    sets: KeySets,
    issuer: String,
    client_id: String,
}

impl std::fmt::Debug for IdTokens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "IdTokens({} for {})", self.issuer, self.client_id)
    }
}

impl IdTokens {
    pub fn new(source: Arc<dyn KeySource>, issuer: &str, client_id: &str) -> Self {
        let (issuer, client_id) = (issuer.to_owned(), client_id.to_owned());
        Self { sets: KeySets::new(Some(source)), issuer, client_id }
    }

    /// Verifies the token with the keys at this URL.
    #[boxed]
    pub async fn check(
        &self,
        text: &str,
        keys_url: &str,
        nonce: &str,
        now: Timestamp,
    ) -> Result<IdClaims, NotProven> {
        let invalid = |why| NotProven::Token(TokenOutcome::Invalid(why));
        let token = Token::parse_within(text, ID_TOKEN_BYTES_MAX).map_err(invalid)?;
        self.must_be_signed(&token, keys_url).await.map_err(NotProven::Token)?;
        let demands = Demands {
            audience: &self.client_id,
            issuer: Some(&self.issuer),
            lifetime_seconds: LIFETIME_SECONDS,
            now,
        };
        let proven = claims::check(&token.claims, &demands).map_err(NotProven::Token)?;
        let text = |name: &str| token.claims.get(name).and_then(Value::as_str);
        if nonce.is_empty() || text("nonce") != Some(nonce) {
            return Err(NotProven::NonceWrong);
        }
        let several = matches!(token.claims.get("aud"), Some(Value::Array(all)) if all.len() > 1);
        let is_ours = match token.claims.get("azp") {
            None => !several,
            Some(party) => party.as_str() == Some(&self.client_id),
        };
        if !is_ours {
            return Err(NotProven::PartyWrong);
        }
        let is_verified = match token.claims.get("email_verified") {
            Some(Value::Bool(verified)) => *verified,
            Some(Value::String(verified)) => verified == "true",
            _ => false,
        };
        Ok(IdClaims {
            issuer: self.issuer.clone(),
            subject: proven.user_id,
            verified_email: proven.email.filter(|_| is_verified),
            authenticated_at: claims::millis(&token.claims, "auth_time")
                .map(|millis| Timestamp::from_millis(millis).min(now)),
        })
    }

    async fn must_be_signed(&self, token: &Token<'_>, keys_url: &str) -> Result<(), TokenOutcome> {
        let keys = match self.sets.find(keys_url, token.kid.as_deref()).await {
            Found::Unavailable => return Err(TokenOutcome::Unavailable),
            Found::Unknown => return Err(TokenOutcome::Invalid(Invalid::KeyUnknown)),
            Found::Keys(keys) => keys,
        };
        let mut failed = Invalid::KeyUnknown;
        for key in keys {
            match key.verifier.check(token) {
                Ok(()) => return Ok(()),
                Err(why) => failed = why,
            }
        }
        Err(TokenOutcome::Invalid(failed))
    }
}
