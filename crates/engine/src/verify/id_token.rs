//! ID tokens of an OpenID provider: what one proves of somebody who signs in.
//!
//! The form, the signature and most claims go by the rules of identity tokens. What is added is
//! OpenID Connect's own: the token must answer the one request that bore its `nonce`, and must have
//! been made for this client alone or name it as the party it was made for (`azp`). Secrets do not
//! sign here: the provider publishes its keys.

use std::sync::Arc;

use serde_json::Value;
use sluice_flow::time::Timestamp;

use super::claims::{self, Demands};
use super::jwks::{Found, KeySets, KeySource};
use super::outcome::{Checked, Invalid};
use super::token::Token;

/// The longest ID token, in bytes: providers put much into them.
const ID_TOKEN_BYTES_MAX: usize = 16 * 1024;
/// The longest that one may be valid, in seconds; it is used once, and at once.
const LIFETIME_SECONDS: u32 = 7 * 24 * 3600;

/// What an ID token proved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdClaims {
    pub issuer: String,
    pub subject: String,
    /// An address that the provider says it has verified.
    pub verified_email: Option<String>,
    /// When they last proved to the provider who they are (`auth_time`), if it says so; never later
    /// than now.
    pub authenticated_at: Option<Timestamp>,
}

/// Why an ID token proves nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotProven {
    /// It is not what an identity token must be.
    Token(Checked),
    /// It answers another request.
    NonceWrong,
    /// It was made for another client.
    PartyWrong,
}

impl NotProven {
    /// The word for the log.
    pub fn word(self) -> &'static str {
        match self {
            Self::Token(checked) => checked.word(),
            Self::NonceWrong => "nonce_wrong",
            Self::PartyWrong => "party_wrong",
        }
    }
}

/// Checks ID tokens of one provider for one client.
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

    /// What the token proves, by the keys at this address.
    pub async fn check(
        &self,
        text: &str,
        keys_url: &str,
        nonce: &str,
        now: Timestamp,
    ) -> Result<IdClaims, NotProven> {
        let invalid = |why| NotProven::Token(Checked::Invalid(why));
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

    async fn must_be_signed(&self, token: &Token<'_>, keys_url: &str) -> Result<(), Checked> {
        let keys = match self.sets.find(keys_url, token.kid.as_deref()).await {
            Found::Unavailable => return Err(Checked::Unavailable),
            Found::Unknown => return Err(Checked::Invalid(Invalid::KeyUnknown)),
            Found::Keys(keys) => keys,
        };
        let mut failed = Invalid::KeyUnknown;
        for key in keys {
            match key.verifier.check(token) {
                Ok(()) => return Ok(()),
                Err(why) => failed = why,
            }
        }
        Err(Checked::Invalid(failed))
    }
}
