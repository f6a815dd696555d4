//! The master keys in a backup, sealed with a passphrase: Argon2id makes a key from it, which seals
//! as a master key does.

use std::sync::Arc;

use argon2::{Algorithm, Argon2, Params, Version};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use sluice_store::{IdentityKeyKind, Record, UserRow};

use crate::ids::fill_random;
use crate::verify::{MasterKey, SecretPurpose, Vault};

/// More than for sign-in, since a stolen file can be attacked at leisure.
const MEMORY_KIB: u32 = 64 * 1024;
const PASSES: u32 = 3;
/// The most that a file may demand.
const MEMORY_KIB_MAX: u32 = 1024 * 1024;
const PASSES_MAX: u32 = 16;
const SALT_BYTES: usize = 16;

/// The master keys that go into a backup. Those of another store would be worthless in it, so what
/// is stored must open with them.
#[derive(Debug)]
pub struct IncludedKeys {
    pub(super) sealed: SealedKeys,
    vault: Vault,
}

impl IncludedKeys {
    /// `None` if the system has too little memory.
    pub fn new(keys: Vec<MasterKey>, passphrase: &str) -> Option<Self> {
        let sealed = SealedKeys::seal(&keys, passphrase)?;
        Some(Self { sealed, vault: Vault::new(Some(Arc::new(keys))) })
    }

    /// Whether the secret in a record can be opened, if it has one that is in use.
    pub(super) fn open_secret_of(&self, record: &Record) -> bool {
        let opened = match record {
            Record::IdentityKey(row)
                if row.kind == IdentityKeyKind::Hs256 && row.revoked_at.is_none() =>
            {
                let purpose = SecretPurpose::IdentityKey(row.app_id, &row.kid);
                self.vault.open(purpose, &row.material)
            }
            Record::User(UserRow { user_id, second_factor: Some(factor), .. }) => {
                self.vault.open(SecretPurpose::SecondFactor(*user_id), &factor.sealed)
            }
            _ => return true,
        };
        opened.is_ok()
    }
}

/// Master keys that only a passphrase opens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SealedKeys {
    memory_kib: u32,
    passes: u32,
    salt: String,
    sealed: String,
}

impl SealedKeys {
    /// The shortest passphrase, in characters.
    pub const PASSPHRASE_CHARS_MIN: usize = 12;

    /// `None` if the system has too little memory.
    pub fn seal(keys: &[MasterKey], passphrase: &str) -> Option<Self> {
        let mut salt = [0; SALT_BYTES];
        fill_random(&mut salt);
        let salt = STANDARD.encode(salt);
        let empty = Self { memory_kib: MEMORY_KIB, passes: PASSES, salt, sealed: String::new() };
        let texts: Vec<String> = keys.iter().map(MasterKey::to_base64).collect();
        let sealed = empty.vault(passphrase)?.seal(SecretPurpose::Backup, &texts.join(",")).ok()?;
        Some(Self { sealed, ..empty })
    }

    /// The keys, the sealing key first; `None` if the passphrase is wrong.
    pub fn open(&self, passphrase: &str) -> Option<Vec<MasterKey>> {
        if self.memory_kib > MEMORY_KIB_MAX || self.passes > PASSES_MAX {
            return None;
        }
        let opened = self.vault(passphrase)?.open(SecretPurpose::Backup, &self.sealed).ok()?;
        opened.split(',').map(MasterKey::parse).collect()
    }

    /// Seals and opens with the key of this passphrase.
    fn vault(&self, passphrase: &str) -> Option<Vault> {
        let mut key = [0; 32];
        let params = Params::new(self.memory_kib, self.passes, 1, Some(key.len())).ok()?;
        let salt = STANDARD.decode(&self.salt).ok()?;
        let hasher = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
        hasher.hash_password_into(passphrase.as_bytes(), &salt, &mut key).ok()?;
        let key = MasterKey::parse(&STANDARD.encode(key))?;
        Some(Vault::new(Some(Arc::new(vec![key]))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_open_only_with_their_passphrase() {
        let keys = [MasterKey::random(), MasterKey::random()];
        let sealed = SealedKeys::seal(&keys, "correct horse battery").unwrap();
        assert_eq!(sealed.open("correct horse battery").unwrap(), keys);
        assert!(sealed.open("correct horse batterz").is_none());
        assert_ne!(SealedKeys::seal(&keys, "correct horse battery").unwrap(), sealed);
        let written = serde_json::to_string(&sealed).unwrap();
        assert!(keys.iter().all(|key| !written.contains(&key.to_base64())));
        let greedy = SealedKeys { memory_kib: u32::MAX, ..sealed };
        assert!(greedy.open("correct horse battery").is_none());
    }
}
