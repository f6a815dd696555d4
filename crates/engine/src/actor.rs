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

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Scope; 5] = [Scope::Read, Scope::Write, Scope::Export, Scope::Erase, Scope::Admin];

    #[test]
    fn a_scope_holds_itself_write_holds_read_and_admin_holds_all() {
        for held in ALL {
            let actor = Actor { name: "t".into(), scopes: vec![held], app_id: None };
            for wanted in ALL {
                let expected = held == wanted
                    || held == Scope::Admin
                    || (held, wanted) == (Scope::Write, Scope::Read);
                assert_eq!(actor.need(wanted).is_ok(), expected, "{held:?} for {wanted:?}");
            }
        }
    }

    #[test]
    fn a_token_bound_to_an_app_finds_nothing_of_another_and_cannot_touch_the_instance() {
        let app = |n| AppId::from_uuid(uuid::Uuid::from_u128(n));
        let actor = Actor { name: "t".into(), scopes: vec![Scope::Admin], app_id: Some(app(1)) };
        assert!(actor.need_in(Scope::Admin, app(1), Missing::Flow).is_ok());
        assert!(matches!(
            actor.need_in(Scope::Read, app(2), Missing::Flow),
            Err(AdminError::NotFound(Missing::Flow))
        ));
        assert!(matches!(actor.need_instance(Scope::Admin), Err(AdminError::BoundToApp)));
    }
}
