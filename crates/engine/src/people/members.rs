//! The members of one app: what its owners may see and change about them, and no more.
//!
//! Owners of an app see who has access to it and with which role, not their other roles. They can
//! add existing users. Only owners of the instance create users: the creator of a user holds the
//! link that sets the password, and with it every permission that others grant to that address
//! later.

use sluice_flow::definition::Fault;
use sluice_flow::id::{AppId, UserId};
use sluice_store::{Page, Role, Scope, StoreError, User, UserKey};

use super::secret::Secret;
use super::users::{LinkDelivery, NewUser, UserDetail, change_role, make_user};
use crate::admin::AdminResult;
use crate::boxed;
use crate::fault::faultless;
use crate::handle::AppHandle;

/// A user with access to an app.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    pub user_id: UserId,
    pub email: String,
    pub name: String,
    /// The role in this app only.
    pub role: Option<Role>,
    /// The role in all apps, which the owners of one app cannot change.
    pub everywhere: Option<Role>,
    pub is_disabled: bool,
    /// Whether they have not set a password yet and never signed in with an OpenID provider.
    pub is_awaited: bool,
}

/// A person to add to an app.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewMember {
    pub email: String,
    /// For a person who is not a user yet.
    pub name: String,
    pub role: Role,
}

impl AppHandle {
    /// The users with a role in the app or in all apps, in creation order.
    #[boxed]
    pub async fn list_members(&self, page: Page<UserId>) -> AdminResult<Vec<Member>> {
        let core = self.permit.core(Scope::Admin)?;
        let users = core.store.list_users(Some(self.app_id()), page).await?;
        Ok(users.into_iter().map(|user| member(user, self.app_id())).collect())
    }

    /// Gives a person a role in the app. An owner of the instance can also name a person who is not
    /// a user yet: this creates the user and returns the secret of a link.
    #[boxed]
    pub async fn add_member(&self, new: &NewMember) -> AdminResult<(UserId, Option<Secret>)> {
        self.add_member_with(new, LinkDelivery::Returned).await
    }

    /// The same, and sends a new user the link by e-mail, in a language if that is known. Returns
    /// whether they are new.
    #[boxed]
    pub async fn add_member_by_mail(
        &self,
        new: &NewMember,
        language: Option<&str>,
    ) -> AdminResult<bool> {
        Ok(self.add_member_with(new, LinkDelivery::Mailed { language }).await?.1.is_some())
    }

    async fn add_member_with(
        &self,
        new: &NewMember,
        delivery: LinkDelivery<'_>,
    ) -> AdminResult<(UserId, Option<Secret>)> {
        let core = self.permit.core(Scope::Admin)?;
        let (actor, app) = (self.permit.actor(), self.app_id());
        let email = new.email.trim();
        let found = core.store.find_user(&UserKey::Email(email.to_owned())).await?;
        let Some(user) = found else {
            let is_unknown = "does not belong to a user here; ask an owner of the instance to \
                 add them, and come back then";
            let may_make = actor.may_instance(Scope::Admin);
            faultless((!may_make).then(|| Fault::new("/email", is_unknown)))?;
            let name = if new.name.trim().is_empty() { email } else { &new.name };
            let new = NewUser {
                email: email.to_owned(),
                name: name.to_owned(),
                role: new.role,
                app_id: Some(app),
            };
            return match make_user(core, actor, &new, delivery).await? {
                Some((user, secret)) => Ok((user.user_id, Some(secret))),
                // A concurrent call has just created the user.
                None => Err(StoreError::Conflict.into()),
            };
        };
        let has_role = user.grants.iter().any(|grant| grant.app_id == Some(app));
        let message = "has a role in this app already; change it below";
        faultless(has_role.then(|| Fault::new("/email", message)))?;
        self.set_role(user.row.user_id, Some(new.role)).await?;
        Ok((user.row.user_id, None))
    }

    /// Gives a user a role in the app, or removes it if `role` is `None`.
    #[boxed]
    pub async fn set_role(&self, id: UserId, role: Option<Role>) -> AdminResult<UserDetail> {
        let core = self.permit.core(Scope::Admin)?;
        change_role(core, self.permit.actor(), id, Some(self.app_id()), role).await
    }
}

fn member(user: User, app: AppId) -> Member {
    let role_in = |app: Option<AppId>| {
        user.grants.iter().find(|grant| grant.app_id == app).map(|grant| grant.role)
    };
    Member {
        user_id: user.row.user_id,
        role: role_in(Some(app)),
        everywhere: role_in(None),
        is_disabled: user.row.disabled_at.is_some(),
        is_awaited: user.row.password.is_none() && user.row.subject.is_none(),
        email: user.row.email,
        name: user.row.name,
    }
}
