//! Operations of users on their own accounts.

use std::sync::Arc;

use crate::core::Core;

/// Signing in and out, passwords, second factors and sessions. A password, a code, a link or a
/// session secret proves the user's identity; each method is in the file named after it.
#[derive(Clone, Copy)]
pub struct Accounts<'e> {
    pub(crate) core: &'e Arc<Core>,
}

impl<'e> Accounts<'e> {
    pub(crate) fn new(core: &'e Arc<Core>) -> Self {
        Self { core }
    }
}

impl std::fmt::Debug for Accounts<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Accounts").finish_non_exhaustive()
    }
}
