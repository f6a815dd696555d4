//! Secrets that grant access to their holder.

use sluice_flow::id::base62;

use crate::ids::random_bits;

/// A secret that grants access: shown once, and stored as a hash.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(pub String);

impl Secret {
    /// 256 unguessable bits.
    pub(super) fn random() -> Self {
        Self(format!("{}{}", base62(random_bits()), base62(random_bits())))
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(…)")
    }
}
