//! What a role may do, in terms of the scopes that tokens have too.

use sluice_store::{Role, Scope, User};

use crate::actor::{Actor, Grant};

fn scopes(role: Role) -> Vec<Scope> {
    match role {
        Role::Viewer => vec![Scope::Read],
        Role::Editor => vec![Scope::Read, Scope::Write, Scope::Export],
        Role::Owner => vec![Scope::Admin],
    }
}

impl Actor {
    pub(crate) fn from_user(user: &User) -> Self {
        let grants = user.grants.iter();
        let grants = grants.map(|it| Grant { app_id: it.app_id, scopes: scopes(it.role) });
        Self { name: user.row.user_id.to_string(), grants: grants.collect(), is_fresh: false }
    }
}
