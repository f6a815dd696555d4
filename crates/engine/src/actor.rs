//! The caller of a use case, and what it may do.
//!
//! An actor has grants: scopes in one app, or in all apps and the instance. A token has one grant;
//! a user has one per role. This module knows nothing else about tokens or users.

use sluice_flow::id::AppId;
use sluice_store::{Scope, TokenRow};

use crate::admin::{AdminError, AdminResult, Missing};

/// The caller of a use case, with its grants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor {
    /// The id of the token or user, or a fixed name for any other caller. The audit log stores it.
    pub name: String,
    pub grants: Vec<Grant>,
    /// Whether the caller authenticated within the last few minutes; an API client does so with
    /// every request.
    pub is_fresh: bool,
}

/// Scopes in one app, or in all apps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// `None` means all apps and the instance itself.
    pub app_id: Option<AppId>,
    pub scopes: Vec<Scope>,
}

/// Where an actor has a scope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reach {
    All,
    /// In these apps, ordered by id.
    Apps(Vec<AppId>),
}

impl Actor {
    /// The server itself, or a caller with the token from its environment.
    pub fn trusted(name: &str) -> Self {
        let grants = vec![Grant { app_id: None, scopes: vec![Scope::Admin] }];
        Self { name: name.to_owned(), grants, is_fresh: true }
    }

    pub(crate) fn from_token(token: TokenRow) -> Self {
        let grants = vec![Grant { app_id: token.app_id, scopes: token.scopes }];
        Self { name: token.token_id.to_string(), grants, is_fresh: true }
    }

    /// Whether the actor has the scope in the app. For deciding what to show; it does not enforce.
    pub fn may(&self, scope: Scope, app: AppId) -> bool {
        self.grants.iter().any(|grant| grant.covers(app) && grant.holds(scope))
    }

    /// Whether the actor has the scope for the instance itself.
    pub fn may_instance(&self, scope: Scope) -> bool {
        self.grants.iter().any(|grant| grant.app_id.is_none() && grant.holds(scope))
    }

    /// Refuses a caller without any grant in the app as if the thing did not exist, so that nothing
    /// can be learned about other apps. Also refuses a caller without the scope.
    pub fn need_in(&self, scope: Scope, app: AppId, what: Missing) -> AdminResult<()> {
        if !self.grants.iter().any(|grant| grant.covers(app)) {
            return Err(AdminError::NotFound(what));
        }
        if self.may(scope, app) { Ok(()) } else { Err(AdminError::Forbidden { scope }) }
    }

    /// Refuses a caller that is limited to apps: this concerns the whole instance.
    pub fn need_instance(&self, scope: Scope) -> AdminResult<()> {
        if !self.grants.iter().any(|grant| grant.app_id.is_none()) {
            return Err(AdminError::BoundToApp);
        }
        if self.may_instance(scope) { Ok(()) } else { Err(AdminError::Forbidden { scope }) }
    }

    /// Refuses a caller that authenticated too long ago for this.
    pub(crate) fn need_fresh(&self) -> AdminResult<()> {
        if self.is_fresh { Ok(()) } else { Err(AdminError::NotFresh) }
    }

    /// Where the actor has the scope. Refuses an actor that has grants, but none with the scope.
    pub(crate) fn reach(&self, scope: Scope) -> AdminResult<Reach> {
        if self.may_instance(scope) {
            return Ok(Reach::All);
        }
        let holding = self.grants.iter().filter(|grant| grant.holds(scope));
        let mut apps: Vec<_> = holding.filter_map(|grant| grant.app_id).collect();
        apps.sort_unstable();
        apps.dedup();
        match apps.is_empty() && !self.grants.is_empty() {
            true => Err(AdminError::Forbidden { scope }),
            false => Ok(Reach::Apps(apps)),
        }
    }
}

impl Grant {
    fn covers(&self, app: AppId) -> bool {
        self.app_id.is_none_or(|own| own == app)
    }

    fn holds(&self, wanted: Scope) -> bool {
        self.scopes.iter().any(|&held| includes(held, wanted))
    }
}

/// `admin` includes every scope, and `write` includes `read`.
pub(crate) fn includes(held: Scope, wanted: Scope) -> bool {
    held == wanted || held == Scope::Admin || (held == Scope::Write && wanted == Scope::Read)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Scope; 5] = [Scope::Read, Scope::Write, Scope::Export, Scope::Erase, Scope::Admin];

    fn app(n: u128) -> AppId {
        AppId::from_uuid(uuid::Uuid::from_u128(n))
    }

    fn actor(grants: &[(Option<AppId>, Scope)]) -> Actor {
        let grants = grants.iter().map(|&(app_id, scope)| Grant { app_id, scopes: vec![scope] });
        Actor { name: "t".into(), grants: grants.collect(), is_fresh: true }
    }

    #[test]
    fn write_includes_read_and_admin_includes_every_scope() {
        for held in ALL {
            for wanted in ALL {
                let expected = held == wanted
                    || held == Scope::Admin
                    || (held, wanted) == (Scope::Write, Scope::Read);
                for (bound, of_instance) in [(None, true), (Some(app(1)), false)] {
                    let actor = actor(&[(bound, held)]);
                    let may = actor.need_in(wanted, app(1), Missing::Flow).is_ok();
                    assert_eq!(may, expected, "{held:?} for {wanted:?}");
                    assert_eq!(actor.may(wanted, app(1)), expected);
                    assert_eq!(actor.reach(wanted).is_ok(), expected);
                    assert_eq!(actor.need_instance(wanted).is_ok(), expected && of_instance);
                    assert_eq!(actor.may_instance(wanted), expected && of_instance);
                }
            }
        }
    }

    #[test]
    fn an_actor_bound_to_one_app_cannot_see_others_or_touch_the_instance() {
        let actor = actor(&[(Some(app(1)), Scope::Admin)]);
        assert!(actor.need_in(Scope::Admin, app(1), Missing::Flow).is_ok());
        assert!(matches!(
            actor.need_in(Scope::Read, app(2), Missing::Flow),
            Err(AdminError::NotFound(Missing::Flow))
        ));
        assert!(matches!(actor.need_instance(Scope::Admin), Err(AdminError::BoundToApp)));
    }

    #[test]
    fn grants_combine_within_an_app_and_do_not_affect_others() {
        let actor = actor(&[(None, Scope::Read), (Some(app(2)), Scope::Admin)]);
        assert!(actor.may(Scope::Read, app(1)) && !actor.may(Scope::Write, app(1)));
        assert!(actor.may(Scope::Erase, app(2)));
        assert!(!actor.may_instance(Scope::Admin));
        assert!(matches!(
            actor.need_instance(Scope::Admin),
            Err(AdminError::Forbidden { scope: Scope::Admin })
        ));
        assert_eq!(actor.reach(Scope::Read).unwrap(), Reach::All);
        assert_eq!(actor.reach(Scope::Admin).unwrap(), Reach::Apps(vec![app(2)]));
    }

    #[test]
    fn an_actor_without_grants_reaches_nothing() {
        let nobody = actor(&[]);
        assert_eq!(nobody.reach(Scope::Read).unwrap(), Reach::Apps(Vec::new()));
        assert!(!nobody.may(Scope::Read, app(1)) && !nobody.may_instance(Scope::Read));
        let refused = nobody.need_in(Scope::Read, app(1), Missing::App);
        assert!(matches!(refused, Err(AdminError::NotFound(Missing::App))));
    }
}
