//! Keys for identity tokens: creating, listing and revoking them, and resealing their secrets.
//!
//! An app has secrets or public keys, never both: using a public key as a secret is the oldest way
//! to forge a token. A revoked key keeps its row without its material.

use serde_json::{Value, json};
use sluice_flow::definition::Fault;
use sluice_flow::id::{AppId, base62};
use sluice_store::{
    IdentityKeyKind, IdentityKeyRow, IdentityVerification, Record, Scope, StoreError, StoreResult,
    Table, Write,
};

use crate::admin::{AdminError, AdminResult, Missing};
use crate::audit_action::AuditAction;
use crate::boxed;
use crate::conflict::retry_on_conflict;
use crate::core::Core;
use crate::fault::faultless;
use crate::handle::{AppHandle, Permit};
use crate::ids::random_bits;
use crate::instance::InstanceHandle;
use crate::people::closed_second_factors;
use crate::tokens::TokenSecret;
use crate::verify::{CheckCounts, NotOpened, PublicKey, SecretPurpose};
use crate::webhooks::{closed_endpoint_secrets, reseal_endpoint_secrets};
use crate::whole_table::WholeTable;

/// The maximum number of active keys of one app.
const KEYS_MAX: usize = 20;
/// The maximum length of a `kid` from a request, in characters.
pub const KID_CHARS_MAX: usize = 128;
/// The maximum length of a URL or issuer, in characters.
pub const ADDRESS_CHARS_MAX: usize = 2048;
/// The longest PEM of a key; that of the longest RSA key is a tenth as long.
pub const PEM_CHARS_MAX: usize = 16_384;
/// The prefix of every signing secret, so that a leaked one is recognised.
const SECRET_PREFIX: &str = "idsec_";
const KID_PREFIX: &str = "ik_";

/// A key to create.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewIdentityKey {
    pub kind: IdentityKeyKind,
    /// For a public key: this, or a JWK.
    pub pem: Option<String>,
    pub jwk: Option<Value>,
    /// For a key set.
    pub url: Option<String>,
    /// The key id that tokens refer to; generated if absent.
    pub kid: Option<String>,
    /// The `iss` that its tokens must have.
    pub issuer: Option<String>,
}

/// The outcomes of an app's token checks in this process.
#[derive(Debug)]
pub struct VerificationReport {
    pub mode: IdentityVerification,
    pub counts: std::sync::Arc<CheckCounts>,
}

/// The numbers of secrets that were resealed and revoked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Resealed {
    pub resealed: usize,
    pub revoked: usize,
}

impl AppHandle {
    /// Creates a key; its secret is returned only here.
    #[boxed]
    pub async fn create_identity_key(
        &self,
        new: &NewIdentityKey,
    ) -> AdminResult<(IdentityKeyRow, Option<TokenSecret>)> {
        let core = self.permit.core(Scope::Admin)?;
        let (new, secret) = identity_key_of(core, self.app_id(), new)?;
        let new = &new;
        let created = retry_on_conflict(|is_retry| async move {
            let expected =
                if is_retry { self.permit.current_revision().await? } else { self.revision };
            let keys = core.store.list_identity_keys(self.app_id()).await?;
            may_join(new, &keys)?;
            let row = IdentityKeyRow { created_at: core.now(), ..new.clone() };
            let detail = json!({"type": row.kind, "issuer": row.issuer});
            let audit = self.permit.audit(AuditAction::IdentityKeyCreated, &row.kid, &detail);
            let rows = vec![Write::IdentityKey(row.clone()), Write::Audit(audit)];
            self.permit.change(Scope::Admin, expected, rows).await.map(|()| row)
        });
        Ok((created.await?, secret))
    }

    /// The app's keys, including revoked ones, oldest first; never a secret.
    #[boxed]
    pub async fn list_identity_keys(&self) -> AdminResult<Vec<IdentityKeyRow>> {
        let core = self.permit.core(Scope::Read)?;
        let keys = core.store.list_identity_keys(self.app_id()).await?;
        let without_secret = |mut key: IdentityKeyRow| {
            if key.kind == IdentityKeyKind::Hs256 {
                key.material.clear();
            }
            key
        };
        Ok(keys.into_iter().map(without_secret).collect())
    }

    /// Revokes a key and deletes its material; idempotent.
    #[boxed]
    pub async fn revoke_identity_key(&self, kid: &str) -> AdminResult<()> {
        let core = self.permit.core(Scope::Admin)?;
        retry_on_conflict(|is_retry| async move {
            let expected =
                if is_retry { self.permit.current_revision().await? } else { self.revision };
            let keys = core.store.list_identity_keys(self.app_id()).await?;
            let Some(row) = keys.into_iter().find(|row| row.kid == kid) else {
                return Err(AdminError::NotFound(Missing::IdentityKey));
            };
            if row.revoked_at.is_some() {
                return Ok(());
            }
            let row =
                IdentityKeyRow { material: String::new(), revoked_at: Some(core.now()), ..row };
            let audit = self.permit.audit(AuditAction::IdentityKeyRevoked, kid, &json!({}));
            let rows = vec![Write::IdentityKey(row), Write::Audit(audit)];
            self.permit.change(Scope::Admin, expected, rows).await
        })
        .await
    }

    /// The mode of the app, and the counts of this process.
    pub fn verification_report(&self) -> AdminResult<VerificationReport> {
        let core = self.permit.core(Scope::Read)?;
        let counts = core.verifying.counts_of(self.app_id(), core.now());
        Ok(VerificationReport { mode: self.row.identity_verification, counts })
    }
}

/// The secrets that cannot be opened with the available master keys, each with the reason. A row
/// that this build cannot decode is only logged: a newer node may have written it.
pub(crate) async fn closed_secrets(core: &Core) -> StoreResult<Vec<(String, NotOpened)>> {
    let mut closed = Vec::new();
    for row in active_secrets(core).await?.readable() {
        let purpose = SecretPurpose::IdentityKey(row.app_id, &row.kid);
        if let Err(why) = core.verifying.vault.open(purpose, &row.material) {
            closed.push((format!("{} of {}", row.kid, row.app_id), why));
        }
    }
    for (user, why) in closed_second_factors(core).await? {
        closed.push((format!("the second factor of {user}"), why));
    }
    for (endpoint, why) in closed_endpoint_secrets(core).await? {
        closed.push((format!("the secret of the endpoint {endpoint}"), why));
    }
    Ok(closed)
}

impl InstanceHandle {
    /// Seals every secret with the current first master key. A secret that cannot be opened is an
    /// error, or is revoked if `revoke` is set.
    #[boxed]
    pub async fn reseal_secrets(&self, revoke: bool) -> AdminResult<Resealed> {
        let core = self.core();
        let vault = &core.verifying.vault;
        let mut done = Resealed::default();
        for row in active_secrets(core).await?.complete()? {
            if vault.is_current(&row.material) {
                continue;
            }
            match vault.open(SecretPurpose::IdentityKey(row.app_id, &row.kid), &row.material) {
                Err(_) if revoke => {
                    let app = AppHandle::open(core, self.actor(), Scope::Admin, row.app_id).await?;
                    app.revoke_identity_key(&row.kid).await?;
                    done.revoked += 1;
                }
                Err(why) => {
                    let (app, kid) = (row.app_id, &row.kid);
                    let what = format!("the secret {kid} of {app} cannot be opened: {why}");
                    return Err(StoreError::Failed(what.into()).into());
                }
                Ok(secret) => {
                    let failed = |why: String| StoreError::Failed(why.into());
                    let material = vault
                        .seal(SecretPurpose::IdentityKey(row.app_id, &row.kid), &secret)
                        .map_err(failed)?;
                    self.put_resealed(row, material).await?;
                    done.resealed += 1;
                }
            }
        }
        let (resealed, revoked) = self.reseal_second_factors(revoke).await?;
        done.resealed += resealed;
        done.revoked += revoked;
        let (resealed, revoked) = reseal_endpoint_secrets(self, revoke).await?;
        done.resealed += resealed;
        done.revoked += revoked;
        Ok(done)
    }

    /// Stores a resealed secret, unless the key was revoked in the meantime.
    async fn put_resealed(&self, row: IdentityKeyRow, material: String) -> AdminResult<()> {
        let core = self.core();
        let permit = Permit::new(core, self.actor(), Scope::Admin, row.app_id, Missing::App)?;
        retry_on_conflict(|_| async {
            let found = core.store.find_app(row.app_id).await?;
            let Some(app) = found else { return Ok(()) };
            let keys = core.store.list_identity_keys(row.app_id).await?;
            if !keys.iter().any(|key| key.kid == row.kid && key.revoked_at.is_none()) {
                return Ok(());
            }
            let resealed = IdentityKeyRow { material: material.clone(), ..row.clone() };
            let rows = vec![Write::IdentityKey(resealed)];
            permit.change(Scope::Admin, app.revision, rows).await
        })
        .await
    }
}

async fn active_secrets(core: &Core) -> StoreResult<WholeTable<IdentityKeyRow>> {
    let secret = |record: Record| match record {
        Record::IdentityKey(row)
            if row.kind == IdentityKeyKind::Hs256 && row.revoked_at.is_none() =>
        {
            Some(row)
        }
        _ => None,
    };
    WholeTable::read(&*core.store, Table::IdentityKeys, secret).await
}

fn identity_key_of(
    core: &Core,
    app_id: AppId,
    new: &NewIdentityKey,
) -> AdminResult<(IdentityKeyRow, Option<TokenSecret>)> {
    let mut faults: Vec<Fault> = text_faults(new);
    let mut kid = new.kid.clone();
    let material = match new.kind {
        IdentityKeyKind::Hs256 => String::new(),
        IdentityKeyKind::Jwks => {
            let url = new.url.clone().unwrap_or_default();
            if let Err(why) = core.verifying.sets.permits(&url) {
                faults.push(Fault::new("/url", why));
            }
            url
        }
        IdentityKeyKind::PublicKey => match public_key(new) {
            Ok(key) => {
                kid = kid.or_else(|| key.kid.clone().filter(|kid| is_kid(kid)));
                serde_json::to_string(&key).unwrap_or_default()
            }
            Err(fault) => {
                faults.push(fault);
                String::new()
            }
        },
    };
    faultless(faults)?;
    let kid = kid.unwrap_or_else(|| format!("{KID_PREFIX}{}", base62(random_bits())));
    let (kind, issuer, created_at) = (new.kind, new.issuer.clone(), core.now());
    let mut row =
        IdentityKeyRow { app_id, kid, kind, material, issuer, created_at, revoked_at: None };
    if kind != IdentityKeyKind::Hs256 {
        return Ok((row, None));
    }
    let secret = format!("{SECRET_PREFIX}{}{}", base62(random_bits()), base62(random_bits()));
    let sealed = core.verifying.vault.seal(SecretPurpose::IdentityKey(app_id, &row.kid), &secret);
    row.material = sealed.map_err(|why| AdminError::conflict("master_key_missing", why))?;
    Ok((row, Some(TokenSecret(secret))))
}

fn text_faults(new: &NewIdentityKey) -> Vec<Fault> {
    let mut faults = Vec::new();
    if new.kid.as_deref().is_some_and(|kid| !is_kid(kid)) {
        let message = format!("must be 1 to {KID_CHARS_MAX} visible ASCII characters");
        faults.push(Fault::new("/kid", message));
    }
    let is_address = |text: &str| {
        !text.is_empty() && text.chars().count() <= ADDRESS_CHARS_MAX && !text.contains('\0')
    };
    if new.issuer.as_deref().is_some_and(|issuer| !is_address(issuer)) {
        faults.push(Fault::new("/issuer", format!("must be 1 to {ADDRESS_CHARS_MAX} characters")));
    }
    let given =
        [("/pem", new.pem.is_some()), ("/jwk", new.jwk.is_some()), ("/url", new.url.is_some())];
    for (pointer, is_given) in given {
        let belongs = match new.kind {
            IdentityKeyKind::Hs256 => false,
            IdentityKeyKind::PublicKey => pointer != "/url",
            IdentityKeyKind::Jwks => pointer == "/url",
        };
        if is_given && !belongs {
            faults.push(Fault::new(pointer, "is not allowed for this type of key"));
        }
    }
    if new.kind == IdentityKeyKind::Jwks && !new.url.as_deref().is_some_and(is_address) {
        faults.push(Fault::new("/url", format!("must be 1 to {ADDRESS_CHARS_MAX} characters")));
    }
    faults
}

fn public_key(new: &NewIdentityKey) -> Result<PublicKey, Fault> {
    match (&new.pem, &new.jwk) {
        (Some(pem), None) if pem.chars().count() > PEM_CHARS_MAX => {
            Err(Fault::new("/pem", format!("must have at most {PEM_CHARS_MAX} characters")))
        }
        (Some(pem), None) => PublicKey::from_pem(pem).map_err(|why| Fault::new("/pem", why)),
        (None, Some(jwk)) => PublicKey::from_jwk(jwk).map_err(|why| Fault::new("/jwk", why)),
        _ => Err(Fault::new("/pem", "is required, or jwk instead of it, but not both")),
    }
}

fn is_kid(kid: &str) -> bool {
    (1..=KID_CHARS_MAX).contains(&kid.len()) && kid.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Whether the app may have this key besides its existing ones.
fn may_join(new: &IdentityKeyRow, keys: &[IdentityKeyRow]) -> AdminResult<()> {
    if keys.iter().any(|key| key.kid == new.kid) {
        let detail = "this app has, or had, a key with this kid; choose another one";
        return Err(AdminError::conflict("kid_taken", detail));
    }
    let active = || keys.iter().filter(|key| key.revoked_at.is_none());
    let is_secret = |key: &IdentityKeyRow| key.kind == IdentityKeyKind::Hs256;
    if active().any(|key| is_secret(key) != is_secret(new)) {
        let detail = "an app has secrets or public keys, never both; revoke the others first";
        return Err(AdminError::conflict("identity_keys_mixed", detail));
    }
    if active().count() >= KEYS_MAX {
        let detail = format!("an app has at most {KEYS_MAX} active keys; revoke one first");
        return Err(AdminError::conflict("too_many_identity_keys", detail));
    }
    Ok(())
}
