//! Users, as whoever holds the instance makes and changes them.

use serde_json::{Value, json};
use sluice_flow::definition::Fault;
use sluice_flow::email::is_email;
use sluice_flow::id::{AppId, UserId};
use sluice_flow::time::Timestamp;
use sluice_store::{
    At, Change, GrantRow, LinkRow, Page, PeopleWrite, Role, Scope, StoreError, User, UserKey,
    UserRow, Write,
};

use super::Secret;
use crate::actor::Actor;
use crate::admin::{AdminError, AdminResult, Missing};
use crate::apps::{CONFLICT_RETRIES, fault, faultless, name_faults};
use crate::engine::Engine;

/// Users that are read at a time.
const PAGE_USERS: usize = 500;

/// A user to be made, with one role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewUser {
    pub email: String,
    pub name: String,
    pub role: Role,
    /// Where the role is; absent means in all apps, and for the instance.
    pub app_id: Option<AppId>,
}

/// What to change of a user; what is absent stays.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UserPatch {
    pub name: Option<String>,
    pub disabled: Option<bool>,
}

/// A user, without what proves who they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserDetail {
    pub user_id: UserId,
    pub email: String,
    pub name: String,
    pub has_password: bool,
    /// Whether they came from an OpenID provider.
    pub has_subject: bool,
    pub has_second_factor: bool,
    pub grants: Vec<GrantRow>,
    pub created_at: Timestamp,
    pub disabled_at: Option<Timestamp>,
}

impl From<User> for UserDetail {
    fn from(User { row, grants }: User) -> Self {
        Self {
            user_id: row.user_id,
            email: row.email,
            name: row.name,
            has_password: row.password.is_some(),
            has_subject: row.subject.is_some(),
            has_second_factor: row.second_factor.is_some(),
            grants,
            created_at: row.created_at,
            disabled_at: row.disabled_at,
        }
    }
}

impl Engine {
    /// Makes a user, and the secret of a link with which they set their password.
    pub async fn create_user(
        &self,
        actor: &Actor,
        new: NewUser,
    ) -> AdminResult<(UserDetail, Secret)> {
        actor.need_instance(Scope::Admin)?;
        if let Some(app) = new.app_id {
            self.app_for(actor, Scope::Admin, app).await?;
        }
        let made = self.make_user(actor, &new).await?;
        made.ok_or_else(|| {
            AdminError::conflict("email_taken", "there is a user with this e-mail address already")
        })
    }

    /// Makes a user, unless there is one with the address.
    pub(super) async fn make_user(
        &self,
        actor: &Actor,
        new: &NewUser,
    ) -> AdminResult<Option<(UserDetail, Secret)>> {
        // The link to set a password lets its holder in.
        actor.need_fresh()?;
        let email = new.email.trim();
        faultless(user_faults(email, &new.name))?;
        for _ in 0..CONFLICT_RETRIES {
            let revision = self.store.people_revision().await?;
            if self.store.find_user(&UserKey::Email(email.to_owned())).await?.is_some() {
                return Ok(None);
            }
            let row = UserRow {
                user_id: UserId::from_uuid(self.new_id()),
                email: email.to_owned(),
                name: new.name.trim().to_owned(),
                password: None,
                subject: None,
                second_factor: None,
                epoch: 0,
                created_at: self.now(),
                disabled_at: None,
            };
            let grant = GrantRow { user_id: row.user_id, app_id: new.app_id, role: new.role };
            let (secret, link) = self.new_link(row.user_id);
            let detail = json!({"email": row.email, "name": row.name, "role": new.role, "appId": new.app_id});
            let user = User { row: row.clone(), grants: vec![grant] };
            let writes =
                vec![PeopleWrite::User(row), PeopleWrite::Grant(grant), PeopleWrite::Link(link)];
            let entry = Entry { action: "user.created", app_id: new.app_id, detail };
            if self.write_people(actor, revision, user.row.user_id, writes, entry).await? {
                return Ok(Some((user.into(), secret)));
            }
        }
        Err(StoreError::Conflict.into())
    }

    /// Users in the order they were made, disabled ones included.
    pub async fn list_users(
        &self,
        actor: &Actor,
        page: Page<UserId>,
    ) -> AdminResult<Vec<UserDetail>> {
        actor.need_instance(Scope::Admin)?;
        let users = self.store.list_users(None, page).await?;
        Ok(users.into_iter().map(UserDetail::from).collect())
    }

    /// Whether anybody could sign in by e-mail.
    pub async fn has_users(&self) -> Result<bool, StoreError> {
        let first = self.store.list_users(None, Page { after: None, limit: 1 }).await?;
        Ok(!first.is_empty())
    }

    pub async fn get_user(&self, actor: &Actor, id: UserId) -> AdminResult<UserDetail> {
        actor.need_instance(Scope::Admin)?;
        Ok(self.user(id).await?.into())
    }

    /// Renames, disables or enables a user. Whoever is disabled is signed out everywhere.
    pub async fn update_user(
        &self,
        actor: &Actor,
        id: UserId,
        patch: &UserPatch,
    ) -> AdminResult<UserDetail> {
        actor.need_instance(Scope::Admin)?;
        faultless(patch.name.as_ref().and_then(|name| name_faults("/name", name)))?;
        for _ in 0..CONFLICT_RETRIES {
            let revision = self.store.people_revision().await?;
            let found = self.user(id).await?;
            let mut row = found.row.clone();
            if let Some(name) = &patch.name {
                name.trim().clone_into(&mut row.name);
            }
            let mut writes = Vec::new();
            match patch.disabled {
                Some(true) if row.disabled_at.is_none() => {
                    self.must_leave_an_owner(&found).await?;
                    (row.disabled_at, row.epoch) = (Some(self.now()), row.epoch + 1);
                    writes.push(PeopleWrite::Unlink(id));
                }
                Some(false) => {
                    // It may make an owner again.
                    if row.disabled_at.is_some() {
                        actor.need_fresh()?;
                    }
                    row.disabled_at = None;
                }
                _ => {}
            }
            if row == found.row {
                return Ok(found.into());
            }
            let action = match (found.row.disabled_at, row.disabled_at) {
                (None, Some(_)) => "user.disabled",
                (Some(_), None) => "user.enabled",
                _ => "user.updated",
            };
            let detail = json!({"email": row.email, "name": row.name});
            writes.push(PeopleWrite::User(row.clone()));
            let entry = Entry { action, app_id: None, detail };
            if self.write_people(actor, revision, id, writes, entry).await? {
                return Ok(User { row, grants: found.grants }.into());
            }
        }
        Err(StoreError::Conflict.into())
    }

    /// Gives a user a role in an app, or in all; without one, takes it away.
    pub async fn set_role(
        &self,
        actor: &Actor,
        id: UserId,
        app: Option<AppId>,
        role: Option<Role>,
    ) -> AdminResult<UserDetail> {
        match app {
            Some(app) => self.app_for(actor, Scope::Admin, app).await.map(|_| ())?,
            None => actor.need_instance(Scope::Admin)?,
        }
        if role == Some(Role::Owner) {
            actor.need_fresh()?;
        }
        for _ in 0..CONFLICT_RETRIES {
            let revision = self.store.people_revision().await?;
            let mut found = self.user(id).await?;
            let before = found.grants.iter().find(|grant| grant.app_id == app).map(|it| it.role);
            if before == role {
                return Ok(found.into());
            }
            if app.is_none() && before == Some(Role::Owner) {
                self.must_leave_an_owner(&found).await?;
            }
            let write = match role {
                Some(role) => PeopleWrite::Grant(GrantRow { user_id: id, app_id: app, role }),
                None => PeopleWrite::Ungrant { user_id: id, app_id: app },
            };
            let detail =
                json!({"email": found.row.email, "role": role, "before": before, "appId": app});
            let entry = Entry { action: "user.role_changed", app_id: app, detail };
            if self.write_people(actor, revision, id, vec![write], entry).await? {
                found.grants.retain(|grant| grant.app_id != app);
                found.grants.extend(role.map(|role| GrantRow { user_id: id, app_id: app, role }));
                found.grants.sort_by_key(|grant| grant.app_id);
                return Ok(found.into());
            }
        }
        Err(StoreError::Conflict.into())
    }

    /// Makes another link to set a password: the one before is over, and so are their sessions. The password stays until the link
    /// is used.
    pub async fn reset_user(&self, actor: &Actor, id: UserId) -> AdminResult<Secret> {
        actor.need_instance(Scope::Admin)?;
        actor.need_fresh()?;
        for _ in 0..CONFLICT_RETRIES {
            let revision = self.store.people_revision().await?;
            let found = self.user(id).await?;
            if found.row.disabled_at.is_some() {
                let detail = "this user is disabled; enable them first";
                return Err(AdminError::conflict("user_disabled", detail));
            }
            let (secret, link) = self.new_link(id);
            let detail = json!({"email": found.row.email});
            let entry = Entry { action: "user.link_made", app_id: None, detail };
            let row = UserRow { epoch: found.row.epoch + 1, ..found.row };
            let writes = vec![PeopleWrite::User(row), PeopleWrite::Link(link)];
            if self.write_people(actor, revision, id, writes, entry).await? {
                return Ok(secret);
            }
        }
        Err(StoreError::Conflict.into())
    }

    pub(super) async fn user(&self, id: UserId) -> AdminResult<User> {
        let found = self.store.find_user(&UserKey::Id(id)).await?;
        found.ok_or(AdminError::NotFound(Missing::User))
    }

    /// Refuses to take the last owner of the instance away.
    async fn must_leave_an_owner(&self, user: &User) -> AdminResult<()> {
        if !is_owner(user) {
            return Ok(());
        }
        let mut after = None;
        loop {
            let users = self.store.list_users(None, Page { after, limit: PAGE_USERS }).await?;
            let Some(last) = users.last() else { break };
            after = Some(last.row.user_id);
            // Whoever has never set a password, nor come from a provider, may never come.
            let can_come = |it: &User| it.row.password.is_some() || it.row.subject.is_some();
            let another = |it: &User| it.row.user_id != user.row.user_id && is_owner(it);
            if users.iter().any(|it| another(it) && can_come(it)) {
                return Ok(());
            }
        }
        Err(AdminError::conflict(
            "last_owner",
            "this is the last owner of the instance; make somebody else one first",
        ))
    }

    /// Writes a change about people with its entry in the audit log; says no where somebody was quicker.
    pub(super) async fn write_people(
        &self,
        actor: &Actor,
        expected: u64,
        subject: UserId,
        writes: Vec<PeopleWrite>,
        entry: Entry,
    ) -> Result<bool, StoreError> {
        let audit = self.audit(actor, entry.app_id, entry.action, subject, &entry.detail);
        let mut rows: Vec<_> = writes.into_iter().map(Write::People).collect();
        rows.push(Write::Audit(audit));
        match self.apply(At::People { expected }, Change::new(move || rows)).await {
            Ok(()) => Ok(true),
            Err(StoreError::Conflict) => Ok(false),
            Err(error) => Err(error),
        }
    }

    pub(super) fn new_link(&self, user_id: UserId) -> (Secret, LinkRow) {
        let secret = Secret::random();
        let link = LinkRow {
            user_id,
            hash: crate::tokens::hash_of(&secret.0),
            expires_at: super::links::valid_until(self.now()),
        };
        (secret, link)
    }
}

/// What the audit log says of a change.
pub(super) struct Entry {
    pub(super) action: &'static str,
    pub(super) app_id: Option<AppId>,
    pub(super) detail: Value,
}

fn is_owner(user: &User) -> bool {
    let of_all = |grant: &GrantRow| grant.app_id.is_none() && grant.role == Role::Owner;
    user.row.disabled_at.is_none() && user.grants.iter().any(of_all)
}

fn user_faults(email: &str, name: &str) -> Vec<Fault> {
    let mut faults: Vec<_> = name_faults("/name", name).into_iter().collect();
    if !is_email(email) {
        faults.push(fault("/email", "must be an e-mail address such as ann@example.com"));
    }
    faults
}
