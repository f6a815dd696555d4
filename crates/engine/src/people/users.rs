//! Users, as managed by owners of the instance.

use serde_json::json;
use sluice_flow::definition::Fault;
use sluice_flow::email::is_email;
use sluice_flow::id::{AppId, UserId};
use sluice_flow::time::Timestamp;
use sluice_store::{
    GrantRow, Page, PeopleWrite, Role, Scope, StoreError, User, UserKey, UserRow, Write,
};

use super::accounts::Accounts;
use super::change::{PeopleAuditEntry, find_user, new_link, write_people, write_people_with};
use super::secret::Secret;
use crate::actor::Actor;
use crate::admin::{AdminError, AdminResult};
use crate::audit_action::AuditAction;
use crate::boxed;
use crate::conflict::retry_on_conflict;
use crate::core::Core;
use crate::fault::{faultless, name_faults};
use crate::handle::AppHandle;
use crate::instance::InstanceHandle;
use crate::mail_queue::{PasswordDetail, no_mail_server, queued_password};

/// The number of users to read at a time.
const PAGE_USERS: usize = 500;

/// A user to create, with one role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewUser {
    pub email: String,
    pub name: String,
    pub role: Role,
    /// The app of the role; `None` means all apps and the instance.
    pub app_id: Option<AppId>,
}

/// Changes to a user; absent fields stay unchanged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UserPatch {
    pub name: Option<String>,
    pub disabled: Option<bool>,
}

/// A user, without credentials.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserDetail {
    pub user_id: UserId,
    pub email: String,
    pub name: String,
    pub has_password: bool,
    /// Whether they have signed in with an OpenID provider.
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

impl InstanceHandle {
    /// Creates a user, and returns the secret of a link with which they set their password.
    #[boxed]
    pub async fn create_user(&self, new: NewUser) -> AdminResult<(UserDetail, Secret)> {
        self.create_user_with(new, LinkDelivery::Returned).await
    }

    /// Creates a user, and sends them the link by e-mail in a language, if that is known.
    #[boxed]
    pub async fn create_user_by_mail(
        &self,
        new: NewUser,
        language: Option<&str>,
    ) -> AdminResult<UserDetail> {
        Ok(self.create_user_with(new, LinkDelivery::Mailed { language }).await?.0)
    }

    async fn create_user_with(
        &self,
        new: NewUser,
        delivery: LinkDelivery<'_>,
    ) -> AdminResult<(UserDetail, Secret)> {
        let (core, actor) = (self.core(), self.actor());
        if let Some(app) = new.app_id {
            AppHandle::open(core, actor, Scope::Admin, app).await?;
        }
        let made = make_user(core, actor, &new, delivery).await?;
        made.ok_or_else(|| {
            AdminError::conflict("email_taken", "there is a user with this e-mail address already")
        })
    }

    /// Users in creation order, including disabled ones.
    #[boxed]
    pub async fn list_users(&self, page: Page<UserId>) -> AdminResult<Vec<UserDetail>> {
        let users = self.core().store.list_users(None, page).await?;
        Ok(users.into_iter().map(UserDetail::from).collect())
    }

    #[boxed]
    pub async fn get_user(&self, id: UserId) -> AdminResult<UserDetail> {
        Ok(find_user(self.core(), id).await?.into())
    }

    /// Renames, disables or enables a user. A disabled user is signed out everywhere.
    #[boxed]
    pub async fn update_user(&self, id: UserId, patch: &UserPatch) -> AdminResult<UserDetail> {
        let (core, actor) = (self.core(), self.actor());
        faultless(patch.name.as_ref().and_then(|name| name_faults("/name", name)))?;
        retry_on_conflict(|_| async {
            let revision = core.store.people_revision().await?;
            let found = find_user(core, id).await?;
            let mut row = found.row.clone();
            if let Some(name) = &patch.name {
                name.trim().clone_into(&mut row.name);
            }
            let mut writes = Vec::new();
            match patch.disabled {
                Some(true) if row.disabled_at.is_none() => {
                    must_leave_an_owner(core, &found).await?;
                    (row.disabled_at, row.epoch) = (Some(core.now()), row.epoch + 1);
                    writes.push(PeopleWrite::Unlink(id));
                }
                Some(false) => {
                    // This may restore an owner.
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
                (None, Some(_)) => AuditAction::UserDisabled,
                (Some(_), None) => AuditAction::UserEnabled,
                _ => AuditAction::UserUpdated,
            };
            let detail = json!({"email": row.email, "name": row.name});
            writes.push(PeopleWrite::User(row.clone()));
            let entry = PeopleAuditEntry { action, app_id: None, detail };
            write_people(core, actor, revision, id, writes, entry).await?;
            Ok(User { row, grants: found.grants }.into())
        })
        .await
    }

    /// Gives a user a role in all apps and the instance, or removes it if `role` is `None`.
    #[boxed]
    pub async fn set_role(&self, id: UserId, role: Option<Role>) -> AdminResult<UserDetail> {
        change_role(self.core(), self.actor(), id, None, role).await
    }

    /// Creates a new link to set a password: ends the previous link and the user's sessions. The
    /// password stays until the link is used.
    #[boxed]
    pub async fn reset_user(&self, id: UserId) -> AdminResult<Secret> {
        self.reset_user_with(id, LinkDelivery::Returned).await
    }

    /// The same, and sends the user the link by e-mail, in a language if that is known.
    #[boxed]
    pub async fn reset_user_by_mail(&self, id: UserId, language: Option<&str>) -> AdminResult<()> {
        self.reset_user_with(id, LinkDelivery::Mailed { language }).await.map(|_| ())
    }

    async fn reset_user_with(&self, id: UserId, delivery: LinkDelivery<'_>) -> AdminResult<Secret> {
        let (core, actor) = (self.core(), self.actor());
        actor.need_fresh()?;
        must_be_possible(core, delivery)?;
        retry_on_conflict(|_| async {
            let revision = core.store.people_revision().await?;
            let found = find_user(core, id).await?;
            if found.row.disabled_at.is_some() {
                let detail = "this user is disabled; enable them first";
                return Err(AdminError::conflict("user_disabled", detail));
            }
            let (secret, link) = new_link(id, core.now());
            let detail = json!({"email": found.row.email});
            let entry =
                PeopleAuditEntry { action: AuditAction::UserLinkMade, app_id: None, detail };
            let row = UserRow { epoch: found.row.epoch + 1, ..found.row };
            let writes = vec![PeopleWrite::User(row), PeopleWrite::Link(link)];
            let mail = queued(core, id, delivery);
            write_people_with(core, actor, revision, id, writes, entry, mail).await?;
            Ok(secret)
        })
        .await
    }
}

impl Accounts<'_> {
    /// Whether any user can sign in by e-mail.
    #[boxed]
    pub async fn has_users(&self) -> Result<bool, StoreError> {
        let first = self.core.store.list_users(None, Page { after: None, limit: 1 }).await?;
        Ok(!first.is_empty())
    }
}

/// How the link to set a password reaches its user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LinkDelivery<'l> {
    /// The caller gets it and passes it on.
    Returned,
    /// By e-mail. The link is created when the e-mail is sent; the caller does not see it.
    Mailed { language: Option<&'l str> },
}

fn must_be_possible(core: &Core, delivery: LinkDelivery<'_>) -> AdminResult<()> {
    match delivery {
        LinkDelivery::Mailed { .. } if core.mail.is_none() => Err(no_mail_server()),
        _ => Ok(()),
    }
}

fn queued(core: &Core, id: UserId, delivery: LinkDelivery<'_>) -> Option<Write> {
    match delivery {
        LinkDelivery::Returned => None,
        LinkDelivery::Mailed { language } => {
            let detail = PasswordDetail::new(language, false);
            Some(queued_password(id, &detail, core.now()))
        }
    }
}

/// Creates a user, unless the address is taken.
pub(super) async fn make_user(
    core: &Core,
    actor: &Actor,
    new: &NewUser,
    delivery: LinkDelivery<'_>,
) -> AdminResult<Option<(UserDetail, Secret)>> {
    // The holder of the link can set the password and sign in.
    actor.need_fresh()?;
    must_be_possible(core, delivery)?;
    let email = new.email.trim();
    faultless(user_faults(email, &new.name))?;
    retry_on_conflict(|_| async {
        let revision = core.store.people_revision().await?;
        if core.store.find_user(&UserKey::Email(email.to_owned())).await?.is_some() {
            return Ok(None);
        }
        let row = UserRow {
            user_id: UserId::from_uuid(core.new_id()),
            email: email.to_owned(),
            name: new.name.trim().to_owned(),
            password: None,
            subject: None,
            second_factor: None,
            epoch: 0,
            created_at: core.now(),
            disabled_at: None,
        };
        let grant = GrantRow { user_id: row.user_id, app_id: new.app_id, role: new.role };
        let (secret, link) = new_link(row.user_id, core.now());
        let detail =
            json!({"email": row.email, "name": row.name, "role": new.role, "appId": new.app_id});
        let user = User { row: row.clone(), grants: vec![grant] };
        let writes =
            vec![PeopleWrite::User(row), PeopleWrite::Grant(grant), PeopleWrite::Link(link)];
        let entry =
            PeopleAuditEntry { action: AuditAction::UserCreated, app_id: new.app_id, detail };
        let (id, mail) = (user.row.user_id, queued(core, user.row.user_id, delivery));
        write_people_with(core, actor, revision, id, writes, entry, mail).await?;
        Ok(Some((user.into(), secret)))
    })
    .await
}

/// Gives a user a role in an app or in all apps, or removes it if `role` is `None`.
pub(super) async fn change_role(
    core: &Core,
    actor: &Actor,
    id: UserId,
    app: Option<AppId>,
    role: Option<Role>,
) -> AdminResult<UserDetail> {
    if role == Some(Role::Owner) {
        actor.need_fresh()?;
    }
    retry_on_conflict(|_| async {
        let revision = core.store.people_revision().await?;
        let mut found = find_user(core, id).await?;
        let before = found.grants.iter().find(|grant| grant.app_id == app).map(|it| it.role);
        if before == role {
            return Ok(found.into());
        }
        if app.is_none() && before == Some(Role::Owner) {
            must_leave_an_owner(core, &found).await?;
        }
        let write = match role {
            Some(role) => PeopleWrite::Grant(GrantRow { user_id: id, app_id: app, role }),
            None => PeopleWrite::Ungrant { user_id: id, app_id: app },
        };
        let detail =
            json!({"email": found.row.email, "role": role, "before": before, "appId": app});
        let entry = PeopleAuditEntry { action: AuditAction::UserRoleChanged, app_id: app, detail };
        write_people(core, actor, revision, id, vec![write], entry).await?;
        found.grants.retain(|grant| grant.app_id != app);
        found.grants.extend(role.map(|role| GrantRow { user_id: id, app_id: app, role }));
        found.grants.sort_by_key(|grant| grant.app_id);
        Ok(found.into())
    })
    .await
}

/// Refuses to remove the last owner of the instance.
async fn must_leave_an_owner(core: &Core, user: &User) -> AdminResult<()> {
    if !is_owner(user) {
        return Ok(());
    }
    let mut after = None;
    loop {
        let users = core.store.list_users(None, Page { after, limit: PAGE_USERS }).await?;
        let Some(last) = users.last() else { break };
        after = Some(last.row.user_id);
        // A user who never set a password or signed in through a provider may never sign in.
        let can_come = |it: &User| it.row.password.is_some() || it.row.subject.is_some();
        let another = |it: &User| it.row.user_id != user.row.user_id && is_owner(it);
        if users.iter().any(|it| another(it) && can_come(it)) {
            return Ok(());
        }
    }
    Err(AdminError::conflict(
        "last_owner",
        "this is the last owner of the instance; make another user an owner first",
    ))
}

fn is_owner(user: &User) -> bool {
    let of_all = |grant: &GrantRow| grant.app_id.is_none() && grant.role == Role::Owner;
    user.row.disabled_at.is_none() && user.grants.iter().any(of_all)
}

fn user_faults(email: &str, name: &str) -> Vec<Fault> {
    let mut faults: Vec<_> = name_faults("/name", name).into_iter().collect();
    if !is_email(email) {
        faults.push(Fault::new("/email", "must be an e-mail address such as ann@example.com"));
    }
    faults
}
