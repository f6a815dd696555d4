//! Secrets at rest: sealed with a master key that is not in the database.
//!
//! A sealed secret is `v1.<id of the master key>.<nonce and AES-256-GCM in base64url>`, bound to
//! its [`SecretPurpose`], so that it cannot be used for another. Several master keys may be
//! configured at once, for rotation: the first seals, all of them open.

use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use sha2::{Digest as _, Sha256};
use sluice_flow::id::{AppId, EndpointId, FlowId, MailId, UserId};

use crate::ids::fill_random;

const FORM: &str = "v1";

/// A 256-bit key that seals secrets.
#[derive(Clone, PartialEq, Eq)]
pub struct MasterKey([u8; 32]);

impl fmt::Debug for MasterKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MasterKey({})", self.id())
    }
}

impl MasterKey {
    pub fn random() -> Self {
        let mut bytes = [0; 32];
        fill_random(&mut bytes);
        Self(bytes)
    }

    /// Parses the base64 of 32 bytes.
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = STANDARD.decode(text.trim()).ok()?;
        bytes.try_into().ok().map(Self)
    }

    pub fn to_base64(&self) -> String {
        STANDARD.encode(self.0)
    }

    fn cipher(&self) -> Option<LessSafeKey> {
        UnboundKey::new(&AES_256_GCM, &self.0).ok().map(LessSafeKey::new)
    }

    /// Identifies the key without revealing anything about it.
    pub fn id(&self) -> String {
        let hash = Sha256::new().chain_update(b"sluice master key").chain_update(self.0).finalize();
        hash.iter().take(4).map(|byte| format!("{byte:02x}")).collect()
    }
}

/// The source of master keys. Queried again if a secret names an unknown key.
pub trait MasterKeySource: fmt::Debug + Send + Sync {
    /// The keys, the sealing key first; or what to do if there is none.
    fn keys(&self) -> Result<Vec<MasterKey>, String>;

    /// The keys, to open what was sealed before: none is created.
    fn existing(&self) -> Result<Vec<MasterKey>, String> {
        self.keys()
    }
}

/// Keys that do not change while the process runs.
impl MasterKeySource for Vec<MasterKey> {
    fn keys(&self) -> Result<Vec<MasterKey>, String> {
        Ok(self.clone())
    }
}

/// Why a secret cannot be opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotOpened {
    #[error("it was sealed with the master key {0}, which is not known here")]
    OtherKey(String),
    #[error("it was changed, or it was sealed for another record")]
    Damaged,
    #[error("{0}")]
    NoKey(String),
}

/// Seals and opens secrets. Clones share the keys.
#[derive(Debug, Clone)]
pub(crate) struct Vault(Option<Arc<dyn MasterKeySource>>);

impl Vault {
    pub(crate) fn new(source: Option<Arc<dyn MasterKeySource>>) -> Self {
        Self(source)
    }

    fn keys(&self) -> Result<Vec<MasterKey>, String> {
        let none = || "there is no master key".to_owned();
        let keys = self.0.as_ref().ok_or_else(none)?.keys()?;
        if keys.is_empty() { Err(none()) } else { Ok(keys) }
    }

    pub(crate) fn seal(&self, purpose: SecretPurpose<'_>, secret: &str) -> Result<String, String> {
        let failed = || "the secret could not be sealed".to_owned();
        let keys = self.keys()?;
        let key = keys.first().ok_or_else(failed)?;
        let mut sealed = secret.as_bytes().to_vec();
        // 96 random bits are enough: one master key seals too few secrets for a nonce to repeat.
        let mut nonce = [0; NONCE_LEN];
        fill_random(&mut nonce);
        let unique = Nonce::assume_unique_for_key(nonce);
        key.cipher()
            .and_then(|it| {
                it.seal_in_place_append_tag(unique, Aad::from(purpose.bytes()), &mut sealed).ok()
            })
            .ok_or_else(failed)?;
        let bytes = [nonce.as_slice(), &sealed].concat();
        Ok(format!("{FORM}.{}.{}", key.id(), URL_SAFE_NO_PAD.encode(bytes)))
    }

    pub(crate) fn open(
        &self,
        purpose: SecretPurpose<'_>,
        sealed: &str,
    ) -> Result<String, NotOpened> {
        let id = key_id(sealed).ok_or(NotOpened::Damaged)?;
        let body = sealed.rsplit('.').next().unwrap_or_default();
        let none = || "there is no master key".to_owned();
        let keys = self.0.as_ref().ok_or_else(none).and_then(|it| it.existing());
        let keys = keys.map_err(NotOpened::NoKey)?;
        let key = keys.iter().find(|key| key.id() == id);
        let key = key.ok_or_else(|| NotOpened::OtherKey(id.to_owned()))?;
        let mut bytes = URL_SAFE_NO_PAD.decode(body).map_err(|_| NotOpened::Damaged)?;
        let (nonce, sealed) = bytes.split_at_mut_checked(NONCE_LEN).ok_or(NotOpened::Damaged)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| NotOpened::Damaged)?;
        let cipher = key.cipher().ok_or(NotOpened::Damaged)?;
        let opened = cipher.open_in_place(nonce, Aad::from(purpose.bytes()), sealed);
        let opened = opened.map_err(|_| NotOpened::Damaged)?.to_vec();
        String::from_utf8(opened).map_err(|_| NotOpened::Damaged)
    }

    /// Whether a secret is sealed with the current sealing key.
    pub(crate) fn is_current(&self, sealed: &str) -> bool {
        let current = self.keys().ok().and_then(|keys| keys.first().map(MasterKey::id));
        current.is_some() && current.as_deref() == key_id(sealed)
    }
}

fn key_id(sealed: &str) -> Option<&str> {
    let mut parts = sealed.split('.');
    match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some(FORM), Some(id), Some(_), None) => Some(id),
        _ => None,
    }
}

/// What a sealed secret is bound to.
#[derive(Debug, Clone, Copy)]
pub(crate) enum SecretPurpose<'p> {
    IdentityKey(AppId, &'p str),
    SecondFactor(UserId),
    /// Proof that a password was correct, while the code is requested.
    SignIn,
    /// The master keys in a backup.
    Backup,
    /// The token of a flow's test link.
    TestLink(FlowId),
    /// The secret that signs an endpoint's requests.
    Webhook(EndpointId),
    /// The hash of the address that an e-mail was sent to.
    MailAddress(MailId),
}

impl SecretPurpose<'_> {
    fn bytes(self) -> Vec<u8> {
        match self {
            Self::IdentityKey(app, kid) => {
                [b"sluice identity key".as_slice(), app.uuid().as_bytes(), kid.as_bytes()].concat()
            }
            Self::SecondFactor(user) => {
                [b"sluice second factor".as_slice(), user.uuid().as_bytes()].concat()
            }
            Self::SignIn => b"sluice sign-in".to_vec(),
            Self::Backup => b"sluice backup".to_vec(),
            Self::TestLink(flow) => {
                [b"sluice test link".as_slice(), flow.uuid().as_bytes()].concat()
            }
            Self::Webhook(endpoint) => {
                [b"sluice webhook".as_slice(), endpoint.uuid().as_bytes()].concat()
            }
            Self::MailAddress(mail) => {
                [b"sluice mail address".as_slice(), mail.uuid().as_bytes()].concat()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn app(number: u128) -> AppId {
        AppId::from_uuid(uuid::Uuid::from_u128(number))
    }

    fn vault(keys: &[&MasterKey]) -> Vault {
        Vault::new(Some(Arc::new(keys.iter().map(|key| (*key).clone()).collect::<Vec<_>>())))
    }

    #[test]
    fn a_secret_opens_only_with_its_key_and_for_its_purpose() {
        let (old, new) = (MasterKey::random(), MasterKey::random());
        let sealed =
            vault(&[&old]).seal(SecretPurpose::IdentityKey(app(1), "kid"), "a secret").unwrap();
        assert!(!sealed.contains("a secret"));
        assert_eq!(
            vault(&[&old]).open(SecretPurpose::IdentityKey(app(1), "kid"), &sealed).unwrap(),
            "a secret"
        );
        assert_eq!(
            vault(&[&new, &old]).open(SecretPurpose::IdentityKey(app(1), "kid"), &sealed).unwrap(),
            "a secret"
        );
        let wrong = vault(&[&new]).open(SecretPurpose::IdentityKey(app(1), "kid"), &sealed);
        assert_eq!(wrong, Err(NotOpened::OtherKey(old.id())));
        let user = UserId::from_uuid(app(1).uuid());
        for purpose in [
            SecretPurpose::IdentityKey(app(2), "kid"),
            SecretPurpose::IdentityKey(app(1), "kid2"),
            SecretPurpose::SecondFactor(user),
            SecretPurpose::SignIn,
            SecretPurpose::Backup,
        ] {
            assert_eq!(
                vault(&[&old]).open(purpose, &sealed),
                Err(NotOpened::Damaged),
                "{purpose:?}"
            );
        }
        assert!(vault(&[&old, &new]).is_current(&sealed));
        assert!(!vault(&[&new, &old]).is_current(&sealed));
    }

    #[test]
    fn a_changed_secret_does_not_open() {
        let key = MasterKey::random();
        let sealed =
            vault(&[&key]).seal(SecretPurpose::IdentityKey(app(1), "kid"), "a secret").unwrap();
        let body = sealed.rfind('.').unwrap() + 1;
        for at in body..sealed.len() {
            let mut changed = sealed.clone().into_bytes();
            changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(changed).unwrap();
            assert!(
                vault(&[&key]).open(SecretPurpose::IdentityKey(app(1), "kid"), &changed).is_err(),
                "{at}"
            );
        }
        for broken in ["", "v1", "v1..", "v2.a.b", &sealed[..body]] {
            assert!(
                vault(&[&key]).open(SecretPurpose::IdentityKey(app(1), "kid"), broken).is_err(),
                "{broken}"
            );
        }
    }

    #[test]
    fn sealing_the_same_secret_twice_gives_different_results() {
        let key = MasterKey::random();
        let seal =
            || vault(&[&key]).seal(SecretPurpose::IdentityKey(app(1), "kid"), "a secret").unwrap();
        assert_ne!(seal(), seal());
    }

    #[test]
    fn a_master_key_is_the_base64_of_32_bytes() {
        let key = MasterKey::random();
        assert_eq!(MasterKey::parse(&format!(" {}\n", key.to_base64())), Some(key));
        for text in ["", "abc", &STANDARD.encode([1; 31]), &STANDARD.encode([1; 33])] {
            assert_eq!(MasterKey::parse(text), None, "{text}");
        }
    }
}
