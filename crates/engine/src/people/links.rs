//! Links for setting a password: valid once, and for one day.
//!
//! The secret is in the URL's fragment, which browsers do not send: it appears in no server log on
//! the way, and in no `Referer`.

use serde_json::json;
use sluice_flow::definition::Fault;
use sluice_flow::id::UserId;
use sluice_flow::time::Timestamp;
use sluice_store::{PeopleWrite, StoreResult, User, UserKey, UserRow};

use super::accounts::Accounts;
use super::change::{PeopleAuditEntry, write_people_with};
use super::refusal::Refusal;
use super::secret::Secret;
use crate::actor::Actor;
use crate::audit_action::AuditAction;
use crate::boxed;
use crate::conflict::retry_on_conflict;
use crate::core::Core;
use crate::mail_queue::waiting_passwords;
use crate::tokens::hash_of;

pub(crate) fn welcome_url(core: &Core, secret: &Secret) -> String {
    format!("{}/console/welcome#{}", core.admin_url, secret.0)
}

impl Accounts<'_> {
    /// The URL of a link for setting a password.
    pub fn welcome_url(&self, secret: &Secret) -> String {
        welcome_url(self.core, secret)
    }

    /// Sets the password of the link's user, invalidates the link, ends the user's sessions, and
    /// starts one, unless the user has a second factor: then a code is needed first.
    #[boxed]
    pub async fn set_password_by_link(
        &self,
        secret: &str,
        password: &str,
        replaces: Option<&str>,
    ) -> Result<Secret, Refusal> {
        let user = self.user_of_link(secret).await?.ok_or(Refusal::LinkOver)?;
        let hash = self.core.passwords.hash(password, &user.row).await?;
        retry_on_conflict(|_| async {
            let revision = self.core.store.people_revision().await?;
            let user = self.user_of_link(secret).await?.ok_or(Refusal::LinkOver)?;
            let user = self.set_password(revision, user, hash.clone()).await?;
            // The link proves no more than the password would.
            if user.row.second_factor.is_some() {
                return Err(Refusal::CodeNeeded(self.ticket(&user)?));
            }
            Ok(self.begin_user_session(&user, "link", replaces).await?)
        })
        .await
    }

    /// Changes the password of the signed-in user, ends all their sessions, and starts one. If the
    /// user has a second factor, the new session is only as fresh as the one it replaces: a
    /// password alone does not confirm their identity.
    #[boxed]
    pub async fn change_password(
        &self,
        id: UserId,
        old: &str,
        new: &str,
        replaces: Option<&str>,
    ) -> Result<Secret, Refusal> {
        let find = async || {
            let found = self.core.store.find_user(&UserKey::Id(id)).await?;
            found.filter(|it| it.row.disabled_at.is_none()).ok_or(Refusal::Wrong(Some(id)))
        };
        let user = find().await?;
        if !self.core.passwords.verify(old, user.row.password.clone()).await? {
            return Err(Refusal::Invalid(vec![Fault::new("/old", "is not your password")]));
        }
        let hash = self.core.passwords.hash(new, &user.row).await?;
        let confirmed_at = match user.row.second_factor {
            Some(_) => self.confirmed_at(replaces).await?,
            None => self.core.now(),
        };
        retry_on_conflict(|_| async {
            let revision = self.core.store.people_revision().await?;
            let now = find().await?;
            // The password was changed concurrently: the old password that was given proves nothing
            // now.
            if now.row.password != user.row.password {
                return Err(Refusal::Wrong(Some(id)));
            }
            let user = self.set_password(revision, now, hash.clone()).await?;
            let begun = self.begin_session_confirmed(&user, "password", replaces, confirmed_at);
            Ok(begun.await?)
        })
        .await
    }

    /// When the holder of this session last confirmed their identity.
    async fn confirmed_at(&self, secret: Option<&str>) -> StoreResult<Timestamp> {
        let never = Timestamp::from_millis(0);
        let Some(secret) = secret else { return Ok(never) };
        let session = self.core.store.find_session(&hash_of(secret)).await?;
        Ok(session.map_or(never, |row| row.confirmed_at))
    }

    /// Ends all links of the user, including those that a waiting e-mail would create.
    async fn set_password(&self, revision: u64, user: User, hash: String) -> StoreResult<User> {
        let epoch = user.row.epoch + 1;
        let row = UserRow { password: Some(hash), epoch, ..user.row.clone() };
        let writes = vec![PeopleWrite::User(row.clone()), PeopleWrite::Unlink(row.user_id)];
        let (actor, id) = (Actor::from_user(&user), row.user_id);
        let entry = PeopleAuditEntry {
            action: AuditAction::UserPasswordSet,
            app_id: None,
            detail: json!({}),
        };
        let waiting = waiting_passwords(self.core.store.list_mails_to(id, None).await?);
        write_people_with(self.core, &actor, revision, id, writes, entry, waiting).await?;
        Ok(User { row, grants: user.grants })
    }

    async fn user_of_link(&self, secret: &str) -> StoreResult<Option<User>> {
        let Some(link) = self.core.store.find_link(&hash_of(secret)).await? else {
            return Ok(None);
        };
        if link.expires_at <= self.core.now() {
            return Ok(None);
        }
        let user = self.core.store.find_user(&UserKey::Id(link.user_id)).await?;
        Ok(user.filter(|user| user.row.disabled_at.is_none()))
    }
}
