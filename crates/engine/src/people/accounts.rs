//! What users do with their own accounts.

use crate::core::Core;

/// Signing in and out, passwords, second factors and sessions. A password, a code, a link or the
/// secret of a session proves who it is; each method is in the file named after it.
#[derive(Clone, Copy)]
pub struct Accounts<'e> {
    pub(super) core: &'e Core,
}

impl<'e> Accounts<'e> {
    pub(crate) fn new(core: &'e Core) -> Self {
        Self { core }
    }
}

impl std::fmt::Debug for Accounts<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Accounts").finish_non_exhaustive()
    }
}
