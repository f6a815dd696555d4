//! Who is asking, and what they may touch.

use sluice_flow::id::AppId;
use sluice_store::Scope;

use crate::admin::{AdminError, AdminResult, Missing};

/// The holder of an admin token, as far as its token goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor {
    /// The token's id, or a word for what is no stored token; this is what the audit log says.
    pub name: String,
    pub scopes: Vec<Scope>,
    pub app_id: Option<AppId>,
}

impl Actor {
    /// The server itself, or whoever holds the token of its environment.
    pub fn trusted(name: &str) -> Self {
        Self { name: name.to_owned(), scopes: vec![Scope::Admin], app_id: None }
    }

    /// `admin` holds every scope, and `write` holds `read`.
    fn has(&self, wanted: Scope) -> bool {
        self.scopes.iter().any(|&held| {
            held == wanted
                || held == Scope::Admin
                || (held == Scope::Write && wanted == Scope::Read)
        })
    }

    /// Refuses whoever lacks the scope.
    pub fn need(&self, scope: Scope) -> AdminResult<()> {
        if self.has(scope) { Ok(()) } else { Err(AdminError::Forbidden { scope }) }
    }

    /// Refuses a token that is bound to another app as if the thing did not exist, so that nothing
    /// can be learned of other apps.
    pub fn need_in(&self, scope: Scope, app: AppId, what: Missing) -> AdminResult<()> {
        if self.app_id.is_some_and(|own| own != app) {
            return Err(AdminError::NotFound(what));
        }
        self.need(scope)
    }

    /// Refuses a token that is bound to one app: this concerns the whole instance.
    pub fn need_instance(&self, scope: Scope) -> AdminResult<()> {
        if self.app_id.is_some() { Err(AdminError::BoundToApp) } else { self.need(scope) }
    }
}
