//! Admin tokens: 256 random bits each, shown once, stored as a hash.

use serde_json::json;
use sha2::{Digest as _, Sha256};
use sluice_flow::definition::Fault;
use sluice_flow::id::{AppId, TokenId, base62};
use sluice_flow::time::Timestamp;
use sluice_store::{At, Scope, StoreResult, TokenHash, TokenRow, Write};

use crate::actor::Actor;
use crate::admin::{AdminError, AdminResult, Missing};
use crate::audit_action::AuditAction;
use crate::boxed;
use crate::core::Core;
use crate::fault::{faultless, name_faults};
use crate::handle::AppHandle;
use crate::ids::random_bits;
use crate::instance::{InstanceHandle, made_first};

/// The prefix of every token, so that a leaked one is recognised.
const TOKEN_PREFIX: &str = "sluice_";

/// A token to create.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewToken {
    pub name: String,
    pub scopes: Vec<Scope>,
    /// The only app that it may access; `None` means all.
    pub app_id: Option<AppId>,
    pub expires_at: Option<Timestamp>,
}

/// A token's secret, which is shown once and never stored.
#[derive(Clone, PartialEq, Eq)]
pub struct TokenSecret(pub String);

impl std::fmt::Debug for TokenSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TokenSecret(…)")
    }
}

impl Core {
    /// The actor of a token's secret, if the token is valid now.
    pub(crate) async fn authenticate(&self, secret: &str) -> StoreResult<Option<Actor>> {
        // Looked up by hash: the timing of comparisons can only reveal the hash.
        Ok(self.holder_of(&hash_of(secret)).await?.map(|(actor, _)| actor))
    }

    /// The actor of a token that is valid now, and the token's name.
    pub(crate) async fn holder_of(&self, hash: &TokenHash) -> StoreResult<Option<(Actor, String)>> {
        if self.environment_token.as_ref() == Some(hash) {
            return Ok(Some((Actor::trusted("environment"), "Environment".to_owned())));
        }
        let now = self.now();
        let token = self.store.find_token(hash).await?;
        let valid = token.filter(|token| {
            token.revoked_at.is_none() && token.expires_at.is_none_or(|expiry| now < expiry)
        });
        Ok(valid.map(|token| (Actor::from_token(token.clone()), token.name)))
    }
}

impl InstanceHandle {
    #[boxed]
    pub async fn create_token(&self, new: NewToken) -> AdminResult<(TokenRow, TokenSecret)> {
        self.make_token(At::Instance, new).await
    }

    /// Creates a token if there is none, not even a revoked one; if several processes try at once,
    /// only one succeeds.
    #[boxed]
    pub async fn create_first_token(
        &self,
        new: NewToken,
    ) -> AdminResult<Option<(TokenRow, TokenSecret)>> {
        made_first(self.make_token(At::FirstToken, new).await)
    }

    async fn make_token(&self, at: At, new: NewToken) -> AdminResult<(TokenRow, TokenSecret)> {
        let (core, actor) = (self.core(), self.actor());
        actor.need_fresh()?;
        faultless(token_faults(&new, core.now()))?;
        if let Some(app) = new.app_id {
            AppHandle::open(core, actor, Scope::Admin, app).await?;
        }
        let secret = format!("{TOKEN_PREFIX}{}{}", base62(random_bits()), base62(random_bits()));
        let mut scopes = new.scopes;
        scopes.sort_unstable();
        scopes.dedup();
        let row = TokenRow {
            token_id: TokenId::from_uuid(core.new_id()),
            name: new.name,
            hash: hash_of(&secret),
            scopes,
            app_id: new.app_id,
            created_at: core.now(),
            expires_at: new.expires_at,
            revoked_at: None,
        };
        let detail = json!({"name": row.name, "scopes": row.scopes, "appId": row.app_id});
        let audit = core.audit(actor, row.app_id, AuditAction::TokenCreated, row.token_id, &detail);
        let rows = vec![Write::Token(row.clone()), Write::Audit(audit)];
        core.apply(at, rows).await?;
        Ok((row, TokenSecret(secret)))
    }

    /// All tokens, including revoked ones; never their secrets.
    #[boxed]
    pub async fn list_tokens(&self) -> AdminResult<Vec<TokenRow>> {
        Ok(self.core().store.list_tokens().await?)
    }

    /// One token, revoked or not.
    #[boxed]
    pub async fn get_token(&self, id: TokenId) -> AdminResult<TokenRow> {
        let tokens = self.core().store.list_tokens().await?;
        let found = tokens.into_iter().find(|token| token.token_id == id);
        found.ok_or(AdminError::NotFound(Missing::Token))
    }

    /// Revokes a token at once; idempotent.
    #[boxed]
    pub async fn revoke_token(&self, id: TokenId) -> AdminResult<()> {
        let core = self.core();
        let row = self.get_token(id).await?;
        if row.revoked_at.is_some() {
            return Ok(());
        }
        let row = TokenRow { revoked_at: Some(core.now()), ..row };
        let (action, detail) = (AuditAction::TokenRevoked, json!({"name": row.name}));
        let audit = core.audit(self.actor(), row.app_id, action, id, &detail);
        let rows = vec![Write::Token(row), Write::Audit(audit)];
        Ok(core.apply(At::Instance, rows).await?)
    }
}

pub(crate) fn hash_of(secret: &str) -> TokenHash {
    Sha256::digest(secret.as_bytes()).into()
}

fn token_faults(new: &NewToken, now: Timestamp) -> Vec<Fault> {
    let mut faults: Vec<_> = name_faults("/name", &new.name).into_iter().collect();
    if new.scopes.is_empty() {
        let message = "must name at least one of read, write, export, erase, admin";
        faults.push(Fault::new("/scopes", message));
    }
    if new.expires_at.is_some_and(|expiry| expiry <= now) {
        faults.push(Fault::new("/expiresAt", "must be in the future"));
    }
    faults
}
